"""Nothing lost: a program that counts its own calls and its tape agree, per kind and thread, however the program ends."""

import os
import random
import time
from collections import Counter

from counting import Counters, check_at_most_one_more, check_exact, counted_events
from harness import case, check, each, equal, main, program, wait_until


@each(a_normal_exit=("return", 3), _exit=("_exit", 3), abort=("abort", 134), a_segmentation_fault=("segv", 139),
      a_kill_from_inside=("kill", 137), exit_in_another_thread=("exit-in-thread", 3),
      pthread_exit_in_main=("pthread_exit", 0), quick_exit=("quick_exit", 3))
def every_call_is_on_the_tape_after(test, variant):
    ending, status = variant
    outcome = test.record([program("count_calls"), "counters", ending, 3, 60])
    equal(outcome.status, status, "exit status")
    check_exact(test, outcome, 3)


@each(exit=("exit-running", 3), _exit=("_exit-running", 3), a_segmentation_fault=("segv-running", 139),
      a_kill_from_inside=("kill-running", 137))
def every_call_is_on_the_tape_when_threads_run_into(test, variant):
    ending, status = variant
    outcome = test.record([program("count_calls"), "counters", ending, 3, 60])
    equal(outcome.status, status, "exit status")
    check_at_most_one_more(test, outcome.tape)


@each(first=1, second=2, third=3)
def every_call_is_on_the_tape_after_a_kill_at_a_random_moment(test, seed):
    process = test.start_record([program("count_calls"), "counters", "run", 2, 50])
    path = test.work / "counters"
    wait_until(lambda: path.exists() and path.stat().st_size and len(Counters(path).threads) == 3, "all threads count")
    time.sleep(random.Random(seed).uniform(0, 0.03))
    tid = min(Counters(path).threads)
    os.kill(tid, 9)
    outcome = test.finish(process)
    equal(outcome.status, 137, "exit status")
    (tape,) = test.tapes()
    check_at_most_one_more(test, tape)


@case
def every_call_is_on_the_tape_without_the_launcher(test):
    outcome = test.record([program("count_calls"), "counters", "return", 3, 60], form="direct")
    equal(outcome.status, 3, "exit status")
    check_exact(test, outcome, 3)


@case
def every_call_is_on_the_tape_when_killed_without_the_launcher(test):
    outcome = test.record([program("count_calls"), "counters", "kill-running", 3, 60], form="direct")
    equal(outcome.status, 137, "exit status")
    check_at_most_one_more(test, outcome.tape)


@case
def a_thread_that_only_allocates_has_no_event_but_its_own_calls(test):
    outcome = test.record([program("count_calls"), "counters", "return", 3, 40])
    counters = Counters(test.work / "counters")
    per_thread = Counter(event.thread for event in outcome.tape.events())
    main_thread = min(counters.threads)
    for tid, expected in counters.threads.items():
        if tid != main_thread:
            equal(per_thread[tid], sum(expected.values()), f"all events of thread {tid}")


@case
def with_on_full_drop_events_and_counted_drops_add_up(test):
    outcome = test.record([program("count_calls"), "counters", "return", 3, 3000], options=["--on-full=drop"])
    counters = Counters(test.work / "counters")
    tape = outcome.tape
    calls = sum(sum(kinds.values()) for kinds in counters.threads.values())
    found = sum(sum(kinds.values()) for kinds in counted_events(tape, counters).values())
    dropped = tape.losses().get("ring full", 0)
    # The few calls that the main thread makes besides the counted ones may be among the dropped.
    check(found + dropped - 200 <= calls <= found + dropped, f"{calls} calls, {found} on the tape, {dropped} dropped")


if __name__ == "__main__":
    raise SystemExit(main())
