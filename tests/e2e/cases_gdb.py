"""gdb asks heaptape: a live program, one stopped inside malloc, a core file with its tape; C++ and Rust."""

import os
import re
import subprocess

from harness import HEAPTAPE, LIBRARY, case, check, equal, installed, main, need, program, wait_until


def runtime(test):
    folder = test.dir / "runtime"
    folder.mkdir(mode=0o700, exist_ok=True)
    os.environ["HEAPTAPE_RUNTIME_DIR"] = test.env["HEAPTAPE_RUNTIME_DIR"] = str(folder)


def need_gdb(test):
    gdb = installed("gdb")
    tried = test.run([gdb, "-nx", "-batch", "-ex", "python print(6 * 7)", "-ex", "break main", "-ex", "run", "/bin/true"],
                     env={"DEBUGINFOD_URLS": ""})
    need(b"42" in tried.out, "this gdb has no Python")
    need(b"ptrace" not in tried.err.lower(), "gdb may not trace processes here")
    return gdb


def need_calls_from_gdb(test):
    """gdb 13 cannot restore the registers of some processors after a call, whatever the program is."""
    tried = test.run([need_gdb(test), "-nx", "-batch", "-ex", "break main", "-ex", "run", "-ex", "call (int)getpid()", "-ex", "call (int)getpid()",
                      program("pointers")], env={"DEBUGINFOD_URLS": ""})
    need(b"$2 = " in tried.out, "this gdb cannot call functions of a program on this processor")


def debug(test, name, commands, input=""):
    """Runs a program in `heaptape record --debugger`, commands given on standard input; returns what gdb and the program say."""
    need_gdb(test)
    runtime(test)
    folder = test.new_tapes_folder()
    given = test.work / "input"
    given.write_text(input)
    lines = ["set pagination off", "set confirm off", "set breakpoint pending on", "set debuginfod enabled off",
             *[line.replace("RUN", f"run < {given}") for line in commands], "kill", "quit"]
    outcome = test.run([HEAPTAPE, "record", "-q", "-o", f"{folder}/%n.tape", "--debugger", "--", program(name)],
                       input="\n".join(lines).encode() + b"\n", env={"HEAPTAPE_LIBRARY": LIBRARY})
    text = outcome.out.decode(errors="replace") + outcome.err.decode(errors="replace")
    return text, folder


def expect(text, *expected):
    for one in expected:
        check(re.search(one, text), f"/{one}/ is not in:\n{text}")


@case
def where_tells_of_live_freed_and_unknown_pointers(test):
    text, _ = debug(test, "pointers", ["break stop_here", "RUN", "heaptape where live->name + 16", "heaptape where freed",
                                       "heaptape where 0x123450", "heaptape where $sp"])
    expect(text, r"Len:    777 bytes", r"Offset: 16", r"State:  live", r"malloc by thread 1",
           r"0: .*allocate_widget\n +at /.*pointers\.cpp:\d+:\d+\n      make_widget", r"State:  freed", r"Freed:  free by thread 1",
           r"drop_widget\n +at /.*pointers\.cpp:\d+:\d+", r"0x123450 is ", r"on the stack of")
    check("declined" not in text, f"gdb was allowed to load the commands:\n{text}")


@case
def a_plain_call_works_without_the_commands(test):
    need_calls_from_gdb(test)
    text, _ = debug(test, "pointers", ["break stop_here", "RUN", "call (int)heaptape_where(live)"])
    expect(text, r"Len:    777 bytes", r"make_widget\n +at /.*pointers\.cpp:\d+:\d+", r"\$1 = 1")


@case
def it_works_when_stopped_inside_malloc(test):
    need_calls_from_gdb(test)
    commands = ["break stop_here", "RUN", "set $p = live", "break __libc_malloc", "continue", "bt 3", "heaptape where $p",
                "call (int)heaptape_where($p)"]
    text, _ = debug(test, "pointers", commands, input="grow 5\n")
    expect(text, r"(?s)malloc.*PID:.*Len:    777 bytes.*PID:.*Len:    777 bytes", r"\$1 = 1")


@case
def it_works_when_stopped_inside_the_recorder(test):
    # The thread says "busy" there: what it is about to write may not be waited for.
    commands = ["break stop_here", "RUN", "set $p = live", "break heaptape::recorder::InternTable::insert", "continue", "bt 3", "heaptape where $p",
                "heaptape leaks"]
    text, _ = debug(test, "pointers", commands, input="grow 5\n")
    expect(text, r"InternTable::insert", r"Len:    777 bytes", r"Live now: ")


@case
def top_leaks_marks_and_history(test):
    commands = ["break stop_here", "RUN", "heaptape mark here", "heaptape snapshot", "break puts", "break printf", "heaptape top 3",
                "heaptape leaks", "heaptape history freed", "heaptape leaks since here", "heaptape top x", "heaptape leaks now",
                "heaptape mark", "heaptape where nobody"]
    text, _ = debug(test, "pointers", commands, input="grow 5\n")
    expect(text, r"marked 'here'", r"snapshot 'snapshot'", r"Live now: ", r"make_widget", r"drop_widget",
           r"Allocated between here .* and end.* and then still live", r"'x' is not a number of rows", r"usage: heaptape leaks",
           r"which name\?", r"No symbol \"nobody\" in current context")
    check("Python Exception" not in text, text)


@case
def a_program_that_is_not_recorded_is_told_in_a_sentence(test):
    gdb = need_gdb(test)
    runtime(test)
    outcome = test.run([gdb, "-nx", "-batch", "-ex", f"source {LIBRARY}-gdb.py", "-ex", "heaptape where 1", "-ex", "break main", "-ex", "run",
                        "-ex", "heaptape where $sp", program("pointers")], env={"DEBUGINFOD_URLS": ""})
    expect(outcome.err.decode(), r"the program is not running; for a core file: set heaptape tape FILE", r"process \d+ \(.*\) is running but not being recorded")


@case
def a_core_file_is_asked_through_its_tape(test):
    need_gdb(test)
    runtime(test)
    core = test.work / "core"
    folder = test.new_tapes_folder()
    # gcore makes a core file whatever the machine does with those of crashes.
    gcore = installed("gcore")
    words, variables = test.form("record", [program("pointers")], [], folder)
    process = test.start(words, env=variables, stdin=subprocess.PIPE)
    live, freed, _ = process.stdout.readline().decode().split()
    pid = int(wait_until(lambda: [entry.name for entry in (test.dir / "runtime").iterdir()], "the recording is under way")[0].split(".")[0])
    made = test.run([gcore, "-o", core, pid], env={"DEBUGINFOD_URLS": ""})
    equal(made.status, 0, f"gcore: {made.err}")
    process.stdin.close()
    process.stdin = None
    test.finish(process)
    (tape,) = test.tapes()
    outcome = test.run([HEAPTAPE, "gdb", tape.path, f"{core}.{pid}", "--", "-nx", "-batch", "-ex", "info threads", "-ex",
                        f"heaptape where {live}", "-ex", f"heaptape where {freed}", "-ex", "heaptape top 3", "-ex", "heaptape mark x"],
                       env={"HEAPTAPE_LIBRARY": LIBRARY, "DEBUGINFOD_URLS": ""})
    text = outcome.out.decode(errors="replace") + outcome.err.decode(errors="replace")
    expect(text, r"777 bytes", r"make_widget\n +at /.*pointers\.cpp:\d+:\d+", r"drop_widget", r"takes no more marks")
    check("warning: the tape is of process" not in text, text)
    foreign = test.record([program("pointers")]).tape
    recorded = int.from_bytes(foreign.path.read_bytes()[24:28], "little")
    outcome = test.run([HEAPTAPE, "gdb", foreign.path, f"{core}.{pid}", "--", "-nx", "-batch", "-ex", "heaptape top 3", "-ex", "heaptape top 3",
                        "-ex", "heaptape", "-ex", "heaptape nonsense"], env={"HEAPTAPE_LIBRARY": LIBRARY, "DEBUGINFOD_URLS": ""})
    text = outcome.out.decode(errors="replace") + outcome.err.decode(errors="replace")
    equal(text.count(f"warning: the tape is of process {recorded}, this is process {pid}: "), 1, text)
    expect(text, r"heaptape where EXPR", r"not a heaptape command: 'nonsense'")


@case
def a_core_that_is_not_there_is_told_in_a_sentence(test):
    outcome = test.run([HEAPTAPE, "gdb", "no.tape", "no.core"], env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(outcome.status, 2, "status")
    check(b"cannot read 'no.tape'" in outcome.err and outcome.err.count(b"\n") == 1, outcome.err)


@case
def rust_pointers_are_known_too(test):
    text, _ = debug(test, "pointers_rust", ["break stop_here", "RUN", "heaptape where *boxed", "heaptape where *numbers",
                                            "heaptape where numbers"])
    expect(text, r"Len:    999 bytes", r"pointers::make_box\n +at .*pointers\.rs:\d+:\d+", r"Len:    2,000 bytes", r"on the stack of")


@case
def attaching_to_a_recorded_program_loads_the_commands(test):
    need_gdb(test)
    runtime(test)
    folder = test.new_tapes_folder()
    words, variables = test.form("record", [program("pointers")], [], folder)
    process = test.start(words, env=variables, stdin=subprocess.PIPE)
    live = process.stdout.readline().decode().split()[0]
    pid = wait_until(lambda: [entry.name for entry in (test.dir / "runtime").iterdir()], "the recording is under way")[0].split(".")[0]
    outcome = test.run([HEAPTAPE, "gdb", "-p", pid, "--", "-nx", "-batch", "-ex", f"heaptape where {live}"],
                       env={"HEAPTAPE_LIBRARY": LIBRARY, "DEBUGINFOD_URLS": ""})
    expect(outcome.out.decode(errors="replace"), r"Len:    777 bytes", r"make_widget")
    process.stdin.close()
    process.stdin = None
    equal(test.finish(process).status, 5, "the program's status")


if __name__ == "__main__":
    raise SystemExit(main())
