"""Exports, each judged by the tool that it is made for. A tool that is not installed skips its case."""

import csv
import gzip
import importlib.util
import io
import json
import os
import re

from exports import export, folded_sum, make_tape, run
from harness import HEAPTAPE, case, check, each, equal, installed, main, need, program
from tape import Tape, heaptape

# What speedscope demands of a file it opens, as far as we write one.
SPEEDSCOPE_SCHEMA = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "shared": {"type": "object", "required": ["frames"], "properties": {"frames": {"type": "array", "items": {
            "type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "file": {"type": "string"}, "line": {"type": "integer"}, "col": {"type": "integer"}}}}}},
        "profiles": {"type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
            "properties": {
                "type": {"const": "sampled"}, "name": {"type": "string"},
                "unit": {"enum": ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]},
                "startValue": {"type": "number"}, "endValue": {"type": "number"},
                "samples": {"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
                "weights": {"type": "array", "items": {"type": "number"}}}}},
    },
}
VALUES = ("peak", "live", "allocated", "temporary")


# -------------------------------------------------------------------------------------------------------------- judges

@case
def go_tool_pprof_shows_our_totals(test):
    go = installed("go")
    tape = make_tape(test)
    facts = tape.facts()
    path = export(test, tape, "pprof", suffix=".pb.gz")
    # Newer Go builds pprof when it is first used, and keeps it in the user's own cache.
    env = {**os.environ, "PPROF_TMPDIR": str(test.work)}
    expected = {"alloc_space": facts["allocated_bytes"], "alloc_objects": facts["allocated_blocks"],
                "inuse_space": facts["live_bytes"], "inuse_objects": facts["live_blocks"], "peak_space": facts["peak_bytes"]}
    for kind, total in expected.items():
        unit = ["-unit=B"] if kind.endswith("space") else []
        top = run(go, "tool", "pprof", "-top", "-symbolize=none", f"-sample_index={kind}", *unit, path, env=env)
        shown = re.search(r"of (\d+)B? total", top)
        check(shown, f"pprof -top shows a total:\n{top[:500]}")
        equal(int(shown[1]), total, f"total of {kind}")
    raw = run(go, "tool", "pprof", "-raw", "-symbolize=none", path, env=env)
    for wanted in ("peak_space/bytes[dflt]", "thread:[", "thread_id:[", "libc.so.6", "[FN]", "count_calls.cpp"):
        check(wanted in raw, f"pprof -raw shows {wanted}:\n{raw[:3000]}")


@case
def ms_print_shows_our_peak(test):
    judge = installed("ms_print")
    tape = make_tape(test)
    text = run(judge, export(test, tape, "massif"))
    rows = [[int(field.replace(",", "")) for field in row.split()] for row in re.findall(r"^ +\d+ +[\d,]+ +[\d,]+ +[\d,]+ +[\d,]+ +[\d,]+$", text, re.MULTILINE)]
    equal(max(row[2] for row in rows), tape.facts()["peak_bytes"], "highest snapshot")
    equal(rows[-1][2], tape.facts()["live_bytes"], "last snapshot")
    check("(peak)" in text and "count_calls" in text, f"the peak has a tree:\n{text[:3000]}")


@case
def callgrind_annotate_shows_our_totals(test):
    judge = installed("callgrind_annotate")
    tape = make_tape(test)
    facts = tape.facts()
    text = run(judge, "--threshold=100", "--auto=no", export(test, tape, "callgrind"))
    totals = re.search(r"^(.*)PROGRAM TOTALS$", text, re.MULTILINE)
    check(totals, f"callgrind_annotate shows totals:\n{text[:2000]}")
    numbers = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) \(100\.0%\)", totals[1])]
    equal(numbers[:6], [facts["allocated_bytes"], facts["allocated_blocks"], facts["peak_bytes"], numbers[3],
                        facts["live_bytes"], facts["live_blocks"]], f"totals in {totals[1]}")
    functions = re.findall(r"^ *([\d,]+) \( ?[\d.]+%\) .*:.*\[.*\]$", text, re.MULTILINE)
    equal(sum(int(number.replace(",", "")) for number in functions), facts["allocated_bytes"], "sum over the functions")
    inclusive = run(judge, "--inclusive=yes", test.work / "out.callgrind")
    check("main" in inclusive, f"main is among the callers:\n{inclusive[:2000]}")


@case
def dhat_files_have_valgrinds_keys_and_our_sums(test):
    valgrind = installed("valgrind")
    run(valgrind, "--tool=dhat", f"--dhat-out-file={test.work}/theirs.json", program("ends"), "status", "0", env=test.env)
    theirs = json.loads((test.work / "theirs.json").read_text())
    tape = make_tape(test)
    facts = tape.facts()
    ours = json.loads(export(test, tape, "dhat").read_text())
    equal(sorted(ours), sorted(theirs), "keys of the file")
    # Accesses to blocks are only seen by valgrind; "bkacc" says whether they are there.
    seen_by_valgrind = {"rb", "wb", "acc"}
    equal(ours["bkacc"], False, "bkacc")
    equal({key for point in ours["pps"] for key in point},
          {key for point in theirs["pps"] for key in point} - seen_by_valgrind, "keys of a place")
    for key, fact in {"tb": "allocated_bytes", "tbk": "allocated_blocks", "gb": "peak_bytes", "eb": "live_bytes", "ebk": "live_blocks"}.items():
        equal(sum(point[key] for point in ours["pps"]), facts[fact], key)
    for point in ours["pps"]:
        check(point["gb"] <= point["mb"] <= point["tb"] and all(0 < f < len(ours["ftbl"]) for f in point["fs"]), f"{point}")


@case
def heaptrack_print_shows_our_totals(test):
    judge = installed("heaptrack_print")
    tape = make_tape(test)
    facts = tape.facts()
    for suffix in ("", ".gz", ".zst"):
        path = export(test, tape, "heaptrack", suffix=suffix)
        text = run(judge, path)
        shown = re.search(r"calls to allocation functions: (\d+)", text)
        equal(int(shown[1]), facts["allocated_blocks"], f"calls in out.heaptrack{suffix}")
    for cost, fact in {"peak": "peak_bytes", "leaked": "live_bytes", "allocations": "allocated_blocks"}.items():
        run(judge, "-f", path, "-F", test.work / "folded", "--flamegraph-cost-type", cost)
        equal(folded_sum((test.work / "folded").read_text()), facts[fact], f"{cost} of heaptrack_print")
    check("main" in text and "count_calls.cpp" in text, f"names are there:\n{text[:2000]}")


@case
def gprof2dot_and_graphviz_draw_a_graph_for_each_label(test):
    gprof2dot, dot = installed("gprof2dot", "dot")
    tape = make_tape(test)
    facts = tape.facts()
    result = heaptape("export", "--format", "gprof2dot", "-o", test.work / "graph.json", tape.path)
    equal(result.returncode, 0, f"status: {result.stderr}")
    for label, fact in {"leaked": "live_bytes", "maximum": "peak_bytes"}.items():
        path = test.work / f"graph.{label}.json"
        equal(sum(event["cost"][0] for event in json.loads(path.read_text())["events"]), facts[fact], f"sum of {label}")
        graph = run(gprof2dot, "-f", "json", "-n0", "-e0", path)
        svg = run(dot, "-Tsvg", input=graph)
        check("<svg" in svg and "main" in svg, f"the graph of {label} shows main")
    middle = heaptape("export", "--format", "gprof2dot", "--label", facts["peak_event"], tape.path)
    equal(sum(event["cost"][0] for event in json.loads(middle.stdout)["events"]), facts["peak_bytes"], "live after the peak's event")


@case
def gprof2dot_has_labels_for_what_changed_between_snapshots(test):
    tape = test.recording_of([program("marks")]).tape
    names = [mark["name"] for mark in json.loads(heaptape("marks", "--json", tape.path).stdout)]

    def total(label):
        result = heaptape("export", "--format", "gprof2dot", "--label", label, tape.path)
        equal(result.returncode, 0, f"status of {label}: {result.stderr}")
        return sum(event["cost"][0] for event in json.loads(result.stdout)["events"])

    gone, three = names.index("second gone"), names.index("three blocks")
    equal(total(f"snapshot-{gone}-delta"), -2000, "negative where memory was freed")
    equal(total(f"snapshot-{three}-delta"), 6000, "the change since the mark before")
    equal(total(f"snapshot-{gone}-cumulative"), 5000, "the change since the first mark")
    gprof2dot = installed("gprof2dot")
    path = test.work / "graph.json"
    equal(heaptape("export", "--format", "gprof2dot", "-o", path, tape.path).returncode, 0, "status")
    run(gprof2dot, "-f", "json", "-n0", "-e0", test.work / f"graph.snapshot-{gone}-delta.json")


@case
def an_export_is_as_private_as_its_tape(test):
    tape = make_tape(test)
    for form in ("html", "csv"):
        path = export(test, tape, form)
        equal(oct(path.stat().st_mode & 0o777), "0o600", f"permissions of {form}")


def fields_of(message):
    """The fields of a protobuf message: (number, value), where a value is a number or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
        yield key >> 3, value


@case
def the_file_of_a_pprof_profile_is_the_program(test):
    path = export(test, make_tape(test), "pprof", suffix=".pb.gz")
    profile = list(fields_of(gzip.decompress(path.read_bytes())))
    texts = [value.decode() for number, value in profile if number == 6]
    mappings = [dict(fields_of(value)) for number, value in profile if number == 3]
    equal(texts[mappings[0][5]], str(program("count_calls")), "file of the first mapping, which pprof shows")
    equal(mappings[0][1], 1, "its number")


@case
def speedscope_files_follow_its_schema(test):
    need(importlib.util.find_spec("jsonschema"), "python3-jsonschema is not installed")
    import jsonschema
    tape = make_tape(test)
    profile = json.loads(export(test, tape, "speedscope").read_text())
    jsonschema.validate(profile, SPEEDSCOPE_SCHEMA)
    frames = len(profile["shared"]["frames"])
    check(all(index < frames for part in profile["profiles"] for stack in part["samples"] for index in stack), "frames exist")
    facts = tape.facts()
    sums = [sum(part["weights"]) for part in profile["profiles"]]
    equal(sums[:4], [facts["peak_bytes"], facts["live_bytes"], facts["allocated_bytes"], facts["allocated_blocks"]], "sums")
    for part in profile["profiles"]:
        equal(len(part["samples"]), len(part["weights"]), "samples and weights")


# --------------------------------------------------------------------------------------------------- formats of our own

@case
def folded_stacks_add_up_to_the_totals(test):
    tape = make_tape(test)
    facts = tape.facts()
    texts = {value: heaptape("export", "--format", "folded", "--value", value, tape.path).stdout for value in VALUES}
    for value, fact in {"peak": "peak_bytes", "live": "live_bytes", "allocated": "allocated_bytes"}.items():
        equal(folded_sum(texts[value]), facts[fact], f"sum of {value}")
    check(0 < folded_sum(texts["temporary"]) < facts["allocated_bytes"], "some blocks are temporary, not all")
    blocks = heaptape("export", "--format", "folded", "--value", "allocated", "--blocks", tape.path).stdout
    equal(folded_sum(blocks), facts["allocated_blocks"], "sum of blocks")
    check(re.search(r"^_start;.*main", texts["allocated"], re.MULTILINE) or ";main;" in texts["allocated"], "outermost first")


@case
def csv_tables_hold_every_stack_and_every_event(test):
    tape = make_tape(test)
    facts = tape.facts()
    rows = list(csv.DictReader(io.StringIO(heaptape("export", "--format", "csv", tape.path).stdout)))
    equal(sum(int(row["allocated_bytes"]) for row in rows), facts["allocated_bytes"], "allocated bytes")
    equal(sum(int(row["peak_bytes"]) for row in rows), facts["peak_bytes"], "peak bytes")
    events = list(csv.DictReader(io.StringIO(heaptape("export", "--format", "csv", "--events", tape.path).stdout)))
    known = tape.events(stacks=False)
    equal(len(events), facts["events"], "events")
    equal([(int(row["event"]), int(row["tid"]), row["kind"], int(row["address"], 16), int(row["size"])) for row in events[:500]],
          [(event.number, event.thread, event.kind, event.address, event.size) for event in known[:500]], "the first events")


# ------------------------------------------------------------------------------------------------------------- options

@case
def an_existing_file_is_not_overwritten_without_force(test):
    tape = make_tape(test)
    target = test.work / "mine.txt"
    target.write_text("precious")
    result = heaptape("export", "--format", "folded", "-o", target, tape.path)
    equal(result.returncode, 2, "status")
    equal(target.read_text(), "precious", "the file")
    check("--force" in result.stderr, f"says how: {result.stderr}")
    equal(heaptape("export", "--format", "folded", "--force", "-o", target, tape.path).returncode, 0, "status with --force")
    check("main" in target.read_text(), "it is written now")
    equal(sorted(path.name for path in test.work.iterdir() if path.name.startswith("mine")), ["mine.txt"], "nothing else is left")


@case
def binary_formats_are_not_written_to_a_terminal(test):
    script = installed("script")
    tape = make_tape(test)
    outcome = test.run([script, "-qec", f"{HEAPTAPE} export --format pprof {tape.path}", "/dev/null"])
    found = re.fullmatch(rb"heaptape: (\S+\.pb\.gz) written\r\n", outcome.out)
    check(found, f"says where it is instead: {outcome.out[:300]}")
    check(len(gzip.decompress((test.work / found[1].decode()).read_bytes())) > 1000, "the file holds it")
    piped = test.run(["sh", "-c", f"{HEAPTAPE} export --format pprof {tape.path} 2>/dev/null | cat"])
    check(len(gzip.decompress(piped.out)) > 1000, "but to a pipe they are")


@each(no_format=[], an_unknown_format=["--format", "jpeg"], a_foreign_option=["--format", "massif", "--blocks"],
      a_bad_value=["--format", "folded", "--value", "most"], no_label=["--format", "gprof2dot"],
      an_unknown_label=["--format", "gprof2dot", "--label", "nonsense"], no_folder=["--format", "csv", "-o", "/nowhere/x.csv"])
def export_explains(test, options):
    tape = make_tape(test, 1, 5)
    result = heaptape("export", *options, tape.path)
    equal(result.returncode, 2, "status")
    last = result.stderr.splitlines()[-1]
    check(last.startswith("heaptape: ") and len(last) > 25, f"stderr: {result.stderr}")
    equal(result.stdout, "", "stdout")


@case
def a_cut_tape_is_exported_as_far_as_it_goes(test):
    tape = test.recording_of([program("steady"), "stop", 100000]).tape
    cut = test.work / "cut.tape"
    cut.write_bytes(tape.path.read_bytes()[:tape.path.stat().st_size * 7 // 10])
    for format in ("folded", "pprof", "massif", "callgrind", "dhat", "speedscope", "heaptrack", "csv", "html"):
        path = export(test, Tape(cut), format)
        check(path.stat().st_size > 20, f"{format} has something")


if __name__ == "__main__":
    raise SystemExit(main())
