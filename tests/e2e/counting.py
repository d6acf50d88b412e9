"""Compares the calls a program counted itself (tests/programs/count_calls.cpp) with the events on its tape."""

import struct
from collections import Counter

from harness import check, equal

# In the order of enum Kind in tests/programs/count_calls.cpp.
KINDS = ["malloc", "calloc", "realloc", "free", "memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc",
         "reallocarray", "free_sized", "free_aligned_sized", "cfree", "operator new", "operator new[]",
         "operator delete", "operator delete[]"]
SLOT_WORDS = 32
SLOTS = 64


class Counters:
    """The file in which the program counts."""

    def __init__(self, path):
        words = struct.unpack(f"<{SLOT_WORDS * (SLOTS + 1)}Q", path.read_bytes())
        self.start, self.stop = words[0], words[1]
        self.threads = {}
        for slot in range(1, SLOTS + 1):
            tid, *calls = words[slot * SLOT_WORDS:(slot + 1) * SLOT_WORDS]
            if tid:
                self.threads[tid] = Counter({kind: n for kind, n in zip(KINDS, calls) if n})


def counted_events(tape, counters):
    """Per thread and kind, the events whose stack passes through the program's counted section."""
    found = {tid: Counter() for tid in counters.threads}
    for event in tape.events():
        if event.kind in KINDS and any(counters.start <= frame.pc < counters.stop for frame in event.stack):
            found.setdefault(event.thread, Counter())[event.kind] += 1
    return found


def check_exact(test, outcome, threads):
    counters = Counters(test.work / "counters")
    equal(len(counters.threads), threads + 1, "threads that counted")
    tape = outcome.tape
    tape.verify()
    found = counted_events(tape, counters)
    for tid, expected in counters.threads.items():
        check(sum(expected.values()) > 1000, "the program counted next to nothing")
        equal(found[tid], expected, f"events of thread {tid}")
    equal(sum(len(v) > 0 for v in found.values()), len(counters.threads), "threads with counted events")
    lost = {name: n for name, n in tape.losses().items() if n}
    equal(lost, {}, "losses")


def check_at_most_one_more(test, tape):
    """The program died while its threads ran: all that was counted is there, and at most the call under way."""
    counters = Counters(test.work / "counters")
    tape.verify()
    found = counted_events(tape, counters)
    for tid, expected in counters.threads.items():
        missing = expected - found[tid]
        more = found[tid] - expected
        equal(missing, Counter(), f"counted calls of thread {tid} that are not on the tape")
        check(sum(more.values()) <= 1, f"thread {tid} has {more} more events than it counted")
