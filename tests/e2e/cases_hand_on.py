"""Snapshots of memory, handed on: core files for debuggers, heap snapshots for Chrome's DevTools, lines of JSON."""

import json
import os
import re
import struct
import subprocess

from devtools import MemoryPanel
from harness import HEAPTAPE, LIBRARY, case, check, equal, installed, main, need, program, wait_until
from heapsnapshot import Snapshot
from talker import ask, listed
from tape import demand

with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as cpuinfo:
    WIDE = " ymm0" if " avx " in cpuinfo.read() else ""
REGISTERS = "info registers rip rsp rbx rbp r12 r13 r14 r15 xmm0 mxcsr" + WIDE
QUIET = {"DEBUGINFOD_URLS": ""}


class Standing:
    """The program `standing`, recorded, with a snapshot of its memory; it goes on standing until finish()."""

    def __init__(self, test, options=()):
        runtime = test.dir / "runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(runtime)
        words, variables = test.form("record", [program("standing")], options, test.new_tapes_folder())
        self.test = test
        self.process = test.start(words, env=variables, stdin=subprocess.PIPE)
        self.places = {}
        for line in iter(lambda: self.process.stdout.readline().decode().split(), ["ready"]):
            check(len(line) == 2, line)
            self.places[line[0]] = int(line[1], 16)
        recording = wait_until(lambda: next(iter(listed()), None), "the recording is listed")
        self.pid, self.tape = recording["pid"], recording["tape"]
        wait_until(lambda: all(self.state_of(tid) == "S" for tid in self.threads()), "all threads stand still")
        taken = ask("snapshot", "-p", self.pid, "here", "--contents")
        equal(taken.returncode, 0, taken.stderr)

    def threads(self):
        return os.listdir(f"/proc/{self.pid}/task")

    def state_of(self, tid):
        with open(f"/proc/{self.pid}/task/{tid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]

    def finish(self):
        self.process.stdin.close()
        self.process.stdin = None
        equal(self.test.finish(self.process).status, 0, "the program's status")

    def export(self, form, *options):
        file = self.test.work / f"out.{form}"
        done = ask("export", "--format", form, "-o", file, *options, self.tape)
        equal(done.returncode, 0, done.stderr)
        return file


def dumps_of(places):
    return [f"x/64xb {address:#x}" for address in places.values()]


def gdb_answers(test, *words):
    """What gdb prints for questions, each by its text."""
    gdb = installed("gdb")
    questions = ["thread apply all backtrace", *dumps_of(test.standing.places), REGISTERS]
    line = [gdb, "-nx", "-q", "-batch", "-iex", "set pagination off", "-iex", "set debuginfod enabled off"]
    for question in questions:
        line += ["-ex", f"echo \\n=={question}\\n", "-ex", question]
    line += ["-ex", "echo \\n==end\\n"]
    done = test.run([*line, *words], env=QUIET)
    need(b"ptrace" not in done.err.lower(), "gdb may not trace processes here")
    text = done.out.decode(errors="replace")
    check("reg-xstate" not in text + done.err.decode(errors="replace"), f"gdb does not take the vector registers:\n{text}")
    parts = re.split(r"\n==(.*)\n", text)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2])))




def backtraces(text):
    """The backtrace of each thread, by its number for the kernel."""
    found = {}
    for part in re.split(r"^Thread \d+ ", text, flags=re.MULTILINE)[1:]:
        head, _, frames = part.partition("\n")
        found[int(re.search(r"LWP (\d+)", head)[1])] = frames.strip()
    return found


@case
def gdb_sees_the_same_in_the_core_file_as_in_the_program(test):
    test.standing = standing = Standing(test)
    core = standing.export("core")
    live = gdb_answers(test, "-p", standing.pid)
    dead = gdb_answers(test, program("standing"), core)
    standing.finish()
    question = "thread apply all backtrace"
    expected, found = backtraces(live[question]), backtraces(dead[question])
    equal(len(expected), 4, f"threads of the program\n{live[question]}")
    check(all("stand (" in frames or "main (" in frames for frames in expected.values()), live[question])
    equal(found, expected, "backtraces")
    for asked in dumps_of(standing.places):
        check(asked in live and live[asked].count("\t0x") == 64, live)
        equal(dead[asked], live[asked], asked)
    equal(dead[REGISTERS], live[REGISTERS], "registers")


@case
def a_core_file_is_sound_private_and_sparse(test):
    standing = Standing(test)
    standing.finish()
    core = standing.export("core")
    status = core.stat()
    equal(status.st_mode & 0o777, 0o600, "mode")
    check(status.st_blocks * 512 < status.st_size, "zeros take room on the disk")
    readelf = installed("readelf")
    said = test.run([readelf, "-h", "-l", "-n", core])
    equal(said.err, b"", "what readelf complains about")
    text = said.out.decode(errors="replace")
    for note in ("NT_PRSTATUS", "NT_PRPSINFO", "NT_AUXV", "NT_FILE", "NT_FPREGSET", "NT_X86_XSTATE"):
        check(note in text, text)
    equal(text.count("NT_PRSTATUS"), 4, "threads")
    # Segments lie in the file, and none in another.
    with open(core, "rb") as file:
        head = file.read(64)
        equal(head[:7], b"\x7fELF\2\1\1", "what it begins with")
        (offset,), (count,) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<H", head, 56)
        file.seek(offset)
        headers = [struct.unpack("<IIQQQQQQ", file.read(56)) for _ in range(count)]
    equal(headers[0][0], 4, "the notes come first")
    at = 0
    for kind, _, begin, address, _, bytes_in_file, bytes_in_memory, _ in headers[1:]:
        check(kind == 1 and begin + bytes_in_file <= status.st_size and bytes_in_file <= bytes_in_memory, hex(begin))
        check(address >= at, f"segments are in order: {address:#x}")
        at = address + bytes_in_memory
    # The recorder's tables alone would be hundreds of megabytes.
    check(sum(header[5] for header in headers) < 64 << 20, text)
    # Over a file that is there, to a terminal, on a full disk.
    again = ask("export", "--format", "core", "-o", core, standing.tape)
    check(again.returncode != 0 and "--force" in again.stderr, again.stderr)
    full = ask("export", "--format", "core", "-o", "/dev/full", standing.tape)
    check(full.returncode != 0 and "No space left" in full.stderr and full.stderr.count("\n") == 1, full.stderr)


@case
def a_reservation_of_a_terabyte_goes_into_a_core_file_and_not_through_a_pipe(test):
    no_reserve = 0x4000
    script = f"import mmap, os; held = mmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | {no_reserve}); os._exit(0)"
    tape = test.record([installed("python3"), "-c", script], options=["--snapshot", "exit"]).tapes[0].path
    refused = ask("export", "--format", "core", tape)
    equal((refused.returncode, refused.stdout), (2, ""), "through a pipe")
    check("GB of zeros" in refused.stderr and "write it with -o FILE" in refused.stderr, refused.stderr)
    core = test.work / "reserved.core"
    equal(ask("export", "--format", "core", "-o", core, tape).returncode, 0, "into a file")
    check(core.stat().st_blocks * 512 < 1 << 28 < core.stat().st_size, "it is sparse")


@case
def heaptape_gdb_opens_a_snapshot_with_what_the_tape_knows(test):
    gdb = installed("gdb")
    tried = test.run([gdb, "-nx", "-batch", "-ex", "python print(6 * 7)"], env=QUIET)
    need(b"42" in tried.out, "this gdb has no Python")
    standing = Standing(test)
    standing.finish()
    spare = test.work / "temporary"
    spare.mkdir()
    said = test.run([HEAPTAPE, "gdb", standing.tape, "--", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "print *g_tree->left",
                     "-ex", "heaptape where g_tree->left", "-ex", "heaptape trace g_tree->left", "-ex", "heaptape refs g_tree->left", "-ex",
                     "heaptape top 3", "-ex", "info threads"], env={**QUIET, "HEAPTAPE_LIBRARY": LIBRARY, "TMPDIR": str(spare)})
    text = said.out.decode(errors="replace") + said.err.decode(errors="replace")
    equal(said.status, 0, text)
    check('{number = 7, text = "left"' in text, text)
    check("State:  live" in text and "48 bytes at" in text, text)
    check("g_tree (variables of standing" in text, text)
    check("1 reference to" in text, text)
    check("memory of snapshot 1 ('here')" in text, text)
    equal(list(spare.iterdir()), [], "files that were left")


@case
def a_tape_without_memory_says_how_to_take_a_snapshot(test):
    tape = test.record([program("pointers")], input=b"").tape
    for words in (["export", "--format", "core", "-o", test.work / "core"], ["export", "--format", "heapsnapshot"], ["export", "--format", "jsonl"],
                  ["gdb"]):
        said = ask(*words, tape.path)
        check(said.returncode != 0 and "--contents" in said.stderr and said.stderr.count("\n") == 1, said.stderr)
    check(not (test.work / "core").exists(), "half a file is left")


@case
def a_copy_of_the_tape_without_contents_holds_all_but_memory(test):
    standing = Standing(test)
    standing.finish()
    copy = standing.export("tape", "--without-contents")
    equal(copy.stat().st_mode & 0o777, 0o600, "mode")
    equal([row["contents"] for row in json.loads(demand("snapshots", copy, "--json"))["snapshots"]], [False], "snapshots")
    equal(demand("dump", copy), demand("dump", standing.tape), "events")
    equal(demand("top", copy), demand("top", standing.tape), "costs")
    check(copy.stat().st_size < os.stat(standing.tape).st_size, "the copy is as large as the tape")
    equal(ask("index", copy).stderr.count("already has an index"), 1, "the copy's index")
    same = ask("export", "--without-contents", "-o", standing.tape, "--force", standing.tape)
    check(same.returncode == 2 and "is the tape itself" in same.stderr, same.stderr)


@case
def a_heap_snapshot_keeps_the_rules_of_its_format(test):
    standing = Standing(test)
    standing.finish()
    snapshot = Snapshot(standing.export("heapsnapshot"))
    lines = [json.loads(line) for line in standing.export("jsonl").read_text().splitlines()]
    blocks = {line["address"]: line for line in lines if line["kind"] == "block"}
    equal(snapshot.bytes_of("object", "native", "string"), sum(block["bytes"] for block in blocks.values()), "bytes of all blocks")
    # g_tree -> tree -> left and right, by the offsets of the members.
    globals_node = snapshot.named("variables of standing")
    tree = snapshot.child(globals_node, "g_tree")
    equal(snapshot.size(tree), 24, "the tree")
    leaves = [snapshot.child(tree, offset) for offset in ("+0x0", "+0x8")]
    equal([snapshot.size(leaf) for leaf in leaves], [48, 48], "its leaves")
    left = blocks[hex(standing.places["heap"])]
    holder = next(block for block in blocks.values() if any(one["to"] == left["address"] for one in block.get("references", [])))
    equal([one["offset"] for one in holder["references"]], [0, 8, 16], "where the tree refers to others")
    equal((left["bytes"], left["class"]), (48, "reachable"), "the left leaf")
    kinds = {line["kind"] for line in lines}
    equal(kinds, {"snapshot", "region", "thread", "frame", "stack", "type", "root", "block"}, "kinds of lines")


@case
def ids_of_a_heap_snapshot_stay_from_one_to_the_next(test):
    standing = Standing(test)
    taken = ask("snapshot", "-p", standing.pid, "again", "--contents")
    equal(taken.returncode, 0, taken.stderr)
    standing.finish()
    rows = [row for row in json.loads(demand("snapshots", standing.tape, "--json"))["snapshots"] if row["contents"]]
    equal([row["name"] for row in rows], ["here", "again"], "snapshots")
    first, second = (Snapshot(standing.export("heapsnapshot", "--force", "--at", row["name"])) for row in rows)
    equal(first.ids(), second.ids(), "ids of blocks and groups")


@case
def chromes_devtools_show_a_heap_snapshot(test):
    installed("chromium")
    standing = Standing(test)
    standing.finish()
    file = standing.export("heapsnapshot")
    snapshot = Snapshot(file)
    tree = snapshot.child(snapshot.named("variables of standing"), "g_tree")
    leaf = snapshot.child(tree, "+0x8")
    panel = MemoryPanel(test)
    panel.load(file)
    # The summary: types with distance and sizes. The tree, 24 bytes, holds two leaves and another tree.
    panel.select(tree["id"])
    panel.row_with(f"@{tree['id']}", "|2|")
    panel.select(leaf["id"])
    panel.row_with(f"@{leaf['id']}", "|3|")
    panel.row_with("+0x8", "in", f"@{tree['id']}")
    panel.row_with("g_tree", "in", "variables", "of", "standing")
    panel.close(test)


if __name__ == "__main__":
    main()
