"""Threads that hand blocks to each other, threads that live briefly, and processes made in every way there is."""

import contextlib
import os
import resource
import shutil
import struct
import sys
from collections import Counter

from harness import Skip, as_root, case, check, each, equal, installed, main, program

CHILDREN = {"fork-storm": 100, "fork-with-threads": 60, "raw-clone": 20}
BLOCKS_OF_PARENT = {"fork-storm": 1000, "fork-with-threads": 600, "raw-clone": 200, "vfork": 200, "posix_spawn": 100}


@contextlib.contextmanager
def one_busy_core(test):
    """Program and collector share one processor with somebody who never rests."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    busy = test.start([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()
        os.sched_setaffinity(0, before)


@each(two_threads=(1, 40000), six_threads=(3, 12000))
def blocks_handed_to_another_thread_are_never_live_twice(test, variant):
    pairs, blocks = variant
    outcome = test.record([program("handover"), pairs, blocks])
    equal(outcome.out, f"{pairs * blocks}\n".encode(), "output")
    tape = outcome.tape
    tape.verify()
    producers = tape.count_by("thread", "kind = 'malloc'")
    equal(sorted(producers.values())[-pairs:], [blocks] * pairs, "blocks per producer")


@case
def ten_thousand_short_threads_are_recorded(test):
    outcome = test.record([program("short_threads"), 10000])
    equal(outcome.out, b"10000 threads\n", "output")
    tape = outcome.tape
    tape.verify()
    sizes = tape.sizes()
    equal((sizes[111], sizes[222]), (10000, 10000), "blocks of the threads")
    equal(tape.losses().get("no thread slot", 0), 0, "events without a slot")
    check(len(tape.facts()["threads"]) == 10001, f"{len(tape.facts()['threads'])} threads are known")


def record_many_threads(test, rounds, alive, **more):
    """Every thread's malloc, realloc and free must be there, and nothing else may be lost or wrong."""
    outcome = test.record([program("many_threads"), rounds, alive], **more)
    count = rounds * alive
    equal(outcome.out, f"{count} threads\n".encode(), "output")
    tape = outcome.tape
    tape.verify()
    equal(tape.losses(), {}, "losses")
    blocks = Counter((event.kind, event.size) for event in tape.events(stacks=False))
    equal((blocks["malloc", 111], blocks["realloc", 222]), (count, count), "blocks of the threads")
    return tape


@case
def three_thousand_threads_alive_at_once_lose_nothing(test):
    tape = record_many_threads(test, 1, 3000)
    equal(len(tape.facts()["threads"]), 3001, "threads")


@case
def rounds_of_five_hundred_threads_lose_nothing_on_a_busy_core(test):
    with one_busy_core(test):
        record_many_threads(test, 6, 500)


@case
def forty_thousand_short_threads_lose_nothing_on_a_busy_core(test):
    with one_busy_core(test):
        record_many_threads(test, 40000, 1)


@case
def threads_that_find_no_slot_share_some_and_lose_nothing(test):
    # The memory with the rings is a file: a small one has slots for a few dozen threads; the others borrow one for each of their events.
    def allow_small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 20, 100 << 20))

    tape = record_many_threads(test, 1, 400, preexec_fn=allow_small_files)
    equal(len(tape.facts()["threads"]), 401, "threads")


@each(a_fork_storm="fork-storm", forks_among_threads="fork-with-threads", raw_clones="raw-clone", vforks="vfork",
      posix_spawn="posix_spawn")
def the_parents_tape_is_whole_with(test, way):
    for form in ("record", "direct"):
        outcome = test.record([program("processes"), way], form=form)
        equal(outcome.status, 0, f"status ({form})")
        made = BLOCKS_OF_PARENT[way] // 10
        equal(outcome.out, f"{made} children ended well\n".encode(), f"output ({form})")
        tape = outcome.tape
        tape.verify()
        sizes = tape.sizes()
        equal(sizes[500], BLOCKS_OF_PARENT[way], f"blocks of the parent ({form})")
        equal(sizes[600], 0, f"blocks of the children on the parent's tape ({form})")


@each(a_fork_storm="fork-storm", forks_among_threads="fork-with-threads")
def each_followed_child_has_a_tape_of_its_own_with(test, way):
    outcome = test.record([program("processes"), way], form="follow")
    equal(outcome.status, 0, "status")
    equal(len(outcome.tapes), CHILDREN[way] + 1, "tapes")
    of_children = 0
    for tape in outcome.tapes:
        tape.verify()
        sizes = tape.sizes()
        if sizes[500]:
            equal(sizes[500], BLOCKS_OF_PARENT[way], "blocks of the parent")
            equal(sizes[600], 0, "blocks of children on the parent's tape")
        else:
            equal(sizes[600], 50, f"blocks of the child of {tape}")
            of_children += 1
    equal(of_children, CHILDREN[way], "tapes of children")


@case
def programs_started_by_a_followed_program_have_tapes_of_their_own(test):
    sh, ls, sort = installed("sh", "ls", "sort")
    script = f"{ls} / > list; {sort} -r list | {sort} > again; exec {ls} -d again"
    outcome = test.same([sh, "-c", script], forms=("follow",), tapes=4)[0]
    names = sorted(tape.path.name.split(".")[1] for tape in outcome.tapes)
    check(names.count("sort") == 2 and names.count("ls") == 2, f"tapes are {names}")


WAYS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "fexecve-path", "execveat", "vfork",
        "posix_spawn", "posix_spawnp")


def start_followed(test, way, child, plain=True):
    """Lets a followed program start another one; the output must be that of a plain run."""
    search = {"PATH": f"{os.path.dirname(child)}:{test.env['PATH']}"}
    command = [program("starts"), way, child]
    outcome = test.record(command, form="follow", env=search)
    if plain:
        expected = test.run(command, env=search)
        equal((outcome.status, outcome.out, outcome.err), (expected.status, expected.out, expected.err),
              f"status, output and errors ({way})")
    return outcome


@each(**{way.replace("-", "_by_"): way for way in WAYS})
def a_program_with_another_loader_runs_when_a_followed_one_starts_it_by(test, way):
    outcome = start_followed(test, way, program("started_musl"))
    equal((outcome.status, outcome.out), (9, b"started\n"), "status and output")
    outcome.tape.verify()
    equal(outcome.tape.losses(), {"not followed": 1}, "losses")


@each(**{way.replace("-", "_by_"): way for way in WAYS})
def a_program_is_followed_when_it_is_started_by(test, way):
    outcome = start_followed(test, way, program("started"), plain=False)
    equal(outcome.status, 9, f"status; stderr: {outcome.err}")
    equal(sorted((tape.kinds(500)["malloc"], tape.kinds(600)["malloc"]) for tape in outcome.tapes), [(0, 1), (1, 0)],
          "blocks per tape")


@case
def a_script_whose_interpreter_has_another_loader_runs(test):
    # The interpreter gets the script's path as argument and becomes that program: a second script, for the shell.
    interpreter = program("started_musl")
    (test.work / "inner").write_text("#!/bin/sh\necho inner; exit 9\n")
    (test.work / "inner").chmod(0o755)
    (test.work / "outer").write_text(f"#! {interpreter} {test.work / 'inner'}\n")
    (test.work / "outer").chmod(0o755)
    outcome = start_followed(test, "execv", str(test.work / "outer"))
    equal((outcome.status, outcome.out), (9, b"inner\n"), "status and output")
    equal(outcome.tape.losses(), {"not followed": 1}, "losses")


# exit(9) for a 32-bit x86: an ELF header, one segment, and seven bytes of code.
PROGRAM_32 = (b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0) +
              struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 96, 96, 5, 4096) +
              b"\x6a\x01\x58\x6a\x09\x5b\xcd\x80" + bytes(4))


@case
def a_32_bit_program_runs_when_a_followed_one_starts_it(test):
    child = test.work / "small"
    child.write_bytes(PROGRAM_32)
    child.chmod(0o755)
    try:
        runs = test.run([child]).status == 9
    except OSError:
        runs = False
    if not runs:
        raise Skip("this kernel runs no 32-bit programs")
    outcome = start_followed(test, "execv", str(child))
    equal(outcome.tape.losses(), {"not followed": 1}, "losses")


@case
def a_static_program_runs_and_its_children_are_followed(test):
    outcome = test.record([program("starts"), "execv", program("started_static")], form="follow")
    equal(outcome.status, 9, f"status; stderr: {outcome.err}")
    equal(outcome.tape.losses(), {}, "losses")
    sh = installed("sh")
    outcome = test.record([sh, "-c", f"{program('started_static')} {program('started')}; exit $?"], form="follow")
    equal(outcome.status, 9, f"status; stderr: {outcome.err}")
    equal(sorted(tape.kinds(600)["malloc"] for tape in outcome.tapes), [0, 1], "blocks of the static program's child")


@case
def a_program_that_cannot_be_read_runs(test):
    as_root()
    setpriv = installed("setpriv")
    nobody = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
    folder = test.new_tapes_folder()
    os.chmod(test.work, 0o777)
    child = test.work / "secret"
    shutil.copy(program("started"), child)
    child.chmod(0o711)
    if test.run([*nobody, program("starts"), "execv", child]).status != 9:
        raise Skip("the programs cannot be reached by another user")
    words, variables = test.form("follow", [program("starts"), "execv", str(child)], (), folder)
    outcome = test.run([*nobody, *words], env=variables)
    equal((outcome.status, outcome.out, outcome.err), (9, b"started\n", b""), "status, output and errors")


@case
def children_are_not_recorded_without_follow_and_see_no_trace(test):
    sh, env = installed("sh", "env")
    outcome = test.same([sh, "-c", f"{env}; {env} | sort"], forms=("record",))[0]
    check(b"HEAPTAPE" not in outcome.out and b"LD_PRELOAD" not in outcome.out, "the environment is as it was")
    equal(len(outcome.tapes), 1, "tapes")


@case
def children_get_the_users_own_preload_back(test):
    sh, env = installed("sh", "env")
    wrapper = str(program("libcounting_preload.so"))
    outcome = test.same([sh, "-c", f"echo $LD_PRELOAD; {env} | grep PRELOAD"], forms=("record",),
                        env={"LD_PRELOAD": wrapper})[0]
    check(f"LD_PRELOAD={wrapper}\n".encode() in outcome.out, "LD_PRELOAD is the user's")


@case
def a_program_that_waits_for_all_children_finds_only_its_own(test):
    outcome = test.same([program("processes"), "wait-for-all"], events=2000)[0]
    check(b"at first: -1 no children\nin the end: 3 children, errno ECHILD, signalled\n" in outcome.out, outcome.out)


@case
def a_daemon_leaves_its_parent_and_does_its_work(test):
    for outcome in test.same([program("processes"), "daemon", "trace"], forms=("record", "direct"), events=200):
        equal((test.work / "trace").read_text(), "session leader: 1\n", "the daemon's file")
        equal(outcome.tape.kinds(500)["malloc"], 100, "blocks before the daemon went")
    followed = test.record([program("processes"), "daemon", "trace"], form="follow")
    blocks = [(tape.kinds(500)["malloc"], tape.kinds(600)["malloc"]) for tape in followed.tapes]
    equal(sorted(blocks), [(0, 100), (100, 0)], "blocks per process")


if __name__ == "__main__":
    raise SystemExit(main())
