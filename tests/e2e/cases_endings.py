"""The program's ending is the recording's, and its terminal, input and signals are the program's own."""

import os
import pty
import select
import signal
import time

from harness import (HEAPTAPE, LIBRARY, case, check, children, descendant_named, each, equal, installed, main, need, program,
                     stat_fields, wait_until)
from outcome import without_crash_handler
from tape import HANG_SECONDS


@case
def exit_statuses_are_passed_on(test):
    for status in (0, 1, 2, 3, 42, 126, 127, 128, 129, 137, 200, 254, 255):
        outcome = test.record([program("ends"), "status", status])
        equal(outcome.status, status, f"status {status}")
        equal(outcome.err, b"", "stderr with -q")
        equal(outcome.tape.kinds(50)["malloc"], 10, "blocks")


@case
def deaths_by_signals_are_passed_on_as_128_plus_n(test):
    for name in ("HUP", "INT", "QUIT", "ILL", "ABRT", "FPE", "KILL", "SEGV", "PIPE", "ALRM", "TERM", "USR1", "USR2", "SYS"):
        number = getattr(signal, f"SIG{name}")
        outcome = test.record([program("ends"), "signal", int(number)])
        equal(outcome.status, 128 + number, f"status after SIG{name}")
        tape = outcome.tape
        tape.verify()
        equal(tape.kinds(50)["malloc"], 10, "blocks")


@case
def the_form_without_a_launcher_knows_the_ending_too(test):
    version = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    need(version >= (6, 15), "older kernels tell the ending only to who is quick")
    for how, number, ending in (("status", 3, {"how": "exited", "status": 3}), ("signal", 11, {"how": "killed", "signal": 11})):
        outcome = test.record([program("ends"), how, number], form="direct")
        outcome.tape.verify()
        known = outcome.tape.facts()["ending"]
        equal({name: known.get(name) for name in ending}, ending, f"ending after {how} {number}")


def start_steady(test, **more):
    """A recording of a program that goes on until the file stop exists; returns when it says it is ready."""
    process = test.start_record([program("steady"), "stop", 10**9, 50], **more)
    equal(process.stdout.readline(), b"ready\n", "first line")
    return process


@each(a_termination=signal.SIGTERM, an_interrupt=signal.SIGINT, a_hangup=signal.SIGHUP, user_signal_1=signal.SIGUSR1)
def heaptape_forwards(test, number):
    process = start_steady(test)
    os.kill(process.pid, number)
    outcome = test.finish(process)
    equal(outcome.status, 128 + number, "status")
    (tape,) = test.tapes()
    tape.verify()
    check(tape.event_count() >= 2, "at least the thread and the output buffer made before the first line")


@case
def a_signal_to_the_program_alone_ends_it_and_the_recording(test):
    process = start_steady(test)
    victim = descendant_named("steady", process.pid)
    os.kill(victim, signal.SIGKILL)
    equal(test.finish(process).status, 137, "status")
    test.tapes()[0].verify()


@case
def a_program_goes_on_when_heaptape_itself_is_killed(test):
    process = start_steady(test)
    os.kill(process.pid, signal.SIGKILL)
    (test.work / "stop").touch()
    outcome = test.finish(process)
    check(b"0 wrong\n" in outcome.out, f"the program ended well: {outcome.out} {outcome.err}")
    (tape,) = test.tapes()
    check(tape.event_count() >= 2, "at least the thread and the output buffer made before the first line")


@case
def input_and_output_pass_through_untouched(test):
    data = os.urandom(3_000_000)
    for form in ("record", "direct"):
        outcome = test.record([installed("cat")], form=form, input=data)
        equal(outcome.status, 0, "status")
        check(outcome.out == data, f"the bytes differ ({form})")
        equal(outcome.err, b"", "stderr")


@case
def a_closed_output_ends_the_program_as_before(test):
    sh, yes = installed("sh", "yes")
    folder = test.new_tapes_folder()
    words, variables = test.form("record", [yes], (), folder)
    outcome = test.run([installed("bash"), "-c", '"$@" | head -n 2; echo ${PIPESTATUS[0]}', "bash", *words], env=variables)
    equal(outcome.out, b"y\ny\n141\n", "output and status of the writer")
    check(sh, "a shell")


@case
def nothing_but_one_summary_is_printed(test):
    name = test.work / "named.tape"
    outcome = test.run([HEAPTAPE, "record", "-o", name, "--", program("ends"), "status", 0],
                       env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(outcome.out, b"", "stdout")
    text = outcome.err.decode()
    check(text.startswith("heaptape") and 1 <= len(text.splitlines()) <= 3, f"a short summary: {text}")
    check("named.tape" in text and "peak" in text and "events" in text, f"events, peak and tape are named: {text}")
    equal(oct(name.stat().st_mode & 0o777), oct(0o600), "mode of the tape")


class Terminal:
    """A pseudo terminal with a command in it, as the session's foreground group."""

    def __init__(self, test, command, env=None):
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(test.work)
            words = [str(word) for word in command]
            os.execvpe(words[0], words, {**test.env, **(env or {})})
        self.deadline = time.monotonic() + HANG_SECONDS

    def read_until(self, text):
        while text not in self.output:
            check(time.monotonic() < self.deadline, f"waited in vain for {text}, got {self.output}")
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    self.output += os.read(self.fd, 65536)
                except OSError:  # the other side is closed
                    check(text in self.output, f"the terminal ended without {text}: {self.output}")
        head, _, self.output = self.output.partition(text)
        return head

    def read_to_end(self):
        while True:
            check(time.monotonic() < self.deadline, f"the terminal did not end: {self.output}")
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    break
                if not data:
                    break
                self.output += data
        return self.output

    def type(self, data):
        os.write(self.fd, data)

    def status(self):
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def recorded(test, command):
    folder = test.new_tapes_folder()
    return test.form("record", [str(word) for word in command], (), folder)


@case
def a_terminal_is_still_a_terminal(test):
    outputs = []
    for words, env in ((([program("surroundings")]), {}), recorded(test, [program("surroundings")])):
        terminal = Terminal(test, ["sh", "-c", '"$@"', "sh", *words], env)
        text = without_crash_handler(terminal.read_to_end())
        equal(terminal.status(), 0, "status")
        outputs.append([line for line in text.splitlines() if line.startswith((b"terminal", b"group leader", b"Sig"))])
    equal(outputs[1], outputs[0], "what the program saw of its terminal")
    check(b"terminal 0: 1" in outputs[1][-4:], "it is one")


@case
def control_c_ends_the_program_and_leaves_a_good_tape(test):
    words, env = recorded(test, [program("steady"), "stop", 10**9, 50])
    terminal = Terminal(test, words, env)
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    terminal.read_to_end()
    equal(terminal.status(), 130, "status")
    test.wait_for_orphans(words)
    (tape,) = test.tapes()
    tape.verify()
    check(tape.event_count() >= 2, "at least the thread and the output buffer made before the first line")


@case
def a_program_that_catches_control_c_gets_it_once(test):
    script = "import signal, sys\ncount = 0\ndef handler(*a):\n    global count\n    count += 1\n" \
             "signal.signal(signal.SIGINT, handler)\nprint('ready', flush=True)\nsys.stdin.readline()\n" \
             "print('interrupts:', count, flush=True)\n"
    import sys
    words, env = recorded(test, [sys.executable, "-c", script])
    terminal = Terminal(test, words, env)
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    terminal.read_until(b"^C")
    terminal.type(b"go on\n")
    terminal.read_until(b"interrupts: 1")
    terminal.read_to_end()
    equal(terminal.status(), 0, "status")


def in_foreground(pid):
    fields = stat_fields(pid)
    return fields[2] == fields[5]  # its group, and the one that its terminal listens to


@case
def stopping_and_continuing_works_from_a_shell(test):
    words, env = recorded(test, [program("steady"), "stop", 10**9, 50])
    terminal = Terminal(test, [installed("bash"), "--norc", "--noprofile", "-i"], {**env, "PS1": "prompt$ "})
    terminal.read_until(b"prompt$ ")
    terminal.type(" ".join(words).encode() + b"\n")
    terminal.read_until(b"ready")
    terminal.type(b"\x1a")
    terminal.read_until(b"Stopped")
    terminal.read_until(b"prompt$ ")
    victim = descendant_named("steady", terminal.pid)
    wait_until(lambda: stat_fields(victim)[0] == "T", "the program is stopped")
    terminal.type(b"bg\n")
    wait_until(lambda: stat_fields(victim)[0] in "SR", "the program goes on in the background")
    terminal.type(b"fg\n")
    wait_until(lambda: in_foreground(victim), "the program has the terminal again")
    (test.work / "stop").touch()
    terminal.read_until(b"0 wrong")
    terminal.type(b"echo status $?\n")
    terminal.read_until(b"status 8")
    terminal.type(b"exit\n")
    terminal.read_to_end()
    terminal.status()
    test.wait_for_orphans(words)
    check(not children(), "nothing is left")


if __name__ == "__main__":
    raise SystemExit(main())
