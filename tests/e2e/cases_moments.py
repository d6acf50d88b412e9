"""Snapshots of memory at moments that only the program knows: it asks for one, ends, crashes, or gets a signal."""

import json
import os
import signal

from harness import case, check, each, equal, main, program, wait_until
from talker import Talker
from tape import demand

MOMENTS = "contents_moments"


def snapshots_of(tape):
    """Names, and whether they hold memory."""
    return [(row["name"], row["contents"]) for row in json.loads(demand("snapshots", tape.path, "--json"))["snapshots"]]


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def demand_known_leaks(tape, what, main_has_returned=False):
    """Ten chains of two blocks are lost and, when main() has returned, what its variable held: see contents_moments.c."""
    rows = json.loads(demand("leaks", tape.path, "--json"))["leaks"]["classes"]
    classes = {row["class"]: (row["blocks"], row["bytes"]) for row in rows}
    equal(classes["definitely lost"], (11, 480 + 777) if main_has_returned else (10, 480), f"definitely lost, {what}")
    equal(classes["indirectly lost"], (10, 480), f"indirectly lost, {what}")
    equal(classes["possibly lost"], (0, 0), f"possibly lost, {what}")


def like_the_plain_run(test, ways, options):
    """Records the program, demands what the plain run does, and returns the recording."""
    command = [program(MOMENTS), *ways]
    plain = test.run(command)
    recorded = test.record(command, options=options)
    equal((recorded.status, recorded.out), (plain.status, plain.out), f"status and output of {ways}")
    return recorded


@case
def the_program_asks_for_one_and_goes_on(test):
    command = [program(MOMENTS), "contents"]
    equal(test.run(command).out, b"snapshot -1\n", "without a recording")
    outcome = test.record(command)
    equal((outcome.status, outcome.out), (7, b"snapshot 1\n"), "recorded")
    [tape] = outcome.tapes
    equal(snapshots_of(tape), [("asked", True)], "snapshots")
    demand_known_leaks(tape, "asked for")
    # The thread is shown where it asked, not where it waited.
    frames = demand("stackinfo", tape.path, "1")
    check("  go  " in frames and "contents_at" not in frames and "futex" not in frames, frames)


@case
def threads_that_ask_at_once_all_get_theirs(test):
    outcome = test.record([program(MOMENTS), "threads", "contents"])
    equal((outcome.status, outcome.out), (7, b"snapshot 13\n"), "four threads asked three times each")
    equal(snapshots_of(outcome.tapes[0]), [("thread", True)] * 12 + [("asked", True)], "snapshots")


@each(returns="atexit", calls_exit="exit", calls__exit="_exit", calls_quick_exit="quick_exit", makes_the_system_call="exit_group",
      leaves_its_main_thread="thread_exit")
def the_end_is_seen_when_the_program(test, way):
    outcome = like_the_plain_run(test, [way], ("--leaks",))
    [tape] = outcome.tapes
    equal(snapshots_of(tape), [("exit", True)], "snapshots")
    demand_known_leaks(tape, way, main_has_returned=way in ("atexit", "thread_exit"))
    tape.verify()


@each(reads_nowhere=("fault", "SIGSEGV"), does_so_in_a_thread=("thread_fault", "SIGSEGV"), divides_by_zero=("divide", "SIGFPE"), aborts=("abort", "SIGABRT"),
      meets_a_trap=("trap", "SIGILL"), is_sent_a_signal=("kill_segv", "SIGSEGV"), runs_out_of_stack=("overflow", "SIGSEGV"))
def a_crash_is_seen_when_the_program(test, way):
    word, name = way
    outcome = like_the_plain_run(test, [word], ("--snapshot", "exit,crash"))
    equal(outcome.status, 128 + getattr(signal, name), "the program's end")
    [tape] = outcome.tapes
    equal(snapshots_of(tape), [(f"crash {name}", True)], "snapshots")
    demand_known_leaks(tape, word)


@case
def a_crash_shows_the_function_that_crashed(test):
    outcome = test.record([program(MOMENTS), "thread_fault"], options=("--snapshot", "crash"))
    stacks = demand("stackinfo", outcome.tapes[0].path)
    check("#0" in stacks and "  fault  contents_moments.c:" in stacks and "  fault_in_thread  " in stacks, stacks)


@case
def a_handler_of_the_programs_own_comes_first(test):
    outcome = like_the_plain_run(test, ["own-handler", "fault"], ("--snapshot", "crash"))
    equal(outcome.out, b"own handler\n", "output")
    equal(snapshots_of(outcome.tapes[0]), [], "snapshots")


@case
def children_end_and_crash_without_one(test):
    outcome = like_the_plain_run(test, ["child", "crashing-child", "vfork"], ("--snapshot", "exit,crash"))
    equal(outcome.out, b"child: status 3\nchild: signal 11\nvfork: 4\n", "output")
    equal(snapshots_of(outcome.tapes[0]), [("exit", True)], "snapshots of the parent")


@case
def a_signal_asks_for_one_and_the_program_goes_on(test):
    outcome = test.record([program(MOMENTS), "usr2", "usr2"], options=("--snapshot", "signal:USR2"))
    equal((outcome.status, outcome.out), (7, b"slept: 0\nslept: 0\n"), "the program does not die of the signal")
    names = snapshots_of(outcome.tapes[0])
    # Two that come in quick succession may be answered by one snapshot, and the program may end before the last.
    check(all(one[0] == "SIGUSR2" for one in names) and len(names) <= 2, names)


@case
def a_signal_from_outside_is_answered_once_each(test):
    talker = Talker(test, options=("--snapshot", "signal:SIGUSR1"))
    for count in (1, 2):
        os.kill(talker.pid, signal.SIGUSR1)
        wait_until(lambda: len(snapshots_of(talker.tape)) == count, f"there are {count} snapshots")
    equal(talker.finish().status, 5, "the program's status")
    equal(snapshots_of(talker.tape), [("SIGUSR1", True)] * 2, "snapshots")


@case
def a_dead_collector_does_not_hold_the_program(test):
    talker = Talker(test, options=("--leaks",))
    os.kill(talker.recording["collector"], signal.SIGKILL)
    equal(talker.finish().status, 5, "the program's status")


@case
def an_end_that_cannot_be_seen_is_named(test):
    command = [program(MOMENTS), "kill"]
    folder = test.new_tapes_folder()
    words, variables = test.form("record", command, ("--leaks",), folder)
    words.remove("-q")
    outcome = test.run(words, env=variables)
    equal(outcome.status, 128 + signal.SIGKILL, "the program's end")
    check(b"no snapshot of the program's end: SIGKILL killed it" in outcome.err, outcome.err)


@case
def a_tape_that_takes_no_memory_does_not_hold_the_program(test):
    outcome = like_the_plain_run(test, ["exit"], ("--leaks", "--snapshot-limit", "4K"))
    equal(outcome.status, 7, "status")
    equal([contents for _, contents in snapshots_of(outcome.tapes[0])], [False], "snapshots")
    # The first one is copied before the tape refuses it.
    asked = test.record([program(MOMENTS), "contents", "contents", "contents"], options=("--snapshot-limit", "4K"))
    equal(asked.status, 7, "status")
    check(asked.out.endswith(b"snapshot -1\n"), asked.out)
    check(not any(contents for _, contents in snapshots_of(asked.tapes[0])), snapshots_of(asked.tapes[0]))

@case
def one_that_was_due_when_the_program_had_ended_is_named(test):
    talker = Talker(test, options=("--snapshot", "events:1000"), quiet=False)
    collector = talker.recording["collector"]
    os.kill(collector, signal.SIGSTOP)
    try:
        talker.do("grow 2000")
        talker.process.stdin.close()
        wait_until(lambda: not runs(talker.pid), "the program has ended")
    finally:
        os.kill(collector, signal.SIGCONT)
    talker.process.stdin = None
    outcome = test.finish(talker.process)
    equal(outcome.status, 5, "the program's status")
    check(not any(contents for _, contents in snapshots_of(talker.tape)), "a snapshot was taken, so that this shows nothing")
    equal(outcome.err.count(b"the program ended before"), 1, outcome.err)



if __name__ == "__main__":
    main()
