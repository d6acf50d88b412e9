"""What a program died of is on its tape, and the program does not notice."""

import json
import signal

from harness import case, check, each, equal, main, program
from tape import demand, heaptape

# A case of tests/programs/crashes.c: the signal that ends it, the kind of the fault, and words of the headline.
DEATHS = {
    "null": ("SEGV", "memory", ["read of 8 bytes at 0x18", "null pointer plus 24", "in through ("]),
    "noncanonical": ("SEGV", "memory", ["0xbdbdbdbdbdbdbdd5", "released memory"]),
    "constant": ("SEGV", "memory", ["write of 1 byte", "may not be written"]),
    "wild": ("SEGV", "wild jump", ["jump to 0x1234567", "called by main"]),
    "null_call": ("SEGV", "wild jump", ["call of a null function pointer", "called by main"]),
    "division": ("FPE", "division", ["integer division by zero", "in main"]),
    "abort": ("ABRT", "abort", ["abort()", "called by main"]),
    "assert": ("ABRT", "abort", ["abort()", "called by main"]),
    "trap": ("ILL", "illegal instruction", ["ud2", "in main"]),
    "recursion": ("SEGV", "stack overflow", ["of stack", "descend called itself about"]),
    "thread": ("SEGV", "memory", ["null pointer plus 24", "in through ("]),
    "file_end": ("BUS", "end of file", ["beyond the end of a mapped file"]),
    "sent": ("SEGV", "sent", ["sent by the program itself"]),
    "raised_again": ("SEGV", "memory", ["read of 8 bytes at 0x18", "in through ("]),
    "handler_aborts": ("ABRT", "memory", ["read of 8 bytes at 0x18", "in through ("]),
}


@each(**{name: name for name in DEATHS})
def a_crash_is_explained(test, name):
    number, kind, words = DEATHS[name]
    plain = test.run([program("crashes"), name])
    outcome = test.record([program("crashes"), name])
    equal(outcome.status, 128 + getattr(signal, "SIG" + number), "status")
    equal(outcome.out, plain.out, "stdout")
    check(outcome.err.startswith(plain.err), "the program's own words come first")
    answer = json.loads(demand("crash", "--json", outcome.tape.path))
    equal(answer["kind"], kind, "kind")
    equal(answer["ended_by"], "SIG" + number, "the last signal")
    for word in words:
        check(word in answer["headline"], answer["headline"])
    check("'heaptape crash" in demand("report", outcome.tape.path), "the report names the command")


@each(a_handler_that_exits=("handler_exits", 7), a_forked_child=("forked", 11), a_vforked_child=("vforked", 11))
def no_crash_is_told_of(test, given):
    how, status = given
    outcome = test.record([program("crashes"), how])
    equal(outcome.status, status, "status")
    told = heaptape("crash", outcome.tape.path)
    equal(told.returncode, 1, "status of crash")
    check(f"did not crash: it exited with status {status}" in told.stdout, told.stdout)


@case
def the_program_is_told_that_the_default_stands(test):
    plain = test.run([program("crashes"), "tell_signals"])
    recorded = test.record([program("crashes"), "tell_signals"])
    equal(recorded.out, plain.out, "what it is told")


@case
def without_the_handler_the_crash_is_not_on_the_tape(test):
    outcome = test.record([program("crashes"), "null"], options=["--no-crash-handler"])
    equal(outcome.status, 128 + signal.SIGSEGV, "status")
    told = heaptape("crash", outcome.tape.path)
    equal(told.returncode, 1, "status of crash")
    check("killed by SIGSEGV, but where is not on the tape" in told.stdout, told.stdout)


if __name__ == "__main__":
    raise SystemExit(main())
