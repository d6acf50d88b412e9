"""Filters and SQL on recorded programs: the same answers as the events give, and every example of the guide."""

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path

from harness import case, check, equal, main, program
from tape import demand, heaptape

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"


def recorded(test, threads=3, steps=2000):
    outcome = test.recording_of([program("call_sites"), "counts", threads, steps])
    equal(outcome.status, 0, "status of the program")
    return outcome.tape


def dumped(tape, *options):
    entries = [json.loads(line) for line in demand("dump", "--json", "--no-stacks", *options, tape.path).splitlines()]
    return [entry for entry in entries if "mark" not in entry]


def sql(tape, text):
    return json.loads(demand("sql", "--format", "json", tape.path, text))


def blocks_of(page, language):
    """The fenced blocks of a guide page; of none: those without a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (GUIDE / page).read_text(), re.MULTILINE | re.DOTALL)


@case
def dump_shows_exactly_the_events_that_a_filter_accepts(test):
    tape = recorded(test)
    events = dumped(tape)
    middle = events[len(events) // 2]
    cases = {
        "": lambda e: True,
        "size>=100 and thread=1": lambda e: e.get("size", 0) >= 100 and e["thread"] == 1,
        "kind=free": lambda e: e["kind"] == "free",
        "kind=alloc or kind=release": lambda e: "map" not in e["kind"],
        f"event>{middle['event']} and not kind=free": lambda e: e["event"] > middle["event"] and e["kind"] != "free",
        f"address={middle['address']}": lambda e: e["address"] == middle["address"],
    }
    for text, fits in cases.items():
        found = [event["event"] for event in dumped(tape, "--where", text)]
        equal(found, [event["event"] for event in events if fits(event)], text)


@case
def dump_takes_every_kind_of_position(test):
    tape = recorded(test)
    events = dumped(tape)
    peak = json.loads(demand("info", "--json", tape.path))["peak_event"]
    for text, first, last in (("peak", peak, peak), ("peak-3", peak - 3, peak), ("start", 1, peak), ("end-2", len(events) - 2, len(events))):
        end = "peak" if last == peak else "end"
        numbers = [event["event"] for event in dumped(tape, "--from", text, "--to", end)]
        equal(numbers, list(range(first, last + 1)), f"--from {text} --to {end}")
    refused = heaptape("dump", "--from", "nowhere", tape.path)
    equal(refused.returncode, 2, "status for a position that does not exist")
    check("nowhere" in refused.stderr, refused.stderr)


@case
def a_moment_that_is_given_twice_must_be_the_same(test):
    tape = recorded(test)
    (peak,) = sql(tape, "SELECT count(*) AS n FROM live('peak')")
    check(peak["n"] > 0, "something lives at the peak")
    equal(sql(tape, "SELECT count(*) AS n FROM live('peak') WHERE at = '$'"), [{"n": 0}], "two different moments")
    equal(sql(tape, "SELECT count(*) AS n FROM live('peak') WHERE at = 'peak'"), [peak], "the same one twice")


@case
def names_in_filters_are_those_of_the_reports(test):
    tape = recorded(test)
    whole = len(dumped(tape))
    sites = [len(dumped(tape, "--where", f"fn=site_{site}")) for site in ("malloc", "calloc", "new")]
    check(all(0 < count < whole for count in sites), f"{sites} of {whole} events go through the sites")
    equal(len(dumped(tape, "--where", "fn~^site_(malloc|calloc|new)$")), sum(sites), "the three together")
    equal(len(dumped(tape, "--where", "not fn~site_malloc")), whole - sites[0], "all but one")


@case
def reports_count_only_the_blocks_that_a_filter_accepts(test):
    tape = recorded(test)
    rows = sql(tape, "SELECT alloc_thread AS thread, size, free_event AS freed FROM blocks")
    for text, fits in {
        "size>200": lambda row: row["size"] > 200,
        "thread=2": lambda row: row["thread"] == 2,
        "thread=2 and size<=200": lambda row: row["thread"] == 2 and row["size"] <= 200,
    }.items():
        for option, lives in {"--leaks": lambda row: row["freed"] is None, "--allocations": lambda row: True}.items():
            tree = json.loads(demand("report", "--json", "--show-runtime", option, "--where", text, tape.path))["trees"][0]
            chosen = [row["size"] for row in rows if fits(row) and lives(row)]
            equal((tree["bytes"], tree["blocks"]), (sum(chosen), len(chosen)), f"{option} {text}")
        top = json.loads(demand("top", "--json", "-n", "9999", "--where", text, tape.path))
        equal(sum(row["allocated_bytes"] for row in top), sum(row["size"] for row in rows if fits(row)), f"top {text}")
        peak = json.loads(demand("peak", "--json", "--show-runtime", "--where", text, tape.path))["trees"][0]
        equal(sum(row["peak_bytes"] for row in top), peak["bytes"], f"top and peak {text}")


@case
def a_wrong_filter_is_answered_with_its_place(test):
    tape = recorded(test, 1, 500)
    for command in ("dump", "report", "leaks", "peak", "top"):
        outcome = heaptape(command, "--where", "size>1M and sise=3", tape.path)
        equal(outcome.returncode, 2, f"status of {command}")
        check("'sise' is not a field" in outcome.stderr, outcome.stderr)
        check("\n  size>1M and sise=3\n              ^\n" in outcome.stderr, outcome.stderr)


@case
def every_filter_of_the_guide_is_one(test):
    tape = recorded(test, 3, 50)
    page = (GUIDE / "filters.md").read_text()
    fields = re.findall(r"^\| `(\w+)` \| (both|events|blocks) \|.*\| `([^`]*)` \|$", page, re.MULTILINE)
    check(len(fields) >= 22, f"only {len(fields)} fields in the table")
    for name, of, text in fields:
        if of != "blocks":
            demand("dump", "--where", text, tape.path)
        if of != "events":
            demand("top", "--where", text, tape.path)
    examples = page.split("## Examples")[1].split("```")[1].strip().splitlines()
    check(len(examples) >= 6, "examples are missing")
    for text in examples:
        demand("top", "--where", text, tape.path)
    mistake = page.split("## Mistakes")[1].split("```")[1].strip().split("\n", 1)
    text = re.search(r"--where '([^']*)'", mistake[0]).group(1)
    equal(heaptape("dump", "--where", text, tape.path).stderr.strip(), mistake[1], "the mistake of the guide")


@case
def sql_counts_what_dump_shows(test):
    tape = recorded(test)
    events = dumped(tape)
    counts = {row["kind"]: row["n"] for row in sql(tape, "SELECT kind, count(*) AS n FROM events GROUP BY kind")}
    equal(counts, dict(Counter(event["kind"] for event in events)), "events by kind")
    live = sql(tape, "SELECT count(*) AS blocks, sum(size) AS bytes FROM blocks WHERE free_event IS NULL")[0]
    leaks = json.loads(demand("leaks", "--json", "--show-runtime", tape.path))["trees"][0]
    equal((live["bytes"], live["blocks"]), (leaks["bytes"], leaks["blocks"]), "what is never freed")
    by_site = {row["fn"]: row["bytes"] for row in sql(
        tape, "SELECT alloc_fn AS fn, sum(size) AS bytes FROM blocks WHERE alloc_fn REGEXP '^site_' GROUP BY fn")}
    top = {row["function"]: row["allocated_bytes"]
           for row in json.loads(demand("top", "--json", "-n", "999", tape.path)) if row["function"].startswith("site_")}
    equal(by_site, top, "bytes by function")


@case
def every_query_of_the_guide_runs(test):
    tape = recorded(test)
    queries = blocks_of("sql.md", "sql")
    check(len(queries) >= 8, f"only {len(queries)} queries in the guide")
    for query in queries:
        rows = sql(tape, query)
        check(rows or "free_thread !=" in query, f"no rows from:\n{query}")
    churn = sql(tape, queries[4])
    equal(sum(row["allocations"] + row["releases"] for row in churn), len(dumped(tape)), "events in all seconds")


@case
def tables_and_columns_of_the_guide_are_those_of_the_schema(test):
    tape = recorded(test, 1, 500)
    page = (GUIDE / "sql.md").read_text()
    described = {}
    for name, text in re.findall(r"^\| `(\w+)` \| (.*?) \| [^|]* \|$", page, re.MULTILINE):
        described[name] = re.findall(r"`(\w+)`", text)
    schema, table = {}, None
    for line in demand("sql", tape.path, ".schema").splitlines():
        if line and not line.startswith(" "):
            table = schema.setdefault(line.split(":")[0], [])
        elif line:
            table.append(line.split()[0])
    equal(described, schema, "tables")
    listed = [line.split()[0] for line in demand("sql", tape.path, ".tables").splitlines()]
    equal(listed, list(schema), ".tables")


@case
def sql_comes_in_three_formats_and_from_standard_input(test):
    tape = recorded(test, 1, 500)
    query = "SELECT number, kind, size FROM events ORDER BY number LIMIT 3"
    rows = sql(tape, query)
    parsed = list(csv.DictReader(io.StringIO(demand("sql", "--format", "csv", tape.path, query))))
    equal([row["kind"] for row in parsed], [row["kind"] for row in rows], "csv and json")
    lines = demand("sql", tape.path, query).splitlines()
    equal(lines[0].split(), ["number", "kind", "size"], "titles")
    equal(len(lines), 4, "lines of the table")
    outcome = heaptape("sql", "--format", "csv", tape.path, text=f".tables\nSELECT 1 AS a;\n.help\n{query};\n")
    equal(outcome.returncode, 0, "status")
    check(outcome.stdout.startswith("events ") and "a\n1\n" in outcome.stdout, outcome.stdout)


@case
def wrong_sql_is_one_sentence_and_a_status(test):
    tape = recorded(test, 1, 500)
    for text, sentence in {
        "SELECT x FROM events": "heaptape: no such column: x\n",
        "DELETE FROM events": "heaptape: table events may not be modified\n",
        "ATTACH 'x.db' AS x": "heaptape: a tape can only be read; write to temporary tables instead (CREATE TEMP TABLE ...)\n",
        ".nothing": "heaptape: '.nothing' is neither SQL nor one of .tables, .schema and .help\n",
    }.items():
        outcome = heaptape("sql", tape.path, text)
        equal((outcome.returncode, outcome.stdout, outcome.stderr), (2, "", sentence), text)


if __name__ == "__main__":
    raise SystemExit(main())
