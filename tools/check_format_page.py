#!/usr/bin/env python3
"""Compares the example of docs/tape-format.md with the tape that it explains.

usage: check_format_page.py [--heaptape PATH]

The lines "OFFSET  BYTES  meaning" of the example must be exactly the bytes of tests/tapes/five-events.tape, and with
--heaptape the events quoted there must be what 'heaptape dump' says of it. Ends with status 1 if something differs.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tape-format.md"
TAPE = ROOT / "tests" / "tapes" / "five-events.tape"

LINE = re.compile(r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} ){0,7}[0-9a-f]{2})(?:  .*)?$", re.MULTILINE)


def wrong_bytes(example, tape):
    """The first difference as a sentence; None: there is none."""
    at = 0
    for match in LINE.finditer(example):
        offset, shown = int(match.group(1), 16), bytes.fromhex(match.group(2))
        if offset != at:
            return f"after {at:04x} comes {offset:04x}"
        if tape[at:at + len(shown)] != shown:
            return f"at {at:04x} the page has {shown.hex(' ')}, the tape {tape[at:at + len(shown)].hex(' ')}"
        at += len(shown)
    return None if at == len(tape) else f"the page ends at {at:04x}, the tape at {len(tape):04x}"


def wrong_events(example, heaptape):
    shown = re.search(r"^```\n\$ heaptape (dump [^\n]*)\n(.*?)^```$", example, re.MULTILINE | re.DOTALL)
    if not shown:
        return "the output of 'heaptape dump' is missing"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(TAPE, folder)
        run = subprocess.run([heaptape, *shown.group(1).split()], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return None if run.stdout == shown.group(2) else f"'heaptape dump' prints something else:\n{run.stdout}{run.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heaptape", type=lambda path: Path(path).resolve(), help="compare the quoted events with what this program prints")
    options = parser.parse_args()
    example = PAGE.read_text(encoding="utf-8").partition("\n## An example\n")[2]
    wrong = wrong_bytes(example, TAPE.read_bytes()) or (options.heaptape and wrong_events(example, options.heaptape))
    if wrong:
        print(f"{PAGE.relative_to(ROOT)}: {wrong}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
