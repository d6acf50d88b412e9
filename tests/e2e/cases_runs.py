"""Programs that come after one another in a process, children that are not recorded, and runs: a folder with a tape per process."""

import os

from harness import HEAPTAPE, LIBRARY, case, check, each, equal, installed, main, program
from tape import Tape

EXECS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "fexecve-path", "execveat")


@case
def a_server_started_by_a_shells_exec_is_recorded_under_the_name_that_was_given(test):
    bash, env = installed("bash", "env")
    folder = test.new_tapes_folder()
    words = [HEAPTAPE, "record", "-o", f"{folder}/x.tape", bash, "-c", f"exec {env} A=1 {program('started')}"]
    outcome = test.run(words, env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal((outcome.status, outcome.out), (9, b"started\n"), "status and output; the environment holds nothing of ours")
    equal(sorted(path.name for path in folder.iterdir()), ["x.1-bash.tape", "x.2-env.tape", "x.tape"], "tapes")
    tapes = [Tape(folder / name) for name in ("x.1-bash.tape", "x.2-env.tape", "x.tape")]
    for tape in tapes:
        tape.verify()
    equal(tapes[2].kinds(600)["malloc"], 1, "blocks of the program that was meant")
    check(b"x.1-bash.tape" in outcome.err and b"-> " + os.fsencode(folder) + b"/x.tape" in outcome.err, outcome.err)


@each(env=("env", "A=1"), an_empty_environment=("env", "-i"), nice=("nice",), timeout=("timeout", "60"), flock=("flock", "lock"))
def the_program_behind_a_wrapper_is_recorded(test, wrapper):
    installed(wrapper[0])
    outcome = test.same([*wrapper, program("started")], forms=("record", "direct"))[0]
    equal(sorted(tape.kinds(600)["malloc"] for tape in outcome.tapes), [0, 1], "blocks of the program, per tape")


@each(**{way.replace("-", "_by_"): way for way in EXECS})
def a_program_is_recorded_without_follow_when_a_process_becomes_it_by(test, way):
    search = {"PATH": f"{os.path.dirname(program('started'))}:{test.env['PATH']}"}
    outcome = test.record([program("starts"), way, program("started")], env=search)
    equal((outcome.status, outcome.out), (9, b"started\n"), f"status and output; stderr: {outcome.err}")
    equal(sorted((tape.kinds(500)["malloc"], tape.kinds(600)["malloc"]) for tape in outcome.tapes), [(0, 1), (1, 0)],
          "blocks per tape")


@each(static="started_static", another_loader="started_musl", a_sanitizer="known_frames_asan")
def a_process_that_becomes_a_program_that_cannot_be_recorded_says_so(test, child):
    folder = test.new_tapes_folder()
    command = [program("starts"), "execv", program(child)]
    plain = test.run(command)
    outcome = test.run([HEAPTAPE, "record", "-o", f"{folder}/x.tape", *command], env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal((outcome.status, outcome.out), (plain.status, plain.out), "status and output")
    check(b"starts then became " + child.encode() in outcome.err, outcome.err)
    equal([path.name for path in folder.iterdir()], ["x.tape"], "tapes")


@case
def an_exec_that_fails_leaves_the_recording_going_on(test):
    bash = installed("bash")
    script = "shopt -s execfail; exec /no/such/program; x=(1 2 3); echo on"
    for outcome in test.same([bash, "-c", script]):
        equal(outcome.out, b"on\n", "output")
        equal(len(outcome.tapes), 1, "tapes")


def summary_of(test, *command, status=0, **more):
    """What record says at the end."""
    folder = test.new_tapes_folder()
    outcome = test.run([HEAPTAPE, "record", "-o", f"{folder}/x.tape", *command], env={"HEAPTAPE_LIBRARY": LIBRARY}, **more)
    equal(outcome.status, status, f"status; stderr: {outcome.err}")
    return outcome.err.decode(), Tape(folder / "x.tape")


@case
def a_compiler_driver_says_which_children_were_not_recorded(test):
    gxx = installed("g++")
    (test.work / "x.cpp").write_text("int main() {}\n")
    text, tape = summary_of(test, gxx, "-c", "x.cpp")
    check("2 child processes were not recorded (as, cc1plus): pass --follow" in text, text)
    equal(tape.facts()["meta"]["unseen_children"], "2", "on the tape")


@case
def children_that_fork_without_exec_are_counted(test):
    text, _ = summary_of(test, program("processes"), "fork-storm")
    check("100 child processes were not recorded (processes (100)): pass --follow" in text, text)


@case
def a_child_that_outlives_the_program_is_named_with_its_pid(test):
    sh, sleep = installed("sh", "sleep")
    folder = test.new_tapes_folder()
    script = f"{sleep} 600 >/dev/null 2>&1 & echo $! >child"
    started = test.start([HEAPTAPE, "record", "-o", f"{folder}/x.tape", sh, "-c", script], env={"HEAPTAPE_LIBRARY": LIBRARY})
    text = started.communicate()[1].decode()
    pid = (test.work / "child").read_text().strip()
    os.kill(int(pid), 9)
    test.finish(started)
    tape = Tape(folder / "x.tape")
    check(f"sh left a child running (pid {pid}, sleep) that is not recorded: pass --follow" in text, text)
    equal(tape.facts()["meta"]["left_running"], f"{pid} sleep", "on the tape")


if __name__ == "__main__":
    raise SystemExit(main())
