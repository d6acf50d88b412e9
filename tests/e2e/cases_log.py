"""While the program runs: the churn log, and the limit on live bytes."""

import json
import os
import re
import signal
import sys
from pathlib import Path

from harness import HEAPTAPE, LIBRARY, case, check, each, equal, installed, main, program, wait_until
from tape import demand

HEAD = re.compile(r"^\[(\d+)\]=+ (\S+Z)\ntime=([\d.]+) why=(.*?) churn=(\d+)/(\d+) event=(\d+) sources=(\d+)/(\d+)", re.M)
LINE = re.compile(r"^\{(total|rest|[0-9a-f]{16})\} +live:(\d+)/(\d+), +alloc:\+(\d+)/\+(\d+)=(\d+)/(\d+), +"
                  r"free:\+(\d+)/\+(\d+)=(\d+)/(\d+) *(.*)$", re.M)


class Line:
    def __init__(self, match):
        numbers = [int(number) for number in match.groups()[1:11]]
        pairs = list(zip(numbers[::2], numbers[1::2]))
        self.live, self.new_alloc, self.alloc, self.new_free, self.free = pairs
        self.site = match.group(12)


class Snapshot:
    def __init__(self, text):
        head = HEAD.search(text)
        check(head, f"no head in {text[:200]}")
        self.number, self.time, self.why = int(head[1]), float(head[3]), head[4]
        self.churn, self.threshold, self.event = int(head[5]), int(head[6]), int(head[7])
        self.text = text
        self.lines = {match[1]: Line(match) for match in LINE.finditer(text)}
        self.total = self.lines.pop("total")


def read_log(path):
    """The snapshots of a log, each checked: its figures add up."""
    snapshots = [Snapshot(part) for part in re.split(r"\n(?=\[\d+\]=)", Path(path).read_text())[1:]]
    for snapshot in snapshots:
        for line in [snapshot.total, *snapshot.lines.values()]:
            for i, what in enumerate(("bytes", "blocks")):
                equal(line.live[i], line.alloc[i] - line.free[i], f"live {what} in snapshot {snapshot.number}")
        for field in ("new_alloc", "new_free"):
            for i in range(2):
                equal(sum(getattr(line, field)[i] for line in snapshot.lines.values()),
                      getattr(snapshot.total, field)[i], f"{field} of snapshot {snapshot.number}")
    return snapshots


def source(snapshot, function):
    """The one source whose line names this function."""
    found = [(key, line) for key, line in snapshot.lines.items() if line.site.startswith(function)]
    check(len(found) == 1, f"{len(found)} sources of {function} in {snapshot.text}")
    return found[0]


def log_of(test, command, *options, **more):
    """Records with a log; the outcome and the log's snapshots."""
    log = test.dir / "the.log"
    outcome = test.record(command, options=[f"--log={log}", *options], **more)
    return outcome, read_log(log)


def real_python():
    """The interpreter itself: what PATH has may be a script that starts it."""
    return str(Path(sys.executable).resolve())


# ------------------------------------------------------------------------------------------------------------ the log

@each(a_leaky_server=lambda: [program("leaky_server"), "2000"],
      python=lambda: [real_python(), "-c", "x = [str(i) * 20 for i in range(50000)]; print(len(x))"],
      sqlite=lambda: [installed("sqlite3"), ":memory:",
                      "create table t(x); with recursive c(i) as (select 1 union all select i+1 from c where i < 20000) "
                      "insert into t select hex(i) from c; select count(*), sum(length(x)) from t;"])
def the_figures_of_a_log_add_up_with(test, command):
    native = test.run(command())
    outcome, snapshots = log_of(test, command(), "--log-churn", "100K", env={"PYTHONMALLOC": "malloc"})
    equal(outcome.out, native.out, "output")
    equal(outcome.status, native.status, "status")
    equal([snapshot.number for snapshot in snapshots], list(range(1, len(snapshots) + 1)), "numbers")
    check(len(snapshots) > 3, f"{len(snapshots)} snapshots")
    seen = {}
    for snapshot in snapshots:
        for key, line in snapshot.lines.items():
            before = seen.get(key, ((0, 0), (0, 0)))
            for i in range(2):
                equal(line.alloc[i], before[0][i] + line.new_alloc[i], "total = total before + new")
                equal(line.free[i], before[1][i] + line.new_free[i], "total = total before + new")
            seen[key] = (line.alloc, line.free)
    check(all(a.time <= b.time for a, b in zip(snapshots, snapshots[1:])), "times do not decrease")
    last = snapshots[-1]
    equal(last.why, "exit", "the last one")
    for i in range(2):
        equal(sum(line.live[i] for line in last.lines.values()), last.total.live[i], "the last one is complete")
    facts = outcome.tape.facts()
    equal(last.total.live, (facts["live_bytes"], facts["live_blocks"]), "live at the end, as on the tape")
    equal(last.total.alloc, (facts["allocated_bytes"], facts["allocated_blocks"]), "allocated, as on the tape")
    outcome.tape.verify()


@case
def a_snapshot_comes_when_the_churn_has_passed_its_threshold(test):
    _, snapshots = log_of(test, [program("leaky_server"), "500", "300"], "--log-churn", "200K")
    churned = [snapshot for snapshot in snapshots if snapshot.why == "churn"]
    check(len(churned) > 5, f"{len(churned)} snapshots for churn")
    for snapshot in churned:
        equal(snapshot.threshold, 200_000, "threshold")
        check(snapshot.churn >= 200_000, f"churn {snapshot.churn}")
        equal(snapshot.churn, snapshot.total.new_alloc[0] + snapshot.total.new_free[0], "churn is what came and went")


@case
def a_source_has_the_same_name_in_every_run(test):
    def look():
        _, snapshots = log_of(test, [program("leaky_server"), "100"])
        return {source(snapshots[-1], name)[0] for name in ("cache_insert", "make_reply", "handle_request")}
    first = look()
    equal(len(first), 3, "sources")
    equal(look(), first, "hashes of another run")


@case
def every_stack_is_explained_once_with_module_and_offset_beside_the_name(test):
    _, snapshots = log_of(test, [program("leaky_server"), "1000"], "--log-churn", "100K")
    key, _ = source(snapshots[-1], "cache_insert")
    explained = [snapshot for snapshot in snapshots
                 if re.search(r"^\{" + key + r"\}.*\n(  module .*\n)*  \{0\} leaky_server\+0x[0-9a-f]+ +cache_insert +leaky_server.c:\d+\n"
                              r"  \{1\} leaky_server\+0x[0-9a-f]+ +handle_request", snapshot.text, re.M)]
    equal(len(explained), 1, "explanations")
    check("libheaptape" not in "".join(snapshot.text for snapshot in snapshots), "own frames are hidden")


@case
def only_what_changed_is_shown_unless_all_is_wanted(test):
    code = "a = [bytes(1000) for i in range(100)]\nfor i in range(3000): bytes(1000)"
    command = [real_python(), "-c", code]
    _, some = log_of(test, command, "--log-churn", "300K")
    _, everything = log_of(test, command, "--log-churn", "300K", "--log-all")
    check(len(some[-2].lines) < len(some[-1].lines), "the last but one shows less than the last")
    for snapshot in everything:
        equal(sum(line.live[0] for line in snapshot.lines.values()), snapshot.total.live[0], "complete")


@case
def snapshots_of_the_program_are_in_the_log(test):
    _, snapshots = log_of(test, [program("leaky_server"), "50"], "--log-churn", "0")
    equal([snapshot.why for snapshot in snapshots], ["mark 'ten requests'", "exit"], "reasons")
    _, line = source(snapshots[0], "cache_insert")
    equal(line.live, (11 * 704, 11), "live at that very moment")


@case
def a_signal_to_the_collector_writes_a_snapshot(test):
    log = test.dir / "the.log"
    process = test.start_record([program("leaky_server"), "0", "1000"],
                                options=[f"--log={log}", "--log-churn=0", "--log-signal=USR1"])
    wait_until(lambda: log.exists() and "why=mark" in log.read_text(), "the first snapshot")
    collector = int(re.search(r"kill -USR1 (\d+)", log.read_text())[1])
    os.kill(collector, signal.SIGUSR1)
    wait_until(lambda: "why=signal" in log.read_text(), "the snapshot")
    program_pid = int(re.search(r"# pid (\d+)", log.read_text())[1])
    os.kill(program_pid, signal.SIGTERM)
    equal(test.finish(process).status, 128 + signal.SIGTERM, "status")
    check("# ended by SIGTERM" in log.read_text(), "the log says how it ended")
    equal(read_log(log)[-1].why, "exit", "the last snapshot of a killed program")


@case
def a_log_stays_within_its_size(test):
    folder = test.dir / "logs"
    folder.mkdir()
    log = folder / "the.log"
    test.record([program("leaky_server"), "4000", "100"],
                options=[f"--log={log}", "--log-churn=50K", "--log-max=4K", "--log-keep=2"])
    equal(sorted(path.name for path in folder.iterdir()), ["the.log", "the.log.1", "the.log.2"], "files")
    numbers = []
    for path in (folder / "the.log.2", folder / "the.log.1", log):
        check(path.stat().st_size <= 4096 + 200, f"{path.name} has {path.stat().st_size} bytes")
        check(path.read_text().startswith("# heaptape "), "each file begins with the facts")
        snapshots = read_log(path)
        numbers += [snapshot.number for snapshot in snapshots]
        shown = {key for snapshot in snapshots for key in snapshot.lines if key != "rest"}
        for key in shown:
            check(re.search(r"^\{" + key + r"\}.*\n(  module .*\n)*  \{0\}", path.read_text(), re.M), f"{key} is explained in {path.name}")
    equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "no snapshot is missing between the files")


@case
def a_snapshot_larger_than_a_file_keeps_its_sums(test):
    log = test.dir / "the.log"
    script = "import json, re, decimal; print(len(json.dumps(list(range(1000)))))"
    test.record(["/usr/bin/python3", "-c", script], env={"PYTHONMALLOC": "malloc"}, options=[f"--log={log}", "--log-max=100K", "--log-keep=3"])
    for path in test.dir.glob("the.log*"):
        check(path.stat().st_size <= 102_400 + 200, f"{path.name} has {path.stat().st_size} bytes")
    last = read_log(log)[-1]
    equal((last.why, last.lines["rest"].live[1] > 100), ("exit", True), "the last snapshot")
    equal(sum(line.live[0] for line in last.lines.values()), last.total.live[0], "live bytes of all lines")


@case
def without_a_tape_there_is_only_the_log(test):
    outcome = test.run([HEAPTAPE, "record", "--no-tape", "--log", "--", program("leaky_server"), "300"],
                       env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(outcome.status, 0, "status")
    equal(outcome.out, b"2590 bytes sent\n", "output")
    left = [path.name for path in test.work.iterdir()]
    check(len(left) == 1 and re.fullmatch(r"heaptape\.leaky_server\.\d+\.log", left[0]), f"left: {left}")
    check(left[0].encode() in outcome.err, "the last line names the log")
    _, line = source(read_log(test.work / left[0])[-1], "cache_insert")
    equal(line.live, (300 * 704, 300), "what the cache holds")
    refused = test.run([HEAPTAPE, "record", "--no-tape", "--", program("leaky_server"), "3"], env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(refused.status, 2, "status without anything to do")


@case
def a_program_without_the_launcher_can_have_a_log(test):
    log = test.dir / "direct.log"
    outcome = test.run([program("leaky_server"), "100"],
                       env={"LD_PRELOAD": LIBRARY, "HEAPTAPE_COLLECTOR": HEAPTAPE, "HEAPTAPE_QUIET": "1",
                            "HEAPTAPE_TAPE": "0", "HEAPTAPE_LOG": str(log), "HEAPTAPE_LOG_CHURN": "100K"})
    equal((outcome.status, outcome.out), (0, b"790 bytes sent\n"), "outcome")
    _, line = source(read_log(log)[-1], "cache_insert")
    equal(line.live, (70_400, 100), "what the cache holds")
    equal(list(test.work.iterdir()), [], "no tape")


@case
def followed_children_have_logs_of_their_own(test):
    folder = test.dir / "logs"
    folder.mkdir()
    outcome = test.record(["/bin/sh", "-c", f"{program('leaky_server')} 20; {program('leaky_server')} 30; true"],
                          form="follow", options=[f"--log={folder}/app.log"])
    equal(outcome.status, 0, "status")
    held = []
    for path in folder.iterdir():
        last = read_log(path)[-1]
        held += [line.live[1] for line in last.lines.values() if line.site.startswith("cache_insert")]
    equal(sorted(held), [20, 30], "blocks in the two caches")


@case
def a_log_that_cannot_be_created_is_said_before_the_program_runs(test):
    outcome = test.record([installed("touch"), "ran"], options=["--log=/nowhere/at/all.log"])
    equal(outcome.status, 2, "status")
    check(b"/nowhere/at/all.log" in outcome.err, outcome.err)
    check(not (test.work / "ran").exists(), "the program did not run")


@case
def a_log_of_a_program_that_cannot_be_executed_is_not_left_behind(test):
    (test.work / "broken").write_bytes(b"#!/nowhere/at/all\n")
    (test.work / "broken").chmod(0o755)
    test.record(["./broken"], options=[f"--log={test.dir}/the.log"])
    check(not (test.dir / "the.log").exists(), "no log")


@case
def a_full_disk_stops_the_log_and_not_the_program(test):
    outcome = test.record([program("leaky_server"), "1000"], options=["--log=/dev/full"])
    equal((outcome.status, outcome.out), (0, b"8890 bytes sent\n"), "outcome")
    check(b"cannot write the log '/dev/full'" in outcome.err, outcome.err)
    outcome.tape.verify()


# ------------------------------------------------------------------------------------------------------------ limits

@case
def a_program_that_passes_its_limit_is_stopped_with_a_report(test):
    outcome = test.record([program("leaky_server"), "0", "10"], options=["--max-live", "500K"])
    equal(outcome.status, 128 + signal.SIGTERM, "status")
    text = outcome.err.decode()
    check("the live heap has passed 500 kB" in text, text)
    check(re.search(r"49\d kB +49\d kB +[67]\d\d +cache_insert leaky_server.c:\d+ <- handle_request", text), text)
    marks = outcome.tape.facts().get("marks") or json.loads(demand("marks", "--json", outcome.tape.path))
    check("max-live passed" in str(marks), f"marks: {marks}")
    outcome.tape.verify()


@case
def a_limit_may_only_be_reported(test):
    outcome = test.record([program("leaky_server"), "2000"], options=["--max-live=500K", "--max-live-report"])
    equal((outcome.status, outcome.out), (0, b"18890 bytes sent\n"), "outcome")
    equal(outcome.err.count(b"has passed"), 1, "reports")


@case
def a_program_that_stays_below_its_limit_hears_nothing(test):
    outcome = test.record([program("leaky_server"), "100"], options=["--max-live=5M"])
    equal((outcome.status, outcome.out, outcome.err), (0, b"790 bytes sent\n", b""), "outcome")


if __name__ == "__main__":
    sys.exit(main())
