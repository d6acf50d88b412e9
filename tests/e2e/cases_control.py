"""Recordings that are under way: listed, asked, marked, stopped from outside; one collector for many programs."""

import json
import os
import signal
import subprocess

from harness import (HEAPTAPE, LIBRARY, Skip, as_root, case, check, each, equal, main, program, stat_fields, wait_until)
from talker import Talker, ask, listed
from tape import HANG_SECONDS, Tape, demand


@each(record="record", direct="direct")
def ps_lists_a_recording_with_its_figures(test, form):
    talker = Talker(test, form)
    one = talker.recording
    equal(os.path.basename(one["program"]), "pointers", "program")
    talker.do("grow 1000")
    wait_until(lambda: talker.find()["live_bytes"] >= one["live_bytes"] + 100_000, f"the figures grow from {one}")
    table = demand("ps")
    check(str(talker.pid) in table and "pointers" in table, table)
    equal(talker.finish().status, 5, "the program's status")
    equal(listed(), [], "after the end")
    talker.tape.verify()


@case
def ps_without_recordings_says_so(test):
    os.environ["HEAPTAPE_RUNTIME_DIR"] = str(test.dir)
    result = ask("ps")
    equal((result.returncode, result.stdout), (0, ""), "result")
    check("nothing is being recorded" in result.stderr, result.stderr)


@case
def what_has_just_happened_is_in_the_answer(test):
    talker = Talker(test)
    for round_number in range(1, 4):
        talker.do("grow 500")
        tree = json.loads(ask("leaks", "--json", "-p", talker.pid).stdout)["trees"][0]
        check(tree["bytes"] >= round_number * 50_000, f"round {round_number}: {tree['bytes']}")
    check("Live now" in ask("leaks", "-p", talker.pid).stdout, "title")
    talker.finish()


@case
def questions_about_a_running_program_know_names_and_lines(test):
    talker = Talker(test)
    result = ask("explain", "-p", talker.pid, hex(talker.live + 16))
    check("16 bytes into a live 777-byte block" in result.stdout, result.stdout)
    check("make_widget" in result.stdout and "pointers.cpp:" in result.stdout, result.stdout)
    history = ask("history", "-p", talker.pid, hex(talker.freed)).stdout
    check("drop_widget" in history, history)
    for words in (["report"], ["top"], ["peak"], ["info"], ["blocks"], ["timeline"], ["stats"], ["where"], ["dump", "--no-stacks"],
                  ["sql", "SELECT count(*) FROM live"], ["diff", "--from", "start", "--to", "end"]):
        result = ask(words[0], "-p", talker.pid, *words[1:])
        equal(result.returncode, 0, f"{words}: {result.stderr}")
        check("cut off" not in result.stderr, f"{words}: {result.stderr}")
    talker.finish()


@case
def where_tells_both_stacks_with_columns_and_inlined_frames(test):
    talker = Talker(test)
    text = ask("where", "-p", talker.pid, hex(talker.live + 16)).stdout
    for expected in (f"PID:    {talker.pid}", "Len:    777 bytes at " + hex(talker.live), "Offset: 16", "live,", "malloc by thread 1",
                     "allocate_widget", "make_widget", "pointers.cpp:"):
        check(expected in text, f"'{expected}' is not in:\n{text}")
    lines = text.splitlines()
    inlined = next(i for i, line in enumerate(lines) if "allocate_widget" in line)
    check(lines[inlined + 2].startswith("      ") and "make_widget" in lines[inlined + 2], f"inlined frames share a number:\n{text}")
    check(lines[inlined + 1].strip().startswith("at /") and lines[inlined + 1].count(":") == 2, f"file, line and column:\n{text}")
    freed = ask("where", "-p", talker.pid, hex(talker.freed + 8)).stdout
    for expected in ("freed", "Made:", "Freed:", "drop_widget", "make_widget"):
        check(expected in freed, f"'{expected}' is not in:\n{freed}")
    unknown = ask("where", "-p", talker.pid, "0x123450")
    equal(unknown.returncode, 1, "status for an unknown pointer")
    check("0x123450 is" in unknown.stdout, unknown.stdout)
    block = json.loads(ask("where", "--json", "-p", talker.pid, hex(talker.live)).stdout)
    equal((block["in_block"], block["block"]["size"], block["offset"]), (True, 777, 0), "as JSON")
    talker.finish()
    after = ask("where", talker.tape.path, hex(talker.freed))
    check("drop_widget" in after.stdout, after.stdout)


@case
def marks_and_snapshots_from_outside_are_moments_for_reports(test):
    talker = Talker(test)
    talker.do("grow 10")
    result = ask("mark", "-p", talker.pid, "before the load")
    equal(result.returncode, 0, result.stderr)
    talker.do("grow 2000")
    tree = json.loads(ask("report", "--json", "--from", "before the load", "-p", talker.pid).stdout)["trees"][0]
    equal(tree["blocks"], 2000, "blocks since the mark")
    for note in ([], ["--note", "second"]):
        equal(ask("snapshot", "-p", talker.pid, *note).returncode, 0, "snapshot")
    talker.finish()
    marks = demand("marks", talker.tape.path)
    for name in ("before the load", "snapshot", "second"):
        check(name in marks, marks)
    snapshots = json.loads(demand("report", "--snapshots", "--json", talker.tape.path))["trees"]
    equal(len(snapshots), 2, "snapshots")
    talker.tape.verify()


@each(record="record", direct="direct")
def stop_finishes_the_tape_and_the_program_goes_on(test, form):
    talker = Talker(test, form)
    talker.do("busy")
    result = ask("stop", "-p", talker.pid)
    equal(result.returncode, 0, result.stderr)
    facts = talker.tape.facts()
    check(facts["finished"] if "finished" in facts else True, facts)
    talker.tape.verify()
    check("make_widget" in demand("leaks", "--threshold", "0", talker.tape.path), "names are on the tape")
    wait_until(lambda: not listed(), "it is not listed any more")
    talker.do("grow 100000")
    equal(talker.do("where live"), -1, "heaptape_where() afterwards")
    outcome = talker.finish()
    equal(outcome.status, 5, f"the program's status: {outcome.err}")


@case
def a_process_that_is_not_recorded_or_not_there_is_told_in_a_sentence(test):
    os.environ["HEAPTAPE_RUNTIME_DIR"] = str(test.dir)
    for words, expected in ((["leaks", "-p", os.getpid()], "is running but not being recorded by you; heaptape must start a program"), (["leaks", "-p", 2**22], "there is no process"),
                            (["explain", "-p", "x", "0x1"], "is neither a process id nor a program that is being recorded"), (["mark", "-p", os.getpid(), "m"], "is running but not being recorded by you; heaptape must start a program"),
                            (["stop", "-p", "0"], "is neither a process id nor a program that is being recorded"), (["leaks", "-p"], "--pid needs a value")):
        result = ask(*words)
        equal(result.returncode, 2, words)
        check(expected in result.stderr and result.stderr.count("\n") == 1, f"{words}: {result.stderr}")


@case
def a_stopped_program_is_answered_for(test):
    talker = Talker(test)
    talker.do("busy")
    os.kill(talker.pid, signal.SIGSTOP)
    wait_until(lambda: stat_fields(talker.pid)[0] == "T", "it is stopped")
    text = ask("where", "-p", talker.pid, hex(talker.live)).stdout
    check("make_widget" in text, text)
    os.kill(talker.pid, signal.SIGCONT)
    talker.finish()
    talker.tape.verify()


@case
def many_questions_at_once_do_not_disturb_a_busy_program(test):
    talker = Talker(test)
    talker.do("busy")
    questions = [subprocess.Popen([HEAPTAPE, "flush", "-p", str(talker.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for _ in range(12)]
    for question in questions:
        out, err = question.communicate(timeout=HANG_SECONDS)
        equal((question.returncode, out.decode().strip()), (0, talker.recording["tape"]), err)
    equal(talker.finish().status, 5, "status")
    talker.tape.verify()


@each(record="record", direct="direct")
def the_program_can_ask_where_a_pointer_comes_from(test, form):
    talker = Talker(test, form)
    equal(talker.do("where live"), 1, "a live block")
    equal(talker.do("where freed"), 1, "a freed block")
    equal(talker.do("where variable"), 0, "no block")
    outcome = talker.finish()
    text = outcome.err.decode()
    for expected in (f"PID:    {talker.pid}", "Len:    777 bytes", "Offset: 16", "make_widget", "drop_widget", "pointers.cpp:",
                     hex(talker.variable) + " is the variable"):
        check(expected in text, f"'{expected}' is not in:\n{text}")
    equal(outcome.status, 5, "status")


@case
def without_the_recorder_where_costs_nothing_and_says_nothing(test):
    outcome = test.run([program("pointers")], input=b"where live\n")
    equal((outcome.status, outcome.err), (5, b""), "outcome")
    check(outcome.out.endswith(b"ok -1\n"), outcome.out)


@case
def a_tape_named_while_it_is_written_says_so(test):
    talker = Talker(test)
    ask("flush", "-p", talker.pid)
    result = ask("leaks", talker.recording["tape"])
    check(f"'-p {talker.pid}' shows everything" in result.stderr, result.stderr)
    talker.finish()


@case
def a_tape_replaced_by_another_is_not_read_as_that_of_the_program(test):
    talker = Talker(test)
    tape = talker.recording["tape"]
    os.rename(tape, tape + ".moved")
    other = test.recording_of([program("churn")]).tapes[0].path
    os.rename(other, tape)
    result = subprocess.run([HEAPTAPE, "leaks", "-p", str(talker.pid)], capture_output=True, text=True, timeout=HANG_SECONDS)
    equal((result.returncode, result.stdout), (2, ""), f"outcome; stderr: {result.stderr}")
    check(f"is another file by now, not the tape of process {talker.pid}" in result.stderr, result.stderr)
    os.rename(tape + ".moved", tape)
    ask("leaks", "-p", talker.pid)
    talker.finish()


# ------------------------------------------------------------------------------------------------------------ one for many


class Listening:
    def __init__(self, test):
        self.test = test
        self.folder = test.new_tapes_folder()
        self.socket = test.dir / "collector.sock"
        runtime = test.dir / "runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(runtime)
        self.process = test.start([HEAPTAPE, "collect", "--listen", self.socket, "-o", f"{self.folder}/%n.%p.tape"])
        wait_until(self.socket.exists, "it listens")

    def variables(self):
        return {"LD_PRELOAD": LIBRARY, "HEAPTAPE_COLLECTOR": f"unix:{self.socket}"}

    def end(self):
        os.kill(self.process.pid, signal.SIGTERM)
        return self.test.finish(self.process)

    def tapes(self):
        return [Tape(path) for path in sorted(self.folder.iterdir())]


def start_pointers(test, variables):
    process = test.start([program("pointers")], env=variables, stdin=subprocess.PIPE)
    addresses = [int(word, 16) for word in process.stdout.readline().split()]
    return process, addresses


def end_program(test, process):
    process.stdin.close()
    process.stdin = None
    out, err = process.communicate(timeout=HANG_SECONDS)
    test.running.remove(process)
    equal(process.returncode, 5, f"status: {err}")
    return out


@case
def one_collector_serves_many_programs(test):
    collector = Listening(test)
    programs = [start_pointers(test, collector.variables()) for _ in range(5)]
    wait_until(lambda: len(listed()) == 5, "all are listed")
    equal(sorted(one["pid"] for one in listed()), sorted(process.pid for process, _ in programs), "pids")
    for process, addresses in programs:
        text = ask("where", "-p", process.pid, hex(addresses[0])).stdout
        check(f"PID:    {process.pid}" in text, text)
    process, addresses = programs[2]
    found = ask("where", hex(addresses[0] + 5)).stdout
    check(f"PID:    {process.pid}" in found and "Offset: 5" in found, found)
    for process, _ in programs:
        end_program(test, process)
    equal(collector.end().status, 0, "the collector's status")
    tapes = collector.tapes()
    equal(len(tapes), 5, "tapes")
    for tape in tapes:
        tape.verify()
    check(not collector.socket.exists(), "its socket is gone")


@case
def a_collector_that_is_told_to_end_finishes_all_tapes_and_the_programs_go_on(test):
    collector = Listening(test)
    programs = [start_pointers(test, collector.variables()) for _ in range(3)]
    wait_until(lambda: len(listed()) == 3, "all are listed")
    os.kill(collector.process.pid, signal.SIGTERM)
    equal(collector.process.wait(timeout=HANG_SECONDS), 0, "the collector's status")
    for tape in collector.tapes():
        tape.verify()
        check("make_widget" in demand("leaks", "--threshold", "0", tape.path), "names are on the tape")
    for process, _ in programs:
        process.stdin.write(b"grow 50000\n")
        end_program(test, process)
    test.finish(collector.process)


@case
def children_of_a_program_come_to_the_same_collector(test):
    collector = Listening(test)
    outcome = test.run(["/bin/sh", "-c", f"{program('pointers')} </dev/null; true"],
                       env={**collector.variables(), "HEAPTAPE_FOLLOW": "1"})
    equal(outcome.status, 0, outcome.err)
    equal(collector.end().status, 0, "the collector's status")
    check(any("pointers" in str(tape.path) for tape in collector.tapes()), collector.tapes())


@case
def a_program_whose_collector_is_not_there_runs_unrecorded(test):
    outcome = test.run([program("pointers")], env={"LD_PRELOAD": LIBRARY, "HEAPTAPE_COLLECTOR": f"unix:{test.dir}/nobody"})
    equal(outcome.status, 5, "status")
    check(b"nothing listens at HEAPTAPE_COLLECTOR's socket" in outcome.err and outcome.err.count(b"\n") == 1, outcome.err)


@case
def a_second_collector_at_the_same_socket_is_refused(test):
    collector = Listening(test)
    result = ask("collect", "--listen", collector.socket)
    equal(result.returncode, 2, "status")
    check("already listens" in result.stderr, result.stderr)
    equal(collector.end().status, 0, "the first one's status")


@case
def only_the_same_user_may_ask(test):
    as_root()
    talker = Talker(test)
    os.chmod(test.dir / "runtime", 0o777)
    for entry in (test.dir / "runtime").iterdir():
        os.chmod(entry, 0o777)
    try:
        result = subprocess.run([HEAPTAPE, "ps"], capture_output=True, text=True, timeout=HANG_SECONDS, check=False, user=65534, group=65534,
                                extra_groups=[])
    except PermissionError as error:
        raise Skip("another user cannot run heaptape here") from error
    check(str(talker.pid) not in result.stdout, result.stdout)
    os.chmod(test.dir / "runtime", 0o700)
    check(talker.find(), "the owner still finds it")
    talker.finish()


if __name__ == "__main__":
    raise SystemExit(main())
