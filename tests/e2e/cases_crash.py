"""What a program died of is on its tape, and the program does not notice."""

import json
import signal

from harness import case, check, each, equal, program

# Case of tests/programs/crashes.c: signal, kind, and words of the headline.
CASES = {
    "null": ("SEGV", "memory", ["read of 8 bytes at 0x18", "null pointer plus 24", "in through ("]),
    "noncanonical": ("SEGV", "memory", ["0xbdbdbdbdbdbdbdd5", "released memory"]),
    "constant": ("SEGV", "memory", ["write of 1 byte", "may not be written"]),
    "released": ("SEGV", "memory", ["read of 8 bytes at 0x18"]),
    "wild": ("SEGV", "wild jump", ["jump to 0x1234567", "called by main"]),
    "null_call": ("SEGV", "wild jump", ["call of a null function pointer", "called by main"]),
    "division": ("FPE", "division", ["integer division by zero", "in main"]),
    "abort": ("ABRT", "abort", ["abort()", "called by main"]),
    "assert": ("ABRT", "abort", ["abort()", "called by main"]),
    "trap": ("ILL", "illegal instruction", ["ud2", "in main"]),
    "recursion": ("SEGV", "stack overflow", ["stack overflow", "descend called itself about"]),
    "thread": ("SEGV", "memory", ["null pointer plus 24", "in through ("]),
    "file_end": ("BUS", "end of file", ["beyond the end of a mapped file"]),
    "raised_again": ("SEGV", "memory", ["read of 8 bytes at 0x18", "in through ("]),
    "handler_aborts": ("ABRT", "memory", ["read of 8 bytes at 0x18", "in through ("]),
}


@each(**{name: name for name in CASES})
def the_headline_says_what_happened(test, name):
    number, kind, words = CASES[name]
    plain = test.run([program("crashes"), name])
    outcome = test.record([program("crashes"), name])
    equal(outcome.status, 128 + getattr(signal, "SIG" + number), "status")
    equal(outcome.out, plain.out, "stdout")
    told = test.heaptape("crash", outcome.tape.path, "--json")
    equal(told.status, 0, "status of crash")
    answer = json.loads(told.out)
    equal(answer["kind"], kind, "kind")
    for word in words:
        check(word in answer["headline"], answer["headline"])
