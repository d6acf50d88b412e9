#!/usr/bin/env python3
"""Demands that the preset release compiles what dev compiled: then what was tested is what users run.

    check_release.py DEV_BUILD_FOLDER

Configures release in a temporary folder, builds nothing, and compares the commands. They may differ in the folder and in
-Werror. Prints what differs and ends with status 1 when something does.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent


def commands_of(folder):
    """The compiler's words for every object, by the object's name."""
    found = {}
    for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
        words = entry["command"].replace(str(folder), "BUILD").split()
        if "ccache" in words[0]:
            del words[0]
        found[words[words.index("-o") + 1]] = [word for word in words if word != "-Werror"]
    return found


def main():
    dev = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="heaptape-release-") as name:
        release = Path(name).resolve()
        # As dev was configured, where a developer asked for something else than the preset does.
        cache = (dev / "CMakeCache.txt").read_text(encoding="utf-8")
        options = ["-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"] if "CMAKE_DISABLE_PRECOMPILE_HEADERS:UNINITIALIZED=ON" in cache else []
        subprocess.run(["cmake", "--preset", "release", "-B", str(release), *options], cwd=SOURCE, check=True, stdout=subprocess.DEVNULL)
        theirs, ours = commands_of(release), commands_of(dev)
    different = [name for name, words in theirs.items() if ours.get(name) != words]
    for name in different:
        print(f"{name}\n  release  {' '.join(theirs[name])}\n  dev      {' '.join(ours.get(name, ['(nothing)']))}", file=sys.stderr)
    print(f"{len(theirs)} objects of release, {len(different)} compiled otherwise than those of dev")
    return 1 if different or not theirs else 0


if __name__ == "__main__":
    sys.exit(main())
