"""heaptape errors: what was wrong with a program's use of memory, one entry per cause, for people, programs and CI."""

import json
import signal
import xml.etree.ElementTree as xml

from harness import case, check, each, equal, main, program
from tape import heaptape

ABORTED = 128 + signal.SIGABRT


def tape_of(test, what, status=0):
    outcome = test.recording_of([program("odd_calls"), what])
    equal(outcome.status, status, f"status of {what}")
    return outcome.tape


def errors(tape, *options, status=1):
    answer = heaptape("errors", *options, tape.path)
    equal(answer.returncode, status, f"status of errors {options}: {answer.stdout[-2000:]}{answer.stderr}")
    return answer.stdout


def listed(tape, *options, status=1):
    return json.loads(errors(tape, "--json", *options, status=status))


@each(of_stack_memory=("stack", "free-of-stack", "Invalid free of memory on the stack of thread 1", "free_stack"),
      of_static_memory=("static", "free-of-static", "Invalid free of static memory in odd_calls", "free_static"),
      inside_a_block=("inside", "free-inside-block", "Invalid free: 16 bytes into a block of 200 bytes", "free_inside"),
      of_a_freed_block=("twice", "double-free", "Double free of a block of 200 bytes", "free_twice"),
      of_a_freed_block_by_realloc=("realloc", "double-free", "Invalid realloc of a released block of 200 bytes", "grow_freed"))
def a_wrong_release(test, which):
    what, sort, headline, function = which
    tape = tape_of(test, what, ABORTED)
    text = errors(tape)
    check(f"#1  {headline}" in text, f"the headline:\n{text}")
    check(function in text and "ERROR SUMMARY: 1 error from 1 context (suppressed: 0 from 0)" in text, f"who and how many:\n{text}")
    check("ran without checks" in text and "heaptape check" in text, f"what was not looked for:\n{text}")
    [error] = listed(tape)["errors"]
    equal((error["sort"], error["count"]), (sort, 1), "sort and count")
    check(headline in error["headline"], f"headline: {error['headline']}")
    check(function in [frame["function"] for frame in error["stack"]], f"the stack: {error['stack']}")
    has_block = what in ("inside", "twice", "realloc")
    equal("block" in error, has_block, "there is a block")
    if has_block:
        equal(error["block"]["bytes"], 200, "its size")
        check(function in [frame["function"] for frame in error["block"]["allocated"]["stack"]], "who made it")
        equal("released" in error["block"], what != "inside", "who released it")


@case
def each_mismatched_pair_has_its_call_and_its_maker(test):
    found = listed(tape_of(test, "mismatch"))
    equal((found["error_count"], found["checked"]), (7, False), "errors")
    equal({error["sort"] for error in found["errors"]}, {"mismatch"}, "sorts")
    equal([error["headline"] for error in found["errors"]][-1], "Mismatched realloc: made by new, reallocated by realloc", "the last")
    equal([error["block"]["bytes"] for error in found["errors"]], list(range(11, 18)), "blocks")
    check(all(error["block"]["allocated"]["stack"] for error in found["errors"]), "makers")


@case
def without_errors_the_status_is_0_and_what_was_not_looked_for_is_said(test):
    tape = tape_of(test, "match")
    text = errors(tape, status=0)
    check(text.startswith("No memory errors found.\n") and "ran without checks" in text, text)
    found = listed(tape, status=0)
    equal((found["error_count"], found["errors"]), (0, []), "errors")
    [suite] = xml.fromstring(errors(tape, "--format", "junit", status=0))
    equal((suite.get("tests"), suite.get("failures")), ("1", "0"), "a test that passed")
    equal(json.loads(errors(tape, "--format", "sarif", status=0))["runs"][0]["results"], [], "results of SARIF")
    equal(errors(tape, "--gen-suppressions", status=0), "", "nothing to suppress")


@case
def sarif_places_errors_in_the_source(test):
    [run] = json.loads(errors(tape_of(test, "mismatch"), "--format", "sarif"))["runs"]
    equal([rule["id"] for rule in run["tool"]["driver"]["rules"]], ["mismatch"], "rules")
    equal([(result["ruleId"], result["ruleIndex"], result["level"]) for result in run["results"]], [("mismatch", 0, "error")] * 7, "results")
    for result in run["results"]:
        [place] = [location["physicalLocation"] for location in result["locations"]]
        check(place["artifactLocation"]["uri"].endswith("odd_calls.cpp") and place["region"]["startLine"] > 0, f"a place: {place}")
        equal([location["message"]["text"] for location in result["relatedLocations"]], ["allocated here"], "related places")


@case
def junit_has_a_failed_test_for_each_error(test):
    [suite] = xml.fromstring(errors(tape_of(test, "mismatch"), "--format", "junit"))
    equal((suite.get("tests"), suite.get("failures")), ("7", "7"), "counts")
    failures = suite.findall("testcase/failure")
    equal({failure.get("type") for failure in failures}, {"mismatch"}, "sorts")
    check(all("allocated here" in failure.text for failure in failures), "the text says who made the block")


@case
def suppressions_that_it_makes_leave_out_what_it_listed(test):
    tape = tape_of(test, "mismatch")
    known = test.dir / "known.supp"
    known.write_text(errors(tape, "--gen-suppressions"))
    check(known.read_text().count("Memcheck:Free") == 7, known.read_text())
    text = errors(tape, "--suppressions", known, status=0)
    check("No memory errors found." in text and "(suppressed: 7 from 7)" in text, text)
    known.write_text("alloc_dealloc_mismatch:nobody\n{\n  pairs\n  Memcheck:Free\n  fun:free\n  fun:*mismatch*\n}\n")
    text = errors(tape, "--suppressions", known, "--error-exitcode", 9, status=0)
    check("(suppressed: 7 from 7)" in text, text)


@case
def the_exit_status_can_be_chosen_and_trouble_is_2(test):
    tape = tape_of(test, "size")
    errors(tape, "--error-exitcode", 42, status=42)
    errors(tape, "--error-exitcode", 0, status=0)
    broken = test.dir / "broken.supp"
    broken.write_text("{\n  name\n  Memcheck:Free\n")
    for options in (["--suppressions", broken], ["--suppressions", test.dir / "missing"], ["--format", "html"]):
        answer = heaptape("errors", *options, tape.path)
        equal((answer.returncode, answer.stdout), (2, ""), f"trouble with {options}")
        equal(answer.stderr.count("\n"), 1, f"one sentence: {answer.stderr}")
    answer = heaptape("errors", broken)
    equal((answer.returncode, answer.stdout), (2, ""), "what is not a tape")


@case
def a_shell_lists_them_too(test):
    tape = tape_of(test, "twice", ABORTED)
    answer = heaptape("shell", tape.path, text="errors --depth 1\nquit\n")
    check("Double free of a block of 200 bytes" in answer.stdout and "more" in answer.stdout, answer.stdout + answer.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
