"""A tape as the cases see it: through heaptape dump, info and verify."""

import json
import os
import subprocess
from collections import Counter
from typing import NamedTuple

HEAPTAPE = os.environ.get("HEAPTAPE", "")
HANG_SECONDS = 240  # far more than anything needs, also on a busy machine: it tells a hang from slowness
DECODER = json.JSONDecoder()


class Frame(NamedTuple):
    pc: int
    module: str  # the last part of its path; empty when not known
    offset: int  # the address as the module's file counts it


class Event(NamedTuple):
    number: int
    time_us: int
    thread: int  # the kernel's id
    kind: str
    address: int
    size: int
    old: int
    stack: tuple  # of Frames, innermost first


def heaptape(*words, text="", cwd=None):
    """Runs a reading command with a text as its standard input; never raises for its status."""
    return subprocess.run([HEAPTAPE, *map(str, words)], input=text, cwd=cwd, capture_output=True, timeout=HANG_SECONDS, text=True,
                          errors="replace", check=False)


def demand(*words):
    """Runs a reading command that must succeed, and returns its output."""
    result = heaptape(*words)
    assert result.returncode == 0, f"{words[0]} ended with {result.returncode}:\n{result.stdout[-3000:]}{result.stderr}"
    return result.stdout


class Tape:
    def __init__(self, path):
        self.path = path

    def __repr__(self):
        return f"Tape({self.path})"

    def events(self, *options, stacks=True, modules_change=False):
        """All events in order. A stack's frames are read once, unless modules take turns at one address."""
        known = {0: ()}
        events = []
        for line in demand("dump", "--json", *([] if stacks else ["--no-stacks"]), *options, self.path).splitlines():
            if line.startswith(('{"mark"', '{"odd_call"', '{"damage"')):
                continue
            head, comma, frames = line.partition(',"frames":')
            entry = json.loads(head + "}" if comma else line)
            number = entry["stack"]
            if comma and (modules_change or number not in known):
                # Other fields may follow the frames.
                known[number] = tuple(make_frame(frame) for frame in DECODER.raw_decode(frames)[0])
            events.append(Event(entry["event"], entry["time_us"], entry["tid"], entry["kind"], int(entry["address"], 16),
                                entry.get("size", 0), int(entry.get("old_address", "0"), 16), known.get(number, ())))
        return events

    def info(self):
        return demand("info", self.path)

    def facts(self):
        return json.loads(demand("info", "--json", self.path))

    def event_count(self):
        return self.facts()["events"]

    def losses(self):
        return self.facts()["losses"]

    def verify(self):
        """Demands that the tape is whole and consistent."""
        demand("verify", self.path)

    def kinds(self, size=None):
        """How often each kind occurs (for blocks of one size)."""
        return self.count_by("kind", "1" if size is None else f"size = {size}")

    def sizes(self):
        """How often malloc was asked for each size."""
        return self.count_by("size", "kind = 'malloc'")

    def count_by(self, column, condition):
        """Counted by heaptape: millions of events as text would take Python minutes."""
        query = f"SELECT {column} AS value, count(*) AS n FROM events WHERE {condition} GROUP BY {column}"
        return Counter({row["value"]: row["n"] for row in json.loads(demand("sql", "--format", "json", self.path, query))})


def make_frame(entry):
    return Frame(int(entry["pc"], 16), entry.get("module", ""), int(entry.get("offset", "0"), 16))


def tapes_without_pages(tape, folder):
    """Copies of a tape with snapshots: in each the pages of one chunk are damaged, one after the other."""
    with open(tape, "rb") as file:
        data = file.read()
    sync, pages = bytes.fromhex("f1e1c4b7d36b9e0a"), 20
    copy = folder / "hurt.tape"
    at = data.find(sync)
    while at >= 0:
        if data[at + 8] == pages:
            copy.write_bytes(data[:at + 40] + bytes([data[at + 40] ^ 0xFF]) + data[at + 41:])
            yield copy
        at = data.find(sync, at + 8)
