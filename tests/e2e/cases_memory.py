"""Memory of the process: what was resident at its peak, by what it was for, and the peak of heap and mappings together."""

import json
import os
import subprocess

from harness import HEAPTAPE, case, check, equal, main, program, wait_until
from tape import Tape, demand

MIB = 1 << 20
LINES = ("heap_bytes", "mapping_bytes", "held_bytes", "stack_bytes", "file_bytes", "other_bytes")


def recording(test, *words, env=None):
    """The tape of resident_memory, looked at when all of its memory was in place."""
    runtime = test.dir / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(runtime)
    folder = test.new_tapes_folder()
    command, variables = test.form("record", [program("resident_memory"), *map(str, words)], (), folder)
    process = test.start(command, env={**variables, **(env or {})}, stdin=subprocess.PIPE)
    check(process.stdout.readline() == b"ready\n", "the program is ready")
    find = lambda: next((one for one in json.loads(demand("ps", "--json")) if one["tape"].startswith(str(folder))), None)
    found = wait_until(find, "the recording is listed")
    demand("mark", "-p", str(found["pid"]), "all there")  # everything up to now comes onto the tape
    process.stdin.close()
    process.stdin = None
    equal(test.finish(process).status, 0, "status")
    return Tape(found["tape"])


def report(test, tape):
    outcome = test.run([HEAPTAPE, "report", "--json", tape.path])
    equal(outcome.status, 0, f"status of report; stderr: {outcome.err}")
    return json.loads(outcome.out)


def near(value, wanted, slack, what):
    check(wanted <= value <= wanted + slack, f"{what}: {value:,} is between {wanted:,} and {wanted + slack:,}")


def resident_of_plain(test, *words):
    process = test.start([program("resident_memory"), *map(str, words)], stdin=subprocess.PIPE)
    check(process.stdout.readline() == b"ready\n", "the program is ready")
    pages = int(open(f"/proc/{process.pid}/statm").read().split()[1])
    process.stdin.close()
    process.stdin = None
    equal(test.finish(process).status, 0, "status of the plain program")
    return pages * 4096


@case
def every_sort_of_resident_memory_is_named_and_all_of_it_adds_up(test):
    tape = recording(test)
    answer = report(test, tape)
    memory = answer["resident_memory"]
    check(not memory["estimate"] and memory["whole"], "the pages were looked at")
    equal(sum(memory[line] for line in LINES), memory["total_bytes"], "sum of the lines")
    equal(memory["total_bytes"] + memory["recorder_bytes"], memory["rss_bytes"], "the program's and the recorder's")
    check(memory["recorder_bytes"] > 0, "the recorder's own memory is set apart")
    near(memory["mapping_bytes"], 8 * MIB, 16384, "own mappings")
    near(memory["heap_bytes"], 100 * 40000, 40000, "live heap")
    near(memory["held_bytes"], 200 * 16000 - 40000, 440000, "held by the allocator; some of it was used again")
    near(memory["stack_bytes"], 3 * MIB, MIB // 2, "stacks")
    check(memory["file_bytes"] >= 2 * MIB, "the file is among the files")
    check(memory["other_bytes"] < MIB, f"little is left over: {memory['other_bytes']}")
    equal(memory["stacks"], 2, "stacks")
    equal([(row["function"], row["bytes"]) for row in memory["mappings"]], [("map_cache", 8 * MIB)], "who mapped")
    equal(memory["heap"][0]["function"], "fill_heap", "whose blocks")
    equal(memory["heap"][0]["bytes"], 100 * 40000, "its bytes")


@case
def a_reservation_and_untouched_pages_are_not_memory_of_the_process(test):
    tape = recording(test)
    answer = report(test, tape)
    check(answer["resident_memory"]["rss_bytes"] < 40 * MIB, "96 MiB that nobody touched are not there")
    peak = answer["total_peak"]
    equal(peak["mapping_bytes"], 40 * MIB, "mappings that can be used; the reservation of 64 MiB is none")
    near(peak["bytes"], 40 * MIB + 100 * 40000, 100000, "heap plus mappings")
    text = test.run([HEAPTAPE, "report", tape.path]).out.decode()
    check("live heap was" not in text, "the old sentence is gone")


@case
def heap_plus_mappings_have_a_peak_of_their_own_that_can_be_gone_to(test):
    tape = recording(test)
    answer = report(test, tape)
    peak = answer["total_peak"]
    check(peak["event"] > answer["peak_event"], "it is later than the heap's")
    at = json.loads(demand("report", "--json", "--at", "total-peak", tape.path))["trees"][0]
    whole = lambda tree: tree["bytes"] + sum(pool["bytes"] for pool in tree["runtime"])  # pools are listed besides the tree
    equal(whole(at), peak["heap_bytes"], "the heap at that moment")
    tree = json.loads(demand("peak", "--with-mappings", "--json", tape.path))["trees"][0]
    equal((tree["name"], whole(tree)), ("total-peak", peak["bytes"]), "the tree of blocks and mappings")
    names = [one["name"] for one in json.loads(demand("report", "--mappings", "--json", tape.path))["trees"]]
    equal(names, ["mappings-resident", "mappings-open", "mappings-all"], "trees of mappings")


@case
def a_peak_that_is_mostly_mappings_is_not_answered_with_the_heap_alone(test):
    tape = recording(test)
    text = demand("report", tape.path)
    check(0 < text.find("\nHeap plus mappings at their peak") < text.find("\nPeak, by function"), text[:3000])
    equal(text.count("Heap plus mappings at their peak"), 1, "sections of it")
    memory = report(test, tape)["resident_memory"]
    folder = test.work / "one.run"
    folder.mkdir()
    os.link(tape.path, folder / "only.tape")
    listed = json.loads(demand("info", "--json", folder))["programs"][0]["peak_rss_bytes"]
    near(listed, memory["peak_rss_bytes"] - memory["recorder_bytes"], 0, "resident in the list of a run, without the recorder's")
    one = json.loads(demand("info", "--json", tape.path))
    equal(one["peak_rss_bytes"] - one["recorder_bytes"], listed, "resident, of the tape alone")


@case
def the_list_of_heap_plus_mappings_sets_the_runtimes_pools_apart(test):
    tape = recording(test)
    tree = json.loads(demand("peak", "--with-mappings", "--json", tape.path))["trees"][0]
    check(tree["runtime"], "the program has such a pool: the buffer of stdout")
    equal(report(test, tape)["total_peak"]["runtime"], tree["runtime"], "pools beside the list, as beside the tree")
    section = demand("report", tape.path).partition("Heap plus mappings at their peak")[2].partition("\n\n")[0]
    check("besides the runtime's own: " + tree["runtime"][0]["name"] in section, f"the list names them:\n{section}")
    among = json.loads(demand("report", "--show-runtime", "--json", tape.path))
    equal(among["total_peak"]["runtime"], [], "with --show-runtime they are among the functions")
    check("besides the runtime's own" not in demand("report", "--show-runtime", tape.path), "and the text says so")


@case
def with_hundreds_of_threads_the_recorders_own_memory_is_not_counted_as_the_programs(test):
    plain = resident_of_plain(test, 400)
    memory = report(test, recording(test, 400))["resident_memory"]
    check(memory["recorder_bytes"] > 5 * MIB, f"it is {memory['recorder_bytes']:,} bytes and would be seen")
    check(abs(memory["total_bytes"] - plain) < plain // 5, f"{memory['total_bytes']:,} resident, and {plain:,} in a plain run")


@case
def blocks_of_an_allocator_that_maps_its_memory_count_once(test):
    tape = recording(test, env={"LD_PRELOAD": str(program("libmapping_malloc.so"))})
    answer = report(test, tape)
    memory = answer["resident_memory"]
    equal(sum(memory[line] for line in LINES), memory["total_bytes"], "sum of the lines")
    near(memory["mapping_bytes"], 8 * MIB, 16384, "own mappings, without the allocator's")
    near(memory["heap_bytes"], 100 * 40000, 200000, "live heap")
    equal(answer["total_peak"]["mapping_bytes"], 40 * MIB, "mappings at the peak of both, without the allocator's")


if __name__ == "__main__":
    raise SystemExit(main())
