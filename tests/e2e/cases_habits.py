"""What users of other tools type first, and mistakes of typing: it does what it means, or one line says what does."""

import fcntl
import json
import os
import pty
import re
import shlex
import select
import signal
import struct
import termios
import xml.etree.ElementTree

from harness import HEAPTAPE, LIBRARY, case, check, equal, main, program, wait_until
from tape import demand, heaptape

QUIET_SECONDS = 60  # a command that shows nothing for so long waits for somebody


def recorded(test):
    """A tape with a peak, leaks and names."""
    outcome = test.recording_of([program("leak_hunt")])
    (tape,) = outcome.tapes
    return tape.path


def run(test, *words, **more):
    return test.run([HEAPTAPE, *words], env={"HEAPTAPE_LIBRARY": LIBRARY}, **more)


def refused(test, *words):
    """The one line that a command line is refused with."""
    outcome = run(test, *words)
    lines = outcome.err.decode().splitlines()
    equal((outcome.status, outcome.out, len(lines)), (2, b"", 1), f"{words}: {lines}")
    return lines[0].removeprefix("heaptape: ")


def on_terminal(test, words, columns=80, rows=24, env=None, keys=b""):
    """What a command shows on a terminal, and how it ended."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.chdir(test.work)
        variables = {key: value for key, value in test.env.items() if key not in ("PAGER", "HEAPTAPE_PAGER", "LESS")}
        os.execvpe(HEAPTAPE, [HEAPTAPE, *map(str, words)], {**variables, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})})
    if keys:
        os.write(fd, keys)
    shown = b""
    while True:
        if not select.select([fd], [], [], QUIET_SECONDS)[0]:
            os.kill(pid, signal.SIGKILL)
            check(False, f"{words} waits on the terminal: {shown.decode(errors='replace')}")
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace").replace("\r", "")


@case
def a_program_alone_is_recorded(test):
    for words in ([program("ends"), "status", "7"], ["-q", "-o", "named.tape", program("ends"), "status", "7"],
                  ["--", program("ends"), "status", "7"], ["run", program("ends"), "status", "7"],
                  ["-o", "dashed.tape", "--", program("ends"), "status", "7"]):
        equal(run(test, *words).status, 7, f"status of {words}")
    equal(len(list(test.work.glob("*.tape"))), 5, "tapes")
    check((test.work / "named.tape").exists() and (test.work / "dashed.tape").exists(), "names of the tapes")


@case
def a_tape_alone_is_reported(test):
    path = recorded(test)
    equal(demand(path), demand("report", path), "the report")
    equal(demand(path, "--leaks"), demand("leaks", path), "options follow the tape")


@case
def a_word_of_another_tool_runs_our_command(test):
    path = recorded(test)
    for word, command in (("leak", "leaks"), ("stat", "stats"), ("summary", "info"), ("analyze", "report"), ("tree", "peak"),
                          ("table", "top"), ("compare", "diff")):
        tapes = [path, path] if command == "diff" else [path]
        equal(heaptape(word, *tapes).stdout, demand(command, *tapes), word)
        equal(demand("help", word), demand(command, "--help"), f"help {word}")


@case
def a_section_is_named_with_or_without_dashes(test):
    path = recorded(test)
    for section in ("leaks", "peak", "allocations", "temporary"):
        equal(demand("report", section, path), demand("report", f"--{section}", path), section)


@case
def what_heaptape_does_another_way_is_said_in_one_line(test):
    for word, expected in (("view", "heaptape html"), ("serve", "heaptape html"), ("memcheck", "heaptape leaks"),
                           ("massif", "--format massif"), ("--leak-check=full", "heaptape leaks"), ("--tool=massif", "--format massif")):
        check(expected in refused(test, word, "./a.out"), f"{word} is answered with {expected}")
    for words in (["-V"], ["-v"], ["version"]):
        equal(run(test, *words).out, run(test, "--version").out, f"{words}")
    check("heaptape record ls" in refused(test, "ls", "-l"), "a program of the path")


@case
def a_running_program_is_told_how_to_be_recorded(test):
    pid = str(os.getpid())
    for words in (["attach", pid], ["attach", "-p", pid], ["-p", pid], ["record", "-p", pid], ["record", "--attach", pid],
                  ["leaks", "-p", pid], ["top", "-p", pid]):
        check(re.search(rf"process {pid} \(.+\) is running but not being recorded by you; .*: heaptape record ", refused(test, *words)),
              f"{words}: {refused(test, *words)}")
    check("there is no process" in refused(test, "attach", str(2**22)), "a process that is not there")


@case
def a_recorded_program_is_found_by_its_name(test):
    folder = test.work / "runtime"
    folder.mkdir(mode=0o700)
    env = {"HEAPTAPE_RUNTIME_DIR": str(folder)}
    processes = [test.start_record([program("steady"), "stop", 1000000000, 200], env=env)]

    def listed():
        return test.run([HEAPTAPE, "ps"], env=env).out.count(b"/steady stop ")

    wait_until(lambda: listed() == 1, "the recording is listed", seconds=60)
    for words in (["leaks", "-p", "steady"], ["leaks", "steady"], ["top", "steady", "--once"], ["info", "-p", "steady"]):
        outcome = test.run([HEAPTAPE, *words], env=env)
        equal(outcome.status, 0, f"status of {words}: {outcome.err}")
        check(outcome.out, f"{words} shows something")
    check(b"did you mean 'steady'?" in test.run([HEAPTAPE, "leaks", "-p", "stedy"], env=env).err, "a mistyped name")
    processes.append(test.start_record([program("steady"), "stop", 1000000000, 200], env=env))
    wait_until(lambda: listed() == 2, "both are listed", seconds=60)
    outcome = test.run([HEAPTAPE, "leaks", "-p", "steady"], env=env)
    check(outcome.status == 2 and re.search(rb"2 programs named 'steady' are being recorded: \d+ and \d+;", outcome.err), outcome.err)
    (test.work / "stop").touch()
    for process in processes:
        test.finish(process)


@case
def a_recorded_program_is_found_by_every_name_that_it_has(test):
    folder = test.work / "runtime"
    folder.mkdir(mode=0o700)
    env = {"HEAPTAPE_RUNTIME_DIR": str(folder)}
    (folder / "alias").symlink_to(program("steady"))
    script = f'exec -a outside {shlex.quote(str(folder / "alias"))} stop 1000000000 200'
    process = test.start_record(["bash", "-c", script], env=env)
    wait_until(lambda: b"outside stop " in test.run([HEAPTAPE, "ps"], env=env).out, "the recording is listed", seconds=60)
    # The names of the file, of what was started, and of argv[0].
    for name in ("steady", "alias", "outside"):
        outcome = test.run([HEAPTAPE, "mark", "-p", name, "here"], env=env)
        equal(outcome.status, 0, f"status of mark -p {name}: {outcome.err}")
        equal(test.run([HEAPTAPE, "leaks", name], env=env).status, 0, f"status of leaks {name}")
    (test.work / "stop").touch()
    test.finish(process)


@case
def a_mistyped_word_is_answered_with_the_near_one(test):
    path = recorded(test)
    (test.work / "app.tape").write_bytes(path.read_bytes())
    for words, meant in ((["reprot"], "report"), (["help", "leask"], "leaks"), (["report", "--thresold", "1", path], "--threshold"),
                         (["report", "--by", "fucntion", path], "function"), (["export", "-f", "ppof", path], "pprof"),
                         (["report", "--color=alway", path], "always"), (["sql", path, "SELECT * FROM evnets"], "events"),
                         (["sql", path, "SELECT adress FROM events"], "address"), (["sql", path, ".schema blcks"], "blocks"),
                         (["sql", path, ".tabels"], ".tables"), (["dump", "--kind", "mallok", path], "malloc"),
                         (["report", "--at", "paek", path], "peak"), (["report", "ap.tape"], "app.tape"),
                         (["report", "app.tpe"], "app.tape"), (["shell", "-c", "explian 0x10", path], "explain"), (["--verison"], "--version"),
                         (["record", "--ouput", "x", "--", "true"], "--output")):
        equal(refused(test, *words).rpartition("; ")[2], f"did you mean '{meant}'?", f"{words}")
    outcome = run(test, "report", "--where", "sise>3", path)
    check(b"; did you mean 'size'?\n" in outcome.err, outcome.err)
    for words in (["xyzzy-of-nowhere"], ["report", "--colour-of-my-car", path], ["report", "nowhere-near.tape"]):
        check("did you mean" not in refused(test, *words), f"{words} has nothing near")


@case
def a_number_out_of_bounds_is_refused_with_the_bounds(test):
    path = recorded(test)
    for words in (["top", "-n", "-5"], ["top", "-n", "0"], ["top", "-n", "12345678901234567890"], ["diff", "-n", "0", path],
                  ["report", "--threshold", "101"], ["report", "--depth", "0"], ["timeline", "--height", "1"], ["cpu", "--segment", "0"],
                  ["top", "--count", "x", "--every", "1s"], ["budget", "--max-temporary", "-1"], ["export", "-f", "massif", "--threshold=-1"]):
        check(re.search(r"^--[a-z-]+ must be a number from [\d,]+ to [\d,]+, not '.+'$", refused(test, *words, path)), refused(test, *words, path))


@case
def sql_takes_the_tape_by_any_path_and_in_any_order(test):
    path = recorded(test)
    (test.work / "app.tape").write_bytes(path.read_bytes())
    (test.work / "below").mkdir()
    question = "SELECT count(*) FROM events"
    expected = demand("sql", path, question)
    for words in (["./app.tape", question], [question, "./app.tape"], [question, "app.tape"], [path, question], [question]):
        outcome = run(test, "sql", *words)
        equal((outcome.status, outcome.out.decode()), (0, expected), f"{words}: {outcome.err}")
    outcome = run(test, "sql", "../app.tape", question, cwd=test.work / "below")
    equal((outcome.status, outcome.out.decode()), (0, expected), f"from below: {outcome.err}")
    for words in (["./app.tape", ".schema", "marks"], [".schema", "marks", "./app.tape"], [".schema marks", "app.tape"]):
        check(b"marks: " in run(test, "sql", *words).out, f"{words}")
    check("there is no tape './nowhere.tape'" in refused(test, "sql", "./nowhere.tape", question), "a tape that is not there")


@case
def a_flame_graph_is_a_whole_svg_file(test):
    path = recorded(test)
    outcome = run(test, "flamegraph", "-o", "flames.svg", path)
    equal(outcome.status, 0, f"status; {outcome.err}")
    root = xml.etree.ElementTree.parse(test.work / "flames.svg").getroot()
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    check(any(title.startswith("main") for title in titles), f"main is in it: {titles[:20]}")
    peak = int(demand("sql", "--format", "csv", path, "SELECT sum(size) FROM live('peak')").split()[1])
    check(f"{peak:,} bytes" in titles[1].replace("(", " ").replace(")", " "), f"the whole is the peak, {peak}: {titles[1]}")
    equal(run(test, "export", "--format", "svg", path).out, (test.work / "flames.svg").read_bytes(), "the same by the format's name")
    check(run(test, "flamegraph", "-o", "page.html", path).status == 0, "a page by the file's name")
    check((test.work / "page.html").read_bytes().startswith(b"<!doctype html>"), "a page")


@case
def an_export_onto_a_terminal_becomes_a_file(test):
    path = recorded(test)
    (test.work / "app.tape").write_bytes(path.read_bytes())
    for name, file in (("html", "app.html"), ("svg", "app.svg"), ("pprof", "app.pb.gz"), ("folded", "app.folded"), ("csv", "app.csv"),
                       ("heaptrack", "app.heaptrack.zst")):
        status, shown = on_terminal(test, ["export", "-f", name, "app.tape"])
        equal((status, shown.splitlines()[-1]), (0, f"heaptape: {file} written"), shown)
        check((test.work / file).stat().st_size > 0, f"{file} holds something")
    status, shown = on_terminal(test, ["html", "app.tape"])
    check(status == 2 and "--force" in shown, f"an existing file is kept: {shown}")


@case
def a_long_answer_on_a_terminal_goes_through_the_pager(test):
    path = recorded(test)
    pager = {"PAGER": "sed s/^/paged:/"}
    for words in (["report", path], ["dump", "--to", "99", path], ["sql", path, "SELECT number FROM events LIMIT 99"], ["report", "--help"]):
        status, shown = on_terminal(test, words, env=pager)
        check(status == 0 and "\npaged:" in "\n" + shown, f"{words[0]} is paged: {shown[:300]}")
        status, shown = on_terminal(test, [*words, "--no-pager"], env=pager)
        check(status == 0 and "paged:" not in shown, f"{words[0]} --no-pager")
    report = ["report", path]
    status, shown = on_terminal(test, report, env={**pager, "HEAPTAPE_PAGER": "sed s/^/own:/"})
    check("\nown:" in "\n" + shown and "paged:" not in shown, "HEAPTAPE_PAGER goes before PAGER")
    for words, env in ((["--no-pager", *report], pager), (report, {"PAGER": ""}), (report, {**pager, "HEAPTAPE_PAGER": ""}), (report, {**pager, "TERM": "dumb"})):
        status, shown = on_terminal(test, words, env=env)
        check("paged:" not in shown and "peak" in shown, f"{words}, {env}: not paged")
    status, shown = on_terminal(test, ["sql", path, "SELECT 1"], env=pager)
    check("paged:" not in shown, "a short answer is not paged")
    status, shown = on_terminal(test, ["dump", path], env={"PAGER": "head -n 1"})
    equal((status, len(shown.splitlines())), (0, 1), "a pager may be left early")
    status, shown = on_terminal(test, report, env={"PAGER": "no-such-pager-at-all"})
    check(status == 0 and "peak" in shown, "a missing pager swallows nothing")


@case
def the_first_lines_fit_the_width_of_the_terminal(test):
    outcome = test.recording_of([program("leak_hunt"), *["argument-number-" + str(i) for i in range(30)]])
    (tape,) = outcome.tapes
    for columns in (40, 60, 80, 120, 200):
        for words in (["report", tape.path], ["threads", tape.path], ["shell", "-c", "help", tape.path], ["shell", "-c", "help filters", tape.path]):
            _, shown = on_terminal(test, words, columns=columns, env={"PAGER": "cat", "NO_COLOR": "1"})
            lines = [line for line in shown.splitlines() if not line.startswith("heaptape: ")]
            wide = [line for line in lines[:8] if len(line) > columns] if words[0] == "report" else [line for line in lines if len(line) > columns]
            equal(wide, [], f"lines of {words[0]} {words[1:-1]} wider than {columns}")


@case
def a_range_that_can_hold_nothing_is_refused(test):
    path = recorded(test)
    for words, expected in ((["--from", "5", "--to", "2"], "--from 5 is later than --to 2"), (["--from", "1000000000"], "there is no event 1,000,000,000"),
                            (["--from", "2s", "--to", "1s"], "--from 2s is later than --to 1s"), (["--from", "9999s"], "is past the end of the tape")):
        check(expected in refused(test, "dump", *words, path), refused(test, "dump", *words, path))
    one = demand("dump", "--no-stacks", "--from", "3", "--to", "3", path)
    equal(re.findall(r"^ +(\d+) ", one, re.M), ["3"], f"one event: {one}")


@case
def every_reader_refuses_what_is_not_a_tape_with_the_same_sentence(test):
    path = recorded(test)
    data = path.read_bytes()
    (test.work / "folder.tape").mkdir()
    for name, content in (("text.tape", b"just some text\n" * 9), ("short.tape", data[:40]), ("empty.tape", b"")):
        (test.work / name).write_bytes(content)
    for name in ("folder.tape", "text.tape", "short.tape", "empty.tape"):
        said = {refused(test, *words, name) for words in (["report"], ["info"], ["top", "--once"], ["dump"], ["verify"])}
        equal(len(said), 1, f"sentences about {name}: {said}")
    (test.work / "cut.tape").write_bytes(data[:len(data) * 2 // 3])
    for words in (["report"], ["top", "--once"]):
        check(b"cut.tape has no end: the recording was cut off" in run(test, *words, "cut.tape").err, f"{words} of a cut tape")


@case
def the_last_line_of_a_recording_is_exact_to_the_byte(test):
    outcome = run(test, "record", "-o", "exact.tape", program("ends"), "status", "0")
    facts = json.loads(demand("info", "--json", test.work / "exact.tape"))
    peak, live = facts["peak_bytes"], facts["live_bytes"]
    check(f"peak {peak:,} byte".encode() in outcome.err and f"still live {live:,} byte".encode() in outcome.err, outcome.err)


@case
def no_answer_is_wider_than_the_terminal(test):
    tape = recorded(test)
    address = json.loads(demand("blocks", "--json", "-n", 1, tape))["address"]
    answers = [["report", tape], ["leaks", tape], ["peak", tape, "--top-down"], ["top", tape], ["top", "--by", "stack", tape],
               ["timeline", tape], ["diff", "--from", "start", "--to", "peak", tape], ["budget", "--max-peak", "1k", "--max-leaked", "0", tape],
               ["info", tape], ["verify", tape], ["where", tape], ["sql", tape, ".schema"], ["sql", tape, "SELECT * FROM live LIMIT 3"],
               ["blocks", tape], ["explain", tape, address], ["history", tape, address], ["event", tape, "100"], ["live", tape],
               ["arenas", tape], ["threads", tape], ["checkpoints", tape], ["scopes", tape], ["mappings", tape]]
    for columns in (60, 80):
        for words in answers:
            _, text = on_terminal(test, words, columns=columns, env={"HEAPTAPE_PAGER": "", "NO_COLOR": "1"})
            # A word without a blank, such as the path of the tape, is left whole.
            wide = [line for line in re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text).splitlines() if len(line) > columns and max(map(len, line.split())) < columns // 2]
            equal(wide[:3], [], f"lines of {words[0]} beyond column {columns}")


if __name__ == "__main__":
    raise SystemExit(main())
