"""Tapes that are cut, damaged, foreign, too new, empty or still being written: clear words and the right status."""

import ctypes
import ctypes.util
import json

from call_sites import counted
from harness import case, check, each, equal, main, need, program, wait_until
from tape import demand, heaptape


@case
def a_cut_tape_is_reported_as_far_as_it_goes(test):
    tape, _ = counted(test, 1)
    data = tape.path.read_bytes()
    cut = test.work / "cut.tape"
    cut.write_bytes(data[:len(data) * 2 // 3])
    result = heaptape("report", "--json", cut)
    equal(result.returncode, 0, "status")
    check("no end" in result.stderr, result.stderr)
    found = json.loads(result.stdout)
    equal(found["finished"], False, "finished")
    check("unknown" in heaptape("report", cut).stdout, "the first page says that the end is missing")


@case
def budget_gives_no_verdict_about_a_recording_that_was_cut_off(test):
    tape, _ = counted(test, 1, 500, options=["--no-index", "--no-symbols"])
    cut = test.work / "cut.tape"
    cut.write_bytes(tape.path.read_bytes()[:-20])  # the end, which comes last
    equal(heaptape("budget", "--max-peak", 1, cut).returncode, 1, "a limit that is exceeded before the cut is exceeded")
    unsure = heaptape("budget", "--max-peak", "1T", cut)
    equal(unsure.returncode, 2, f"limits that hold up to a cut are not known to hold: {unsure.stderr}")
    check("no verdict: " in unsure.stderr and "cut off" in unsure.stderr, unsure.stderr)


@case
def a_damaged_tape_is_reported_without_what_is_lost(test):
    tape, _ = counted(test, 4, 20000, options=["--no-index"])  # with one, the figures would outlive the events
    blocks = json.loads(demand("info", "--json", tape.path))
    data = bytearray(tape.path.read_bytes())
    middle = len(data) // 3
    data[middle:middle + 64] = bytes(byte ^ 0xFF for byte in data[middle:middle + 64])
    hurt = test.work / "hurt.tape"
    hurt.write_bytes(data)
    for command in (["report"], ["top"], ["leaks"], ["timeline"]):
        result = heaptape(*command, hurt)
        equal(result.returncode, 0, f"status of {command}")
        check("damaged" in result.stderr or "could not be read" in result.stderr, f"{command}: {result.stderr}")
        check(result.stdout, f"{command} shows something")
    check(blocks["events"] >= json.loads(demand("report", "--json", hurt))["events"], "no events were invented")
    equal(heaptape("budget", "--max-peak", "1T", hurt).returncode, 2, "limits that hold without the lost events are not known to hold")
    rows = json.loads(heaptape("sql", "--format", "json", hurt, "SELECT offset, bytes, reason FROM damage").stdout)
    equal(rows, json.loads(heaptape("info", "--json", hurt).stdout)["damage"], "the damage in SQL")


READING = (["info"], ["report"], ["leaks"], ["peak"], ["top"], ["timeline"], ["dump", "--no-stacks"], ["sql", "TAPE", "SELECT 1"],
           ["export", "--format", "folded"], ["explain", "TAPE", "0x5555555592a0"], ["history", "TAPE", "0x5555555592a0"], ["map"],
           ["mappings"], ["stats"], ["diff", "TAPE"], ["budget", "--max-peak", "1T"], ["threads"], ["where", "TAPE", "0x1234567"])


def reading(command, path):
    words = [path if word == "TAPE" else word for word in command]
    return heaptape(*words, *([] if command[0] in ("sql", "explain", "history", "where") else [path]))


@case
def a_hundred_bytes_flipped_are_told_by_every_command_that_reads(test):
    tape, _ = counted(test, 4, 20000)
    data = bytearray(tape.path.read_bytes())
    middle = len(data) // 4  # in the middle of a chunk of events; the index, at the end, stays good
    data[middle:middle + 100] = bytes(byte ^ 0xFF for byte in data[middle:middle + 100])
    hurt = test.work / "hurt.tape"
    hurt.write_bytes(data)
    for command in READING:
        result = reading(command, hurt)
        told = [line for line in result.stderr.splitlines() if "hurt.tape is damaged: " in line]
        equal(len(told), 2 if command[0] == "diff" else 1, f"lines about the damage of {command}: {result.stderr}")
        check("bytes skipped" in told[0] and "events missing" in told[0], told[0])
    check("nothing while recording; but the tape was damaged since" in demand("info", hurt), "info")
    for command in (["info"], ["report"], ["timeline"], ["stats"], ["diff", "TAPE"], ["map"],
                    ["explain", "TAPE", "0x5555555592a0"]):
        found = json.loads(reading([*command, "--json"], hurt).stdout)
        check(found["damage"] and found["missing_events"] > 0, f"{command}: {str(found)[:300]}")
    last = json.loads(reading(["dump", "--json", "--no-stacks"], hurt).stdout.splitlines()[-1])
    check(last["missing_events"] > 0, f"the last line of dump: {last}")


@case
def a_damaged_file_header_is_named_and_the_rest_recovered(test):
    tape, _ = counted(test, 1)
    data = bytearray(tape.path.read_bytes())
    data[17] ^= 0xFF
    hurt = test.work / "hurt.tape"
    hurt.write_bytes(data)
    text, facts, before = demand("info", hurt), json.loads(demand("info", "--json", hurt)), tape.facts()
    check("format unknown: the file header is damaged" in text and "0.0" not in text.splitlines()[0], text)
    equal((facts["format"], facts["recorded"], facts["pid"]), ("unknown", "unknown", before["pid"]), "facts")
    equal(facts["events"], before["events"], "events")
    check("when the recording began is not known" in heaptape("report", hurt).stderr, "the report says so")


@each(a_foreign_file=b"#!/bin/sh\necho this is not a tape\n" * 50, an_empty_file=b"")
def every_report_refuses(test, content):
    path = test.work / "odd.tape"
    path.write_bytes(content)
    for command in (["report"], ["top"], ["leaks"], ["peak"], ["timeline"], ["diff", path], ["budget", "--max-peak", 1]):
        result = heaptape(*command, path)
        equal(result.returncode, 2, f"status of {command}")
        equal(result.stdout, "", f"output of {command}")
        check(result.stderr.startswith("heaptape: ") and "odd.tape" in result.stderr, result.stderr)


@case
def a_tape_of_a_newer_version_is_refused(test):
    tape, _ = counted(test, 1, 500)
    library = ctypes.util.find_library("xxhash")
    need(library, "libxxhash is not installed")
    checksum = ctypes.CDLL(library).XXH3_64bits
    checksum.restype, checksum.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    data = bytearray(tape.path.read_bytes())
    data[8:10] = (int.from_bytes(data[8:10], "little") + 1).to_bytes(2, "little")  # see docs/tape-format.md
    data[56:64] = checksum(bytes(data[:56]), 56).to_bytes(8, "little")
    path = test.work / "newer.tape"
    path.write_bytes(data)
    result = heaptape("report", path)
    equal(result.returncode, 2, "status")
    check("newer.tape" in result.stderr and "version" in result.stderr, result.stderr)


@case
def a_tape_still_being_written_can_be_reported(test):
    process = test.start_record([program("steady"), "stop", 1000000000, 200])
    (tape,) = wait_until(test.tapes, "the tape is there")

    def reported():
        result = heaptape("report", tape.path)
        return result.returncode == 0 and "peak" in result.stdout and "still being recorded" in result.stderr

    wait_until(reported, "the report has a peak and says that the recording goes on")
    process.terminate()
    test.finish(process)


@case
def a_tape_without_events_is_not_an_error(test):
    tape, _ = counted(test, 1, 500)
    path = test.work / "short.tape"
    path.write_bytes(tape.path.read_bytes()[:64])
    for command in (["report"], ["report", "--json"], ["leaks"], ["top"], ["timeline"], ["timeline", "--csv"], ["diff", path]):
        result = heaptape(*command, path)
        equal(result.returncode, 0, f"status of {command}")
        check("holds no events" in result.stderr, result.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
