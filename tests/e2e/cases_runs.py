"""Programs that come after one another in a process, children that are not recorded, and runs: a folder with a tape per process."""

import json
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


@case
def a_process_that_becomes_the_same_program_twice_has_a_tape_of_each(test):
    shell, env = installed("sh", "env")
    folder = test.new_tapes_folder()
    words = [HEAPTAPE, "record", "-o", f"{folder}/%n.tape", shell, "-c", f"exec {env} {shell} -c 'exec {program('started')}'"]
    outcome = test.run(words, env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal((outcome.status, outcome.out), (9, b"started\n"), f"status and output; stderr: {outcome.err}")
    equal(sorted(path.name for path in folder.iterdir()), ["env.tape", "sh.2.tape", "sh.tape", "started.tape"], "tapes")


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
    script = f'{sleep} 600 >/dev/null 2>&1 & echo $! >child; while read name </proc/$!/comm && [ "$name" != sleep ]; do :; done'
    started = test.start([HEAPTAPE, "record", "-o", f"{folder}/x.tape", sh, "-c", script], env={"HEAPTAPE_LIBRARY": LIBRARY})
    text = started.communicate()[1].decode()
    pid = (test.work / "child").read_text().strip()
    os.kill(int(pid), 9)
    test.finish(started)
    tape = Tape(folder / "x.tape")
    check(f"sh left a child running (pid {pid}, sleep) that is not recorded: pass --follow" in text, text)
    equal(tape.facts()["meta"]["left_running"], f"{pid} sleep", "on the tape")


def follow(test, *command, options=(), status=0, **more):
    """Records a run into work/run; gives what record said."""
    words = [HEAPTAPE, "record", "--follow", "-o", "run", *options, *command]
    outcome = test.run(words, env={"HEAPTAPE_LIBRARY": LIBRARY}, **more)
    equal(outcome.status, status, f"status; stderr: {outcome.err}")
    return outcome


def ask(test, *words, status=0):
    outcome = test.run([HEAPTAPE, *words])
    equal(outcome.status, status, f"status of {words}; stderr: {outcome.err}")
    return outcome.out.decode(), outcome.err.decode()


@case
def a_followed_compiler_is_one_run_and_opens_what_allocated_most(test):
    gxx = installed("g++")
    (test.work / "x.cpp").write_text("int main() {}\n")
    text = follow(test, gxx, "-c", "x.cpp").err.decode()
    check(text.startswith("heaptape: 3 processes -> run\n"), text)
    check("'heaptape report run' opens cc1plus" in text, text)
    names = sorted(path.name.split(".")[0] for path in (test.work / "run").glob("*.tape"))
    equal(names, ["as", "cc1plus", "g++"], "tapes")
    facts = json.loads(ask(test, "info", "--json", "run")[0])
    parents = {program["name"]: program["parent_pid"] for program in facts["programs"]}
    driver = next(program["pid"] for program in facts["programs"] if program["name"] == "g++")
    equal((parents["cc1plus"], parents["as"]), (driver, driver), "parents")
    check("cc1plus" in facts["opens"], facts["opens"])
    lines = [json.loads(line) for line in (test.work / "run" / "processes.jsonl").read_text().splitlines()]
    equal(sorted(line["name"] for line in lines if "end" in line), ["as", "cc1plus", "g++"], "ends in the list")

    # Every command opens it, the newest thing here is the run, and others can be chosen.
    tree, said = ask(test, "report")
    check("run: 3 processes" in tree and "cc1plus" in said and "--process" in said, tree[:500] + said)
    check("    cc1plus" in ask(test, "info", "run")[0], "the tree shows the driver's child below it")
    for way in (["run/as"], [f"run:{driver}"], ["run", "--process", "as"], ["run", "--process", str(driver)]):
        ask(test, "leaks", *way)
    wrong = ask(test, "leaks", "run/none", status=2)[1]
    check("no process 'none' in run; it has as, cc1plus, g++" in wrong, wrong)
    before = ask(test, "diff", "run", "run")[0]
    check(before.count("cc1plus") >= 2, before)


@case
def a_run_keeps_the_programs_of_a_process_together(test):
    bash, ls = installed("bash", "ls")
    text = follow(test, bash, "-c", f"{ls} / >/dev/null; exec {program('started')}", status=9).err.decode()
    check("heaptape: 2 processes -> run\n  started (was bash)" in text and "    ls (was bash)" in text, text)
    equal(len(list((test.work / "run").glob("*.tape"))), 4, "tapes")


@case
def a_run_that_was_killed_can_be_read(test):
    sh = installed("sh")
    follow(test, sh, "-c", f"{program('started')}; kill -9 $$", status=137)
    for tape in (test.work / "run").glob("sh.*.tape"):
        os.truncate(tape, tape.stat().st_size // 2)
    (test.work / "run" / "processes.jsonl").write_text("{\"start\":nonsense\n" * 3)
    tree = ask(test, "info", "run")[0]
    check("run: 2 processes" in tree and "no end" in tree and "started" in tree, tree)


@case
def a_folder_that_holds_something_is_not_taken_for_a_new_run(test):
    (test.work / "run").mkdir()
    (test.work / "run" / "notes.txt").write_text("mine")
    outcome = follow(test, program("started"), status=2)
    check(b"it already exists" in outcome.err and outcome.out == b"", outcome.err)
    follow(test, program("started"), options=["--force"], status=9)
    equal((test.work / "run" / "notes.txt").read_text(), "mine", "what is not ours stays")


@case
def a_fork_knows_its_parents_tape_and_its_moment(test):
    tapes = test.record([program("processes"), "wait-for-all"], form="follow").tapes
    metas = {tape.path.name: tape.facts()["meta"] for tape in tapes}
    parent = next(name for name, meta in metas.items() if "started_by" not in meta)
    children = [meta for name, meta in metas.items() if name != parent]
    equal(len(children), 3, "children")
    for meta in children:
        equal((meta["started_by"], meta["parent_tape"], meta["parent_pid"]), ("fork", parent, metas[parent]["pid"]), "origin")
        check(int(meta["started_monotonic_ns"]) > int(metas[parent]["start_monotonic_ns"]), "the fork is on the parent's tape")


@case
def a_run_without_the_launcher_goes_into_the_folder_that_was_named(test):
    sh, ls = installed("sh", "ls")
    variables = {"LD_PRELOAD": LIBRARY, "HEAPTAPE_COLLECTOR": HEAPTAPE, "HEAPTAPE_FOLLOW": "1", "HEAPTAPE_QUIET": "1",
                 "HEAPTAPE_OUTPUT": str(test.work / "run")}
    test.run([sh, "-c", f"{ls} / >/dev/null; exit 0"], env=variables)
    tree = ask(test, "info", "run")[0]
    check("run: 2 processes" in tree and "    ls" in tree, tree)


@case
def a_program_started_through_a_link_has_the_links_name(test):
    (test.work / "redis-server").symlink_to(program("started"))
    test.run([HEAPTAPE, "record", "./redis-server"], env={"HEAPTAPE_LIBRARY": LIBRARY})
    test.run([HEAPTAPE, "record", "env", "./redis-server"], env={"HEAPTAPE_LIBRARY": LIBRARY})
    tapes = list(test.work.glob("heaptape.redis-server.*.tape"))
    equal(len(tapes), 2, "tapes named after the link")
    for tape in tapes:
        meta = Tape(tape).facts()["meta"]
        equal((meta["name"], meta["program"]), ("redis-server", os.path.realpath(program("started"))), "name and path")


if __name__ == "__main__":
    raise SystemExit(main())
