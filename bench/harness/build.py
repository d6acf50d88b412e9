"""Compiles the meter and the synthetic workloads, and finds the heaptape to measure."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent

# Real frames are the point of the workloads: no sibling calls, and the frame pointer left to the compiler as in most builds.
FLAGS = ["-std=c++20", "-O2", "-g", "-fno-optimize-sibling-calls", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pthread"]


def compiler():
    return os.environ.get("CXX", "g++")


def compile_program(source, work, newer_than=()):
    """The executable made from a source below bench/, rebuilt when the source or a named header is newer."""
    source = BENCH / source
    program = work / source.stem
    inputs = [source, *(BENCH / name for name in newer_than)]
    if not program.exists() or any(i.stat().st_mtime > program.stat().st_mtime for i in inputs):
        subprocess.run([compiler(), *FLAGS, str(source), "-o", str(program)], check=True)
    return program


def find_heaptape(named):
    """The heaptape executable: the one named, or the release build, or the dev build, or the one on PATH."""
    if named:
        path = Path(named).resolve()
        if not os.access(path, os.X_OK):
            sys.exit(f"bench: {named} is not an executable")
        return path
    for preset in ("release", "dev"):
        for place in ("bin", "src/cli"):
            path = ROOT / "build" / preset / place / "heaptape"
            if path.exists():
                return path
    installed = shutil.which("heaptape")
    return Path(installed) if installed else None


def work_directory(named):
    work = Path(named).resolve() if named else ROOT / "build" / "bench"
    work.mkdir(parents=True, exist_ok=True)
    return work
