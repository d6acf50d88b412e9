"""A program that says "ready" and some addresses, and waits for the end of its input; its memory is copied meanwhile."""

import os
import subprocess

from harness import check, equal, wait_until
from talker import ask, listed


class Waiting:
    def __init__(self, test, command, method="auto", env=None):
        runtime = test.dir / "runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(runtime)
        folder = test.new_tapes_folder()
        words, variables = test.form("record", command, (), folder)
        process = test.start(words, env={**variables, **(env or {})}, stdin=subprocess.PIPE)
        self.lines = []  # before that one
        while (line := process.stdout.readline().decode().split())[:1] != ["ready"]:
            check(line, "the program has ended")
            self.lines.append(line)
        self.addresses = [int(word, 16) for word in line[1:]]
        recording = wait_until(lambda: next(iter(listed()), None), "the recording is listed")
        taken = ask("snapshot", "-p", recording["pid"], "here", "--contents", "--method", method)
        equal(taken.returncode, 0, taken.stderr)
        process.stdin.close()
        process.stdin = None
        equal(test.finish(process).status, 0, "the program's status")
        self.tape = recording["tape"]
