"""The ways in which the test programs are built and taken apart: each makes a file to ask about, in a folder of its own.

A form is a function of a Workshop; it returns a Subject. The judge of a subject is a file with the same addresses that other
tools can read, mostly the one that it was made from.
"""

import ctypes.util
import fcntl
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = ("shapes.cpp", "more_shapes.cpp", "shapes.h")
PROGRAMS = Path(os.environ["SYMBOL_TRUTH_PROGRAMS"])  # where they are kept
ALL, FUNCTIONS, DYNAMIC = "all", "functions", "dynamic"  # how much the file still knows


class Missing(Exception):
    """A tool or a feature of it is not there."""


@dataclass
class Subject:
    file: Path
    judge: Path
    knows: str = ALL
    options: list = field(default_factory=list)
    hidden: list = field(default_factory=list)  # files that only the judge may see
    environment: dict = field(default_factory=dict)
    may_be_merged: float = 0  # share of instructions in functions that the linker gave several names


class Workshop:
    def __init__(self, folder, compiler):
        self.folder = folder
        self.compiler = compiler

    def run(self, *command):
        command = [str(part) for part in command]
        if shutil.which(command[0]) is None:
            raise Missing(command[0])
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise Missing(f"{' '.join(command)}: {done.stderr.strip()[:300]}")

    def build(self, *flags):
        """A copy of the program built with these flags. It is compiled once for all forms that ask for the same: nearly all of the
        time goes there."""
        home = PROGRAMS / "_".join([self.compiler, *flags]).replace("/", "_")
        home.mkdir(parents=True, exist_ok=True)
        built = home / "program"
        with open(home / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not built.exists() or built.stat().st_mtime < max((HERE / source).stat().st_mtime for source in SOURCES):
                new = home / "new"
                self.run(self.compiler, "-O2", "-g", *flags, HERE / "shapes.cpp", HERE / "more_shapes.cpp", "-o", new)
                new.rename(built)
        return self.copy(built, "program")

    def copy(self, file, name):
        return Path(shutil.copy(file, self.folder / name))


def compiled(*flags):
    def form(shop):
        file = shop.build(*flags)
        return Subject(file, file)

    return form


def compressed(how):
    def form(shop):
        file = shop.build()
        packed = shop.folder / "packed"
        shop.run("objcopy", f"--compress-debug-sections={how}", file, packed)
        return Subject(packed, file)

    return form


def split(*flags, package=None):
    def form(shop):
        objects = []
        for source in ("shapes", "more_shapes"):
            shop.run(shop.compiler, "-O2", "-g", "-gsplit-dwarf", *flags, "-c", HERE / f"{source}.cpp", "-o", f"{source}.o")
            objects.append(f"{source}.o")
        file = shop.folder / "program"
        shop.run(shop.compiler, *objects, "-o", file)
        if package is None:
            return Subject(file, file)
        alone = shop.folder / "alone"
        alone.mkdir()
        shop.run(package, "-e", file, "-o", alone / "program.dwp")
        asked = Path(shutil.copy(file, alone / "program"))
        return Subject(asked, file, hidden=[shop.folder / "shapes.dwo", shop.folder / "more_shapes.dwo"])

    return form


def separate(place):
    """Debug information in a file of its own: beside it, in .debug, in a debug folder by name or by build-id."""

    def form(shop):
        file = shop.build("-Wl,--build-id=sha1")
        debug, stripped = shop.folder / "program.debug", shop.folder / "stripped"
        shop.run("objcopy", "--only-keep-debug", file, debug)
        shop.run("strip", "-s", file, "-o", stripped)
        options = []
        if place != "build-id":
            shop.run("objcopy", f"--add-gnu-debuglink={debug}", stripped)
        if place == ".debug":
            (shop.folder / ".debug").mkdir()
            debug.rename(shop.folder / ".debug" / debug.name)
        elif place == "debug-dir":
            home = shop.folder / "elsewhere"
            inside = home / str(shop.folder.resolve()).lstrip("/")
            inside.mkdir(parents=True)
            debug.rename(inside / debug.name)
            options = ["--debug-dir", str(home)]
        elif place == "build-id":
            home = shop.folder / "elsewhere"
            identity = build_id(file)
            inside = home / ".build-id" / identity[:2]
            inside.mkdir(parents=True)
            debug.rename(inside / f"{identity[2:]}.debug")
            options = ["--debug-dir", str(home)]
        return Subject(stripped, file, options=options)

    return form


def debuginfod(shop):
    """A server that is a folder, laid out as servers' addresses are."""
    if ctypes.util.find_library("debuginfod") is None:
        raise Missing("libdebuginfod")
    file = shop.build("-Wl,--build-id=sha1")
    stripped, served = shop.folder / "stripped", shop.folder / "served" / "buildid" / build_id(file)
    served.mkdir(parents=True)
    shop.run("objcopy", "--only-keep-debug", file, served / "debuginfo")
    shop.run("strip", "-s", file, "-o", stripped)
    return Subject(stripped, file, environment={"DEBUGINFOD_URLS": f"file://{shop.folder / 'served'}",
                                                "DEBUGINFOD_CACHE_PATH": str(shop.folder / "cache")})


def build_id(file):
    text = subprocess.run(["readelf", "-n", str(file)], capture_output=True, text=True).stdout
    return text.split("Build ID: ")[1].split()[0]


def plain_c(shop):
    file = shop.folder / "program"
    shop.run("gcc", "-O2", "-g", HERE / "plain.c", "-o", file)
    return Subject(file, file)


def symbol_table_alone(shop):
    file = shop.build()
    stripped = shop.folder / "stripped"
    shop.run("strip", "-g", file, "-o", stripped)
    return Subject(stripped, file, FUNCTIONS)


def dynamic_symbols_alone(shop):
    file = shop.build("-rdynamic")
    stripped = shop.folder / "stripped"
    shop.run("strip", "-s", file, "-o", stripped)
    return Subject(stripped, file, DYNAMIC)


def mini_debug_info(shop):
    file = shop.build("-rdynamic")
    mini, stripped = shop.folder / "mini", shop.folder / "stripped"
    shop.run("strip", "-s", file, "-o", stripped)
    shop.run("strip", "-g", file, "-o", mini)
    shop.run("xz", "--keep", mini)
    shop.run("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", stripped)
    return Subject(stripped, file, FUNCTIONS)


def dwz_alone(shop):
    file = shop.build("-gdwarf-4")
    smaller = shop.copy(file, "smaller")
    shop.run("dwz", smaller)
    return Subject(smaller, file)


def dwz_shared(shop):
    """Two files that share what they have in common in a third."""
    file = shop.build("-gdwarf-4")
    smaller, other = shop.copy(file, "smaller"), shop.copy(file, "other")
    shop.run("dwz", "-m", "common", smaller, other)
    if not (shop.folder / "common").exists():
        raise Missing("dwz found nothing to share")
    return Subject(smaller, file)


FORMS = {
    "plain_c": plain_c,
    "dwarf_5": compiled("-gdwarf-5"),
    "dwarf_4": compiled("-gdwarf-4"),
    "dwarf_3": compiled("-gdwarf-3", "-gstrict-dwarf"),
    "no_pie": compiled("-fno-pie", "-no-pie"),
    "unoptimized": compiled("-O0"),
    "link_time_optimized": compiled("-flto"),
    "function_sections": compiled("-ffunction-sections", "-Wl,--gc-sections"),
    "compressed_zlib": compressed("zlib-gabi"),
    "compressed_zlib_older": compressed("zlib-gnu"),
    "compressed_zstd": compressed("zstd"),
    "split_5": split("-gdwarf-5"),
    "split_4": split("-gdwarf-4"),
    "split_package": split("-gdwarf-5", package="llvm-dwp"),
    "split_package_4": split("-gdwarf-4", package="dwp"),
    "debug_link_beside": separate("beside"),
    "debug_link_in_dot_debug": separate(".debug"),
    "debug_link_in_debug_dir": separate("debug-dir"),
    "build_id_directory": separate("build-id"),
    "debuginfod": debuginfod,
    "symbol_table_alone": symbol_table_alone,
    "dynamic_symbols_alone": dynamic_symbols_alone,
    "mini_debug_info": mini_debug_info,
    "dwz_alone": dwz_alone,
    "dwz_shared": dwz_shared,
}
