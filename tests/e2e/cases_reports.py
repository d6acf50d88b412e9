"""Reports: every figure equals what the program counted; trees add up; lines fit the terminal."""

import json
import os
import pty
import re
import shutil
import subprocess

from call_sites import SITES, counted
from harness import HEAPTAPE, case, check, each, equal, main, program
from tape import demand, heaptape


def report(tape, *options):
    return json.loads(demand("report", "--json", *options, tape.path))


def tree_of(tape, *options):
    """With every frame, for functions of the programs are called site_malloc, and with all that is on the tape."""
    return report(tape, "--all-frames", "--show-runtime", *options)["trees"][0]["tree"]


def cost(node):
    return node["bytes"], node["blocks"]


def each_node(node):
    yield node
    for child in node.get("children", []):
        yield from each_node(child)


def check_sums(node):
    for parent in each_node(node):
        children = parent.get("children")
        if children:
            equal((sum(c["bytes"] for c in children), sum(c["blocks"] for c in children)), cost(parent), "sum of children")


MARKS = ["in a constructor", "one block", "three blocks", "in a handler", "second gone",
         "a name that is much longer than the twelve bytes which fit into one record, ä and more", ""]


@each(in_a_movable_program="marks", in_one_that_is_not="marks_fixed")
def marks_of_the_program_are_moments(test, name):
    tape = test.record([program(name)]).tape
    tape.verify()
    moments = json.loads(demand("timeline", "--json", tape.path))["marks"]
    equal([mark["name"] for mark in moments], MARKS, "marks")
    equal(tree_of(tape, "--at", "in a handler")["bytes"], 7000, "live at a mark")
    live = [tree["tree"]["bytes"] for tree in report(tape, "--snapshots")["trees"]]
    equal(live, [1000, 7000, 5000], "live at the snapshots")
    new = [tree["tree"]["bytes"] for tree in report(tape, "--deltas")["trees"]]
    equal(new, [1000, 6000, -2000], "the change since the snapshot before")
    new = [tree["tree"]["bytes"] for tree in report(tape, "--cumulative")["trees"]]
    equal(new, [6000, 4000], "the change since the first snapshot")


@case
def a_program_that_deleted_itself_has_its_names(test):
    mine = test.work / "gone"
    shutil.copy(program("marks"), mine)
    tape = test.record([mine, "delete"]).tape
    check(not mine.exists(), "the program is gone")
    text = demand("report", "--allocations", tape.path)
    check("main [marks.c:" in text, text)


@case
def marks_cost_nothing_where_they_are_not_wanted(test):
    equal(subprocess.run([program("marks")]).returncode, 0, "status without the recorder")
    tape = test.record([program("marks_disabled")]).tape
    equal(json.loads(demand("timeline", "--json", tape.path))["marks"], [], "marks")


@each(one_thread=1, eight_threads=8)
def every_figure_equals_what_the_program_counted(test, threads):
    tape, counts = counted(test, threads)
    for place, option in enumerate(["--allocations", "--leaks", "--peak"]):
        tree = tree_of(tape, option, "--threshold", 0)
        check_sums(tree)
        found = {node.get("function"): cost(node) for node in tree["children"]}
        for site in SITES:
            equal(found.get(site), counts[site][place], f"{option} of {site}")
        own = tree_of(tape, option, "--threshold", 0, "--include-function", "^site_")
        equal(cost(own), counts["total"][place], f"{option} of all sites")
    # Nothing else was allocated meanwhile, so the peak is the program's plus what was there before.
    totals = report(tape)
    others = tree_of(tape, "--peak", "--exclude-function", "^site_")
    equal(totals["peak_bytes"], counts["total"][2][0] + others["bytes"], "bytes at the peak")
    per_thread = tree_of(tape, "--allocations", "--by", "thread", "--threshold", 0, "--include-function", "^site_")
    equal(len(per_thread["children"]), threads, "threads that allocated")
    equal(cost(per_thread), counts["total"][0], "sum over threads")
    sizes = tree_of(tape, "--allocations", "--by", "size", "--threshold", 0, "--include-function", "^site_")
    equal(cost(sizes), counts["total"][0], "sum over sizes")


@case
def record_and_all_reports_agree_to_the_byte(test):
    tape, _ = counted(test, 2)
    info = json.loads(demand("info", "--json", tape.path))
    whole = report(tape)
    for name in ("events", "peak_bytes", "peak_event", "peak_us", "live_bytes", "live_blocks", "allocated_bytes",
                 "allocated_blocks", "unknown_releases"):
        equal(whole[name], info[name], name)
    equal(cost(tree_of(tape, "--leaks")), (info["live_bytes"], info["live_blocks"]), "leaks")
    equal(tree_of(tape, "--peak")["bytes"], info["peak_bytes"], "peak")
    equal(cost(tree_of(tape, "--allocations")), (info["allocated_bytes"], info["allocated_blocks"]), "allocations")
    equal(cost(tree_of(tape, "--at", "peak")), cost(tree_of(tape, "--peak")), "live at the peak")
    equal(cost(tree_of(tape, "--at", "end")), cost(tree_of(tape, "--leaks")), "live at the end")
    equal(cost(tree_of(tape, "--from", "start")), cost(tree_of(tape, "--leaks")), "allocated ever and still live")
    equal(cost(tree_of(tape, "--from", "start", "--allocations")), cost(tree_of(tape, "--allocations")), "all between")
    for kind in ("leaks", "peak", "allocations", "temporary"):
        by_size = tree_of(tape, f"--{kind}", "--by", "size")
        equal(cost(by_size), cost(tree_of(tape, f"--{kind}")), f"{kind} by size")
    rows = json.loads(demand("top", "--json", "-n", 100000, "--by", "stack", tape.path))
    equal(sum(row["live_bytes"] for row in rows), info["live_bytes"], "live bytes of all rows of top")
    equal(sum(row["allocated_blocks"] for row in rows), info["allocated_blocks"], "blocks of all rows of top")
    timeline = json.loads(demand("timeline", "--json", tape.path))
    equal(max(timeline["max_bytes"]), info["peak_bytes"], "highest point of the timeline")
    equal(timeline["last_bytes"][-1], info["live_bytes"], "end of the timeline")


@case
def trees_in_text_add_up_and_name_source_lines(test):
    tape, counts = counted(test, 1)
    text = demand("report", "--peak", "--expand", "--all-frames", tape.path)
    check(re.search(r"^-> +[\d.]+% \([\d,]+B, [\d,]+x\): site_realloc \[call_sites\.cpp:\d+\]$", text, re.M), text)
    stack, total = [], int(re.search(r"\(([\d,]+) bytes\)", text)[1].replace(",", ""))
    sums = {(): 0}
    owns = {(): total}
    for line in text.splitlines()[1:]:
        found = re.match(r"^([| ]*)->\s+[\d.]+% \(([\d,]+)B", line)
        if not found:
            continue
        depth = len(found[1]) // 2
        own = int(found[2].replace(",", ""))
        stack = stack[:depth] + [line]
        sums[tuple(stack[:-1])] = sums.get(tuple(stack[:-1]), 0) + own
        owns[tuple(stack)] = own
    for place, sum_of_children in sums.items():
        equal(sum_of_children, owns[place], f"children of {place[-1:]}")


@case
def the_short_words_are_the_long_ones(test):
    tape, _ = counted(test, 1, 500)
    equal(demand("leaks", tape.path), demand("report", "--leaks", tape.path), "leaks")
    equal(demand("peak", tape.path), demand("report", "--maximum", "--no-maximum", tape.path), "peak")


@case
def filters_choose_by_function_and_module(test):
    tape, counts = counted(test, 1, 500)
    only = tree_of(tape, "--allocations", "--include-function", "^site_new$")
    equal(cost(only), counts["site_new"][0], "one function")
    without = tree_of(tape, "--allocations", "--include-module", "call_sites$", "--exclude-function", "^site_new$")
    whole = tree_of(tape, "--allocations")
    check(without["bytes"] < whole["bytes"], "something was left out")
    innermost = tree_of(tape, "--allocations", "--include-function", "^main$", "--exclude-function", "^site_")
    check(all(not node.get("function", "").startswith("site_") for node in each_node(innermost)), "innermost decides")
    bad = heaptape("report", "--include-function", "(", tape.path)
    equal(bad.returncode, 2, "status for a bad expression")


@case
def suppressions_are_applied_and_counted(test):
    tape, counts = counted(test, 1, 500)
    (test.work / "lsan.supp").write_text("# known\nleak:^site_malloc$\nleak:nowhere\n")
    (test.work / "vg.supp").write_text("{\n  aligned ones\n  Memcheck:Leak\n  fun:posix_memalign\n  fun:site_al*\n  ...\n}\n")
    found = report(tape, "--leaks", "--suppressions", test.work / "lsan.supp", "--suppressions", test.work / "vg.supp")
    used = {entry["name"]: cost(entry) for entry in found["suppressions"]}
    equal(used, {"leak:^site_malloc$": counts["site_malloc"][1], "aligned ones": counts["site_aligned"][1]}, "used")
    functions = {node.get("function") for node in each_node(found["trees"][0]["tree"])}
    check(not functions & {"site_malloc", "site_aligned"}, f"suppressed functions are gone: {functions}")
    text = demand("leaks", "--suppressions", test.work / "lsan.supp", tape.path)
    check("Suppressions used:" in text and "leak:^site_malloc$" in text and "nowhere" not in text, text)
    missing = heaptape("leaks", "--suppressions", test.work / "none.supp", tape.path)
    equal(missing.returncode, 2, "status for a missing file")


@case
def the_programs_own_suppressions_are_found_in_it(test):
    tape, counts = counted(test, 1, 500, "call_sites_suppressed")
    found = report(tape, "--leaks")
    equal([(entry["name"], cost(entry)) for entry in found["suppressions"]], [("leak:^site_new$", counts["site_new"][1])], "used")
    check("site_new" not in {node.get("function") for node in each_node(found["trees"][0]["tree"])}, "site_new is gone")


@case
def diff_matches_two_runs_by_names(test):
    one, first = counted(test, 1, 500)
    two, second = counted(test, 1, 900)
    same = json.loads(demand("diff", "--json", "--allocations", one.path, one.path))
    equal(same["changes"], [], "a tape differs from itself")
    found = json.loads(demand("diff", "--json", "--allocations", "--include-function", "^site_", one.path, two.path))
    grown = {}
    for change in found["changes"]:
        name = change["stack"][0]["function"]
        grown[name] = grown.get(name, 0) + change["bytes"]
        equal(change["change"], "grown", name)
    for site in SITES:
        equal(grown[site], second[site][0][0] - first[site][0][0], f"growth of {site}")
    moments = json.loads(demand("diff", "--json", two.path, "--from", "start", "--to", "end"))
    equal(moments["before"]["bytes"], 0, "bytes before the start")
    equal(moments["after"]["bytes"], report(two)["live_bytes"], "bytes at the end")
    text = demand("diff", one.path, two.path)
    check("grown" in text and "peak" in text, text)
    equal(heaptape("diff", one.path).returncode, 2, "status with one tape only")


@case
def the_lists_of_the_first_page_add_up_to_its_figures_in_json(test):
    tape = test.recording_of([program("leak_hunt")]).tape
    page = json.loads(demand("report", "--json", tape.path))
    for name, whole in {"peak": "peak", "leaks": "live", "allocations": "allocated"}.items():
        parts = [*page["worst"][name], page["others"][name], *page["runtime"][name]]
        equal(sum(part["bytes"] for part in parts), page[f"{whole}_bytes"], f"bytes of {name}")
    ended = json.loads(demand("report", "--json", test.recording_of([program("ends"), "status", "7"]).tape.path))
    equal((ended["ending"], "ending" in page), ("exited with status 7", False), "the ending is told where it is worth a line")


@case
def budget_ends_with_0_or_1_and_says_why(test):
    tape, _ = counted(test, 1, 500)
    info = json.loads(demand("info", "--json", tape.path))
    good = heaptape("budget", "--max-peak", info["peak_bytes"], "--max-leaked", "1G", "--max-leaked-blocks", 100000,
                    "--max-allocations", info["allocated_blocks"], tape.path)
    equal(good.returncode, 0, "status within the limits")
    equal([line.split()[0] for line in good.stdout.splitlines()], ["ok"] * 4, "verdicts")
    over = heaptape("budget", "--max-peak", info["peak_bytes"] - 1, "--max-leaked", "1G", tape.path)
    equal(over.returncode, 1, "status over a limit")
    check(over.stdout.startswith("OVER  peak: ") and "site_" in over.stdout and "\nok " in over.stdout, over.stdout)
    equal(heaptape("budget", "--max-leaked", 0, tape.path).returncode, 1, "status with leaks")
    equal(heaptape("budget", "--no-growth", "peak", "end", tape.path).returncode, 0, "no growth after the peak")
    equal(heaptape("budget", "--no-growth", "start", "end", tape.path).returncode, 1, "growth since the start")
    equal(heaptape("budget", tape.path).returncode, 2, "status without a limit")
    equal(heaptape("budget", "--max-peak", "lots", tape.path).returncode, 2, "status for a bad size")


@case
def an_option_with_several_values_leaves_the_tape_alone(test):
    tape, _ = counted(test, 1, 100)
    plain = test.work / "run1"  # not called like a tape
    shutil.copy(tape.path, plain)
    said = demand("symbolize", "--no-debuginfod", "--debug-dir", test.work, "--debug-dir", "/usr/lib/debug", plain)
    check(said.startswith(f"{plain}: "), said)
    for words in (("start", "end", plain), ("start", "end", "--json", plain)):
        grown = heaptape("budget", "--no-growth", *words)
        equal((grown.returncode, grown.stderr), (1, ""), f"growth since the start, on the tape that was named: {words}")
    few = heaptape("budget", "--no-growth", "start", plain)
    equal(few.returncode, 2, "one moment is not two")
    check("at least two moments" in few.stderr, few.stderr)


@case
def a_moment_that_is_not_there_is_refused(test):
    tape, _ = counted(test, 1, 500)
    for moment in ("999999999", "1000min", "no-such-mark"):
        result = heaptape("report", "--at", moment, tape.path)
        equal(result.returncode, 2, f"status of --at {moment}")
        check(moment in result.stderr and result.stderr.count("\n") <= 2, result.stderr)
    equal(heaptape("report", "--snapshots", tape.path).returncode, 2, "status of --snapshots without marks")


@case
def names_outlive_the_program_when_they_are_on_the_tape(test):
    mine = test.work / "vanishing"
    shutil.copy(program("call_sites"), mine)
    stored = test.record([mine, "counts", 1, 200]).tape
    bare = test.record([mine, "counts", 1, 200], options=["--no-symbols"]).tape
    named = demand("leaks", "--all-frames", stored.path)
    check("site_malloc [call_sites.cpp:" in named, named)
    found_here = heaptape("leaks", "--all-frames", bare.path)
    check("site_malloc [call_sites.cpp:" in found_here.stdout, found_here.stdout)
    check("they are read from the program's files" in found_here.stderr, found_here.stderr)
    mine.unlink()
    equal(demand("leaks", "--all-frames", stored.path), named, "leaks after the program is gone")
    gone = demand("leaks", bare.path)
    check("vanishing+0x" in gone and "site_malloc" not in gone, gone)


def on_terminal(columns, *words, **more):
    """What a command shows on a terminal of this width."""
    primary, secondary = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", "LC_ALL": "C.UTF-8", **more}
    process = subprocess.Popen([HEAPTAPE, *map(str, words)], stdout=secondary, stderr=subprocess.DEVNULL, env=env)
    os.close(secondary)
    shown = b""
    while True:
        try:
            piece = os.read(primary, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    process.wait()
    os.close(primary)
    return shown.decode().replace("\r\n", "\n")


@each(narrow=60, usual=80, wide=200)
def no_line_is_wider_than_the_terminal(test, columns):
    tape, _ = counted(test, 2)
    for command in (["report"], ["top"], ["timeline"], ["diff", tape.path]):
        text = on_terminal(columns, *command, tape.path, NO_COLOR="1")
        check(text, f"{command} shows something")
        for line in text.splitlines():
            check(len(line) <= columns, f"{command}: {len(line)} columns: {line}")


@case
def colour_is_for_terminals_and_for_those_who_ask(test):
    tape, _ = counted(test, 1, 500)
    check("\x1b[" in on_terminal(80, "report", tape.path), "colour on a terminal")
    check("\x1b[" not in on_terminal(80, "report", tape.path, NO_COLOR="1"), "NO_COLOR")
    check("\x1b[" not in on_terminal(80, "report", "--color", "never", tape.path), "--color never")
    check("\x1b[" not in demand("report", tape.path), "piped")
    check("\x1b[" in demand("report", "--color", "always", tape.path), "--color always")
    equal(demand("report", tape.path), demand("report", tape.path), "piped output twice")


def worst(tape, kind, *options):
    """The rows of a list of the first page, by function."""
    rows = report(tape, *options)["worst"].get(kind, [])
    return {row["function"].split("::")[-1]: row for row in rows if "function" in row}


@case
def the_first_page_says_how_many_of_a_functions_blocks_were_never_freed(test):
    tape = test.recording_of([program("churn")]).tape
    row = worst(tape, "leaks")["keep_some"]
    equal((row["blocks"], row["made_blocks"]), (2000, 20000), "never freed, of all made")
    text = demand("report", tape.path)
    check(re.search(r"2,000 of 20,000 +.*keep_some", text), text)


@case
def vectors_and_buffers_that_grow_are_listed_with_how_often_they_did(test):
    tape = test.recording_of([program("churn")]).tape
    rows = worst(tape, "regrown")
    equal((rows["fill"]["containers"], rows["fill"]["blocks"], rows["fill"]["what"]), (2000, 20000, "vector"), "vectors")
    equal((rows["enlarge"]["containers"], rows["enlarge"]["blocks"]), (2000, 10000), "buffers")
    text = demand("report", tape.path)
    check("2,000 vectors grew 10 times each" in text, text)
    check("2,000 blocks grew 5 times each" in text, text)


@case
def blocks_that_lived_less_than_a_millisecond_are_listed_though_few_are_temporary(test):
    tape = test.recording_of([program("churn")]).tape
    row = worst(tape, "short_lived")["fill"]
    equal(row["what"], "vector", "what they are")
    check(row["blocks"] > 20000, row)


@case
def the_pool_that_libstdcxx_makes_at_start_up_heads_neither_the_peak_nor_the_leaks(test):
    tape = test.recording_of([program("churn")]).tape
    page = report(tape)
    pool = page["runtime"]["leaks"][0]
    equal(pool["name"], "libstdc++'s emergency pool", "name")
    leaks = json.loads(demand("leaks", "--json", tape.path))["trees"][0]
    equal(leaks["bytes"], 2000 * 16, "leaks")
    equal(leaks["bytes"] + sum(entry["bytes"] for entry in leaks["runtime"]), page["live_bytes"], "all of it")
    equal(json.loads(demand("leaks", "--json", "--show-runtime", tape.path))["trees"][0]["bytes"], page["live_bytes"], "not apart")


@case
def trees_skip_the_plumbing_that_the_first_page_skips(test):
    tape = test.recording_of([program("churn")]).tape
    names = {node["function"] for node in each_node(report(tape, "--allocations")["trees"][0]["tree"]) if "function" in node}
    check(any(name.endswith("fill") for name in names), names)
    equal([name for name in names if name.startswith("std::") or "alloc" in name], [], "plumbing")
    everything = {node["function"] for node in each_node(tree_of(tape, "--allocations")) if "function" in node}
    check(any(name.startswith("std::") for name in everything), everything)
    folded = demand("export", "--format", "folded", "--no-plumbing", "--value", "allocated", tape.path)
    check("std::" not in folded, folded)
    named = report(tape, "--plumbing", "fill$")["worst"]["allocations"]
    check(not any(row.get("function", "").endswith("fill") for row in named), named)
    refused = heaptape("report", "--plumbing", "(", tape.path)
    check(refused.returncode != 0 and "--plumbing" in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
