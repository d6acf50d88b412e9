"""A recorded program that does what it is told, and questions about it."""

import json
import os
import subprocess

from harness import HEAPTAPE, check, equal, program, wait_until
from tape import HANG_SECONDS, Tape, demand


class Talker:
    """The program `pointers`, recorded, and what it says."""

    def __init__(self, test, form="record", env=None, options=(), quiet=True):
        runtime = test.dir / "runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(runtime)
        self.test = test
        self.folder = test.new_tapes_folder()
        words, variables = test.form(form, [program("pointers")], options, self.folder)
        if not quiet:
            words.remove("-q")
        self.process = test.start(words, env={**variables, **(env or {})}, stdin=subprocess.PIPE)
        self.addresses = self.read_line().split()
        self.live, self.freed, self.variable = (int(word, 16) for word in self.addresses)
        self.recording = wait_until(self.find, "the recording is listed")
        self.pid = self.recording["pid"]

    def read_line(self):
        line = self.process.stdout.readline().decode()
        check(line, "the program has ended")
        return line

    def find(self):
        return next((one for one in listed() if one["tape"].startswith(str(self.folder))), None)

    def do(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        word, status = self.read_line().split()
        equal(word, "ok", f"answer to {line}")
        return int(status)

    def finish(self):
        self.process.stdin.close()
        self.process.stdin = None
        return self.test.finish(self.process)

    @property
    def tape(self):
        return Tape(self.recording["tape"])


def listed():
    return json.loads(demand("ps", "--json"))


def ask(*words):
    return subprocess.run([HEAPTAPE, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=HANG_SECONDS, check=False)
