"""Calls that failed, released what is not a block, or do not match: they are on the tape, and every command knows them."""

import json
import resource
import signal

from harness import PROGRAMS, case, check, each, equal, main, program
from tape import demand, heaptape

ABORTED = 128 + signal.SIGABRT


def odd(test, what, status=0):
    """The tape of one run of odd_calls, and the addresses that it printed."""
    outcome = test.recording_of([program("odd_calls"), what])
    equal(outcome.status, status, f"status of {what}")
    facts = dict(line.split() for line in outcome.out.decode().splitlines() if " 0x" in line)
    return outcome.tape, {name: int(address, 16) for name, address in facts.items()}


def verdict(tape):
    return json.loads(heaptape("verify", "--json", tape.path).stdout)


def rows(tape, query):
    return json.loads(demand("sql", "--format", "json", tape.path, query))


@each(of_stack_memory=("stack", "free-of-stack", "free_stack"), of_static_memory=("static", "free-of-static", "free_static"),
      inside_a_block=("inside", "free-inside-block", "free_inside"), of_a_freed_block=("twice", "double-free", "free_twice"))
def a_free(test, which):
    what, sort, function = which
    tape, facts = odd(test, what, ABORTED)
    answer = heaptape("verify", tape.path)
    equal(answer.returncode, 1, "status of verify")
    problem = verdict(tape)["problems"][-1]
    equal(problem["sort"], sort, "what verify calls it")
    check(problem["site"].startswith(function), f"verify names the function: {problem}")
    check(f"'heaptape event {problem['event']}'" in answer.stdout, f"verify says how to go on: {answer.stdout}")
    page = demand("report", tape.path)
    check("wrong" in page and function in page and "heaptape verify" in page, f"the first page says so:\n{page}")
    told = demand("explain", tape.path, hex(facts[what]))
    check(function in told and "free" in told, f"explain tells of the free:\n{told}")
    check(function in demand("history", tape.path, hex(facts[what])), "history tells of it")
    check(function in demand("event", tape.path, problem["event"]), "event shows who did it")
    [row] = rows(tape, "SELECT sort, call, event, address FROM odd_calls")
    equal((row["sort"], row["call"], row["event"], row["address"]), (sort, "free", problem["event"], facts[what]), "row of SQL")


@case
def a_realloc_of_a_freed_block_that_ends_the_program_is_on_the_tape(test):
    tape, facts = odd(test, "realloc", ABORTED)
    problem = verdict(tape)["problems"][-1]
    equal((problem["sort"], problem["is_event"]), ("double-free", False), "what verify says")
    check("grow_freed" in problem["site"] and "5,000 bytes" in problem["problem"], f"who and what: {problem}")
    told = demand("explain", tape.path, hex(facts["freed"]))
    check("never returned" in told and "grow_freed" in told, f"explain tells of it:\n{told}")
    check("5,000 bytes" in demand("dump", tape.path), "dump shows it")


@case
def mismatched_pairs_are_told_by_function_and_count(test):
    tape, _ = odd(test, "mismatch")
    problems = verdict(tape)["problems"]
    equal([problem["sort"] for problem in problems], ["mismatch"] * 7, "problems")
    check(all(problem["site"].startswith("mismatch") for problem in problems), f"functions: {problems}")
    pairs = [(row["made_by"], row["call"], row["block_size"]) for row in rows(tape, "SELECT * FROM odd_calls ORDER BY event")]
    equal(pairs, [("new[]", "free", 11), ("new[]", "free", 12), ("malloc", "operator delete", 13),
                  ("new", "free", 14), ("new", "operator delete[]", 15), ("new[]", "operator delete", 16), ("new", "realloc", 17)], "pairs")
    page = demand("report", tape.path)
    check("2 blocks from new[] were released by free; first at event" in page, f"the first page:\n{page}")
    equal(tape.facts()["odd_calls"], {"mismatch": 7}, "info counts them")
    report = json.loads(demand("report", "--json", tape.path))
    equal(sum(line["count"] for line in report["odd_calls"]), 7, "report --json counts them")


@case
def pairs_that_match_raise_no_alarm(test):
    tape, _ = odd(test, "match")
    tape.verify()
    equal(tape.facts()["odd_calls"], {}, "odd calls")


@case
def a_sized_delete_with_another_size_is_told(test):
    tape, _ = odd(test, "size")
    [problem] = verdict(tape)["problems"]
    equal(problem["sort"], "wrong-size", "what verify says")
    check("24 bytes" in problem["problem"] and "40 bytes" in problem["problem"], f"both sizes: {problem}")


@case
def failed_allocations_are_on_the_tape_in_order_with_the_events(test):
    tape, facts = odd(test, "failed")
    tape.verify()
    huge = 1 << 46
    failed = rows(tape, "SELECT call, size, address, error, event, stack FROM odd_calls ORDER BY rowid")
    equal([(row["call"], row["size"]) for row in failed],
          [("malloc", huge), ("calloc", None), ("realloc", huge + 1), ("posix_memalign", 77),
           ("operator new", huge + 2), ("operator new[]", huge + 3), ("operator new", huge + 4), ("mmap anonymous", 1 << 48)], "what failed")
    equal(failed[2]["address"], facts["kept"], "the block that realloc left alone")
    equal([row["error"] for row in failed[:4]], [12, 12, 12, 22], "errors")
    [kept] = rows(tape, f"SELECT number FROM events WHERE address = {facts['kept']} AND kind = 'malloc' AND size = 100")
    check(all(row["event"] >= kept["number"] for row in failed), f"after the block that was made first: {failed}")
    text = demand("verify", tape.path)
    check("ok" in text and "8 allocations failed" in text, f"verify counts them and finds nothing wrong: {text}")
    check("8 allocations failed" in demand("report", tape.path), "the first page")
    check("malloc of 70,368,744,177,664 bytes failed" in demand("dump", tape.path), "dump shows them between the events")


@case
def a_failed_new_counts_once_wherever_the_stack_ends_a_page(test):
    tape, _ = odd(test, "depths")
    sizes = [row["size"] for row in rows(tape, "SELECT size FROM odd_calls ORDER BY rowid")]
    equal(sizes, [(1 << 46) + left for left in range(100, 0, -1)], "what failed")


@case
def a_block_that_a_new_handler_made_room_for_is_not_a_mismatch(test):
    tape, _ = odd(test, "handler")
    tape.verify()
    equal([row["call"] for row in rows(tape, "SELECT call FROM odd_calls")], ["operator new"], "what failed, once")


@each(at_once="now", lazily="lazy")
def plugins_opened_with_deepbind_are_recorded(test, how):
    library = PROGRAMS / "libdeepbind_library.so"
    [outcome] = test.same([program("deepbind"), library, how], forms=("record",))
    outcome.tape.verify()
    equal(outcome.tape.facts()["odd_calls"], {}, "odd calls")
    sizes = {row["size"]: row["n"] for row in rows(outcome.tape, "SELECT size, count(*) AS n FROM events WHERE size BETWEEN 3000 "
                                                                 "AND 3004 GROUP BY size")}
    equal(sizes, {3000: 1, 3001: 50, 3002: 50, 3003: 50, 3004: 50}, "blocks of the plugin and its host")
    equal(rows(outcome.tape, "SELECT count(*) AS n FROM live WHERE size BETWEEN 3000 AND 3004")[0]["n"], 0, "live at the end")


@case
def a_thread_ends_when_it_ends_and_not_at_its_last_allocation(test):
    tape = test.recording_of([program("thread_ends")]).tape
    [row] = rows(tape, "SELECT t.ended - e.time AS waited FROM events e JOIN threads t ON t.id = e.thread "
                       "WHERE e.size = 4001")
    check(row["waited"] >= 0.3, f"the thread slept 0.3 s after its allocation, and ended {row['waited']} s after it")
    last = rows(tape, "SELECT max(ended) AS ended FROM threads WHERE id = 1")[0]["ended"]
    check(last >= row["waited"], f"the first thread ends with the program, not at {last}")


@case
def names_of_threads_that_are_gone_at_once_are_kept(test):
    tape = test.recording_of([program("thread_ends")]).tape
    names = [row["name"] for row in rows(tape, "SELECT DISTINCT t.name FROM threads t JOIN events e ON e.thread = t.id "
                                               "WHERE e.size = 4002 ORDER BY t.name")]
    equal(names, ["named-0", "named-1", "named-2"], "names")


@case
def the_last_sample_is_not_read_after_death(test):
    tape = test.recording_of([program("thread_ends")]).tape
    samples = rows(tape, "SELECT rss FROM samples")
    check(samples and all(row["rss"] > 0 for row in samples), f"a sample without memory: {samples}")


@case
def a_stack_overflow_while_allocating_is_over_soon(test):
    def cpu_seconds():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = cpu_seconds()
    outcome = test.record([program("stack_overflow")], options=["--no-index", "--no-symbols"])
    used = cpu_seconds() - before
    equal(outcome.status, 128 + signal.SIGSEGV, "status")
    events = outcome.tape.event_count()
    check(events > 10000, f"{events} events")
    # To unwind a thousand frames at every step took nine microseconds.
    check(used < events * 5e-6, f"{used} s of CPU time for {events} events")


if __name__ == "__main__":
    raise SystemExit(main())
