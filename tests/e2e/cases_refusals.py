"""Clear refusals: one line that says what, why and what to do, the right exit status, and never a hang."""

import os
import re
import shutil

from harness import HEAPTAPE, LIBRARY, as_root, case, check, each, equal, main, program


def record(test, *words, **more):
    return test.run([HEAPTAPE, "record", *words], env={"HEAPTAPE_LIBRARY": LIBRARY, **more.pop("env", {})}, **more)


def one_line(outcome, *mentioned):
    lines = outcome.err.decode().splitlines()
    ours = [line for line in lines if line.startswith("heaptape: ")]
    equal(len(ours), 1, f"lines of ours on stderr: {lines}")
    for text in mentioned:
        check(re.search(text, ours[0], re.IGNORECASE), f"'{ours[0]}' says something of '{text}'")


@each(a_static_executable=("known_frames_static", "static"), a_static_pie=("known_frames_static_pie", "static"),
      a_sanitizer_build=("known_frames_asan", "AddressSanitizer"), an_allocator_linked_in=("own_malloc_linked_in", "malloc"),
      jemalloc_linked_in=("known_frames_jemalloc", "jemalloc"))
def a_program_runs_unrecorded_when_it_is(test, variant):
    name, reason = variant
    plain = test.run([program(name)])
    outcome = record(test, "--", program(name))
    equal((outcome.status, outcome.out), (plain.status, plain.out), f"status and output; stderr: {outcome.err}")
    one_line(outcome, name, reason, "unrecorded")
    equal(list(test.work.glob("*.tape")), [], "tapes left")


@each(a_static_executable="known_frames_static", an_allocator_linked_in="own_malloc_linked_in",
      jemalloc_linked_in="known_frames_jemalloc")
def the_library_alone_leaves_a_program_be_that_is(test, name):
    plain = test.run([program(name)])
    outcome = test.record([program(name)], form="direct")
    equal((outcome.status, outcome.out), (plain.status, plain.out), f"status and output; stderr: {outcome.err}")


@case
def a_setuid_program_runs_unrecorded(test):
    as_root()
    setuid = test.work / "setuid"
    shutil.copy(program("ends"), setuid)
    os.chown(setuid, 65534, 65534)
    os.chmod(setuid, 0o4755)
    outcome = record(test, "--", setuid, "status", 9)
    equal(outcome.status, 9, f"status; stderr: {outcome.err}")
    one_line(outcome, "setuid")


@each(that_is_closed=">&-", that_is_full=">/dev/full")
def an_answer_is_not_lost_without_a_word_on_an_output(test, redirection):
    tape = str(test.recording_of([program("churn")]).tapes[0].path)
    for words in (["report"], ["leaks"], ["top"], ["timeline"], ["diff", tape], ["info"], ["dump"], ["verify"], ["stats"], ["flamegraph"],
                  ["export", "--format", "csv"], ["shell", "-c", "stats"]):
        outcome = test.run(["sh", "-c", f'"$@" {redirection}', "sh", HEAPTAPE, *words, tape])
        equal(outcome.status, 2, f"status of {words}; stderr: {outcome.err}")
        one_line(outcome, "cannot write to standard output: (Bad file descriptor|No space left on device)")
    for words in (["--help"], ["--version"], ["report", "--help"]):
        outcome = test.run(["sh", "-c", f'"$@" {redirection}', "sh", HEAPTAPE, *words])
        equal(outcome.status, 2, f"status of {words}; stderr: {outcome.err}")
        one_line(outcome, "cannot write to standard output")
    written = test.run(["sh", "-c", f'"$@" {redirection}', "sh", HEAPTAPE, "export", "--format", "csv", "-o", "here.csv", tape])
    equal(written.status, 0, f"nothing goes to standard output; stderr: {written.err}")


@case
def a_program_that_is_not_there_is_127(test):
    for name in ("no-such-program", "./no-such-program", "/no/such/program"):
        outcome = record(test, "--", name)
        equal(outcome.status, 127, f"status for {name}")
        one_line(outcome, "no-such-program|/no/such/program")
    equal(list(test.work.iterdir()), [], "files left")


@case
def a_program_that_cannot_be_executed_is_126(test):
    (test.work / "text").write_text("just text\n")
    (test.work / "folder").mkdir()
    for name in ("./text", "./folder"):
        outcome = record(test, "--", name)
        equal(outcome.status, 126, f"status for {name}; stderr: {outcome.err}")
        one_line(outcome, name[2:])
    equal(list(test.work.glob("*.tape")), [], "tapes left")


@case
def a_script_without_an_interpreter_line_is_run_as_by_a_shell_or_refused(test):
    script = test.work / "script"
    script.write_text("exit 5\n")
    script.chmod(0o755)
    outcome = record(test, "--", "./script")
    check(outcome.status in (5, 126), f"status {outcome.status}")
    if outcome.status == 126:
        one_line(outcome, "script")


@each(that_does_not_exist="nowhere/x.tape", that_is_a_file="file/x.tape", that_is_a_device="/dev/null/x.tape")
def a_tape_is_refused_in_a_folder(test, name):
    (test.work / "file").write_text("")
    outcome = record(test, "-o", name, "--", program("ends"), "status", 0)
    equal(outcome.status, 2, "status")
    one_line(outcome, re.escape(name))


@case
def a_tape_is_refused_in_a_folder_without_permission(test):
    locked = test.work / "locked"
    locked.mkdir(mode=0o555)
    command = [HEAPTAPE, "record", "-o", "locked/x.tape", "--", program("ends"), "status", "0"]
    if os.geteuid() == 0:
        # Root may write anywhere but where nobody may.
        command[3] = "/proc/x.tape"
    outcome = test.run(command, env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(outcome.status, 2, "status")
    one_line(outcome, "x.tape")


@case
def an_existing_tape_is_kept_without_force(test):
    (test.work / "mine.tape").write_text("precious")
    outcome = record(test, "-o", "mine.tape", "--", program("ends"), "status", 0)
    equal(outcome.status, 2, "status")
    one_line(outcome, "mine.tape", "--force")
    equal((test.work / "mine.tape").read_text(), "precious", "the file")
    outcome = record(test, "-q", "--force", "-o", "mine.tape", "--", program("ends"), "status", 7)
    equal(outcome.status, 7, "status with --force")
    check((test.work / "mine.tape").stat().st_size > 100, "a tape took its place")


@case
def a_refused_tape_lets_the_program_run_without_the_launcher(test):
    variables = {"LD_PRELOAD": LIBRARY, "HEAPTAPE_COLLECTOR": HEAPTAPE, "HEAPTAPE_OUTPUT": "nowhere/x.tape"}
    outcome = test.run([program("ends"), "status", 7], env=variables)
    equal(outcome.status, 7, "status")
    one_line(outcome, "x.tape")


@case
def a_missing_collector_lets_the_program_run(test):
    variables = {"LD_PRELOAD": LIBRARY, "HEAPTAPE_COLLECTOR": "/no/such/heaptape"}
    outcome = test.run([program("ends"), "status", 7], env=variables)
    equal(outcome.status, 7, "status")
    one_line(outcome, "/no/such/heaptape")


@each(an_unknown_option=["--no-such-option", "--", "true"], no_program=[], a_bad_size=["--max-tape", "much", "--", "true"],
      a_bad_depth=["--max-depth", "-3", "--", "true"], a_bad_choice=["--on-full=maybe", "--", "true"])
def a_wrong_command_line_is_explained_with(test, words):
    outcome = record(test, *words)
    equal(outcome.status, 2, f"status; stderr {outcome.err}")
    check(outcome.out == b"" and outcome.err.startswith(b"heaptape"), f"stderr: {outcome.err}")


@case
def options_behind_the_program_are_the_programs(test):
    outcome = record(test, "-q", program("surroundings"), "-q", "--force", "--", "-o")
    for word in ("-q", "--force", "--", "-o"):
        check(f"argument {word}\n".encode() in outcome.out, f"{word} reached the program")
    equal(len(list(test.work.glob("heaptape.surroundings.*.tape"))), 1, "tapes with the default name")


if __name__ == "__main__":
    raise SystemExit(main())
