"""check-heap: what was written over malloc's own memory is found in a snapshot, and nothing else is."""

import json
import signal
from pathlib import Path

from harness import case, check, each, equal, installed, main, need, program
from tape import heaptape, tapes_without_pages
from waiting import Waiting

DAMAGE = "heap_damage"


def look(tape, status, *options):
    """The answer in JSON and as text, which must end with this status."""
    result = heaptape("check-heap", tape, "--json", *options)
    equal(result.returncode, status, f"status: {result.stderr}{result.stdout[:1000]}")
    text = heaptape("check-heap", tape, *options)
    equal(text.returncode, status, f"status of the text: {text.stderr}")
    return json.loads(result.stdout), text.stdout


def damaged(test, way):
    """The recorded program's answers, and the two addresses that it named."""
    recording = Waiting(test, [program(DAMAGE), way])
    answer, text = look(recording.tape, 1)
    equal((answer["damaged"], len(answer["damage"])), (True, min(answer["problem_count"], 10)), "the verdict")
    check("Damage found in " in text, text)
    return answer, text, recording.addresses


def functions(stack):
    return [frame["function"] for frame in stack]


def arenas_with_damage(answer):
    return [arena["main"] for arena in answer["arenas"] if arena["state"] == "damaged"]


def demand_overrun(damage, addresses, letter):
    """The header of the second block is overwritten, and the first lies before it."""
    name, neighbour = addresses
    equal((damage["kind"], damage["address"], damage["found"]), ("chunk_size", hex(neighbour - 8), "0x" + f"{ord(letter):x}" * 8), "the place")
    equal(damage["header_of"]["address"], hex(neighbour), "whose header it is")
    check("make_neighbour" in functions(damage["header_of"]["stack"]), damage["header_of"])
    equal((damage["behind"]["address"], damage["behind"]["bytes"], damage["gap_bytes"]), (hex(name), 5000, 0), "what lies before")
    check("make_name" in functions(damage["behind"]["stack"]), damage["behind"])
    check(damage["expected_text"].startswith("0x1391"), damage["expected_text"])  # 5000 bytes, a header, and the one before in use


@case
def a_block_written_past_its_end_is_named_with_the_one_whose_header_it_hit(test):
    answer, text, addresses = damaged(test, "overrun")
    demand_overrun(answer["damage"][0], addresses, "A")
    equal(arenas_with_damage(answer), [True], "damaged arenas")
    check(f"{addresses[1] - 8:#x}: " in text and "|AAAAAAAA|" in text and "written past its end" in text, text)
    check("make_name" in text and "make_neighbour" in text, text)


@case
def a_single_zero_behind_a_text_is_found(test):
    answer, text, (name, neighbour) = damaged(test, "nul")
    [damage] = answer["damage"]
    equal((damage["kind"], damage["address"]), ("in_use_flag", hex(neighbour - 8)), "the place")
    equal((damage["found"], damage["expected"]), ("0x1400", "0x1401"), "the word")
    equal(damage["behind"]["address"], hex(name), "what lies before")
    check("make_name" in text and "written past its end" in text, text)


@case
def an_overrun_in_the_arena_of_a_thread_is_found_there(test):
    answer, _, addresses = damaged(test, "far")
    check(len(answer["arenas"]) > 2, f"several arenas: {answer['arenas']}")
    demand_overrun(answer["damage"][0], addresses, "T")
    equal(arenas_with_damage(answer), [False], "damaged arenas")


@case
def a_freed_block_written_to_in_a_threads_cache_is_found_with_who_freed_it(test):
    answer, text, addresses = damaged(test, "cache")
    [damage] = answer["damage"]
    equal((damage["kind"], damage["address"], damage["found"]), ("list_link", hex(addresses[0]), "0x" + "43" * 8), "the place")
    freed = damage["freed"]
    equal((freed["address"], freed["size"]), (hex(addresses[0]), 1000), "the block that it was")
    check("make_name" in text and "give_back" in text and "freed" in text, text)
    equal([cache["state"] for cache in answer["caches"]], ["damaged"], "caches")


@case
def a_cache_that_leads_round_in_a_circle_is_found(test):
    answer, _, addresses = damaged(test, "twice")
    equal({damage["kind"] for damage in answer["damage"]}, {"freed_twice"}, "what is wrong")
    check(answer["damage"][0]["chunk"] in {hex(address - 16) for address in addresses}, answer["damage"])


@case
def a_freed_block_written_to_in_a_bin_is_found(test):
    answer, _, addresses = damaged(test, "bin")
    damage = next(one for one in answer["damage"] if one["address"] == hex(addresses[0] + 8))
    equal((damage["kind"], damage["found"]), ("list_link", "0x" + "42" * 8), "the link back")
    equal(damage["freed"]["size"], 5000, "the block that it was")


@each(of_one_thread=("whole", 1), with_arenas_of_threads=("threads", 3))
def a_whole_heap_is_called_whole(test, way_and_arenas):
    way, arenas = way_and_arenas
    recording = Waiting(test, [program(DAMAGE), way])
    answer, text = look(recording.tape, 0)
    check(len(answer["arenas"]) >= arenas, answer["arenas"])
    equal((answer["damaged"], answer["all_judged"], answer["damage"]), (False, True, []), "the verdict")
    equal(text.splitlines()[1], "No damage found.", "the verdict in words")
    # All blocks of the program are accounted for.
    live = sum(arena["live"]["chunks"] for arena in answer["arenas"])
    equal(answer["elsewhere"]["chunks"], 0, "blocks elsewhere")
    check(live >= 400 * (1 if way == "whole" else 5), f"{live} live chunks")
    free = sum(arena["bins"]["chunks"] for arena in answer["arenas"]) + sum(cache["free"]["chunks"] for cache in answer["caches"])
    check(free > 0 and all(arena["used_bins"] <= arena["bins"]["chunks"] for arena in answer["arenas"]), "free chunks")


@case
def the_heap_of_python_is_called_whole(test):
    code = "import json, re, sys, threading; d = {i: str(i) * (i % 50) for i in range(30000)}; print('ready', flush=True); sys.stdin.read()"
    recording = Waiting(test, [installed("python3"), "-c", code], env={"PYTHONMALLOC": "malloc"})
    answer, text = look(recording.tape, 0)
    check(answer["arenas"][0]["live"]["chunks"] > 30000, answer["arenas"])
    check("No damage found" in text, text)


@case
def when_free_finds_the_damage_the_snapshot_of_the_crash_says_whose_it_is(test):
    outcome = test.record([program(DAMAGE), "abort"], options=("--snapshot", "crash"))
    equal(outcome.status, -signal.SIGABRT if outcome.status < 0 else 128 + signal.SIGABRT, outcome.err)
    answer, text = look(outcome.tapes[0].path, 1)
    first = answer["damage"][0]
    equal((first["kind"], first["found"]), ("chunk_size", "0x" + "41" * 8), "the place")
    check("make_name" in functions(first["behind"]["stack"]), first)
    check("was about to end the program in malloc or free" in text, text)


@case
def the_shell_checks_the_heap_at_a_snapshot(test):
    tape = Waiting(test, [program(DAMAGE), "overrun"]).tape
    for words in ("check heap", "check-heap", "check-h"):
        check("Damage found in " in heaptape("shell", "-c", words, tape).stdout, words)
    check("thread caches" in heaptape("shell", "-c", "help check heap", tape).stdout, "help")
    result = heaptape("shell", "-c", "goto start", "-c", "check heap", tape)
    check("the first snapshot with memory is at event" in result.stderr and "go there" in result.stderr, result.stderr)
    result = heaptape("check-heap", "--at", "start", tape)
    equal((result.returncode, result.stdout), (2, ""), result.stderr)
    hint = heaptape("check", "heap", tape)
    equal(hint.returncode, 1, hint.stderr)
    check("heaptape check-heap" in hint.stderr and "Damage found in " in hint.stdout, hint.stderr)


@case
def at_most_as_many_damages_are_shown_as_wanted(test):
    tape = Waiting(test, [program(DAMAGE), "bin"]).tape
    answer, _ = look(tape, 1)
    count = answer["problem_count"]
    few, text = look(tape, 1, "-n", "1")
    equal((len(few["damage"]), few["problem_count"]), (1, count), "of the same damages")
    equal("more; -n shows them" in text, count > 1, text)


@case
def what_is_damaged_on_the_tape_does_not_count_as_damage_to_the_heap(test):
    tape = Waiting(test, [program(DAMAGE), "threads"]).tape
    judged = []
    for copy in tapes_without_pages(tape, test.work):
        result = heaptape("check-heap", "--json", copy)
        if result.returncode == 2:
            check("the variables of glibc's malloc are missing" in result.stderr, result.stderr)
            continue
        equal(result.returncode, 0, result.stdout[:1000])
        judged.append(json.loads(result.stdout)["all_judged"])
    check(len(judged) > 5 and False in judged, judged)


@case
def without_memory_on_the_tape_it_says_how_to_get_some(test):
    tape = test.recording_of([program("call_sites"), "1", "10"]).tapes[0].path
    result = heaptape("check-heap", tape)
    equal((result.returncode, result.stdout), (2, ""), "status and output")
    check("holds no memory" in result.stderr and "--contents" in result.stderr, result.stderr)


def refused(tape):
    result = heaptape("check-heap", tape.path)
    equal((result.returncode, result.stdout), (2, ""), result.stderr)
    check(result.stderr.count("\n") == 1, result.stderr)
    return result.stderr


@case
def of_the_programs_own_malloc_it_says_that_it_is_not_glibcs(test):
    outcome = test.record([program("own_malloc_in_library")], options=("--snapshot", "exit"))
    check("not in the memory of glibc's malloc" in (said := refused(outcome.tapes[0])), said)


@case
def of_jemalloc_it_says_so(test):
    [library, *_] = sorted(Path("/usr/lib").glob("*/libjemalloc.so.2")) or [None]
    need(library, "jemalloc is not installed")
    words = [installed("python3"), "-c", "x = [str(i) for i in range(9999)]"]
    outcome = test.record(words, options=("--snapshot", "exit"), env={"LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc"})
    check("the program's allocator is jemalloc, not glibc's malloc" in (said := refused(outcome.tapes[0])), said)


if __name__ == "__main__":
    main()
