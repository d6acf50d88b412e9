"""Running programs under heaptape check, and what was found, error by error and by cause."""

import json
from typing import NamedTuple

from harness import HEAPTAPE, LIBRARY, program
from outcome import check, equal
from tape import Tape, demand, heaptape


class Error(NamedTuple):
    sort: str
    block: int    # of a wrong release: the address that was released
    size: int     # of the block; of a wrong release: 0 where there is none
    address: int
    length: int
    found: str


def checked(test, command, *options, env=None, **more):
    """Runs a command under heaptape check; the outcome holds its tapes."""
    folder = test.new_tapes_folder()
    words = [HEAPTAPE, "check", "-q", "-o", f"{folder}/%p.%n.tape", *options, "--", *map(str, command)]
    outcome = test.run(words, env={**(env or {}), "HEAPTAPE_LIBRARY": LIBRARY}, **more)
    outcome.tapes = [Tape(path) for path in sorted(folder.iterdir())]
    return outcome


def rows(tape, query):
    return json.loads(demand("sql", "--format", "json", tape.path, query))


def all_errors(tape):
    """Every error of a tape, in no order."""
    memory = [Error(row["sort"], row["block"] or 0, row["block_size"], row["address"], row["length"], row["found"])
              for row in rows(tape, "SELECT * FROM memory_errors")]
    releases = [Error(row["sort"], row["address"], row["block_size"] or 0, row["address"], 0, "release")
                for row in rows(tape, "SELECT * FROM odd_calls WHERE sort <> 'failed'")]
    return memory + releases


def causes(tape):
    """The answer of heaptape errors, whose status has to fit."""
    result = heaptape("errors", "--json", tape.path)
    answer = json.loads(result.stdout)
    equal(result.returncode, 1 if answer["error_count"] else 0, f"status of errors: {result.stderr}")
    check(answer["checked"], "the tape says that the program was checked")
    return answer


def functions(stack):
    return [frame.get("function", "") for frame in stack]


def run_twins(test, name, kind, cases, *options, status=0, normal=None):
    """Runs cases of check_twins or check_twins_cpp, good or bad, in one process under heaptape check."""
    outcome = checked(test, [program(name), kind, *(case.text for case in cases), *(normal or [])], *options)
    equal(outcome.status, status, f"status of {kind} cases; stderr: {outcome.err.decode(errors='replace')[-2000:]}")
    lines = {}
    for line in outcome.out.decode().splitlines():
        text, address, size = line.rsplit(" ", 2)
        lines[text] = (int(address, 16), int(size))
    equal(set(lines), {case.text for case in cases}, "the cases that ran")
    return outcome, lines
