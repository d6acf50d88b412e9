"""Programs and surroundings that make a copy of memory hard: the program goes on as if nothing had been, and what is said about its memory is true.
Cases that need a hand inside the collector are unit tests, see docs/hard-cases.md."""

import json
import os
import signal
import subprocess
import sys

from harness import Skip, as_root, case, check, check_installed_library, each, equal, installed, main, program, wait_until
from talker import Talker, ask, listed
from tape import demand
from waiting import Waiting

CLASSES = ("definitely lost", "indirectly lost", "possibly lost")


def leaks(tape, *options):
    return json.loads(demand("leaks", tape, "--json", *options))["leaks"]


def lost(tape, *options):
    """Blocks and bytes of each class that is not reachable, in the order of CLASSES."""
    rows = {row["class"]: (row["blocks"], row["bytes"]) for row in leaks(tape, *options)["classes"]}
    return [rows[name] for name in CLASSES]


def snapshots_of(tape):
    return json.loads(demand("snapshots", tape, "--json"))["snapshots"]


@each(the_program_stopped="stop", it_running="live", a_twin="twin")
def threads_inside_malloc_and_realloc_lose_nothing_with(test, method):
    """At every moment each block of this program is held: what the tape calls live was allocated in the copy, and what holds it is in the copy."""
    runtime = test.dir / "runtime"
    runtime.mkdir(mode=0o700)
    os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(runtime)
    process = test.start_record([program("busy_heap"), 4], stdin=subprocess.PIPE)
    equal(process.stdout.readline(), b"ready\n", "first line")
    recording = wait_until(lambda: next(iter(listed()), None), "the recording is listed")
    for _ in range(3):
        taken = ask("snapshot", "-p", recording["pid"], "busy", "--contents", "--method", method)
        equal(taken.returncode, 0, taken.stderr)
    outcome = test.finish(process)
    equal((outcome.status, outcome.out), (0, b"0 wrong\n"), f"status and output; stderr: {outcome.err}")
    tape = recording["tape"]
    rows = snapshots_of(tape)
    equal([row["contents"] for row in rows], [True] * 3, "snapshots")
    for row in rows:
        # What is released later is no leak by itself, so that only --strict shows whether the moment is right.
        at = ("--at", f"snapshot:{row['number']}", "--strict")
        equal(lost(tape, *at)[:2], [(0, 0)] * 2, f"lost at snapshot {row['number']}")
        # Only the tables of the threads' variables, which the C library refers to behind their first entries.
        for site in leaks(tape, *at)["possibly_lost"]:
            check(any("pthread_create" in frame["function"] for frame in site["stack"]), site)


@each(glibc=None, jemalloc="libjemalloc.so.2", tcmalloc="libtcmalloc_minimal.so.4")
def blocks_of_eight_bytes_are_told_apart_with(test, library):
    if library:
        check_installed_library(library)
    env = {"LD_PRELOAD": library} if library else {}
    tape = Waiting(test, [program("tiny_blocks")], env=env).tape
    equal(lost(tape), [(1, 8), (99, 792), (0, 0)], "lost")


@case
def what_was_made_in_a_pause_is_named_as_a_doubt(test):
    outcome = test.record([program("pauses")], options=("--leaks",))
    equal(outcome.status, 0, outcome.err)
    [doubt] = leaks(outcome.tapes[0].path)["doubts"]
    check("6 blocks made while the recording was paused are not known" in doubt, doubt)
    check(doubt in demand("leaks", outcome.tapes[0].path), "the text says so, too")


@case
def dropped_events_are_named_as_a_doubt(test):
    talker = Talker(test, options=("--on-full=drop", "--leaks"))
    collector = talker.recording["collector"]
    os.kill(collector, signal.SIGSTOP)
    try:
        for _ in range(40):
            talker.do("grow 10000")  # much more than the ring of a thread holds
    finally:
        os.kill(collector, signal.SIGCONT)
    equal(talker.finish().status, 5, "the program's status")
    dropped = talker.tape.losses().get("ring full", 0)
    check(dropped > 0, "nothing was dropped, so that this shows nothing")
    [doubt] = leaks(talker.tape.path)["doubts"]
    check(f"{dropped:,} events lost" in doubt, doubt)


@each(few_calls="seccomp-filter", strict="seccomp-strict")
def a_program_in_a_sandbox_survives_the_snapshot_of_its_end(test, mode):
    command = [program("confinement"), mode]
    plain = test.run(command)
    for options in (("--leaks",), ("--snapshot", "events:100,exit,crash")):
        outcome = test.record(command, options=options)
        equal((outcome.status, outcome.out), (plain.status, plain.out), f"status and output; stderr: {outcome.err}")
        outcome.tapes[0].verify()


@case
def an_ordinary_user_gets_the_memory_of_his_program(test):
    """Where kernel.yama.ptrace_scope is 1, as on many systems, this shows that the recorder lets its collector in."""
    as_root()
    nobody = [installed("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    command = [program("contents_moments"), "contents"]
    os.chmod(test.work, 0o777)
    if test.run([*nobody, *command]).status != 7:
        raise Skip("the programs cannot be reached by another user")
    folder = test.new_tapes_folder()
    words, variables = test.form("record", command, (), folder)
    outcome = test.run([*nobody, *words], env=variables)
    equal((outcome.status, outcome.out), (7, b"snapshot 1\n"), f"status and output; stderr: {outcome.err}")
    [tape] = test.tapes()
    equal(lost(tape.path), [(10, 480), (10, 480), (0, 0)], "lost")


@case
def a_full_disk_ends_the_snapshot_not_the_program(test):
    as_root()
    folder = test.new_tapes_folder()
    if subprocess.run([installed("mount"), "-t", "tmpfs", "-o", "size=4m", "none", str(folder)], check=False).returncode != 0:
        raise Skip("cannot mount a small file system")
    try:
        os.chmod(folder, 0o777)
        # Memory that cannot be packed, and much more of it than the disk has room for.
        command = [sys.executable, "-c", "import os; held = os.urandom(16 << 20); print(len(held), flush=True); os._exit(3)"]
        plain = test.run(command)
        words, variables = test.form("record", command, ("--leaks",), folder)
        outcome = test.run([word for word in words if word != "-q"], env=variables)
        equal((outcome.status, outcome.out), (plain.status, plain.out), f"status and output; stderr: {outcome.err}")
        check(b"snapshot 'exit' holds no memory: it may take at most half of the room" in outcome.err, outcome.err)
        [tape] = test.tapes()
        equal([row["contents"] for row in snapshots_of(tape.path)], [False], "snapshots")
        tape.path.unlink()
        # The disk still has room for what comes behind it.
        later = ("import os, signal; held = os.urandom(16 << 20); os.kill(os.getpid(), signal.SIGUSR2)\n"
                 "import time; time.sleep(0.5); strings = [str(i) for i in range(100_000)]; print(len(strings), flush=True); os._exit(3)")
        words, variables = test.form("record", [sys.executable, "-c", later], ("--snapshot", "signal:USR2"), folder)
        outcome = test.run([word for word in words if word != "-q"], env={**variables, "PYTHONMALLOC": "malloc"})
        equal((outcome.status, outcome.out), (3, b"100000\n"), f"status and output; stderr: {outcome.err}")
        check(b"holds no memory: it may take at most half of the room" in outcome.err and b" 0 events lost" in outcome.err, outcome.err)
        [tape] = test.tapes()
        check(tape.facts()["events"] > 100_000, "events")
    finally:
        subprocess.run([installed("umount"), "-l", str(folder)], check=True)


if __name__ == "__main__":
    main()
