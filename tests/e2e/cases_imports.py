"""Imports of heaptrack's files."""

import re

from exports import export, folded_sum, make_tape, run
from harness import case, check, each, equal, installed, main, need, program
from tape import Tape, heaptape


def imported(test, file):
    path = test.work / "imported.tape"
    result = heaptape("import", "heaptrack", "--force", "-o", path, file)
    equal(result.returncode, 0, f"status of import: {result.stderr}")
    tape = Tape(path)
    tape.verify()
    return tape


@case
def an_imported_heaptrack_file_has_heaptracks_figures(test):
    heaptrack, judge = installed("heaptrack", "heaptrack_print")
    # Newer ones open a window at the end unless told otherwise.
    options = ["--record-only"] if "--record-only" in run(heaptrack, "--help") else []
    outcome = test.run([heaptrack, *options, "-o", test.work / "theirs", program("count_calls"), "counters", "return", 3, 40])
    files = [path for path in test.work.iterdir() if path.name.startswith("theirs")]
    need(len(files) == 1, f"heaptrack does not work here: {outcome.err[-500:]}")
    facts = imported(test, files[0]).facts()
    for cost, fact in {"peak": "peak_bytes", "leaked": "live_bytes", "allocations": "allocated_blocks"}.items():
        run(judge, "-f", files[0], "-F", test.work / "folded", "--flamegraph-cost-type", cost)
        equal(facts[fact], folded_sum((test.work / "folded").read_text()), cost)
    text = heaptape("export", "--format", "folded", "--names", "full", test.work / "imported.tape").stdout
    check("main" in text, f"names are kept:\n{text[:1000]}")


@case
def a_tape_survives_the_way_to_heaptrack_and_back(test):
    tape = make_tape(test)
    before = tape.facts()
    after = imported(test, export(test, tape, "heaptrack", suffix=".zst")).facts()
    for fact in ("allocated_bytes", "allocated_blocks", "peak_bytes", "live_bytes", "live_blocks", "command"):
        equal(after[fact], before[fact], fact)
    stacks = [heaptape("export", "--format", "folded", "--names", "full", path).stdout for path in (tape.path, test.work / "imported.tape")]
    # Where a module begins is lost on the way.
    unplaced = [sorted(re.sub(r"\+0x[0-9a-f]+", "", text).splitlines()) for text in stacks]
    equal(unplaced[1], unplaced[0], "stacks")


@each(a_missing_file=None, an_empty_file=b"", some_text=b"hello\n", a_damaged_file=b"v 10400 3\n+ 5\n",
      broken_packing=b"\x28\xb5\x2f\xfdxxxxxxxx", a_newer_file=b"v 20000 9\n")
def import_refuses_in_one_sentence(test, content):
    path = test.work / "x.zst"
    if content is not None:
        path.write_bytes(content)
    result = heaptape("import", "heaptrack", "-o", test.work / "new.tape", path)
    equal(result.returncode, 2, "status")
    check(result.stderr.startswith("heaptape: ") and "x.zst" in result.stderr, f"stderr: {result.stderr}")
    equal(len(result.stderr.splitlines()), 1, "lines on stderr")
    check(not (test.work / "new.tape").exists(), "no tape is left")


if __name__ == "__main__":
    raise SystemExit(main())
