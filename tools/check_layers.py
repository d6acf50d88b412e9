#!/usr/bin/env python3
"""Refuses an include that has no arrow in docs/architecture.md.

    check_layers.py [ROOT]

ROOT (default: this repository) holds src/, include/, tests/ and bench/. Every `#include "layer/file.h"` under src/ must go
along an arrow of ARROWS, name a file that exists, and be written from the include root. Prints one line per finding and
ends with status 1 when there is one.
"""

import re
import sys
from pathlib import Path

# layer -> the layers it may include. A layer may always include itself.
ARROWS = {
    "wire": set(),
    "base": set(),
    "options": {"base"},
    "recorder": set(),
    "recorder/core": {"wire"},
    "recorder/hooks": {"recorder/core", "wire"},
    "tape": {"wire", "base"},
    "symbols": {"base"},
    "analysis": {"tape", "wire", "base"},
    "collector": {"analysis", "tape", "wire", "base"},
    "report": {"analysis", "symbols", "tape", "wire", "base"},
    "server": {"report", "analysis", "symbols", "tape", "wire", "base"},
    "sql": {"report", "analysis", "symbols", "tape", "wire", "base"},
    "shell": {"options", "sql", "report", "analysis", "symbols", "tape", "wire", "base"},
    "live": {"collector", "report", "analysis", "symbols", "tape", "wire", "base"},
    "cli": {"live", "shell", "options", "sql", "server", "report", "analysis", "symbols", "collector", "tape", "wire", "base"},
}

# Tests that look into the recorder and cannot lie beside it: they are loaded into real programs.
RECORDER_TESTS = ("tests/stack_truth",)

SOURCE_SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """The layer of `recorder/core/ring.h` is `recorder/core`; None when it lies in no layer."""
    parts = Path(path).parts
    for length in (2, 1):
        name = "/".join(parts[:length])
        if len(parts) > length and name in ARROWS:
            return name
    return None


def includes_of(file):
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(1) == '"', found.group(2)


def source_files(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCE_SUFFIXES) if folder.is_dir() else []


def check_source(source, file):
    """The findings in one file under src/."""
    own_path = file.relative_to(source)
    own = layer_of(own_path)
    if own is None:
        return [f"src/{own_path}:1: lies in no layer; add the layer to check_layers.py and docs/architecture.md"]
    findings = []
    for number, quoted, name in includes_of(file):
        place = f"src/{own_path}:{number}"
        target = layer_of(name)
        if not quoted:
            if target is not None and (source / name).is_file():
                findings.append(f'{place}: write #include "{name}", angle brackets are for other projects')
            continue
        if target is None or not (source / name).is_file():
            findings.append(f'{place}: "{name}" is no file under src/; includes read "layer/file.h"')
        elif target != own and target not in ARROWS[own]:
            findings.append(f"{place}: {own} may not include {target}")
    return findings


def check_outside(root, file):
    """tests/ and bench/ may use any layer but the recorder; the public headers use none."""
    findings = []
    public = file.is_relative_to(root / "include")
    for number, _, name in includes_of(file):
        target = layer_of(name)
        if target is None or not (root / "src" / name).is_file():
            continue
        place = f"{file.relative_to(root)}:{number}"
        if public:
            findings.append(f"{place}: a public header may not include {target}")
        elif target.startswith("recorder/") and not place.startswith(RECORDER_TESTS):
            findings.append(f"{place}: nothing outside recorder/ includes it")
    return findings


def check_tree(root):
    findings = []
    for file in source_files(root / "src"):
        findings += check_source(root / "src", file)
    for folder in ("include", "tests", "bench"):
        for file in source_files(root / folder):
            findings += check_outside(root, file)
    return findings


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    if not source_files(root / "src"):
        print(f"check_layers: no sources under {root}/src", file=sys.stderr)
        return 2
    findings = check_tree(root)
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
