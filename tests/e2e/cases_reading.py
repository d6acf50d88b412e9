"""Reading back: dump, info and verify on good, cut and damaged tapes."""

import os
import random
import re
import shutil
import subprocess

from harness import HEAPTAPE, case, check, each, equal, main, program
from tape import HANG_SECONDS, Tape, demand, heaptape


def make_tape(test):
    return test.recording_of([program("count_calls"), "counters", "return", 3, 40]).tape


@case
def dump_prints_every_event_as_text_and_as_json(test):
    tape = make_tape(test)
    events = tape.events()
    equal(tape.event_count(), len(events), "events that info counts")
    text = heaptape("dump", "--no-stacks", tape.path)
    lines = text.stdout.splitlines()
    equal(len(lines) - 1, len(events), "lines of the text")
    for event, line in zip(events, lines[1:]):
        words = line.split()
        equal(int(words[0]), event.number, "number in the text")
        check(event.kind in line and f"{event.address:012x}" in line, f"line {line} shows {event}")
    stacks = heaptape("dump", tape.path).stdout
    for match in re.findall(r"^ {4}0x[0-9a-f]+  (\S+)$", stacks, re.MULTILINE)[:500]:
        check(re.fullmatch(r".+\+0x[0-9a-f]+|\?", match), f"frame {match} is module+offset")


@case
def dump_can_be_limited_to_numbers_times_threads_and_kinds(test):
    tape = make_tape(test)
    events = tape.events(stacks=False)
    part = tape.events("--from", 100, "--to", 250, stacks=False)
    equal(part, events[99:250], "events 100 to 250")
    middle = events[len(events) // 2].time_us
    equal(tape.events("--from", f"{middle}us", stacks=False), [e for e in events if e.time_us >= middle], "second half")
    equal(tape.events("--to", f"{middle}us", stacks=False), [e for e in events if e.time_us <= middle], "first half")
    thread = events[-1].thread
    equal(tape.events("--thread", thread, stacks=False), [e for e in events if e.thread == thread], "one thread")
    equal(tape.events("--kind", "calloc,operator new[]", stacks=False),
          [e for e in events if e.kind in ("calloc", "operator new[]")], "two kinds")
    equal(tape.events("--from", len(events), stacks=False), events[-1:], "the last one")


@each(a_bad_position=["--from", "soon"], a_position_behind_the_end=["--from", "1000000000"],
      a_bad_kind=["--kind", "magic"], an_unknown_thread=["--thread", "999999999"],
      an_unknown_option=["--frobnicate"])
def dump_explains(test, options):
    tape = make_tape(test)
    result = heaptape("dump", *options, tape.path)
    equal(result.returncode, 2, "status")
    check(result.stderr.startswith("heaptape: ") and len(result.stderr.splitlines()) == 1, f"stderr: {result.stderr}")
    equal(result.stdout, "", "stdout")


@case
def info_tells_what_was_recorded(test):
    tape = make_tape(test)
    text = tape.info()
    for wanted in ("count_calls counters return 3 40", "libc.so.6", "malloc", "operator new[]", "EVENTS", "event"):
        check(wanted in text, f"info shows '{wanted}':\n{text}")
    check(re.search(r"\b[0-9a-f]{40}\b.*libc\.so\.6", text), f"info shows libc's build-id:\n{text}")
    counted = {}
    for event in tape.events(stacks=False):
        counted[event.kind] = counted.get(event.kind, 0) + 1
    for kind, count in counted.items():
        shown = re.search(rf"^\s*(\d[\d,' ]*?)\s+{re.escape(kind)}$", text, re.MULTILINE)
        check(shown, f"info counts {kind}:\n{text}")
        equal(int(re.sub(r"\D", "", shown[1])), count, f"count of {kind}")


@case
def the_newest_tape_is_meant_when_none_is_named(test):
    for number in (1, 2):
        test.run([HEAPTAPE, "record", "-q", "-o", f"tape{number}.tape", "--", program("ends"), "status", 0],
                 env={"HEAPTAPE_LIBRARY": os.environ["HEAPTAPE_LIBRARY"]})
    os.utime(test.work / "tape2.tape", (1, 1))
    for command in ("info", "verify", "dump"):
        outcome = test.run([HEAPTAPE, command])
        equal(outcome.status, 0, f"status of {command}")
        check(b"tape1.tape" in outcome.out + outcome.err, f"{command} names the tape: {outcome.err}")


@case
def a_reader_that_stops_early_is_no_error(test):
    tape = make_tape(test)
    outcome = test.run(["sh", "-c", f"{HEAPTAPE} dump {tape.path} | head -n 3"])
    equal(len(outcome.out.splitlines()), 3, "lines")
    equal(outcome.err, b"", "stderr")


@each(a_missing_file="missing", an_empty_file="", a_text="some text\n" * 100, a_folder="folder")
def a_file_that_is_no_tape_is_refused_in_one_sentence(test, content):
    path = test.work / "x.tape"
    if content == "folder":
        path.mkdir()
    elif content != "missing":
        path.write_text(content)
    for command in ("dump", "info", "verify"):
        result = heaptape(command, path)
        equal(result.returncode, 2, f"status of {command}")
        check(result.stderr.startswith("heaptape: ") and "x.tape" in result.stderr, f"{command}: {result.stderr}")
        equal(len(result.stderr.splitlines()), 1, "lines on stderr")


def obeyed(text):
    """Characters that a terminal would obey: control characters, marks and overrides of the writing direction."""
    return sorted({c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) <= 0x9F or c in "\u061c\u200e\u200f"
                   or 0x2028 <= ord(c) <= 0x202E or 0x2066 <= ord(c) <= 0x2069 or 0xDC80 <= ord(c) <= 0xDCFF})


@case
def nothing_that_a_terminal_obeys_comes_out_of_names(test):
    odd = test.work / "odd\u202ename\x1b[31m"
    shutil.copy(program("odd_names"), odd)
    tape = test.record([odd, "\x1b]0;title\x07", "\u009b"]).tape.path
    odd_tape = test.work / "tape\u202e\x1b[31m.tape"
    shutil.copy(tape, odd_tape)
    block = "size=12345"
    commands = [["info"], ["info", "--json"], ["report"], ["report", "--by", "file"], ["report", "--by", "thread"], ["report", "--snapshots"],
                ["report", "--json"], ["leaks"], ["top"], ["timeline"], ["timeline", "--json"], ["dump"], ["dump", "--json"], ["threads"],
                ["threads", "--json"], ["marks"], ["checkpoints"], ["stats"], ["map"], ["mappings"], ["mappings", "--json"], ["pools"],
                ["pools", "--json"], ["blocks", "TAPE", block], ["blocks", "--json", "TAPE", block], ["text", "TAPE", "text"],
                ["events", "TAPE", "size>12000"], ["verify"], ["top", "--once"], ["diff", "TAPE"], ["export", "--format", "speedscope"],
                ["sql", "TAPE", "SELECT * FROM marks"], ["sql", "TAPE", "SELECT * FROM threads"], ["sql", "TAPE", "SELECT * FROM frames"],
                ["sql", "TAPE", "SELECT * FROM modules"], ["sql", "--format", "json", "TAPE", "SELECT * FROM modules"], ["live"], ["arenas"],
                ["budget", "--max-peak", "1"], ["symbol", "TAPE", "function"], ["report", "--at", "nowhere\x1b"]]
    for command in commands:
        words = [str(odd_tape) if word == "TAPE" else word for word in command] + ([] if "TAPE" in command[:-1] else [str(odd_tape)])
        result = subprocess.run([HEAPTAPE, *words], capture_output=True, timeout=HANG_SECONDS, check=False)
        for stream in (result.stdout, result.stderr):
            equal(obeyed(stream.decode("utf-8", "surrogateescape")), [], f"of {command}")
    text = demand("report", odd_tape)
    check("odd\\u202efunction\\u009b" in text, f"they are shown escaped:\n{text}")


def read_all(path):
    """All three commands on a damaged tape: none may crash or hang, whatever it says."""
    results = {command: heaptape(command, path) for command in ("dump", "info", "verify")}
    for command, result in results.items():
        check(result.returncode in (0, 1, 2), f"{command} ended with {result.returncode}: {result.stderr[-500:]}")
    return results


@case
def a_cut_tape_gives_its_whole_blocks_and_says_so(test):
    tape = test.recording_of([program("steady"), "stop", 100000]).tape
    whole = tape.path.read_bytes()
    total = tape.event_count()
    cut = test.work / "cut.tape"
    counts = []
    for parts in (1, 5, 9):
        cut.write_bytes(whole[:len(whole) * parts // 10])
        results = read_all(cut)
        equal(results["dump"].returncode, 0, "status of dump")
        check(results["verify"].returncode != 0, "verify notices")
        check("cut" in results["verify"].stdout + results["verify"].stderr, f"and says so: {results['verify']}")
        counts.append(len(Tape(cut).events(stacks=False)))
    check(counts[0] <= counts[1] <= counts[2] <= total and counts[2] > 0, f"events of the cut tapes: {counts} of {total}")


@each(first=1, second=2, third=3, fourth=4)
def damaged_bytes_are_noticed_and_skipped(test, seed):
    tape = make_tape(test)
    whole = tape.path.read_bytes()
    chance = random.Random(seed)
    damaged = test.work / "damaged.tape"
    for _ in range(8):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 5, 50))):
            data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
        damaged.write_bytes(data)
        results = read_all(damaged)
        check(results["verify"].returncode != 0, "verify notices")
        said = results["verify"].stdout + results["verify"].stderr
        check(len(said.split()) > 3, f"verify says what is wrong: {said}")


# How a chunk of events begins: docs/tape-format.md.
SYNC_OF_EVENTS = bytes.fromhex("f1e1c4b7d36b9e0a") + b"\x05"


@case
def a_lost_block_in_the_middle_leaves_the_rest(test):
    tape = test.recording_of([program("steady"), "stop", 100000]).tape
    data = bytearray(tape.path.read_bytes())
    total = tape.event_count()
    chunks = [place for place in range(len(data)) if data.startswith(SYNC_OF_EVENTS, place)]
    check(len(chunks) >= 3, f"{len(chunks)} chunks of events")
    inside = chunks[len(chunks) // 2] + 64 # behind its header
    data[inside:inside + 64] = bytes(64)
    damaged = test.work / "damaged.tape"
    damaged.write_bytes(data)
    read_all(damaged)
    numbers = [event.number for event in Tape(damaged).events(stacks=False)]
    check(numbers[0] == 1 and numbers[-1] == total, "both ends are there")
    check(len(numbers) < total and numbers == sorted(numbers), "some in the middle is not")


if __name__ == "__main__":
    raise SystemExit(main())
