"""The program's own pools: told through the header, and functions of libraries that are watched."""

import json
import re
import sys

from harness import case, check, each, equal, installed, main, need, program
from tape import demand, heaptape


def pools_of(tape, *words):
    """The figures of each pool by its name."""
    pools = json.loads(demand("pools", tape.path, "--json", *words))["pools"]
    return {pool["name"]: pool for pool in pools}


def figures(pool):
    return tuple(pool[name] for name in ("live_bytes", "live_blocks", "peak_bytes", "allocated_bytes", "allocated_blocks"))


def told_by_program(outcome):
    """What pool_story counted for itself, and the address it printed."""
    lines = outcome.out.decode().splitlines()
    told = {}
    for line in lines[:-1]:
        name, *numbers = line.split("|")
        told[name] = tuple(map(int, numbers))
    return told, lines[-1]


@each(record="record", direct="direct")
def pools_count_what_the_program_counts_itself(test, form):
    outcome = test.record([program("pool_story")], form=form)
    told, _ = told_by_program(outcome)
    pools = pools_of(outcome.tape)
    equal(set(pools), {*told, "(unnamed)"}, "pools")
    for name, numbers in told.items():
        equal(figures(pools[name]), numbers, name)
    equal(pools["parser arena"]["resets"], 1, "resets")
    outcome.tape.verify()
    equal(outcome.tape.losses(), {}, "losses")


@case
def pools_are_no_part_of_the_heap(test):
    with_pools = test.record([program("pool_story")]).tape.facts()
    without = test.record([program("pool_story_disabled")]).tape.facts()
    for name in ("allocated_bytes", "allocated_blocks", "live_bytes", "live_blocks"):
        equal(with_pools[name], without[name], name)


@case
def a_program_with_pools_does_the_same_with_and_without_the_recorder(test):
    def without_luck(text):
        """All but the last line, an address, and the most that several threads had at once."""
        return b"\n".join(re.sub(rb"^(nodes\|\d+\|\d+\|)\d+", rb"\1", line) for line in text.splitlines()[:-1])

    test.same([program("pool_story")], normal=without_luck)
    test.same([program("pool_story_disabled")], normal=without_luck)


@case
def an_earlier_moment_shows_the_pools_as_they_were(test):
    tape = test.recording_of([program("pool_story")]).tape
    peak = pools_of(tape)["parser arena"]
    then = pools_of(tape, "--at", peak["peak_event"])["parser arena"]
    equal(then["live_bytes"], peak["peak_bytes"], "live at the peak")
    equal(then["live_blocks"], 1000, "blocks at the peak")
    equal(pools_of(tape, "--at", "start"), {}, "pools at the start")


@case
def a_pool_is_shown_by_the_stacks_that_filled_it(test):
    tape = test.recording_of([program("pool_story")]).tape
    live = demand("pools", tape.path, "parser arena")
    check("Live in parser arena: " in live and "parse_word" in live and "parse_file" in live, live)
    check(" in 300 blocks" in live and "heaptape_" not in live, live)
    allocated = demand("pools", tape.path, "--allocated", "parser arena")
    check(" in 1,300 blocks" in allocated, allocated)
    wrong = heaptape("pools", tape.path, "no such pool")
    check(wrong.returncode != 0 and "parser arena, nodes" in wrong.stderr.replace("nodes, parser arena", "parser arena, nodes"),
          wrong.stderr)


@case
def reports_show_pools_and_dump_names_them(test):
    tape = test.recording_of([program("pool_story")]).tape
    page = demand("report", tape.path)
    check("\nPools" in page and "parser arena" in page, page)
    report = json.loads(demand("report", "--json", tape.path))
    check({"parser arena", "nodes"} <= {pool["name"] for pool in report["pools"]}, report["pools"])
    dump = demand("dump", "--no-stacks", "--kind", "pool", tape.path)
    check("pool alloc" in dump and "in pool nodes" in dump and "everything in pool parser arena" in dump, dump[:2000])
    check("malloc" not in dump, dump[:2000])
    info = demand("info", tape.path)
    check("\nPools\n" in info and "pool alloc" in info, info)
    rows = demand("sql", "--format", "csv", tape.path, "SELECT p.name, count(*) FROM events e JOIN pools p ON p.number = e.pool "
                  "WHERE e.kind = 'pool alloc' GROUP BY p.name ORDER BY p.name")
    check("nodes,16005" in rows and "parser arena,1300" in rows, rows)


@case
def an_address_is_found_in_the_pool_block_around_it(test):
    outcome = test.recording_of([program("pool_story")])
    _, address = told_by_program(outcome)
    inside = hex(int(address, 16) + 16)
    for command in ("explain", "owner"):
        text = demand(command, outcome.tape.path, inside)
        check("in pool 'nodes': 16 bytes into a live 48-byte block" in text, text)
        blocks = json.loads(demand(command, "--json", outcome.tape.path, inside))["pool_blocks"]
        equal(blocks[0]["size"], 48, "size")


@case
def blocks_that_overlap_in_one_pool_and_double_frees_are_found_by_verify(test):
    tape = test.record([program("pool_story"), "wrong"]).tape
    verdict = heaptape("verify", tape.path)
    check(verdict.returncode != 0, verdict.stdout)
    equal(verdict.stdout.count("(pool 'nodes')"), 2, verdict.stdout)
    check("already released" in verdict.stdout, verdict.stdout)


@case
def a_tape_without_pools_says_how_to_get_some(test):
    tape = test.record(["/bin/true"]).tape
    check("--alloc-fn" in demand("pools", tape.path), "no hint")


# ------------------------------------------------------------------------------------------------ watched functions

WATCH = ["--alloc-fn", "wrapped_alloc", "--alloc-fn", "wrapped_array:2:3", "--free-fn", "wrapped_free:2", "--alloc-fn",
         "wrapped_resize:2=wrapped_alloc", "--free-fn", "wrapped_resize", "--alloc-fn", "wrapped_odd:2", "--alloc-fn",
         "wrapped_list", "--alloc-fn", "wrapped_number"]


@each(lazy="lazy", now="now", no_plt="no_plt", fixed="fixed")
def calls_into_a_library_are_watched_however_they_are_linked(test, how):
    command = [program(f"wrapped_alloc_{how}")]
    plain = test.run(command)
    outcome = test.record(command, options=WATCH)
    equal((outcome.status, outcome.out, outcome.err), (plain.status, plain.out, plain.err), "outcome")
    pools = pools_of(outcome.tape)
    # 4 threads of 1000, 11 of 100 bytes, one that is resized, and what it is resized to
    equal(figures(pools["wrapped_alloc"])[3:], (4000 * 32 + 1100 + 8 + 5000, 4013), "wrapped_alloc")
    equal(figures(pools["wrapped_alloc"])[:2], (1100, 11), "live in wrapped_alloc")
    equal(figures(pools["wrapped_array"]), (0, 0, 600, 600, 1), "wrapped_array")
    equal(figures(pools["wrapped_list"])[:2], (72, 1), "wrapped_list")
    frees = [event for event in outcome.tape.events("--kind", "pool free", stacks=False)]
    equal(len(frees), 4000 + 1 + 2 + 1, "frees")
    outcome.tape.verify()


@case
def of_pool_functions_that_call_each_other_the_innermost_counts(test):
    watch = ["--alloc-fn", "wrapped_alloc", "--alloc-fn", "wrapped_outer", "--free-fn", "wrapped_free:2", "--free-fn", "wrapped_outer_free",
             "--alloc-fn", "wrapped_resize:2", "--free-fn", "wrapped_resize", "--alloc-fn", "wrapped_outer_resize:2", "--free-fn",
             "wrapped_outer_resize"]
    outcome = test.record([program("wrapped_alloc_now"), "nested"], options=watch)
    equal(outcome.out, b"nested\n", "output")
    pools = pools_of(outcome.tape)
    equal(sorted(pools), ["wrapped_alloc", "wrapped_resize"], "pools with blocks")
    equal(figures(pools["wrapped_alloc"])[:2] + figures(pools["wrapped_alloc"])[3:], (90, 4, 190, 14), "wrapped_alloc")
    equal(figures(pools["wrapped_resize"])[:2] + figures(pools["wrapped_resize"])[3:], (0, 0, 40000, 10), "wrapped_resize")
    equal(len(outcome.tape.events("--kind", "pool free", stacks=False)), 20, "frees")
    check("wrapped_outer" in demand("pools", outcome.tape.path, "wrapped_alloc"), "the outer one is on the stack")
    outcome.tape.verify()


@case
def the_stack_of_a_watched_call_begins_with_its_caller(test):
    tape = test.record([program("wrapped_alloc_now")], options=WATCH).tape
    tree = demand("pools", tape.path, "wrapped_alloc")
    check("main" in tree and "wrapped_alloc.c" in tree and "heaptape_" not in tree, tree)
    heap = demand("report", "--leaks", "--all-frames", tape.path)
    check("wrapped_alloc [" in heap and "heaptape_" not in heap, heap)


@case
def the_environment_names_functions_too(test):
    outcome = test.record([program("wrapped_alloc_lazy")], form="direct",
                          env={"HEAPTAPE_ALLOC_FN": "wrapped_alloc:1=mine,wrapped_array:2:3", "HEAPTAPE_FREE_FN": "wrapped_free:2"})
    equal(figures(pools_of(outcome.tape)["mine"])[4], 4012, "blocks")


@case
def a_plugin_that_is_loaded_later_is_watched(test):
    outcome = test.record([program("wrapped_alloc_dlopen")], options=["--alloc-fn", "wrapped_alloc"])
    equal(outcome.out, b"20 blocks of 100\n", "output")
    equal(figures(pools_of(outcome.tape)["wrapped_alloc"])[3:], (2000, 20), "wrapped_alloc")


@case
def a_function_that_is_called_nowhere_is_told(test):
    words, variables = test.form("record", [program("wrapped_alloc_now")],
                                 ["--alloc-fn", "wrapped_alloc", "--alloc-fn", "no_such_function", "--free-fn", "nor_this"],
                                 test.new_tapes_folder())
    words.remove("-q")
    err = test.run(words, env=variables).err.decode()
    check("--alloc-fn no_such_function: no loaded object calls" in err and "--free-fn nor_this: " in err, err)
    check("wrapped_alloc:" not in err, err)


@case
def functions_that_make_no_sense_are_refused(test):
    for options in (["--alloc-fn", "malloc"], ["--alloc-fn", "f:9"], ["--free-fn", "f=pool"], ["--alloc-fn", ":1"]):
        outcome = test.run([*words_of(test, options)], env={})
        check(outcome.status == 2 and options[0] in outcome.err.decode(), (options, outcome.err))


def words_of(test, options):
    return test.form("record", ["/bin/true"], options, test.new_tapes_folder())[0]


@case
def children_of_a_followed_program_are_watched_too(test):
    command = ["/bin/sh", "-c", program("wrapped_alloc_now") + "; " + program("wrapped_alloc_lazy")]
    outcome = test.record(command, form="follow", options=["--alloc-fn", "wrapped_alloc"])
    counted = [pools["wrapped_alloc"]["allocated_blocks"] for tape in outcome.tapes
               if "wrapped_alloc" in (pools := pools_of(tape))]
    equal(counted, [4012, 4012], "blocks")


@case
def sqlite_is_watched_inside_python(test):
    script = ("import sqlite3; a = sqlite3.connect(':memory:'); a.execute('create table t(a)'); data = a.serialize(); "
              "sqlite3.connect(':memory:').deserialize(data); print(len(data))")
    command = ["/usr/bin/python3", "-c", script]
    plain = test.run(command)
    need(plain.status == 0, "python's sqlite3 is not installed, or too old")
    outcome = test.record(command, options=["--alloc-fn", "sqlite3_malloc64", "--free-fn", "sqlite3_free"])
    equal((outcome.status, outcome.out), (plain.status, plain.out), "outcome")
    # The library calls it through its own table too.
    pool = pools_of(outcome.tape)["sqlite3_malloc64"]
    check(pool["allocated_bytes"] >= int(plain.out) and pool["live_blocks"] < pool["allocated_blocks"], pool)


@case
def a_forked_child_with_a_tape_of_its_own_names_its_pools_again(test):
    script = ("import os, sqlite3; a = sqlite3.connect(':memory:'); a.execute('create table t(a)'); data = a.serialize(); "
              "sqlite3.connect(':memory:').deserialize(data); pid = os.fork(); "
              "sqlite3.connect(':memory:').deserialize(data); pid and os.wait()")
    command = ["/usr/bin/python3", "-c", script]
    need(test.run(command).status == 0, "python's sqlite3 is not installed, or too old")
    outcome = test.record(command, form="follow", options=["--alloc-fn", "sqlite3_malloc64", "--free-fn", "sqlite3_free"])
    equal(len(outcome.tapes), 2, "tapes")
    for tape in outcome.tapes:
        check(pools_of(tape)["sqlite3_malloc64"]["allocated_bytes"] >= 8192, tape)
        tape.verify()


@case
def glib_is_watched_in_a_program_of_many_libraries(test):
    command = [installed("gio"), "info", "/"]
    plain = test.run(command)
    need(plain.status == 0, "gio does not work here")
    outcome = test.record(command, options=["--alloc-fn", "g_malloc", "--alloc-fn", "g_malloc0", "--alloc-fn", "g_strdup:0",
                                            "--free-fn", "g_free"])
    equal((outcome.status, outcome.err), (plain.status, plain.err), "outcome")
    pools = pools_of(outcome.tape)
    check(pools["g_malloc"]["allocated_blocks"] > 10, pools)
    check(pools["g_strdup"]["allocated_blocks"] > 10 and pools["g_strdup"]["allocated_bytes"] == 0, pools)
    check(pools["g_malloc0"]["live_blocks"] < pools["g_malloc0"]["allocated_blocks"], pools)
    outcome.tape.verify()


if __name__ == "__main__":
    sys.exit(main())
