"""Code that the program makes at run time: stacks lead through it, and it has the names that the program gave it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from harness import HEAPTAPE, LIBRARY, Skip, case, check, each, equal, installed, main, need, program, wait_until
from tape import Tape, demand

JOB = """
keep = []
def matrix(count):
    for i in range(count):
        keep.append(bytearray(1000))
def outer(count):
    matrix(count)
def start():
    outer(500)
start()
import os
os._exit(0)
"""
CLASS = """
import java.nio.ByteBuffer;
import java.util.zip.Deflater;
public class Job {
    static final Deflater[] kept = new Deflater[3000];
    static void pack(int i) { kept[i] = new Deflater(); }
    static void packAll() { for (int i = 0; i < kept.length; i++) pack(i); }
    static void fill(int count) { for (int i = 0; i < count; i++) ByteBuffer.allocateDirect(3000); }
    public static void main(String[] words) {
        for (int i = 0; i < 40; i++) fill(500);
        packAll();
    }
}
"""
LUA = """
local ffi = require "ffi"
ffi.cdef "void* malloc(size_t); void free(void*);"
local function matrix(n) for i = 1, n do ffi.C.free(ffi.C.malloc(4321)) end end
for i = 1, 20 do matrix(100) end
print "done"
"""
SCRIPT = """
const keep = [];
function matrix(count) { for (let i = 0; i < count; i++) keep.push(Buffer.allocUnsafeSlow(20000 + i)); }
function outer(count) { matrix(count); }
for (let i = 0; i < 50; i++) outer(10);
"""


def stacks(tape, *options):
    """Allocated bytes by stack, a tuple of names with the outermost first."""
    text = demand("export", "--format", "folded", "--value", "allocated", *options, *([tape.path] if tape else []))
    lines = (line.rpartition(" ") for line in text.splitlines())
    return {tuple(names.split(";")): int(size) for names, _, size in lines}


def through(found, *names):
    """The stacks in which these names occur, in this order."""
    def holds(stack):
        rest = iter(stack)
        return all(any(one == name for one in rest) for name in names)
    return {stack: size for stack, size in found.items() if holds(stack)}


def frames(tape, function):
    rows = json.loads(demand("sql", "--format", "json", tape.path,
                             f"SELECT DISTINCT module, file, line FROM frames WHERE function = '{function}'"))
    return [(row["module"], row["file"], row["line"]) for row in rows]


def forget_map(tape):
    Path(f"/tmp/perf-{tape.facts()['pid']}.map").unlink(missing_ok=True)


@each(frame_pointer=("with_frame_pointer", "/src/job.py", None), trampoline=("trampoline", "/src/x.js", 12))
def a_stack_is_not_cut_at_generated_code_with_a(test, variant):
    name, file, line = variant
    shape = "trampoline" if name == "trampoline" else "frame_pointer"
    tape = test.record([program("generated_code"), shape]).tape
    forget_map(tape) # the tape does not need it any more
    found = through(stacks(tape), "main", "run_code", name, "make_block")
    equal(sum(found.values()), sum(range(5000, 5020)), f"bytes through {name}: {stacks(tape)}")
    equal(tape.losses().get("stack cut", 0), 0, "stacks cut short")
    equal(frames(tape, name), [("[jit]", file, line)], "where it is")


@case
def a_lying_frame_pointer_ends_the_stack_and_harms_nobody(test):
    outcome = test.record([program("generated_code"), "lies"])
    equal((outcome.status, outcome.out), (0, b"10 lies\n"), "the program")
    forget_map(outcome.tape)
    seen = [event for event in outcome.tape.events() if event.kind == "malloc" and 6000 <= event.size < 6010]
    equal(len(seen), 10, "blocks")
    for event in seen:
        equal(len(event.stack), 2, f"frames of block {event.size}: {event.stack}")
    check(outcome.tape.losses().get("stack cut", 0) > 0, "the cut is counted")
    check(through(stacks(outcome.tape), "liar", "make_block"), "the frame itself has its name")


@case
def other_code_at_the_same_address_has_its_own_name_by_a_jitdump(test):
    tape = test.record([program("generated_code"), "replaced", "dump"]).tape
    found = stacks(tape)
    equal(sum(through(found, "main", "run_code", "first code", "make_block").values()), 20 * 5001, f"first: {found}")
    equal(sum(through(found, "main", "run_code", "second code", "make_block").values()), 20 * 5002, f"second: {found}")
    equal(frames(tape, "first code"), [("[jit]", "/src/made_up.js", 11)], "lines of a jitdump")


@case
def other_code_at_the_same_address_has_its_own_name_by_a_perf_map_also_while_it_runs(test):
    runtime = test.dir / "runtime"
    runtime.mkdir(mode=0o700)
    os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(runtime)
    folder = test.new_tapes_folder()
    words, variables = test.form("record", [program("generated_code"), "replaced", "map"], (), folder)
    process = test.start(words, env=variables, stdin=subprocess.PIPE)
    equal(process.stdout.readline(), b"ready\n", "the first code has run")
    recording = wait_until(lambda: next(iter(json.loads(demand("ps", "--json"))), None), "the recording is listed")
    pid = recording["pid"]
    # The question also makes the collector look at the map.
    live = stacks(None, "-p", pid)
    equal(sum(through(live, "run_code", "first code", "make_block").values()), 20 * 5001, f"while it runs: {live}")
    equal(test.finish(process, input=b"go on\n").status, 0, "status")
    tape = Tape(recording["tape"])
    forget_map(tape)
    found = stacks(tape)
    equal(sum(through(found, "run_code", "first code", "make_block").values()), 20 * 5001, f"first: {found}")
    equal(sum(through(found, "run_code", "second code", "make_block").values()), 20 * 5002, f"second: {found}")


def pythons(minor):
    """Every python3.MINOR there may be: on PATH (where pyenv's shims may not work) and those that pyenv has installed."""
    folders = os.get_exec_path()
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders += sorted(map(str, root.glob(f"versions/3.{minor}*/bin")))
    return [path for folder in folders if os.access(path := f"{folder}/python3.{minor}", os.X_OK)]


@case
def top_and_the_log_of_a_running_program_know_the_names_of_run_time_code(test):
    runtime = test.dir / "runtime"
    runtime.mkdir(mode=0o700)
    os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(runtime)
    folder, log = test.new_tapes_folder(), test.dir / "job.log"
    words, variables = test.form("record", [program("generated_code"), "replaced", "map"], [f"--log={log}"], folder)
    process = test.start(words, env=variables, stdin=subprocess.PIPE)
    equal(process.stdout.readline(), b"ready\n", "the first code has run")
    recording = wait_until(lambda: next(iter(json.loads(demand("ps", "--json"))), None), "the recording is listed")
    table = demand("top", "-p", recording["pid"], "--once", "--frames", "--sort", "allocated")
    check("first code" in table, f"top: {table}")
    equal(test.finish(process, input=b"go on\n").status, 0, "status")
    forget_map(Tape(recording["tape"]))
    check("first code" in log.read_text() or "second code" in log.read_text(), f"log: {log.read_text()}")


def python_with_perf(minor):
    """A CPython of this version that can name its functions."""
    for path in pythons(minor):
        asked = subprocess.run([path, "-c", "import sys; sys.activate_stack_trampoline('perf'); print(sys.executable)"],
                               capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return asked.stdout.strip()
    raise Skip(f"there is no Python 3.{minor} with -X perf")


@each(**{"12": 12, "13": 13})
def python_functions_are_in_the_stack_with_minus_x_perf_of_3(test, minor):
    python = python_with_perf(minor)
    (test.work / "job.py").write_text(JOB)
    tape = test.record([python, "-X", "perf", "job.py"], env={"PYTHONMALLOC": "malloc"}).tape
    forget_map(tape)
    # The first page charges them instead of the interpreter's functions.
    lines = demand("report", tape.path).splitlines()
    for title in ("Peak, by function", "Never freed, by function; blocks never freed of all made"):
        words = lines[lines.index(title) + 1].split()
        equal(words[words.index("matrix"):], "matrix job.py <- outer <- start <- <module>".split(), title)
    leaks = demand("leaks", tape.path)
    check("matrix [job.py]" in leaks and "<- outer [job.py]" in leaks, f"leaks: {leaks}")
    check("matrix" in demand("export", "--format", "svg", "--value", "allocated", tape.path), "flame graph")
    found = through(stacks(tape), "<module>", "start", "outer", "matrix")
    check(sum(found.values()) >= 500_000, f"{found}")
    check(all(stack[0] in ("_start", "main", "__libc_start_main") or "start" in stack[0] for stack in found), f"{found}")
    equal(tape.losses().get("stack cut", 0), 0, "stacks cut short")
    module, file, _ = frames(tape, "matrix")[0]
    equal((module, os.path.basename(file)), ("[jit]", "job.py"), "where it is")


@case
def java_methods_are_in_the_stack_with_a_perf_map_at_exit(test):
    java, javac = installed("java", "javac")
    options = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer", "-Xbatch",
               "-XX:CompileThreshold=200", "-XX:TieredStopAtLevel=1"]
    need(test.run([java, *options, "-version"]).status == 0, "this java writes no perf map (17 and newer do)")
    (test.work / "Job.java").write_text(CLASS)
    equal(test.run([javac, "Job.java"]).status, 0, "javac")
    tape = test.record([java, *options, "-cp", ".", "Job"]).tape
    forget_map(tape)
    # Interpreted methods share one name, so what was compiled is asked for.
    found = stacks(tape)
    filled = through(found, "Interpreter", "Job.fill", "java.nio.DirectByteBuffer.<init>")
    check(sum(filled.values()) >= 5000 * 3000, f"{sum(filled.values())} bytes through Job.fill")
    packed = through(found, "Interpreter", "Job.packAll", "java.util.zip.Deflater.<init>")
    check(sum(packed.values()) >= 1000 * 200_000, f"{sum(packed.values())} bytes through Job.packAll")
    equal(tape.losses().get("stack cut", 0), 0, "stacks cut short")
    check("java.nio.DirectByteBuffer.<init>" in demand("report", tape.path).partition("Resident memory")[0], "the first page")


@case
def a_stack_through_luajits_traces_ends_there_and_harms_nobody(test):
    luajit = installed("luajit")
    (test.work / "job.lua").write_text(LUA)
    for options, whole in (([], False), (["-joff"], True)):
        outcome = test.record([luajit, *options, "job.lua"])
        equal((outcome.status, outcome.out), (0, b"done\n"), "the program")
        seen = [event for event in outcome.tape.events() if event.kind == "malloc" and event.size == 4321]
        equal(len(seen), 2000, "blocks")
        # Traces keep no frame pointer, and Debian's LuaJIT names them nowhere.
        equal(outcome.tape.losses().get("stack cut", 0) == 0, whole, f"stacks are whole with {options}")


@case
def no_stack_is_cut_in_node_that_makes_no_code(test):
    node = installed("node")
    tape = test.record([node, "--jitless", "-e", "require('zlib').deflateSync('x'.repeat(1000))"]).tape
    equal(tape.losses().get("stack cut", 0), 0, "stacks cut short")


@case
def javascript_functions_are_in_the_stack_with_perf_basic_prof(test):
    node = installed("node")
    (test.work / "job.js").write_text(SCRIPT)
    tape = test.record([node, "--perf-basic-prof", "--interpreted-frames-native-stack", "job.js"]).tape
    forget_map(tape)
    lines = demand("report", tape.path).splitlines()
    words = lines[lines.index("Peak, by function") + 1].split()
    equal(words[5:8], ["matrix", "job.js:3", "<-"], "the first page charges the function")
    found = through(stacks(tape), "outer", "matrix")
    check(sum(found.values()) >= 50 * 10 * 20000, f"{list(found)[:5]}")
    module, file, line = frames(tape, "matrix")[0]
    equal((module, os.path.basename(file), line), ("[jit]", "job.js", 3), "where it is")


@each(hidden=("", True), shown=("malloc", False))
def record_says_that_python_hides_its_small_objects_unless_told_not_to(test, variant):
    setting, said = variant
    env = {"HEAPTAPE_LIBRARY": LIBRARY, **({"PYTHONMALLOC": setting} if setting else {})}
    outcome = test.run([HEAPTAPE, "record", "-o", "t.tape", sys.executable, "-c", "pass"], env=env)
    lines = [line for line in outcome.err.decode().splitlines() if "PYTHONMALLOC=malloc" in line]
    equal(len(lines), 1 if said else 0, outcome.err)
    facts = json.loads(demand("report", "--json", test.work / "t.tape"))
    not_seen = [text for text in facts["not_seen"] if "PYTHONMALLOC=malloc" in text]
    equal(len(not_seen), 1 if said else 0, facts["not_seen"])


if __name__ == "__main__":
    raise SystemExit(main())
