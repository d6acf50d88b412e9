"""When something goes wrong beside the program, the program goes on, the tape is readable up to there, and a line says so."""

import os
import signal
import subprocess
from pathlib import Path

from harness import (HEAPTAPE, LIBRARY, Skip, as_root, case, check, children, descendant_named, descendants, each, equal,
                     installed, main, program, wait_until)
from tape import Tape, heaptape


def collector_of(process, test):
    """The collector's pid: the other process that runs the heaptape binary."""

    def find():
        for pid in {*descendants(), *children()}:
            try:
                if pid != process.pid and os.path.samefile(f"/proc/{pid}/exe", HEAPTAPE):
                    return pid
            except OSError:
                continue
        return None

    return wait_until(find, "the collector runs")


def start_steady(test, form, options=()):
    folder = test.new_tapes_folder()
    words, variables = test.form(form, [program("steady"), "stop", str(10**9)], options, folder)
    process = test.start(words, env=variables)
    equal(process.stdout.readline(), b"ready\n", "first line")
    return process


def stop_and_check(test, process):
    (test.work / "stop").touch()
    outcome = test.finish(process)
    check(b"0 wrong\n" in outcome.out, f"the program ended well: {outcome.out}")
    return outcome


@each(started_by_the_launcher="record", started_by_the_recorder="direct")
def a_killed_collector_leaves_program_and_tape(test, form):
    process = start_steady(test, form)
    wait_until(lambda: test.tapes() and test.tapes()[0].path.stat().st_size > 200_000, "the tape grows")
    os.kill(collector_of(process, test), signal.SIGKILL)
    outcome = stop_and_check(test, process)
    equal(outcome.status, 8, f"status; stderr: {outcome.err}")
    (tape,) = test.tapes()
    events = tape.events("--to", 20000, stacks=False)
    equal(len(events), 20000, "events that can be read")
    check("still" in tape.info() or "cut" in tape.info() or "unfinished" in tape.info() or "not finished" in tape.info(),
          f"info says that the tape is not whole:\n{tape.info()}")


@case
def a_program_that_waits_for_a_collector_goes_on_when_it_dies(test):
    process = start_steady(test, "record")
    collector = collector_of(process, test)
    os.kill(collector, signal.SIGSTOP)
    victim = descendant_named("steady", process.pid)

    def all_threads_sleep():
        states = [Path(task, "stat").read_text().rpartition(")")[2].split()[0] for task in Path(f"/proc/{victim}/task").iterdir()]
        return states == ["S", "S"]

    wait_until(all_threads_sleep, "the rings are full and the program waits")
    os.kill(collector, signal.SIGKILL)
    outcome = stop_and_check(test, process)
    equal(outcome.status, 8, "status")


@case
def a_stopped_collector_loses_nothing(test):
    folder = test.new_tapes_folder()
    words, variables = test.form("record", [program("steady"), "stop", "300000"], (), folder)
    process = test.start(words, env=variables)
    equal(process.stdout.readline(), b"ready\n", "first line")
    collector = collector_of(process, test)
    os.kill(collector, signal.SIGSTOP)
    try:
        process.wait(1)  # far longer than filling the rings takes; shorter would only make the test weaker
    except subprocess.TimeoutExpired:
        pass
    os.kill(collector, signal.SIGCONT)
    outcome = test.finish(process)
    blocks = int(outcome.err.split()[0])
    (tape,) = test.tapes()
    tape.verify()
    equal({name: n for name, n in tape.losses().items() if n}, {}, "losses")
    made = sum(count for size, count in tape.sizes().items() if 20 <= size < 520)
    check(blocks <= made <= blocks + 5, f"{blocks} blocks made, {made} on the tape")


def record_onto_a_small_disk(test, form):
    """3,000,000 blocks on each of two threads: megabytes of tape, and room for three blocks of events or a few more."""
    as_root()
    folder = test.new_tapes_folder()
    mounted = subprocess.run([installed("mount"), "-t", "tmpfs", "-o", "size=256k", "none", str(folder)], check=False)
    if mounted.returncode != 0:
        raise Skip("cannot mount a small file system")
    try:
        os.chmod(folder, 0o777)
        words, variables = test.form(form, [program("steady"), "stop", "3000000"], (), folder)
        variables.pop("HEAPTAPE_QUIET", None)
        outcome = test.run([word for word in words if word != "-q"], env=variables)
        (tape,) = test.tapes()
        return outcome, len(tape.events("--to", 1000, stacks=False)), tape.facts()
    finally:
        subprocess.run([installed("umount"), "-l", str(folder)], check=True)


@each(the_launcher="record", the_library_alone="direct")
def a_full_disk_ends_the_recording_not_the_program_of(test, form):
    outcome, readable, _ = record_onto_a_small_disk(test, form)
    equal(outcome.status, 8, f"status; stderr: {outcome.err}")
    check(b"0 wrong\n" in outcome.out, "the program ended well")
    check(b"disk is full" in outcome.err, f"a line says that the disk is full: {outcome.err}")
    equal(readable, 1000, "events read from the beginning of the tape")


@case
def a_tape_that_a_full_disk_ended_says_so(test):
    _, _, facts = record_onto_a_small_disk(test, "record")
    equal(facts["ending"]["how"], "collector stopped", "ending")
    check("disk is full" in facts["ending"]["note"], facts["ending"]["note"])
    check(facts["losses"].get("not written", 0) > 0, f"events that were not written are counted: {facts['losses']}")


@case
def a_tape_stops_at_its_maximum_and_says_so(test):
    name = test.work / "small.tape"
    command = [HEAPTAPE, "record", "--max-tape", "100K", "-o", name, "--", program("steady"), "stop", 300000]
    outcome = test.run(command, env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(outcome.status, 8, "status")
    check(b"0 wrong\n" in outcome.out, "the program ended well")
    check(name.stat().st_size <= 110 * 1024, f"the tape has {name.stat().st_size} bytes")
    tape = Tape(name)
    tape.verify()
    check(tape.event_count() > 1000, "events up to there")
    check("max" in tape.info(), f"info says why it ends there:\n{tape.info()}")
    check("max" in outcome.err.decode(), f"so does the summary: {outcome.err}")


@case
def a_tape_can_be_read_while_it_is_written(test):
    process = start_steady(test, "record")
    wait_until(lambda: test.tapes()[0].path.stat().st_size > 300_000, "the tape grows")
    (tape,) = test.tapes()
    check(len(tape.events("--to", 30000, stacks=False)) == 30000, "events so far")
    check(heaptape("info", tape.path).returncode == 0, "info")
    stop_and_check(test, process)
    tape.verify()


@case
def a_strange_program_name_makes_a_usable_tape_name(test):
    strange = test.work / "a program %p with spaces"
    strange.write_bytes(Path(program("ends")).read_bytes())
    strange.chmod(0o755)
    outcome = test.run([HEAPTAPE, "record", "-q", "--", strange, "status", 3], env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(outcome.status, 3, f"status; stderr: {outcome.err}")
    (tape,) = list(test.work.glob("heaptape.*.tape"))
    Tape(tape).verify()


# Of the memory that a program shares with its collector: what is behind the header's page.
CLAIMS, SLOTS, SLOT = 4096, 8192, 128


@each(one_slot=(SLOTS + 5 * SLOT, 64, 255, 10000), all_claims=(CLAIMS, 4096, 255, 10000),
      the_module_log=(5 << 20, 1 << 20, 255, 10000), all_claims_and_slots=(CLAIMS, 4 << 20, 255, 0),
      claims_and_slots_that_seem_to_end=(CLAIMS, 4 << 20, 2, 0), everything_up_to_the_stacks=(CLAIMS, 8 << 20, 85, 0),
      the_header=(0, 4096, 255, 100000), random_places=(0, 25000, "r1", 100000), other_random_places=(0, 25000, "r2", 100000))
def a_recording_ends_although_the_program_scribbled_over(test, what):
    outcome = test.record([program("scribble"), *what])
    equal((outcome.status, outcome.out), (0, b"scribbling\n"), f"status and output; stderr: {outcome.err}")
    equal(outcome.tape.facts()["ending"]["how"], "exited", "how the tape says that it ended")


@case
def losses_are_called_unknown_when_the_program_wrote_over_their_counters(test):
    tape = test.record([program("scribble"), 0, 4096, 255, 1000]).tape
    equal(tape.losses(), {"memory written over": 1}, "losses")
    page = heaptape("report", tape.path).stdout
    check("lost events unknown" in page, f"the first page says so:\n{page}")


@case
def a_tape_that_was_removed_while_it_was_written_is_not_said_to_be_there(test):
    sh = installed("sh")
    outcome = test.run([HEAPTAPE, "record", "-o", "gone.tape", sh, "-c", "rm gone.tape"], env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(outcome.status, 0, f"status; stderr: {outcome.err}")
    check(b"the tape is gone: 'gone.tape' was removed" in outcome.err, outcome.err)
    kept = test.run([HEAPTAPE, "record", "-o", "kept.tape", sh, "-c", "cd /"], env={"HEAPTAPE_LIBRARY": LIBRARY})
    check(b"gone" not in kept.err, kept.err)


if __name__ == "__main__":
    raise SystemExit(main())
