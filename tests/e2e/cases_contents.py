"""Snapshots of what memory holds: taken by themselves and on demand, by every method, and read back."""

import ctypes
import json
import os

from harness import case, check, each, equal, main, need, program, wait_until
from talker import Talker, ask
from tape import demand
from waiting import Waiting


def snapshots_of(tape):
    return json.loads(demand("snapshots", tape, "--json"))["snapshots"]


def bytes_at(tape, address, count, *options):
    answer = json.loads(demand("bytes", tape, hex(address), count, "--json", *options))
    return bytes.fromhex(answer["bytes"])


@each(the_program_stopped="stop", it_running="live", a_twin="twin", whatever_disturbs_least="auto")
def memory_is_copied_with(test, method):
    talker = Talker(test)
    taken = ask("snapshot", "-p", talker.pid, "first", "--contents", "--method", method)
    equal(taken.returncode, 0, taken.stderr)
    check("the program stood still for" in taken.stderr, taken.stderr)
    # It must still do what it is told, and end as it would have.
    talker.do("grow 3")
    equal(talker.finish().status, 5, "the program's status")
    rows = [row for row in snapshots_of(talker.tape.path) if row["contents"]]
    equal([row["name"] for row in rows], ["first"], "snapshots with memory")
    check(rows[0]["pages"] > 10, rows)
    equal(bytes_at(talker.tape.path, talker.live, 7), b"widget\0", "the live block")
    equal(int.from_bytes(bytes_at(talker.tape.path, talker.variable, 4), "little"), 7, "a variable")
    text = demand("bytes", talker.tape.path, hex(talker.live))
    check("777-byte block of make_widget" in text and "widget" in text, text)
    talker.tape.verify()


@case
def a_second_snapshot_of_a_quiet_program_takes_almost_nothing(test):
    talker = Talker(test)
    for name in ("one", "two"):
        taken = ask("snapshot", "-p", talker.pid, name, "--contents", "--method", "live")
        equal(taken.returncode, 0, taken.stderr)
    talker.finish()
    first, second = [row for row in snapshots_of(talker.tape.path) if row["contents"]]
    check(second["new_pages"] * 20 <= first["new_pages"], (first, second))
    equal(bytes_at(talker.tape.path, talker.live, 7), b"widget\0", "the live block")


@case
def the_last_addresses_there_are_end_every_answer(test):
    talker = Talker(test)
    equal(ask("snapshot", "-p", talker.pid, "one", "--contents", "--method", "stop").returncode, 0, "snapshot")
    talker.finish()
    for words in (["0xfffffffffffff000", "8"], ["0xffffffffffffffef", "0x10"], ["0xffffffffffffffff"]):
        text = demand("bytes", talker.tape.path, *words)
        check(text.endswith(f"{words[0]}  nothing is mapped here\n"), text)
    refused = ask("bytes", talker.tape.path, "0xffffffffffffffff", "1")
    equal(refused.returncode, 2, refused.stdout)
    check("a range of 1 byte from 0xffffffffffffffff reaches beyond the last address" in refused.stderr, refused.stderr)
    everything = demand("refs", talker.tape.path, "0", "0xffffffffffffffff")
    check(" references to 0x0-0xffffffffffffffff\n" in everything, everything[:200])
    check("0 references to 0xffffffffffffffff" in demand("refs", talker.tape.path, "0xffffffffffffffff"), "the last one")


@case
def a_tape_without_memory_says_how_to_get_some(test):
    talker = Talker(test)
    talker.finish()
    answer = ask("bytes", talker.tape.path, hex(talker.live))
    check(answer.returncode != 0, answer.stdout)
    check("holds no memory" in answer.stderr and "--contents" in answer.stderr, answer.stderr)


class Tracer:
    """Holds a process as a debugger does, without stopping it."""

    SEIZE, DETACH, INTERRUPT = 0x4206, 17, 0x4207

    def __init__(self, pid):
        self.pid = pid
        self.call = ctypes.CDLL(None, use_errno=True).ptrace
        self.call.argtypes = [ctypes.c_long] * 4
        need(self.call(self.SEIZE, pid, 0, 0) == 0, "the test may not trace processes here")

    def let_go(self):
        self.call(self.INTERRUPT, self.pid, 0, 0)
        os.waitpid(self.pid, 0x40000000)  # __WALL
        equal(self.call(self.DETACH, self.pid, 0, 0), 0, "detach")


@case
def where_memory_cannot_be_copied_the_moment_is_named_all_the_same(test):
    talker = Talker(test)
    tracer = Tracer(talker.pid)
    taken = ask("snapshot", "-p", talker.pid, "held", "--contents")
    equal(taken.returncode, 3, taken.stderr)
    check("'held' is a moment without memory" in taken.stderr and "holds the program" in taken.stderr, taken.stderr)
    tracer.let_go()
    equal(ask("snapshot", "-p", talker.pid, "free", "--contents").returncode, 0, "the status after it was let go")
    equal(talker.finish().status, 5, "the program's status")
    rows = [(row["name"], row["contents"]) for row in snapshots_of(talker.tape.path)]
    equal(rows, [("held", False), ("free", True)], "snapshots")


@case
def snapshots_end_at_their_limit_and_the_recording_goes_on(test):
    talker = Talker(test, options=("--snapshot-limit", "10K"))
    for name in ("one", "two"):
        taken = ask("snapshot", "-p", talker.pid, name, "--contents")
        equal(taken.returncode, 3, taken.stderr)
        check("limit of 10.0 kB (--snapshot-limit)" in taken.stderr, taken.stderr)
    talker.do("grow 3")
    outcome = talker.finish()
    equal(outcome.status, 5, "the program's status")
    equal([row["contents"] for row in snapshots_of(talker.tape.path)], [False, False], "snapshots")
    talker.tape.verify()


@case
def snapshots_are_taken_by_themselves(test):
    talker = Talker(test, options=("--snapshot", "every:50ms"))
    wait_until(lambda: len([row for row in snapshots_of(talker.tape.path) if row["contents"]]) >= 3, "three snapshots")
    equal(talker.finish().status, 5, "the program's status")


class Lost(Waiting):
    """The program `lost`."""

    def __init__(self, test, method="auto"):
        super().__init__(test, [program("lost")], method)
        self.lost, self.child, self.end_of_chain = self.addresses


@case
def a_block_is_traced_to_the_variable_that_leads_to_it(test):
    lost = Lost(test)
    text = demand("trace", lost.tape, hex(lost.end_of_chain))
    check("g_chain" in text and text.count("->") == 5 and text.count("leads on at +0x10") == 4, text)
    check("unreachable: definitely lost" in demand("trace", lost.tape, hex(lost.lost)), "the lost one")
    text = demand("trace", lost.tape, hex(lost.child))
    check("unreachable: indirectly lost" in text and f"through {lost.lost:#x}" in text, text)


@case
def references_are_found_and_named(test):
    lost = Lost(test)
    answer = json.loads(demand("refs", lost.tape, hex(lost.child), "--json"))
    equal([row["address"] for row in answer["references"]], [hex(lost.lost + 24)], "who points at the child")
    text = demand("refs", lost.tape, hex(lost.child))
    check("1 reference to" in text and "1,000-byte block of make lost.cpp:" in text, text)
    check("variables of lost" in demand("roots", lost.tape), "roots")


if __name__ == "__main__":
    main()
