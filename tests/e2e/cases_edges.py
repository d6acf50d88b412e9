"""Edges of recording: odd places for tapes and logs, collectors that die, limits that leave little, folders that others may enter,
and what a forked child has from its parent."""

import json
import os
import re
import signal
import socket
import stat
import subprocess

from harness import (HANG_SECONDS, HEAPTAPE, LIBRARY, all_pids, as_root, case, check, each, equal, installed, main, name_of, program,
                     wait_until)
from tape import Tape, demand, heaptape


def record(test, *words, **more):
    return test.run([HEAPTAPE, "record", *words], env={"HEAPTAPE_LIBRARY": LIBRARY, **more.pop("env", {})}, **more)


def ours(outcome):
    return [line for line in outcome.err.decode(errors="replace").splitlines() if line.startswith("heaptape: ")]


def start_steady(test, **more):
    process = test.start_record([program("steady"), "stop", 10**9, 50], **more)
    equal(process.stdout.readline(), b"ready\n", "first line")
    return process


def collector_beside(test):
    return wait_until(lambda: next((pid for pid in all_pids() if name_of(pid) == "heaptape-coll" and
                                    any(os.path.realpath(f"/proc/{pid}/fd/{fd}").startswith(str(test.dir))
                                        for fd in os.listdir(f"/proc/{pid}/fd"))), None), "the collector has its tape")


# ------------------------------------------------------------------------------------------------ where a tape may be


def make_odd(test, what):
    path = test.work / "odd.tape"
    if what == "named pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "socket":
        socket.socket(socket.AF_UNIX).bind(str(path))
    elif what == "symbolic link":
        (test.work / "target").write_bytes(b"precious")
        path.symlink_to("target")
    else:
        path = "/dev/null"
    return path


@each(a_pipe="named pipe", a_folder="folder", a_socket="socket", a_link="symbolic link", a_device="device")
def a_tape_is_not_written_into(test, what):
    path = make_odd(test, what)
    for force in ([], ["--force"]):
        outcome = record(test, *force, "-o", path, "--", installed("touch"), "ran")
        equal(outcome.status, 2, f"status with {force}: {outcome.err}")
        equal(len(ours(outcome)), 1, f"lines: {outcome.err}")
        check(what in ours(outcome)[0], f"says that it is a {what}: {outcome.err}")
        check(not (test.work / "ran").exists(), "the program was not run")
    if what == "symbolic link":
        equal((test.work / "target").read_bytes(), b"precious", "what the link leads to")


@case
def a_renamed_tape_gets_its_own_names_and_what_took_its_place_is_left_alone(test):
    other = test.recording_of([program("known_frames")]).tape
    before = open(other.path, "rb").read()
    process = start_steady(test)
    (tape,) = test.tapes()
    moved = test.dir / "moved.tape"
    os.rename(tape.path, moved)
    os.symlink(other.path, tape.path)
    (test.work / "stop").touch()
    test.finish(process)
    equal(open(other.path, "rb").read(), before, "the tape that the link leads to")
    facts = Tape(moved).facts()
    check(facts["finished"], "the renamed tape has its end")
    check({"SYMBOLS", "INDEX"} <= {one["type"] for one in facts["blocks"]}, f"names and index: {facts}")


@case
def force_replaces_a_tape_in_one_step(test):
    path = test.work / "t.tape"
    path.write_bytes(b"old")
    os.chmod(path, 0o644)
    with open(path, "rb") as reader:
        equal(record(test, "-q", "--force", "-o", path, "--", program("ends"), "status", 3).status, 3, "status")
        equal(reader.read(), b"old", "who had the old file open still has it")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode")
    Tape(path).verify()
    equal(sorted(one.name for one in test.work.iterdir()), ["t.tape"], "files")


@case
def quick_runs_with_force_on_one_name_leave_a_whole_tape(test):
    path = test.work / "t.tape"
    variables = {"LD_PRELOAD": LIBRARY, "HEAPTAPE_COLLECTOR": HEAPTAPE, "HEAPTAPE_OUTPUT": str(path), "HEAPTAPE_FORCE": "1",
                 "HEAPTAPE_QUIET": "1"}
    running = [test.start([program("known_frames")], env=variables) for _ in range(6)]
    for process in running:
        test.finish(process)
    Tape(path).verify()
    check(Tape(path).facts()["finished"], "it has an end")


@case
def a_log_is_not_written_through_a_link(test):
    target = test.work / "target"
    target.write_bytes(b"precious")
    (test.work / "x.log").symlink_to("target")
    outcome = record(test, "--no-tape", "--log=x.log", "--", installed("touch"), "ran")
    equal((outcome.status, len(ours(outcome))), (2, 1), f"status and lines: {outcome.err}")
    check("symbolic link" in ours(outcome)[0], outcome.err)
    equal(target.read_bytes(), b"precious", "what the link leads to")


# ------------------------------------------------------------------------------------------------ collectors that die


@case
def record_says_that_its_collector_was_killed_and_what_the_tape_holds(test):
    process = start_steady(test)
    os.kill(collector_beside(test), signal.SIGKILL)
    said = process.stderr.readline().decode()  # at once, not at the end
    check(re.search(r"collector was killed by SIGKILL.*holds [\d,]+ events?, up to", said), said)
    (test.work / "stop").touch()
    outcome = test.finish(process)
    equal(outcome.status, 8, "the program's own status")
    equal(ours(outcome), [], "nothing more is said")
    (tape,) = test.tapes()
    check("its collector died" in demand("info", tape.path), "info says so")
    tape.verify()


@case
def a_limit_on_cpu_time_does_not_kill_the_collector_with_the_program(test):
    bash = installed("bash")
    folder = test.new_tapes_folder()
    words, variables = test.form("record", [program("steady"), "stop", str(10**9)], (), folder)
    as_nobody = ["setpriv", "--reuid", "65534", "--clear-groups"] if os.geteuid() == 0 and installed("setpriv") else []
    outcome = test.run([bash, "-c", 'ulimit -t 1 && exec "$@"', "bash", *as_nobody, *words], env=variables)
    check(outcome.status in (128 + signal.SIGKILL, 128 + signal.SIGXCPU), f"status {outcome.status}: {outcome.err}")
    (tape,) = test.tapes()
    check(tape.facts()["finished"], f"the tape has an end; stderr: {outcome.err}")
    tape.verify()


# ------------------------------------------------------------------------------------------------------------- limits


@each(five_descriptors=("-n", 5), eight_descriptors=("-n", 8), ten_descriptors=("-n", 10), tiny_files=("-f", 100), small_files=("-f", 20000))
def a_program_runs_whatever_is_left_by(test, variant):
    option, value = variant
    bash = installed("bash")
    for form in ("record", "direct"):
        folder = test.new_tapes_folder()
        words, variables = test.form(form, [program("ends"), "status", "9"], (), folder)
        outcome = test.run([bash, "-c", f'ulimit {option} {value} && exec "$@"', "bash", "env", *(f"{k}={v}" for k, v in variables.items()),
                            *words])
        equal(outcome.status, 9, f"status ({form}): {outcome.err}")
        said = ours(outcome)
        if not test.tapes():
            check(len(said) == 1 and "unrecorded" in said[0], f"one line ({form}): {outcome.err}")
        else:
            equal(said, [], f"nothing to say ({form})")
            test.tapes()[0].verify()
    if variant == ("-f", 20000):
        check(test.tapes(), "20 MB are enough to record")


@each(address_space=("-v", 60000), data_for_the_collector=("-d", 10000), data_for_the_recorder=("-d", 60000))
def a_limit_that_leaves_no_memory_for_a_recording_is_named_on_one_line(test, variant):
    option, value = variant
    bash = installed("bash")
    for form in ("record", "direct"):
        words, variables = test.form(form, [program("ends"), "status", "9"], (), test.new_tapes_folder())
        outcome = test.run([bash, "-c", f'ulimit {option} {value} && exec "$@"', "bash", "env", *(f"{k}={v}" for k, v in variables.items()),
                            *words])
        equal(outcome.status, 9, f"status ({form}): {outcome.err}")
        said = ours(outcome)
        check(len(said) == 1 and f"(ulimit {option})" in said[0] and "unrecorded" in said[0], f"one line ({form}): {outcome.err}")
        equal(outcome.err.decode().count("\n"), 1, f"lines ({form}): {outcome.err}")


@case
def a_program_is_recorded_without_proc(test):
    as_root()
    unshare, umount = installed("unshare", "umount")
    script = f'{umount} -l /proc && exec "$@"'
    folder = test.new_tapes_folder()
    words, variables = test.form("record", [program("ends"), "status", "9"], (), folder)
    outcome = test.run([unshare, "-m", installed("sh"), "-c", script, "sh", *words], env=variables)
    equal(outcome.status, 9, f"status: {outcome.err}")
    check(test.tapes() or any("unrecorded" in line for line in ours(outcome)), f"recorded, or one line: {outcome.err}")


# ------------------------------------------------------------------------------------------------- the runtime folder


@each(others_may_enter="mode", it_belongs_to_another="owner", it_is_a_link="link")
def the_runtime_folder_is_not_used_and_everyone_is_told_when(test, why):
    runtime = test.dir / "runtime"
    runtime.mkdir(mode=0o700)
    if why == "mode":
        os.chmod(runtime, 0o755)
    elif why == "owner":
        as_root()
        os.chown(runtime, 65534, 65534)
    else:
        os.rename(runtime, test.dir / "elsewhere")
        runtime.symlink_to("elsewhere")
    mentioned = {"mode": "mode 755", "owner": "another user", "link": "symbolic link"}[why]
    variables = {"HEAPTAPE_RUNTIME_DIR": str(runtime)}
    outcome = test.record([program("ends"), "status", "3"], env=variables)
    equal(outcome.status, 3, f"status: {outcome.err}")
    outcome.tape.verify()
    check(len(ours(outcome)) == 1 and mentioned in ours(outcome)[0] and "700" in ours(outcome)[0], f"one line: {outcome.err}")
    for words in (["ps"], ["leaks", "-p", str(os.getpid())], ["mark", "-p", str(os.getpid()), "x"]):
        result = subprocess.run([HEAPTAPE, *words], env={**test.env, **variables}, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        equal(result.returncode, 2, f"status of {words}: {result.stderr}")
        check(mentioned in result.stderr, f"{words}: {result.stderr}")


@case
def ps_shows_arguments_and_parents(test):
    runtime = test.dir / "runtime"
    runtime.mkdir(mode=0o700)
    os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(runtime)
    processes = [start_steady(test) for _ in range(2)]
    listed = json.loads(demand("ps", "--json"))
    equal(len(listed), 2, "recordings")
    for one in listed:
        equal(one["command"][1:], ["stop", str(10**9), "50"], "arguments")
        check(one["parent"] in [process.pid for process in processes], f"parent: {one}")
    lines = demand("ps").splitlines()
    for one, line in zip(listed, lines[1:]):
        words = line.split()
        equal((words[0], words[1]), (str(one["pid"]), str(one["parent"])), "pid and parent")
        check(line.endswith(f"steady stop {10**9} 50"), line)
    (test.work / "stop").touch()
    for process in processes:
        test.finish(process)


@case
def one_of_many_collectors_takes_a_socket_that_was_left_behind(test):
    path = test.work / "s"
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(str(path))
    collectors = [test.start([HEAPTAPE, "collect", "--listen", path]) for _ in range(6)]
    wait_until(lambda: sum(one.poll() is None for one in collectors) == 1, "all but one have given up")
    (left,) = [one for one in collectors if one.poll() is None]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        wait_until(lambda: client.connect_ex(str(path)) == 0, "it can be reached")
    for one in collectors:
        if one is not left:
            outcome = test.finish(one)
            check(outcome.status == 2 and b"already listens" in outcome.err, f"{outcome.status}: {outcome.err}")
    left.terminate()
    equal(test.finish(left).status, 0, "status of the one that listened")
    check(not path.exists(), "the socket is gone")


@case
def debug_dir_must_be_a_folder(test):
    tape = test.recording_of([program("known_frames")]).tape
    for folder, why in (("/dev/null", "is not a folder"), ("/no/such/folder", "No such file")):
        result = subprocess.run([HEAPTAPE, "symbolize", "--debug-dir", folder, str(tape.path)], capture_output=True, text=True,
                                timeout=HANG_SECONDS, check=False)
        equal(result.returncode, 2, f"status for {folder}")
        check(why in result.stderr, result.stderr)


# ---------------------------------------------------------------------------------------------------- inherited blocks


class Family:
    """The program `inheritance`, followed: the tapes of parent, child and grandchild, and the addresses that it printed."""

    def __init__(self, test):
        outcome = test.record([program("inheritance")], form="follow")
        equal(outcome.status, 0, f"status: {outcome.err}")
        words = [line.split() for line in outcome.out.decode().splitlines()]
        pids = {name: int(value) for name, value in words if name not in ("block", "own")}
        by_pid = {tape.facts()["pid"]: tape for tape in find_tapes(test)}
        self.parent, self.child, self.grandchild = (by_pid[pids[name]] for name in ("parent", "child", "grandchild"))
        self.pids = pids
        self.blocks = [value for name, value in words if name == "block"]
        self.own = next(value for name, value in words if name == "own")


def find_tapes(test):
    return [Tape(path) for path in sorted((test.dir / f"tapes{test.runs}").rglob("*.tape"))]


@case
def a_forked_child_knows_the_blocks_it_inherited(test):
    family = Family(test)
    inherited = family.child.facts()["inherited"]
    equal(inherited["parent_pid"], family.pids["parent"], "parent")
    check(inherited["blocks"] >= 7 and inherited["bytes"] >= 7000, f"seven blocks at least: {inherited}")
    equal((inherited["released_blocks"], inherited["released_bytes"]), (3, 3000), "released by the child")
    equal(family.child.facts()["unknown_releases"], 0, "releases that nobody knows")
    of_grandchild = family.grandchild.facts()["inherited"]
    equal((of_grandchild["parent_pid"], of_grandchild["released_blocks"], of_grandchild["released_bytes"]), (family.pids["child"], 2, 1077),
          "released by the grandchild")
    equal(family.grandchild.facts()["unknown_releases"], 0, "releases that nobody knows, of the grandchild")
    check("inherited" not in family.parent.facts(), "the parent has nothing inherited")
    for tape in (family.parent, family.child, family.grandchild):
        tape.verify()
    text = demand("report", family.child.path)
    check(f"from process {family.pids['parent']} at the fork, of which 3.00 kB in 3 blocks were released" in text, text)


@case
def every_question_about_an_inherited_block_is_answered_from_the_childs_tape_alone(test):
    family = Family(test)
    os.unlink(family.parent.path)
    freed, live = family.blocks[3], family.blocks[9]
    child = family.child.path
    for command, address, expected in (("explain", live, "a live 1,000-byte block, inherited at the fork"),
                                       ("explain", freed, "a 1,000-byte block freed"),
                                       ("owner", live, "inherited at the fork"),
                                       ("where", live, "before the fork by process"),
                                       ("history", freed, "before the fork by process")):
        text = ask_tape(command, child, address)
        check(expected in text, f"{command}: {text}")
        check("make_for_children" in text, f"{command} names who made it: {text}")
    check("drop_inherited" in ask_tape("history", child, freed), "who freed it")
    text = ask_tape("explain", family.grandchild.path, family.own)
    check("make_in_child" in text and "drop_inherited" in text, text)
    text = ask_tape("explain", "--at", "0", child, freed)
    check("a live 1,000-byte block, inherited at the fork" in text, f"before its release: {text}")


@case
def a_forked_child_that_still_runs_knows_the_blocks_it_inherited(test):
    process = test.start_record([program("inheritance"), "wait"], options=["--follow"], stdin=subprocess.PIPE)
    words = []
    while not words or words[-1][0] != "own":
        words.append(process.stdout.readline().decode().split())
    child = next(value for name, value in words if name == "child")
    blocks = [value for name, value in words if name == "block"]
    for command, address, expected in (("explain", blocks[9], "a live 1,000-byte block, inherited at the fork"),
                                       ("explain", blocks[3], "a 1,000-byte block freed")):
        text = heaptape(command, "-p", child, address).stdout
        check(expected in text and "make_for_children" in text, f"{command}: {text}")
    text = demand("report", "-p", child)
    check("at the fork, of which 3.00 kB in 3 blocks were released" in text, text)
    process.stdin.close()
    process.stdin = None
    equal(test.finish(process).status, 0, "status")


def ask_tape(*words):
    result = subprocess.run([HEAPTAPE, *map(str, words)], capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    check(result.returncode in (0, 1) and not result.stderr, f"{words}: {result.stderr}")
    return result.stdout


if __name__ == "__main__":
    raise SystemExit(main())
