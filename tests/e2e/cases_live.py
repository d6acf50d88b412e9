"""While the program runs: top, as tables and as a screen."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

from harness import HEAPTAPE, LIBRARY, case, check, equal, main, program, wait_until
from tape import HANG_SECONDS, demand, heaptape

VIEW_SECONDS = 60  # a view that shows something else shows it for ever


def start_server(test, *options, pause="1000"):
    """A leaky server that is being recorded; gives the recording and the server's pid when its cache is the largest that it has."""
    process = test.start_record([program("leaky_server"), "0", pause], options=options)
    folder = test.dir / f"tapes{test.runs}"
    wait_until(lambda: any(folder.iterdir()), "the tape")
    tape = next(folder.iterdir())
    wait_until(lambda: largest_live(tape) > 50_000, "the cache has outgrown all else")
    return process, tape, int(tape.name.split(".")[0])


def largest_live(tape):
    result = heaptape("top", "--once", "--json", tape)
    sources = json.loads(result.stdout)["sources"] if result.returncode == 0 else []
    return sources[0]["live_bytes"] if sources else 0


def stop_server(test, process, pid):
    os.kill(pid, signal.SIGTERM)
    process.communicate(timeout=HANG_SECONDS)
    test.running.remove(process)
    equal(process.returncode, 128 + signal.SIGTERM, "status of the server")


@case
def top_prints_what_a_running_program_has_in_use(test):
    process, tape, pid = start_server(test)
    text = demand("top", "--once", "-p", pid)
    rows = re.findall(r"^ +(\S+ [kM]?B) +(\S+ [kM]?B) +([\d,]+)  (\S+)", text, re.M)
    equal(rows[-1][3], "cache_insert", "the largest is last")
    equal(rows[-1][0], rows[-1][1], "nothing of it was ever freed")
    turned = demand("top", "--once", "--first", tape)
    equal(re.findall(r"^ +\S+ [kM]?B +\S+ [kM]?B +[\d,]+  (\S+)", turned, re.M)[0], "cache_insert", "the largest is first")
    check("#1  handle_request" in demand("top", "--once", "--frames", tape), "whole stacks")
    answer = json.loads(demand("top", "--once", "--json", tape))
    equal(answer["pid"], pid, "pid")
    equal(answer["sources"][0]["live_bytes"], 704 * answer["sources"][0]["live_blocks"], "bytes of the cache")
    for other, said in ((os.getpid(), "heaptape record "), (2**22, "heaptape ps")):
        missing = heaptape("top", "-p", other, "--once")
        equal(missing.returncode, 2, f"status for process {other}, which is not recorded")
        check(said in missing.stderr, f"it says what to do: {missing.stderr}")
    stop_server(test, process, pid)


@case
def the_report_of_a_running_program_does_not_speak_of_its_end(test):
    process, tape, pid = start_server(test)
    demand("mark", "-p", pid, "one")
    text = demand("report", "-p", pid)
    head = text[:text.find("\n\n")]
    check(re.search(r"^  live .* blocks? now", head, re.M) and "lost is counted at the end" in head, head)
    check("unknown" not in head, head)
    check(re.search(r" running  <-$", demand("info", tape.parent), re.M), "the list of a run says so as well")
    check("before  one," in demand("diff", "-p", pid, "one", "end"), "two moments of it are compared")
    stop_server(test, process, pid)
    check(re.search(r" SIGTERM  <-$", demand("info", tape.parent), re.M), "and how it ended when it has")


@case
def top_prints_again_and_again_and_once_at_the_end(test):
    process, tape, pid = start_server(test)
    equal(demand("top", "--every", "100ms", "--count", "3", tape).count("in use "), 3 * 2, "three tables")
    watcher = test.start([HEAPTAPE, "top", "-p", str(pid), "--every", "50ms", "-o", "tables.txt"])
    table = test.work / "tables.txt"
    wait_until(lambda: table.exists() and table.read_text().count("where") > 2, "tables")
    stop_server(test, process, pid)
    equal(test.finish(watcher).status, 0, "status of top")
    check(re.search(r"s, ended\nin use .*", table.read_text()), "the last table is that of the end")


@case
def the_recording_itself_can_print_tables(test):
    process = test.start_record([program("leaky_server"), "0", "500", "stop"], options=["--top-every=100ms", "--top-rows=2"], bufsize=0)
    shown = b""
    while b"cache_insert" not in shown or not shown.endswith(b"\n\n"):
        line = process.stderr.readline()
        check(line, f"the recording ended without a table: {shown}")
        shown += line
    (test.work / "stop").touch()
    outcome = test.finish(process)
    last = (shown + outcome.err).decode().split("\n\n")[-1]
    check(", ended\n" in last and "cache_insert" in last, f"one at exit: {last}")
    check(re.fullmatch(rb"\d+ bytes sent\n", outcome.out), outcome.out)


class Terminal:
    """A command on a terminal of its own, and what it shows."""

    def __init__(self, test, command, columns=80, rows=24, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(test.work)
            os.execvpe(command[0], [str(word) for word in command],
                       {**test.env, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})})
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.fd)
        self.bytes = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """False at the end."""
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.bytes += data
        return True

    def screen(self):
        """The lines of the last whole picture: the next one, which comes within a moment, has begun behind it."""
        pictures = self.bytes.decode(errors="replace").split("\x1b[H")[1:-1]
        if not pictures:
            return []
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", pictures[-1])
        return plain.replace("\r", "").split("\n")

    def wait_for(self, condition, what, seconds=VIEW_SECONDS):
        deadline = time.monotonic() + seconds
        while not (self.screen() and condition(self.screen())):
            check(time.monotonic() < deadline and self.read(0.2), f"{what} did not come:\n" + "\n".join(self.screen()))
        return self.screen()

    def wait_for_silence(self, seconds=10):
        """Until it draws nothing for a moment, as one that draws all the time never does."""
        deadline = time.monotonic() + seconds
        shown = -1
        while shown != len(self.bytes):
            check(time.monotonic() < deadline, "it draws all the time")
            shown = len(self.bytes)
            check(self.read(0.2), "it ended")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def end(self, seconds=VIEW_SECONDS):
        deadline = time.monotonic() + seconds
        while self.read(0.1):
            check(time.monotonic() < deadline, "it did not end")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def contains(text):
    return lambda lines: any(text in line for line in lines)


@case
def the_live_view_fits_a_small_terminal_and_leaves_it_as_it_was(test):
    process, tape, pid = start_server(test)
    view = Terminal(test, [HEAPTAPE, "top", "-p", pid])
    lines = view.wait_for(contains("cache_insert"), "the list")
    equal(len(lines), 24, "lines")
    check(all(len(line) <= 80 for line in lines), "\n".join(lines))
    check(lines[0].startswith("heaptape top") and f"pid {pid}" in lines[0], lines[0])
    check(lines[-1].startswith("q quit"), lines[-1])
    view.resize(50, 10)
    lines = view.wait_for(lambda seen: len(seen) == 10, "the smaller picture")
    check(all(len(line) <= 50 for line in lines), "\n".join(lines))
    view.resize(120, 40)
    view.wait_for(lambda seen: len(seen) == 40, "the larger picture")
    view.type("q")
    equal(view.end(), 0, "status")
    check(view.bytes.endswith(b"\x1b[?1049l") or b"\x1b[?1049l" in view.bytes[-200:], "the old screen is back")
    stop_server(test, process, pid)


@case
def keys_of_the_live_view_do_what_they_say(test):
    process, tape, pid = start_server(test)
    view = Terminal(test, [HEAPTAPE, "top", tape])
    view.wait_for(contains("where (by live)"), "the list")
    view.type("a")
    view.wait_for(contains("where (by allocated)"), "another order")
    view.type("\x1b[B")
    view.wait_for(lambda lines: lines[6].startswith("> "), "the second line chosen")
    view.type("l\r")
    view.wait_for(contains("#0  cache_insert"), "the stack")
    view.wait_for(contains("main"), "the stack's root")
    view.type("q")
    view.wait_for(contains("where (by"), "the list again")
    view.type("h")
    view.wait_for(contains("this page"), "help")
    view.type("x")
    view.type("p")
    view.wait_for(contains("PAUSED"), "the pause")
    view.type("p")
    view.wait_for(contains("running"), "going on")
    stop_server(test, process, pid)
    view.wait_for(contains("ended"), "the end of the program")
    os.kill(view.pid, signal.SIGTERM)
    view.end()
    check(b"\x1b[?1049l" in view.bytes[-200:], "the old screen is back after a signal, too")


@case
def a_paused_view_does_not_spin(test):
    process, tape, pid = start_server(test)
    view = Terminal(test, [HEAPTAPE, "top", tape])
    view.wait_for(contains("where (by live)"), "the list")
    view.type("p")
    view.wait_for(contains("PAUSED"), "the pause")
    drawn = len(view.bytes)
    view.type("w")  # a look is due now, and stays due while the view is paused
    view.wait_for(lambda _: len(view.bytes) > drawn, "another picture")
    view.wait_for_silence()
    view.type("q")
    equal(view.end(), 0, "status")
    stop_server(test, process, pid)


@case
def record_top_shows_the_program_when_its_output_goes_elsewhere(test):
    command = f"{HEAPTAPE} record -o live.tape --top {program('leaky_server')} 0 1000 stop >out 2>err"
    view = Terminal(test, ["/bin/sh", "-c", command], env={"HEAPTAPE_LIBRARY": LIBRARY})
    view.wait_for(contains("cache_insert"), "the list")
    (test.work / "stop").touch()
    equal(view.end(), 0, "status of the program")
    check(re.fullmatch(r"\d+ bytes sent\n", (test.work / "out").read_text()), "output of the program")
    summary = (test.work / "err").read_text()
    check(re.search(r"[\d,]+ blocks", summary), f"the summary comes when the view is gone: {summary}")


@case
def record_top_does_not_share_the_terminal_with_the_program(test):
    view = Terminal(test, [HEAPTAPE, "record", "--top", program("leaky_server"), "3"], env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(view.end(), 2, "status")
    check(b"redirect its output" in view.bytes and b"bytes sent" not in view.bytes, view.bytes)


if __name__ == "__main__":
    sys.exit(main())
