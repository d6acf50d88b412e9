"""What the cases of exports, imports and pages share."""

import subprocess

from harness import check, equal, program
from tape import HANG_SECONDS, heaptape


def make_tape(test, threads=3, rounds=40):
    return test.recording_of([program("count_calls"), "counters", "return", threads, rounds]).tape


def export(test, tape, format, *options, suffix=""):
    """The file that an export writes."""
    path = test.work / f"out.{format}{suffix}"
    result = heaptape("export", "--format", format, "--force", "-o", path, *options, tape.path)
    equal(result.returncode, 0, f"status of export {format}: {result.stderr}")
    return path


def run(*words, **more):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=HANG_SECONDS, check=False, **more)
    check(result.returncode == 0, f"{words[0]} ended with {result.returncode}:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout


def folded_sum(text):
    return sum(int(line.rpartition(" ")[2]) for line in text.splitlines())
