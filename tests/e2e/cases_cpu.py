"""The CPU profile: who used the time, by counts of samples and never by the clock; and programs that must not notice it."""

import json
import os
import re
import subprocess

from harness import HEAPTAPE, case, check, each, equal, installed, main, program
from tape import HANG_SECONDS, demand, heaptape

HZ = "--cpu=1000"
PROFILED = {"HEAPTAPE_CPU": "1000"}


def profile(tape, *options):
    return json.loads(demand("cpu", "--json", "--threshold", "0", *options, tape.path))


def samples(tape):
    return [json.loads(line) for line in demand("dump", "--cpu", "--json", tape.path).splitlines()]


def periods(report, function, part="total"):
    return sum(row[part]["periods"] for row in report["functions"] if row["name"] == function)


def plain_recording(test):
    return test.recording_of([program("cpu_shares"), "plain", 600], [HZ])


def plain_tape(test):
    return plain_recording(test).tape


def segments_tape(test):
    return test.recording_of([program("cpu_shares"), "segments", 100]).tape


def run(*words, **more):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=HANG_SECONDS, check=False, **more)
    check(result.returncode == 0, f"{words[0]} ended with {result.returncode}:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout


# As much as the threads' own clocks say: twice, but on a busy machine the same work may take more time in one of them. The kernel
# looks at its timers 250 times a second or so: these programs need a second of CPU time for a ratio that is right to a fifth or so.
def about_twice_as_much(outcome, report):
    one, two = periods(report, "one"), periods(report, "two")
    _, us_in_one, us_in_two = map(int, outcome.out.split())
    check(0.5 < (two / one) / (us_in_two / us_in_one) < 2, f"samples: {one} and {two}; microseconds: {us_in_one} and {us_in_two}")


# -------------------------------------------------------------------------------------------------------------- shares

@case
def a_function_with_twice_the_work_has_twice_the_samples(test):
    outcome = plain_recording(test)
    tape = outcome.tape
    report = profile(tape)
    about_twice_as_much(outcome, report)
    whole = report["cpu"]["periods"]
    check(periods(report, "main") > 0.95 * whole, "nearly all of it is below main")
    check(periods(report, "main", "self") < 0.05 * whole, "and hardly any in main itself")
    equal(len(report["segments"]), 1, "segments")
    text = demand("cpu", tape.path)
    check(re.search(r"two \[cpu_shares.c:\d+\]", text), f"the table names function and line:\n{text}")
    check(tape.facts()["cpu_samples"] == len(samples(tape)) > 0, "info counts the samples")


@each(of_posix="threads", of_c11="c11")
def threads_that_never_allocate_have_their_share(test, shape):
    outcome = test.record([program("cpu_shares"), shape, 4, 150], options=[HZ])
    tape = outcome.tape
    report = profile(tape)
    about_twice_as_much(outcome, report)
    workers = [entry for entry in report["threads"] if entry["thread"] != 1]
    equal(len(workers), 4, "threads with samples, main aside")
    allocating = {event.thread for event in tape.events(stacks=False)}
    tids = {thread["thread"]: thread["tid"] for thread in tape.facts()["threads"]}
    for worker in workers:
        check(tids[worker["thread"]] not in allocating, "these threads have no heap event")
        check(worker["cpu"]["periods"] > 0.1 * report["cpu"]["periods"], f"a fair share each: {report['threads']}")


@case
def sixty_four_threads_are_all_seen(test):
    tape = test.record([program("cpu_shares"), "threads", 64, 20], options=[HZ]).tape
    seen = {sample["thread"] for sample in samples(tape)}
    check(len(seen) >= 64, f"{len(seen)} threads have samples")
    check("CPU threads" not in tape.losses(), "no thread lacked a timer")


@case
def threads_that_ran_before_the_profile_began_are_seen(test):
    outcome = test.record([program("cpu_shares"), "late", 300])
    report = profile(outcome.tape)
    about_twice_as_much(outcome, report)
    equal(report["segments"][0]["hz"], 250, "the rate that the program asked for")
    check(len([entry for entry in report["threads"] if entry["thread"] != 1]) >= 2, f"both: {report['threads']}")


@case
def each_segment_has_its_own_samples_only(test):
    tape = segments_tape(test)
    reports = [profile(tape, "--segment", number) for number in (1, 2, 3)]
    equal([segment["hz"] for segment in reports[0]["segments"]], [500, 500, 100], "rates")
    for report, wanted, other in zip(reports, ("one", "two", "one"), ("two", "one", "two")):
        check(periods(report, wanted) > 0, f"{wanted} is in its segment")
        equal(periods(report, other), 0, f"samples of {other} in a segment of {wanted}")
    whole = profile(tape)
    equal(whole["cpu"]["periods"], sum(report["cpu"]["periods"] for report in reports), "the segments together")
    ends = [(segment["begin_us"], segment["end_us"]) for segment in whole["segments"]]
    check(all(begin <= end for begin, end in ends) and ends[0][1] <= ends[1][0] <= ends[1][1] <= ends[2][0], f"in order: {ends}")
    times = {number: [sample["time_us"] for sample in samples(tape) if sample["segment"] == number] for number in (1, 2, 3)}
    for number, (begin, _) in enumerate(ends, 1):
        check(begin <= min(times[number]), f"segment {number} begins at {begin}, its samples at {min(times[number])}")
    check(max(times[1]) <= min(times[2]) and max(times[2]) <= min(times[3]), "no sample of a segment is behind one of the next")
    missing = heaptape("cpu", "--segment", 4, tape.path)
    check(missing.returncode != 0 and "there is no segment 4" in missing.stderr, missing.stderr)


@case
def moments_and_threads_choose_samples(test):
    tape = segments_tape(test)
    whole = profile(tape)
    border = whole["segments"][1]["begin_us"]
    early = profile(tape, "--to", f"{border}us")
    late = profile(tape, "--from", f"{border + 1}us")
    equal(early["cpu"]["samples"] + late["cpu"]["samples"], whole["cpu"]["samples"], "both sides of a moment")
    equal(periods(early, "two"), 0, "samples of two before it began")
    equal(profile(tape, "--thread", 1)["cpu"], whole["cpu"], "the only thread")


@case
def a_deep_recursion_is_followed_to_main(test):
    tape = test.record([program("cpu_shares"), "deep", 800, 100], options=[HZ]).tape
    deep = [sample for sample in samples(tape) if len(sample["frames"]) > 700]
    check(len(deep) > 10, "samples below the recursion")
    report = profile(tape, "--depth", 3)
    check(periods(report, "main") > 0.9 * report["cpu"]["periods"], "they reach main")


@case
def a_recursion_beyond_the_limit_is_cut_and_counted(test):
    tape = test.record([program("cpu_shares"), "deep", 3000, 60], options=[HZ, "--max-depth", "100"]).tape
    check(max(len(sample["frames"]) for sample in samples(tape)) == 100, "the deepest has so many frames as asked for")
    check(tape.losses().get("stack too deep", 0) > 0, f"counted: {tape.losses()}")


# ------------------------------------------------------------------------------------------------------ without the heap

@case
def without_the_heap_there_are_samples_only(test):
    tape = test.record([program("cpu_shares"), "allocate", 20], options=[HZ, "--no-heap"]).tape
    equal(tape.event_count(), 0, "events")
    report = profile(tape)
    check(periods(report, "churn") > 0 and periods(report, "one") > 0, "both functions have samples")
    tape.verify()
    check("CPU time" in demand("cpu", tape.path), "and a report")


@case
def no_heap_alone_is_refused(test):
    result = test.run([HEAPTAPE, "record", "--no-heap", "true"])
    check(result.status == 2 and b"--cpu" in result.err, result.err)


@each(zero="0", too_many="5001", words="often")
def a_rate_that_makes_no_sense_is_refused(test, rate):
    result = test.run([HEAPTAPE, "record", f"--cpu={rate}", "true"])
    check(result.status == 2 and b"from 1 to 5000" in result.err, result.err)


@case
def a_tape_without_a_profile_says_how_to_get_one(test):
    tape = test.record([program("cpu_shares"), "plain", 1]).tape
    for words in (["cpu"], ["report", "--cost"], ["export", "--cpu", "--format", "folded"]):
        result = heaptape(*words, tape.path)
        check(result.returncode != 0 and "record with --cpu" in result.stderr, f"{words}: {result.stderr}")


# ---------------------------------------------------------------------------------------------------- nobody is disturbed

@each(own_profiler="own_profiler", not_ready_for_eintr="not_ready_for_eintr", alarms="alarms", all_blocked="all_blocked",
      all_handled="all_handled", storm="storm", cancels="cancels")
def the_program_sees_nothing_of_the_signals(test, what):
    test.same([program("cpu_odd_cases"), what], env={"HEAPTAPE_CPU": "5000"}, events=0)


@case
def blocked_signals_do_not_keep_samples_away(test):
    tape = test.record([program("cpu_odd_cases"), "all_blocked"], options=[HZ]).tape
    check(periods(profile(tape), "burn") > 0, "samples of a program that blocks every signal it can")


@case
def children_of_fork_run_as_before_and_have_tapes_with_follow(test):
    test.same([program("cpu_odd_cases"), "forks"], forms=("record", "direct", "follow"), env=PROFILED, events=0, tapes=51)


@case
def a_program_that_replaces_itself_goes_on(test):
    outcomes = test.same([program("cpu_odd_cases"), "execs", 30], forms=("record", "direct", "follow"), env={"HEAPTAPE_CPU": "5000"},
                         events=0, tapes=31)
    check(any(tape.facts()["cpu_samples"] > 0 for tape in outcomes[-1].tapes), "the followed ones have samples")


@case
def timers_of_threads_that_ended_are_given_back(test):
    tape = test.record([program("cpu_odd_cases"), "many_threads", 1500], options=[HZ]).tape
    check("CPU threads" not in tape.losses(), tape.losses())
    check(len({sample["thread"] for sample in samples(tape)}) > 40, "short threads have samples, too")


@each(few_calls=["confinement", "seccomp-filter"], strict=["confinement", "seccomp-strict"], no_return_from_handlers=["cpu_odd_cases", "sandbox"])
def a_program_in_a_sandbox_is_left_alone(test, words):
    test.same([program(words[0]), words[1]], env=PROFILED, events=0)


@case
def samples_end_where_the_sandbox_begins(test):
    outcome = test.record([program("cpu_odd_cases"), "sandbox"], options=[HZ])
    equal((outcome.status, outcome.out), (6, b"done\n"), "status and output")
    report = profile(outcome.tape)
    check(report["cpu"]["samples"] > 0 and report["segments"][0]["end_us"] != 0, f"a segment with an end: {report['segments']}")


@case
def generated_code_is_sampled(test):
    node = installed("node")
    loop = "for (let i = 0; i < 2e6; ++i) s = (s + i) % 1000003"
    script = f"let s = 0; while (process.cpuUsage().user < 5e5) {loop}; console.log('done')"
    outcome, _ = test.same([node, "-e", script], env=PROFILED)
    check(outcome.tape.facts()["cpu_samples"] > 10, "samples")


@case
def python_is_sampled(test):
    python = "/usr/bin/python3"
    # As long as it takes on any machine.
    script = "import time\nwhile time.process_time() < 0.5: sum(len(str(i)) for i in range(1000))\nprint('done')"
    outcome, _ = test.same([python, "-c", script], env=PROFILED)
    check(outcome.tape.facts()["cpu_samples"] > 10, "samples")


# ------------------------------------------------------------------------------------------------------- other tools

def export(test, tape, format, *options, suffix=""):
    path = test.work / f"cpu.{format}{suffix}"
    demand("export", "--cpu", "--format", format, "--force", "-o", path, *options, tape.path)
    return path


@case
def folded_stacks_hold_all_of_the_time(test):
    tape = segments_tape(test)
    for options in ([], ["--segment", "2"]):
        lines = export(test, tape, "folded", *options).read_text().splitlines()
        equal(sum(int(line.rpartition(" ")[2]) for line in lines), profile(tape, *options)["cpu"]["us"], "microseconds")
    check(any(line.startswith("_start;") and ";two" in line for line in lines), f"outermost first: {lines[:3]}")


@case
def go_tool_pprof_reads_the_profile(test):
    go = installed("go")
    tape = plain_tape(test)
    path = export(test, tape, "pprof", suffix=".pb.gz")
    env = {**os.environ, "PPROF_TMPDIR": str(test.work)}  # with the user's own cache, where newer Go keeps the pprof that it builds
    top = run(go, "tool", "pprof", "-top", "-symbolize=none", path, env=env)
    check("Type: cpu" in top and re.search(r"\bmain$", top, re.MULTILINE), f"pprof -top:\n{top[:1500]}")
    raw = run(go, "tool", "pprof", "-raw", "-symbolize=none", path, env=env)
    check("samples/count cpu/nanoseconds" in raw and "Period: 1000000" in raw, raw[:500])


@case
def callgrind_annotate_reads_the_profile(test):
    judge = installed("callgrind_annotate")
    tape = plain_tape(test)
    text = run(judge, export(test, tape, "callgrind"))
    total = re.search(r"^([\d,]+) .*PROGRAM TOTALS", text, re.MULTILINE)
    check(total, text[:2000])
    equal(int(total[1].replace(",", "")), profile(tape)["cpu"]["us"], "microseconds in all")


@case
def speedscope_files_hold_every_thread(test):
    tape = test.record([program("cpu_shares"), "threads", 2, 60], options=[HZ]).tape
    content = json.loads(export(test, tape, "speedscope").read_text())
    whole, *threads = content["profiles"]
    equal(whole["endValue"], profile(tape)["cpu"]["us"], "microseconds in all")
    equal(sum(thread["endValue"] for thread in threads), whole["endValue"], "the threads together")
    check(all(profile["unit"] == "microseconds" and sum(profile["weights"]) == profile["endValue"] for profile in content["profiles"]), "weights")


@case
def formats_of_the_heap_refuse_cpu_time(test):
    tape = plain_tape(test)
    result = heaptape("export", "--cpu", "--format", "massif", tape.path)
    check(result.returncode != 0 and "pprof, folded, callgrind, speedscope or svg" in result.stderr, result.stderr)


@case
def graphviz_draws_the_calls(test):
    installed("dot")
    tape = plain_tape(test)
    svg, pdf = test.work / "calls.svg", test.work / "calls.pdf"
    demand("cpu", "--svg", svg, tape.path)
    demand("cpu", "--pdf", pdf, tape.path)
    text = svg.read_text()
    check("<svg" in text and "two" in text and "main" in text, "functions are in the picture")
    check(pdf.read_bytes().startswith(b"%PDF"), "a PDF")
    again = heaptape("cpu", "--svg", svg, tape.path)
    check(again.returncode != 0 and "--force" in again.stderr, f"files are not overwritten: {again.stderr}")


@case
def segments_get_pictures_with_numbers(test):
    installed("dot")
    tape = segments_tape(test)
    equal(test.run([HEAPTAPE, "cpu", "--pdf", tape.path]).status, 0, "status")
    equal(sorted(path.name for path in test.work.glob("*.pdf")), ["cpu-001.pdf", "cpu-002.pdf", "cpu-003.pdf"], "files")


@case
def without_graphviz_one_line_names_the_other_ways(test):
    tape = plain_tape(test)
    result = test.run([HEAPTAPE, "cpu", "--pdf", tape.path], env={"PATH": "/nowhere"})
    check(result.status != 0 and b"needs Graphviz" in result.err and b"--dot" in result.err, result.err)
    equal(list(test.work.glob("*.pdf")), [], "files")
    graph = test.run([HEAPTAPE, "cpu", "--dot", "-", tape.path], env={"PATH": "/nowhere"})
    check(graph.status == 0 and graph.out.startswith(b"digraph"), graph.err)


# ------------------------------------------------------------------------------------------------------ heap and CPU

@case
def the_cost_of_allocating_is_charged_to_who_allocates(test):
    tape = test.record([program("cpu_shares"), "allocate", 60], options=[HZ]).tape
    cost = json.loads(demand("report", "--cost", "--json", tape.path))["cost"]
    check(0 < cost["allocating_us"] < cost["cpu_us"], f"some of the time is spent allocating: {cost['allocating_us']} of {cost['cpu_us']}")
    rows = [row for row in cost["stacks"] if any(frame["function"] == "churn" for frame in row["stack"])]
    check(sum(row["cpu_us"] for row in rows) > 0.9 * cost["allocating_us"], "nearly all of it by churn")
    equal(max(row["allocations"] for row in rows), 60 * 20000, "calls of malloc by its stack")
    check(max(row["releases"] for row in rows) > 60 * 20000 - 600, "and of free by its own")
    freeing = sum(row["cpu_us"] for row in rows if row["releases"] > 0)
    check(0 < freeing < cost["allocating_us"], "some in malloc, some in free")
    check(tape.facts()["events"] >= 2 * 60 * 20000, "the heap is on the same tape")
    check("CPU time in allocation functions" in demand("report", "--cost", tape.path), "as text")
    text = demand("report", "--cost", tape.path)
    callers = [line.split(None, 8)[-1] for line in text.splitlines()[3:] if " % " in line]
    equal(len(callers), len(set(callers)), f"each place once:\n{text}")


if __name__ == "__main__":
    raise SystemExit(main())
