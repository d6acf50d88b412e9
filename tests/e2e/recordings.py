"""Recordings that many cases read: each is made by the first case that asks for it and kept in the build folder.

A recording lies in HEAPTAPE_RECORDINGS/NAME with its tapes, the files that the program wrote, its outcome, and what it was made
from. When heaptape, its recorder or the program is another one than then, it is made anew.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from pathlib import Path

from outcome import Outcome

FOLDER = os.environ.get("HEAPTAPE_RECORDINGS", "")


def copy_of(test, command, options, tapes):
    """Copies the tapes of a recording into a folder and the program's files into the work folder; returns its outcome."""
    made_from = [command, options, [state_of(file) for file in (os.environ["HEAPTAPE"], os.environ["HEAPTAPE_LIBRARY"], command[0])]]
    words = [Path(command[0]).name, *command[1:], *options]
    name = "_".join(words).replace("/", "_")[:60] + "." + hashlib.sha256(repr(words).encode()).hexdigest()[:8]
    home = Path(FOLDER or test.dir, name)
    home.mkdir(parents=True, exist_ok=True)
    with locked(home / "lock"):
        facts = read_facts(home)
        if facts.get("made_from") != made_from:
            facts = make(test, command, options, home, made_from)
        shutil.copytree(home / "tapes", tapes, dirs_exist_ok=True)
        shutil.copytree(home / "work", test.work, dirs_exist_ok=True)
    return Outcome(facts["returncode"], bytes.fromhex(facts["out"]), bytes.fromhex(facts["err"]))


def state_of(file):
    """Changes when the file is built anew."""
    state = os.stat(file)
    return [str(file), state.st_size, state.st_mtime_ns]


@contextlib.contextmanager
def locked(path):
    """Cases run side by side: the first makes the recording, the others wait for it."""
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read_facts(home):
    try:
        return json.loads((home / "facts.json").read_text())
    except (FileNotFoundError, ValueError):
        return {}


def make(test, command, options, home, made_from):
    (home / "facts.json").unlink(missing_ok=True)  # written last: a recording without it does not count
    for part in ("tapes", "work"):
        shutil.rmtree(home / part, ignore_errors=True)
        (home / part).mkdir()
    words, variables = test.form("record", command, options, home / "tapes")
    outcome = test.run(words, env=variables, cwd=home / "work")
    facts = {"made_from": made_from, "returncode": outcome.returncode, "out": outcome.out.hex(), "err": outcome.err.hex()}
    (home / "facts.json").write_text(json.dumps(facts))
    return facts
