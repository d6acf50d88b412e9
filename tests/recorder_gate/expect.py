#!/usr/bin/env python3
"""Runs the gate on a sample and compares its verdict with the one the sample announces.

    expect.py (--accepted | --refused REGEX | --sample FILE) -- COMMAND...

--sample reads the verdict from the file: a comment line `// accepted` or `// refused: REGEX`. A refusal counts only for
the announced reason: the command must fail and REGEX must match a line that it prints.
"""

import argparse
import re
import subprocess
import sys


def announced(path):
    for line in open(path, encoding="utf-8"):
        if re.match(r"// accepted\s*$", line):
            return None
        refused = re.match(r"// refused: (.*)", line)
        if refused:
            return refused.group(1)
    sys.exit(f"{path}: announces no verdict")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verdict = parser.add_mutually_exclusive_group(required=True)
    verdict.add_argument("--accepted", action="store_true")
    verdict.add_argument("--refused", metavar="REGEX")
    verdict.add_argument("--sample", metavar="FILE")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()

    reason = announced(arguments.sample) if arguments.sample else arguments.refused
    done = subprocess.run(arguments.command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    print(said, end="")
    if reason is None:
        return 0 if done.returncode == 0 else f"refused with status {done.returncode}, should be accepted"
    if done.returncode == 0:
        return f"accepted, should be refused: {reason}"
    if not any(re.search(reason, line) for line in said.splitlines()):
        return f"refused, but for another reason than: {reason}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
