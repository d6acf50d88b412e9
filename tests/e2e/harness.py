"""What the end-to-end cases share: running programs with and without heaptape, and reading tapes back.

A case is a function with @case that takes one argument, the Test below. It fails by raising, skips by raising Skip.
It waits for conditions, never for times: every limit here only tells a hang from a slow machine. Every process a case starts
(and every orphan it leaves) is gone when the case ends. A case that fails keeps its folder and says where.
"""

import contextlib
import ctypes
import hashlib
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import recordings
from outcome import Outcome, check, equal, shorten
from tape import HANG_SECONDS, Tape

HEAPTAPE = os.environ.get("HEAPTAPE", "")
LIBRARY = os.environ.get("HEAPTAPE_LIBRARY", "")
PROGRAMS = Path(os.environ.get("HEAPTAPE_PROGRAMS", ""))
FAILED = os.environ.get("HEAPTAPE_FAILED", "")  # where the folders of failed cases are kept
CASE_SECONDS = 2 * HANG_SECONDS  # less than ctest's limit, so that a case that hangs can still tell about it
SKIPPED = 77

CASES = {}


class Skip(Exception):
    """Raised when the case cannot be tried here; the message says what is missing."""


def case(function):
    """Registers a case under its function's name, which is a sentence."""
    CASES[function.__name__] = function
    return function


def each(**variants):
    """Registers one case per variant: NAME=value becomes the case FUNCTION_NAME, called with (test, value)."""

    def register(function):
        for name, value in variants.items():
            CASES[f"{function.__name__}_{name}"] = lambda test, bound=value: function(test, bound)
        return function

    return register


def need(condition, what):
    if not condition:
        raise Skip(what)


def installed(*names):
    """The paths of programs that must be installed for this case."""
    paths = [shutil.which(name) for name in names]
    for name, path in zip(names, paths):
        need(path, f"{name} is not installed")
    return paths[0] if len(paths) == 1 else paths


def check_installed_library(name):
    """Of a library that is to be preloaded: some refuse to be loaded later."""
    result = subprocess.run([installed("true")], env={"LD_PRELOAD": name}, capture_output=True, timeout=HANG_SECONDS, check=False)
    if b"cannot be preloaded" in result.stderr:
        raise Skip(f"{name} is not installed")


def program(name):
    """A program of tests/programs."""
    path = PROGRAMS / name
    need(path.exists(), f"{name} was not built (its compiler is not installed)")
    return str(path)


def as_root():
    need(os.geteuid() == 0, "needs root")


class Test:
    """One case's folder, environment and processes."""

    def __init__(self, name):
        self.name = name
        self.dir = Path(tempfile.mkdtemp(prefix="heaptape-e2e-"))
        self.work = self.dir / "work"
        self.work.mkdir()
        self.runs = 0
        self.running = []
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HEAPTAPE", "LD_PRELOAD", "ASAN_", "TSAN_"))}
        self.env = {**kept, "LC_ALL": "C", "HOME": str(self.dir), "TZ": "UTC"}
        # Orphans (daemons, collectors started by the recorder) become our children, so that we can wait for them.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

    # ------------------------------------------------------------------------------------------------------- running

    def start(self, command, *, env=None, cwd=None, stdin=subprocess.DEVNULL, **more):
        """Starts a command in a session of its own; its output is piped."""
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen([str(word) for word in command], env={**self.env, **(env or {})}, stdin=stdin,
                                   cwd=cwd or self.work, start_new_session=True, **more)
        self.running.append(process)
        return process

    def finish(self, process, *, input=None, seconds=HANG_SECONDS):
        """Waits for a started command, for the end of its output and for every process it left behind."""
        try:
            out, err = process.communicate(input, timeout=seconds)
        except subprocess.TimeoutExpired:
            picture = process_picture()
            kill_group(process.pid)
            out, err = process.communicate()
            raise AssertionError(f"{process.args} did not end within {seconds} s\nstdout: {shorten(out)}\n"
                                 f"stderr: {shorten(err)}\nprocesses:\n{picture}")
        self.running.remove(process)
        self.wait_for_orphans(process.args)
        return Outcome(process.returncode, out, err)

    def run(self, command, *, input=None, seconds=HANG_SECONDS, **more):
        stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
        return self.finish(self.start(command, stdin=stdin, **more), input=input, seconds=seconds)

    def wait_for_orphans(self, who, seconds=HANG_SECONDS):
        deadline = time.monotonic() + seconds
        busy = {process.pid for process in self.running}
        while left := [pid for pid in children() if pid not in busy]:
            for pid in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > deadline:
                raise AssertionError(f"{who} left processes behind:\n{process_picture()}")
            time.sleep(0.002)

    # ----------------------------------------------------------------------------------------------------- recording

    def new_tapes_folder(self):
        self.runs += 1
        folder = self.dir / f"tapes{self.runs}"
        folder.mkdir()
        os.chmod(folder, 0o777)
        os.chmod(self.dir, 0o755)
        return folder

    def form(self, form, command, options=(), folder=None):
        """The command line and the variables that record a command in one of three forms, tapes into folder."""
        name = f"{folder}/%p.%n.tape"
        if form == "direct":
            preload = ":".join(filter(None, [LIBRARY, self.env.get("LD_PRELOAD")]))
            return command, {"LD_PRELOAD": preload, "HEAPTAPE_COLLECTOR": HEAPTAPE, "HEAPTAPE_OUTPUT": name,
                             "HEAPTAPE_QUIET": "1"}
        follow = ["--follow"] if form == "follow" else []
        words = [HEAPTAPE, "record", "-q", "-o", name, *follow, *options, "--", *command]
        return words, {"HEAPTAPE_LIBRARY": LIBRARY}

    def record(self, command, *, form="record", options=(), env=None, **more):
        """Records a command; the outcome holds its tapes."""
        folder = self.new_tapes_folder()
        words, variables = self.form(form, [str(word) for word in command], options, folder)
        outcome = self.run(words, env={**(env or {}), **variables}, **more)
        outcome.tapes = [Tape(path) for path in sorted(folder.iterdir())]
        return outcome

    def recording_of(self, command, options=()):
        """Like record() of a program of tests/programs, but made once for all cases that ask for the same: for cases about what a
        tape says, not about recording. Gives a copy of the tape; what the program wrote is in the work folder."""
        folder = self.new_tapes_folder()
        outcome = recordings.copy_of(self, [str(word) for word in command], list(options), folder)
        outcome.tapes = [Tape(path) for path in sorted(folder.iterdir())]
        return outcome

    def start_record(self, command, *, options=(), env=None, **more):
        """Starts a recording and returns the process; its tapes are in self.tapes() when it has finished."""
        folder = self.new_tapes_folder()
        words, variables = self.form("record", [str(word) for word in command], options, folder)
        return self.start(words, env={**(env or {}), **variables}, **more)

    def tapes(self):
        """The tapes of the latest recording."""
        return [Tape(path) for path in sorted((self.dir / f"tapes{self.runs}").iterdir())]

    def fresh_work(self):
        shutil.rmtree(self.work)
        self.work.mkdir()
        return self.work

    def same(self, command, *, forms=("record", "direct"), prepare=None, normal=None, events=1, tapes=1, **more):
        """Runs a command plainly and recorded, each in a fresh folder, and demands equal output, status and files.

        normal: makes two outcomes comparable (bytes to bytes). events: at least so many on the first process's tape.
        tapes: at least so many with --follow. Returns the outcomes of the recorded runs.
        """
        normal = normal or (lambda output: output)

        def look(form):
            self.fresh_work()
            if prepare:
                prepare(self.work)
            outcome = self.run(command, **more) if form is None else self.record(command, form=form, **more)
            return outcome, (outcome.status, normal(outcome.out), normal(outcome.err)), picture_of(self.work)

        _, plain, plain_files = look(None)
        outcomes = []
        for form in forms:
            outcome, seen, files = look(form)
            for what, got, expected in zip(("status", "stdout", "stderr"), seen, plain):
                equal(got, expected, f"{what} of {command} ({form})")
            equal(files, plain_files, f"files left by {command} ({form})")
            at_least = tapes if form == "follow" else 1
            check(len(outcome.tapes) >= at_least, f"{len(outcome.tapes)} tapes, {at_least} expected ({form})")
            for tape in outcome.tapes:
                tape.verify()
            most = max(tape.event_count() for tape in outcome.tapes)
            check(most >= events, f"{most} events on the tape, at least {events} expected ({form})")
            outcomes.append(outcome)
        return outcomes

    # -------------------------------------------------------------------------------------------------------- ending

    def clean_up(self):
        for process in self.running:
            kill_group(process.pid)
        for _ in range(200):
            left = children()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if not left:
                break
            time.sleep(0.01)

    def keep(self, folder, reason):
        """Moves the case's folder to where it can be looked at, with what went wrong in failure.txt."""
        (self.dir / "failure.txt").write_text(reason)
        shutil.copytree(self.dir, folder, symlinks=True, ignore=special_files)
        print(f"kept: {folder}", file=sys.stderr)

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def special_files(folder, names):
    """Those of the names that cannot be copied: sockets and pipes."""
    modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
    return [name for name, mode in modes.items() if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)]


def wait_until(condition, what, seconds=HANG_SECONDS):
    """Polls; for things that can only be seen from outside."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s in vain until {what}")
        time.sleep(0.005)
    return result


def stat_fields(pid):
    """The fields of /proc/PID/stat behind the name: state, parent, group, ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def all_pids():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def name_of(pid):
    """The name of a process as ps shows it; None when it has gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


def children(of=None):
    parent = str(of or os.getpid())
    return [pid for pid in all_pids() if (fields := stat_fields(pid)) and fields[1] == parent]


def descendants(of=None):
    found = []
    for pid in children(of):
        found += [pid, *descendants(pid)]
    return found


def descendant_named(name, of=None):
    """Waits for a process of this name below another."""
    return wait_until(lambda: next((pid for pid in descendants(of) if name_of(pid) == name), None), f"{name} runs")


def process_picture():
    lines = []
    for pid in descendants():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            waits = Path(f"/proc/{pid}/wchan").read_text()
            lines.append(f"  {pid} {' '.join(stat_fields(pid)[:3])} {waits} {words[:150]}")
    return "\n".join(lines)


def kill_group(pid):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def picture_of(folder):
    """Every file below a folder with its kind, mode and content."""
    picture = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        mode = path.lstat().st_mode
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        picture[name] = (oct(mode), content)
    return picture


def out_of_time(*_):
    raise AssertionError(f"the case did not end within {CASE_SECONDS} s; processes:\n{process_picture()}")


def main():
    """usage: cases_TOPIC.py --list | CASE"""
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
        return 0
    name = sys.argv[1]
    topic = Path(sys.argv[0]).stem.removeprefix("cases_")
    kept = Path(FAILED, f"{topic}.{name}") if FAILED else None
    if kept:
        shutil.rmtree(kept, ignore_errors=True)
    # Who runs the tests in the background or with nohup ignores these, and what ignores a signal passes that on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(CASE_SECONDS)
    test = Test(name)
    try:
        CASES[name](test)
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except BaseException:
        signal.alarm(0)
        test.clean_up()
        if kept:
            test.keep(kept, traceback.format_exc())
        raise
    finally:
        signal.alarm(0)
        test.clean_up()
        test.remove()
    return 0
