"""Runs a program under the stack-checking recorder and judges what it counted.

usage: run_truth.py HEAPTAPE LIBRARY LEAST_EQUAL same[:DEPTH]|differs -- PROGRAM [ARGS...]

same     every capture must equal libunwind's (those the recorder itself marked as cut short are allowed, but few);
         with DEPTH, stacks are cut at it, and the innermost frames must be libunwind's
differs  at least one must not: for a recorder with a check taken out, to show that the test would notice
"""
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77


def main() -> int:
    heaptape, library, least, expectation = sys.argv[1:5]
    expectation, _, depth = expectation.partition(":")
    options = ["--max-depth", depth] if depth else []
    command = sys.argv[6:]
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        environment = dict(os.environ, HEAPTAPE_LIBRARY=library, STACK_TRUTH_FILE=counts, PYTHONMALLOC="malloc")
        tape = os.path.join(folder, "truth.tape")
        try:
            done = subprocess.run([heaptape, "record", "-q", "-o", tape, *options, "--", *command], env=environment, cwd=folder,
                                  timeout=500, stdout=subprocess.DEVNULL)
        except FileNotFoundError as error:
            print(error)
            return 1
        if done.returncode == 127:
            print("skipped:", command[0], "is not installed")
            return SKIPPED
        if done.returncode != 0:
            print("the program ended with status", done.returncode)
            return 1
        text = open(counts, encoding="utf-8", errors="replace").read()
        print(text)
        found = re.findall(r"equal (\d+) cut (\d+) different (\d+)", text)
        equal, cut, different = (sum(int(row[i]) for row in found) for i in range(3))
        if expectation == "differs":
            return 0 if different > 0 else 1
        good = equal >= int(least) and different == 0 and cut * 100 <= equal
        return 0 if good else 1


sys.exit(main())
