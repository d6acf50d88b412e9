"""The shell and its commands on programs whose facts are known, and on a terminal."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

from harness import HEAPTAPE, case, check, equal, main, program
from tape import HANG_SECONDS, demand, heaptape


def story(test, *arguments, status=0):
    """The tape of crash_story, and where its things lay."""
    outcome = test.recording_of([program("crash_story"), "facts", *arguments])
    equal(outcome.status, status, "status of the program")
    facts = dict(line.split() for line in (test.work / "facts").read_text().splitlines())
    return outcome.tape.path, {name: int(address, 16) for name, address in facts.items()}


def explain(tape, address, at="end"):
    return json.loads(demand("explain", "--json", "--at", at, tape, hex(address)))


def functions(stack):
    return [frame["function"] for frame in stack]


@case
def explain_finds_who_freed_the_block_behind_a_dangling_pointer(test):
    tape, facts = story(test, "crash", status=128 + signal.SIGSEGV)
    answer = explain(tape, facts["second"] + 48)
    equal(answer["kind"], "freed block", "kind")
    equal(answer["offset"], 48, "offset")
    block = answer["block"]
    equal(block["size"], 56, "size")
    check("open_session" in functions(block["stack"]), f"made by {functions(block['stack'])}")
    check("close_session" in functions(block["end"]["stack"]), f"freed by {functions(block['end']['stack'])}")
    check(block["thread"] != block["end"]["thread"], "another thread freed it")
    text = demand("explain", tape, hex(facts["second"] + 48))
    check(re.match(r"0x[0-9a-f]+ is 48 bytes into a 56-byte block freed .* earlier\n", text), text)
    check("not reused since" in text, text)
    check("ended  died of SIGSEGV in main (crash_story.cpp:" in demand("report", tape), "the report says how to go on")


@case
def explain_knows_what_is_no_block(test):
    tape, facts = story(test)
    equal(explain(tape, facts["local"])["kind"], "stack", "a local variable")
    table = explain(tape, facts["table"])
    equal(table["kind"], "global", "a global variable")
    check("12 bytes into the variable g_table" in table["verdict"], table["verdict"])
    function = explain(tape, facts["function"])
    equal(function["kind"], "code", "a function")
    check("open_session" in function["verdict"], function["verdict"])
    equal(explain(tape, facts["mapping"] + 5000)["kind"], "mapping", "a mapping")
    equal(explain(tape, 0)["kind"], "null", "null")
    equal(explain(tape, 24)["kind"], "null", "null + 24")
    equal(explain(tape, 0xDDDDDDDDDDDDDDDD)["kind"], "poison", "0xdd...")
    equal(explain(tape, 0x100000000)["kind"], "nothing", "nothing")


def odd_addresses(test):
    outcome = test.recording_of([program("odd_addresses")])
    facts = dict(line.split() for line in outcome.out.decode().splitlines())
    return outcome.tape.path, {name: int(address, 16) for name, address in facts.items()}


@case
def a_stack_address_of_a_short_run_is_not_nothing_that_the_tape_knows_of(test):
    tape, facts = odd_addresses(test)
    for name in ("stack", "thread_stack"):
        answer = explain(tape, facts[name])
        equal(answer["kind"], "stack", f"kind of {name}: {answer}")
        check("not on the tape" in answer["verdict"], f"the frame is not known, and that is said: {answer['verdict']}")
    check(explain(tape, facts["stack"])["thread"] != explain(tape, facts["thread_stack"])["thread"], "two threads")


@case
def thread_local_data_is_not_called_stack(test):
    tape, facts = odd_addresses(test)
    answer = explain(tape, facts["thread_local"])
    equal(answer["kind"], "thread-local data", f"kind: {answer}")
    equal(answer["thread"], explain(tape, facts["thread_stack"])["thread"], "thread")


@case
def an_address_in_an_unmapped_mapping_says_which_it_was_and_who_unmapped_it(test):
    tape, facts = odd_addresses(test)
    answer = explain(tape, facts["unmapped"])
    equal(answer["kind"], "unmapped mapping", f"kind: {answer}")
    check("5,000 bytes into a mapping of 1.05 MB that was unmapped" in answer["verdict"], answer["verdict"])
    check("map_table" in functions(answer["mapping"]["stack"]), "who mapped it")
    check("unmap_table" in functions(answer["mapping"]["unmapped_stack"]), "who unmapped it")
    text = demand("explain", tape, hex(facts["unmapped"]))
    check("unmap_table" in text and "map_table" in text.replace("unmap_table", ""), text)


@case
def explain_names_the_oldest_owner_of_a_reused_address(test):
    tape, facts = odd_addresses(test)
    text = demand("explain", tape, hex(facts["reused"]))
    check("30 other blocks were here still earlier" in text and "first_owner" in text, text)
    check(f"history {facts['reused']:#x}" in text, text)
    answer = explain(tape, facts["reused"])
    check("first_owner" in functions(answer["older"][-1]["stack"]), "the oldest one is the last of the list")
    equal(len(answer["older"]) + answer["older_left_out"], 30, "all are counted")


@case
def the_cursor_goes_from_snapshot_to_snapshot(test):
    tape = test.recording_of([program("marks")]).tape.path
    text = demand("shell", "--at", "^", "-c", "next snapshot", "-c", "goto snapshot", "-c", "last snapshot", "-c", "previous snapshot",
                  "-c", "goto first snapshot", tape)
    found = re.findall(r"snapshot \d+ '(.*)'", text)
    equal(found, ["one block", "second gone", "three blocks"], "snapshots that the cursor came to")
    equal(heaptape("shell", "-c", "next snapshot", tape).stderr.count("there is no snapshot after"), 1, "none behind the end")
    equal(json.loads(demand("stats", "--json", "--at", "last snapshot", tape))["event"],
          json.loads(demand("stats", "--json", "--at", "second gone", tape))["event"], "a position of other commands")


@case
def explain_knows_the_bytes_around_a_block(test):
    tape, facts = story(test)
    past = explain(tape, facts["report"] + 100)
    equal((past["kind"], past["offset"]), ("past the end", 0), "one past the end")
    live = explain(tape, facts["first"])
    equal((live["kind"], live["offset"]), ("live block", 0), "the start of a block")


@case
def history_shows_both_sides_of_a_realloc(test):
    tape, facts = story(test)
    small = json.loads(demand("history", "--json", tape, hex(facts["small"])))["blocks"]
    moved = [block for block in small if block["end"] and block["end"].get("to")]
    equal([block["end"]["to"] for block in moved], [hex(facts["large"])], "where it went")
    large = json.loads(demand("history", "--json", tape, hex(facts["large"] + 8999)))["blocks"]
    equal(large[-1]["from"], hex(facts["small"]), "where it came from")
    equal(large[-1]["size"], 9000, "its size")


@case
def owner_follows_the_cursor(test):
    tape, facts = story(test)
    then = json.loads(demand("owner", "--json", "--at", "sessions open", tape, hex(facts["second"] + 1)))
    equal((then["block"]["size"], then["offset"]), (56, 1), "before it was freed")
    now = json.loads(demand("owner", "--json", "--at", "reaped", tape, hex(facts["second"] + 1)))
    equal(now["block"], None, "after it was freed")


@case
def the_cursor_goes_from_mark_to_mark(test):
    tape, _ = story(test)
    text = demand("shell", "--at", "^", "-c", "marks next", "-c", "marks next", "-c", "marks prev", "-c", "marks last", "-c", "marks first", tape)
    equal(re.findall("mark '(.*)'", text), ["sessions open", "reaped", "sessions open", "reaped", "sessions open"], "marks on the way")
    check(heaptape("shell", "-c", "marks next", tape).returncode != 0, "there is none after the end")


@case
def addresses_may_be_symbols(test):
    tape, facts = story(test)
    text = demand("explain", tape, "g_table+12")
    check(text.startswith(hex(facts["table"]) + " is"), text)
    text = demand("symbolat", tape, hex(facts["table"]))
    check(text.startswith("g_table+0xc"), text)
    text = demand("symbol", tape, "^g_table$")
    check(hex(facts["table"] - 12) in text, text)


@case
def a_script_on_standard_input_goes_on_after_an_error(test):
    tape, _ = story(test)
    script = "goto sessions\\ open\nnonsense\nwhere  # here\n\nnext 2\nquit\nwhere\n"
    run = subprocess.run([HEAPTAPE, "shell", tape], input=script, capture_output=True, text=True, timeout=HANG_SECONDS)
    equal(run.returncode, 2, "status")
    check("not a command: 'nonsense'" in run.stderr, run.stderr)
    equal(run.stdout.count("  live  "), 1, "answers of where: " + run.stdout)


@case
def commands_of_the_command_line_run_in_order(test):
    tape, _ = story(test)
    run = heaptape("shell", "-c", "goto peak", "-c", "where --json", "--at", "^", tape)
    equal(run.returncode, 0, "status")
    state = json.loads(run.stdout.splitlines()[-1])
    equal(state["live_bytes"], state["peak_bytes"], "live at the peak")


@case
def a_tape_that_is_not_there_and_a_wrong_position_end_with_one_sentence(test):
    tape, _ = story(test)
    for words in (["shell", "nowhere.tape"], ["explain", "nowhere.tape", "0x1"], ["where", "--at", "never", tape], ["explain", tape],
                  ["history", tape, "no_such_symbol"], ["explain", tape, "0x1", "0x2"], ["owner", "--limit", "x", tape, "0x1"]):
        run = heaptape(*words)
        check(run.returncode != 0, f"{words} should fail")
        equal(run.stdout, "", f"output of {words}")
        equal(run.stderr.count("\n"), 1, f"lines of {words}: {run.stderr}")


GUIDE = Path(__file__).resolve().parents[2] / "docs/guide/crash.md"
COMMAND = re.compile(r"(```\n\$ (heaptape (?!record)[^\n]*)\n)(.*?)(```)", re.DOTALL)


def told(text):
    """What an answer says whatever the machine and the moment: without addresses, times and sizes of the machine."""
    text = re.sub(r"0x[0-9a-f]+(-0x[0-9a-f]+)?", "ADDRESS", text)
    text = text.replace("in the same microsecond", "0 us later")
    text = re.sub(r"[0-9.]+ (us|ms|s)\b|\b[0-9]+\.[0-9]{6}\b|here", "TIME", text)
    text = re.sub(r"(?m)^  RSS .*\n", "", text)
    text = re.sub(r"  /\S*/", "  PATH/", text)
    text = re.sub(r"(?m)^    #\d+ +(__libc\w*|_start|start_thread|__clone3|.*\.so[.0-9]*\+).*\n", "", text)  # as the C library has them
    return re.sub(r"(TIME )?(earlier|later)", "", re.sub(r"[ \t]+", " ", text)).split("\n")


@case
def the_guide_to_a_crash_shows_what_really_comes_out(test):
    """HEAPTAPE_UPDATE_GUIDE=1 writes the page anew."""
    shutil.copy(program("crash_story"), test.work / "server")
    outcome = test.run([HEAPTAPE, "record", "-q", "-o", "server.tape", "./server", "facts", "crash"])
    equal(outcome.status, 128 + signal.SIGSEGV, "status of the program")
    facts = dict(line.split() for line in (test.work / "facts").read_text().splitlines())
    page = GUIDE.read_text()

    def answer(match):
        words = match.group(2).replace("$SESSION", facts["second"])
        run = subprocess.run(words.replace("heaptape ", f"{HEAPTAPE} ", 1), shell=True, cwd=test.work, capture_output=True, text=True,
                             timeout=HANG_SECONDS, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})
        equal(run.returncode, 0, f"status of {words}: {run.stderr}")
        return match.group(1) + run.stdout + match.group(4)

    real = COMMAND.sub(answer, page)
    check(len(COMMAND.findall(page)) >= 5, "the page has its commands")
    if os.environ.get("HEAPTAPE_UPDATE_GUIDE"):
        GUIDE.write_text(re.sub(r"/\S*/server\b", "/srv/server", real))
        return
    for shown, now in zip(COMMAND.findall(page), COMMAND.findall(real)):
        equal(told(now[2]), told(shown[2]), f"what '{shown[1]}' says")


class Terminal:
    """A heaptape on a pseudo-terminal."""

    def __init__(self, words, rows=24, columns=80, environment=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **(environment or {})})
            os.environ.pop("COLUMNS", None)
            os.execv(words[0], words)
        self.resize(rows, columns)
        self.seen = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, wanted, seconds=HANG_SECONDS):
        """Reads until `wanted` was shown; gives all up to there. What follows is for the next call."""
        end = time.monotonic() + seconds
        while wanted not in plain(self.seen):
            left = end - time.monotonic()
            check(left > 0, f"{wanted!r} did not come, but {plain(self.seen)!r}")
            if select.select([self.fd], [], [], left)[0]:
                try:
                    self.seen += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    check(False, f"ended before {wanted!r}: {plain(self.seen)!r}")
        before, _, self.seen = plain(self.seen).partition(wanted)
        return before + wanted

    def finish(self):
        end = time.monotonic() + HANG_SECONDS
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    if not os.read(self.fd, 65536):
                        break
                except OSError:
                    break
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def plain(text):
    """Without what moves the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\r", "", text)


@case
def the_shell_on_a_terminal_completes_remembers_and_survives_control_c(test):
    tape, _ = story(test)
    environment = {"HOME": str(test.work), "XDG_STATE_HOME": ""}
    shell = Terminal([HEAPTAPE, "shell", tape], environment=environment)
    shell.expect(" s) ")
    shell.type("whe\t")
    shell.expect("where")
    shell.type("\n")
    check("live" in shell.expect("threads"), "where was completed and run")
    shell.expect(" s) ")
    shell.type("goto pe\t\n")
    shell.expect("event")
    shell.expect(" s) ")
    shell.type("half a line\x03")  # Ctrl-C gives it up
    shell.expect("^C")
    shell.expect(" s) ")
    shell.type("\x1b[A\n")  # the last one again
    check("not a command" not in shell.expect("event"), "the line that was given up is not run")
    shell.expect(" s) ")
    shell.resize(24, 50)
    os.kill(shell.pid, signal.SIGWINCH)
    shell.type("blocks\n")
    shown = shell.expect("live\n")
    check(all(len(line) <= 50 for line in shown.splitlines() if "0x" in line), "lines fit the new width:\n" + shown)
    shell.expect(" s) ")
    shell.type("\x04")
    equal(shell.finish(), 0, "status after Ctrl-D")
    history = (test.work / ".heaptape_history").read_text()
    check("where" in history and "blocks" in history, history)
    again = Terminal([HEAPTAPE, "shell", tape], environment=environment)
    again.expect(" s) ")
    again.type("\x1b[A\n")
    again.expect("made by")
    again.type("quit\n")
    equal(again.finish(), 0, "status after quit")


@case
def control_c_is_never_swallowed(test):
    tape, _ = story(test)
    shell = Terminal([HEAPTAPE, "shell", tape], environment={"HOME": str(test.work), "XDG_STATE_HOME": ""})
    shell.expect(" s) ")
    for _ in range(100):
        shell.type("half a l\u00efne \u2190\x03")  # it comes while the keys before are being worked on
        shell.expect("^C")
        shell.expect(" s) ")
    shell.type("text \u00ef\u2190\n")
    check("text \u00ef\u2190\n" in shell.expect("no annotation matches"), "characters of several bytes")
    shell.type("quit\n")
    equal(shell.finish(), 0, "status")


@case
def long_answers_go_through_the_pager(test):
    tape, _ = story(test)
    shell = Terminal([HEAPTAPE, "shell", tape], environment={"HOME": str(test.work), "PAGER": "sed s/^/paged:/"})
    shell.expect(" s) ")
    shell.type("help\n")
    check("paged:Moving the cursor" in shell.expect("Ctrl-C stops a search."), "help is longer than the screen")
    shell.expect(" s) ")
    shell.type("help goto\n")
    check("paged:" not in shell.expect("Example: goto"), "a short answer needs no pager")
    shell.type("quit\n")
    equal(shell.finish(), 0, "status")


@case
def a_pager_that_is_not_there_swallows_nothing(test):
    tape, _ = story(test)
    shell = Terminal([HEAPTAPE, "shell", tape], environment={"HOME": str(test.work), "PAGER": "/no/such/pager -x"})
    shell.expect(" s) ")
    shell.type("help\n")
    check("Moving the cursor" in shell.expect("Ctrl-C stops a search."), "the whole answer is shown")
    shell.expect(" s) ")
    shell.type("quit\n")
    equal(shell.finish(), 0, "status")


@case
def control_c_stops_a_search_and_not_the_shell(test):
    # A tape that takes a moment to search.
    outcome = test.record([program("steady"), "stop", 1_500_000], options=["--no-index"])
    shell = Terminal([HEAPTAPE, "shell", str(outcome.tape.path)], environment={"HOME": str(test.work)})
    shell.expect(" s) ")
    shell.type("goto ^\n")
    shell.expect(" s) ")
    # Once a line is echoed with its end, a Ctrl-C is for that line, whether it meets the search or comes before it. A quick
    # search may be over first.
    for _ in range(5):
        shell.type("next size>1G\n")
        shell.expect("size>1G\n")
        shell.type("\x03")
        shown = shell.expect(" s) ")
        check("stopped" in shown or "no event" in shown, f"the line ends with a word: {shown}")
    shell.type("where\n")
    shell.expect("threads")
    shell.type("quit\n")
    equal(shell.finish(), 0, "status")


if __name__ == "__main__":
    raise SystemExit(main())
