#!/usr/bin/env python3
"""Sums up what ctest found.

    test_summary.py RESULTS.xml...

Each file was written by ctest --output-junit. Prints the ten slowest tests, what was skipped and why, what failed with the
end of its output, and how many passed. A file that is not there is left out: its build failed.
"""

import sys
import xml.etree.ElementTree
from pathlib import Path

SLOWEST = 10
LAST_LINES = 25


class Result:
    def __init__(self, stage, case):
        self.name = f"{stage}: {case.get('name')}"
        self.seconds = float(case.get("time", 0))
        self.status = case.get("status")  # run, fail, notrun or disabled
        self.output = case.findtext("system-out", "")

    def skip_reason(self):
        lines = [line for line in self.output.splitlines() if line.startswith("skipped: ")]
        return lines[-1].removeprefix("skipped: ") if lines else "not run"


def read(path):
    stage = Path(path).parent.name
    try:
        return [Result(stage, case) for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase")]
    except FileNotFoundError:
        return []


def main():
    results = [result for path in sys.argv[1:] for result in read(path)]
    failed = [result for result in results if result.status == "fail"]
    skipped = [result for result in results if result.status in ("notrun", "disabled")]

    print(f"\n=== the {SLOWEST} slowest tests")
    for result in sorted(results, key=lambda result: -result.seconds)[:SLOWEST]:
        print(f"{result.seconds:7.1f} s  {result.name}")
    if skipped:
        print("\n=== skipped")
        for result in skipped:
            print(f"{result.name}: {result.skip_reason()}")
    for result in failed:
        print(f"\n=== failed: {result.name}")
        print("\n".join(line[:300] for line in result.output.splitlines()[-LAST_LINES:]))
    print(f"\n{len(results) - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped")
    for result in failed:
        print(f"  failed: {result.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
