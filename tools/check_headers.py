#!/usr/bin/env python3
"""Refuses a header that cannot be included alone.

    check_headers.py [--include FOLDER]... COMPILER

A header with a `.cpp` of the same name is included first there, and that is checked by reading; any other header under src/
is compiled by itself. Prints what is wrong and ends with status 1 when something is.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"


def first_include(file):
    found = re.search(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', file.read_text(encoding="utf-8"), re.M)
    return found.group(1) if found else None


def compile_alone(compiler, includes, header):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-x", "c++", "-include", str(header)]
    command += [f"-I{folder}" for folder in includes] + [os.devnull]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"{header.relative_to(SOURCE)} does not compile alone:\n{done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("compiler")
    arguments = parser.parse_args()

    findings = []
    alone = []
    headers = sorted(SOURCE.rglob("*.h"))
    for header in headers:
        twin = header.with_suffix(".cpp")
        name = str(header.relative_to(SOURCE))
        if not twin.exists():
            alone.append(header)
        elif first_include(twin) != name:
            findings.append(f'{twin.relative_to(SOURCE)}: the first include must be "{name}"')
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda header: compile_alone(arguments.compiler, [SOURCE, *arguments.include], header), alone)
        findings += [result for result in results if result]

    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"{len(headers)} headers, {len(alone)} of them compiled alone")
    return 1 if findings or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
