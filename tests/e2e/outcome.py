"""How a run ended, and the two ways in which a case demands something."""

import re
import signal


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def equal(got, expected, what):
    if got != expected:
        raise AssertionError(f"{what}:\n  expected {shorten(expected)}\n  got      {shorten(got)}")


def shorten(value):
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text if len(text) < 4000 else text[:2000] + "\n  [...]\n" + text[-2000:]


class Outcome:
    """How a run ended: status as a shell shows it (128+n for a signal), output, errors, and the tapes it left."""

    def __init__(self, returncode, out, err, tapes=()):
        self.returncode = returncode
        self.status = returncode if returncode >= 0 else 128 - returncode
        self.out, self.err, self.tapes = out, err, list(tapes)

    @property
    def tape(self):
        check(len(self.tapes) == 1, f"one tape expected, there are {len(self.tapes)}; stderr: {shorten(self.err)}")
        return self.tapes[0]


# The one trace that /proc/PID/status has of a recording: the handler for the signals that programs die of.
CRASH_SIGNALS = sum(1 << (number - 1) for number in (signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE,
                                                     signal.SIGSEGV, signal.SIGSYS))


def without_crash_handler(text):
    """What a program read of its own status, as it is without that handler."""
    return re.sub(rb"(SigCgt:\t)([0-9a-f]{16})", lambda match: match[1] + b"%016x" % (int(match[2], 16) & ~CRASH_SIGNALS), text)
