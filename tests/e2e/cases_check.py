"""heaptape check: what bad programs do is found, with the block and who made it; of their good twins nothing is said."""

import re
import signal

from checking import all_errors, causes, checked, functions, run_twins
from harness import case, check, each, equal, main, program
from tape import heaptape
from twins import ALONE, ENDS, IN_C, IN_CPP, Twin, late, over, under

GROUPS = {name: (of, group) for of, groups in (("check_twins", IN_C), ("check_twins_cpp", IN_CPP)) for name, group in groups.items()}
WRITES = ("write-behind", "write-before", "write-freed")


def is_of(error, twin, address):
    """Whether an error is what has to be found."""
    if twin.sort not in WRITES:
        # A block that was released already may have gone to somebody else, whose size it then is.
        # Of an address the records keep 48 bits, which is all that a processor uses.
        return error.sort == twin.sort and address & (1 << 48) - 1 in (error.block, error.address)
    if twin.size < 0:  # the line has the address that was written to
        return error.sort == twin.sort and error.address == address
    if "cut" in twin.words:
        # What realloc has cut off is behind the block where that stayed, and in a released block where it moved.
        kept = twin.size - twin.size // 2
        return (error.sort, error.block, error.size) in ((twin.sort, address, twin.size), (twin.sort, address, kept),
                                                         ("write-behind", address, kept))
    if twin.sort == "write-before" and twin.length >= 16 and error.sort == "write-behind":
        # All that is between two blocks was written, and it may have been either's fault.
        return (error.address, error.length) == (address - twin.length, twin.length)
    return (error.sort, error.block, error.size) == (twin.sort, address, twin.size) and twin.length in (0, error.length)


def judge(cases, lines, errors):
    """Each case has its error, and there are no others."""
    left = list(errors)
    missing = []
    for twin in cases:
        fitting = next((error for error in left if is_of(error, twin, lines[twin.text][0])), None)
        if fitting:
            left.remove(fitting)
        else:
            missing.append(f"{twin.text} at {lines[twin.text][0]:#x}")
    check(not missing and not left, f"{len(missing)} of {len(cases)} were not found:\n  " + "\n  ".join(missing[:30]) +
          "\nand these are too many:\n  " + "\n  ".join(map(str, left[:30])))


def judge_causes(tape, cases):
    """By cause: all are there, and the stacks of where they were found are whole."""
    answer = causes(tape)
    equal(answer["error_count"], len(cases), "errors")
    for error in answer["errors"]:
        if error["found"] in ("exit", "crash") or not error["stack"]:
            continue
        check({"run_all", "run_in_thread", "release_in_thread", "handle"} & set(functions(error["stack"])),
              f"the stack of where it was found begins in main or in a thread: {error}")


@each(**GROUPS)
def bad_twins_are_found(test, program_and_group):
    name, group = program_and_group
    cases = [twin for twin in group if not twin.full]
    outcome, lines = run_twins(test, name, "bad", cases)
    judge(cases, lines, all_errors(outcome.tape))
    judge_causes(outcome.tape, cases)


@each(**{name: pair for name, pair in GROUPS.items() if any(twin.full for twin in pair[1])})
def the_full_mode_looks_at_every_byte(test, program_and_group):
    name, group = program_and_group
    outcome, lines = run_twins(test, name, "bad", group, "--mode", "full")
    judge(group, lines, all_errors(outcome.tape))
    outcome, _ = run_twins(test, name, "good", group, "--mode", "full")
    equal(all_errors(outcome.tape), [], "errors of the good twins")


@each(**{re.sub(r"\W+", "_", twin.text): twin for twin in ALONE})
def writes_that_reach_far_are_found(test, twin):
    outcome, lines = run_twins(test, "check_twins", "bad", [twin])
    block, size = lines[twin.text]
    errors = all_errors(outcome.tape)
    if twin.sort == "write-both":
        equal({(error.sort, error.block, error.size) for error in errors},
              {(sort, block, size) for sort in ("write-behind", "write-before")}, "errors")
    else:
        check(any((error.sort, error.block, error.address) == ("write-behind", block, block + size) for error in errors), f"{errors}")
    outcome, _ = run_twins(test, "check_twins", "good", [twin])
    equal(all_errors(outcome.tape), [], "errors of the good twin")


AT_END = [over("malloc", 24, "store", 1, "kept"), under("malloc", 1000, "store", 4, "kept"), late("freed", "malloc", 100, "store", 1, "first"),
          over("calloc", 300_000, "store", 8, "kept")]


@each(**{f"by_{how}": how for how in ENDS})
def what_nobody_releases_is_found_when_the_program_ends(test, how):
    status = ENDS[how]
    outcome, lines = run_twins(test, "check_twins", "bad", AT_END, status=status, normal=[f"end={how}"])
    errors = all_errors(outcome.tape)
    judge(AT_END, lines, errors)
    crashes = status > 128
    equal({error.found for error in errors}, {"crash" if crashes else "exit"}, "when it was found")
    outcome, _ = run_twins(test, "check_twins", "good", AT_END, status=status, normal=[f"end={how}"])
    equal(all_errors(outcome.tape), [], "errors of the good twins")


@case
def the_stacks_lead_to_who_made_the_block_and_who_released_it(test):
    twins = [over("calloc", 24, "store", 1, "free"), late("freed", "memalign", 64, "store", 1, "first")]
    outcome, _ = run_twins(test, "check_twins", "bad", twins)
    behind, freed = sorted(causes(outcome.tape)["errors"], key=lambda error: error["sort"])
    equal((behind["sort"], freed["sort"]), ("write-behind", "write-freed"), "sorts")
    equal((behind["found"], freed["found"]), ("release", "exit"), "when they were found")
    check("make_calloc" in functions(behind["block"]["allocated"]["stack"]), behind)
    check("release_free" in functions(behind["stack"]), behind)
    check("make_memalign" in functions(freed["block"]["allocated"]["stack"]), freed)
    check("release_free" in functions(freed["block"]["released"]["stack"]), freed)


@case
def errors_of_a_forked_child_are_on_its_tape(test):
    twins = [over("malloc", 24, "store", 1, "free", "fork/"), late("freed", "malloc", 64, "store", 1, "first", "fork/"),
             over("malloc", 70_000, "store", 8, "kept", "fork/")]
    for twin in twins:
        outcome = checked(test, [program("check_twins"), "bad", twin.text], "--follow")
        equal((outcome.status, len(outcome.tapes)), (0, 2), f"status and tapes: {outcome.err}")
        found = [error for tape in outcome.tapes for error in all_errors(tape)]
        address = int(outcome.out.split()[1], 16)
        check(len(found) == 1 and is_of(found[0], twin, address), f"{twin.text}: {found}")
        outcome = checked(test, [program("check_twins"), "good", twin.text], "--follow")
        equal([error for tape in outcome.tapes for error in all_errors(tape)], [], "errors of the good twin")


@case
def a_block_of_the_parent_that_the_child_writes_over_is_the_childs_error(test):
    twin = Twin("child:24", "write-behind", 24, 1)
    outcome = checked(test, [program("check_twins"), "bad", twin.text], "--follow")
    by_tape = sorted((len(all_errors(tape)) for tape in outcome.tapes))
    equal((outcome.status, by_tape), (0, [0, 1]), "status, and errors on the two tapes")
    outcome = checked(test, [program("check_twins"), "bad", twin.text])
    equal((outcome.status, all_errors(outcome.tape)), (0, []), "without --follow the child is not looked at")


@case
def a_forked_child_that_is_not_recorded_goes_on_with_the_allocator(test):
    # It needs more memory for what is known of blocks, and there is nobody who could be told.
    for many in ("1", "300000"):
        outcome = checked(test, [program("check_twins"), "good", f"many:{many}"])
        equal((outcome.status, all_errors(outcome.tape)), (0, []), f"status, and errors, with {many} blocks")


def comparable(outcome):
    return outcome.status, *(re.sub(rb"0x[0-9a-f]+", b"ADDRESS", output) for output in (outcome.out, outcome.err))


@each(in_c=("check_twins", IN_C), in_cpp=("check_twins_cpp", IN_CPP))
def good_twins_raise_no_alarm_and_run_as_without_checks(test, name_and_groups):
    name, groups = name_and_groups
    cases = [twin for group in groups.values() for twin in group]
    outcome, _ = run_twins(test, name, "good", cases)
    equal(all_errors(outcome.tape), [], "errors")
    equal(causes(outcome.tape)["error_count"], 0, "errors by cause")
    # All that malloc_usable_size() allows is more without checks.
    plain = test.run([program(name), "good", *(twin.text for twin in cases)])
    for what, got, expected in zip(("status", "stdout", "stderr"), comparable(outcome), comparable(plain)):
        equal(re.sub(rb"(usable\S+ ADDRESS) \d+", rb"\1", got) if what == "stdout" else got,
              re.sub(rb"(usable\S+ ADDRESS) \d+", rb"\1", expected) if what == "stdout" else expected, what)


if __name__ == "__main__":
    raise SystemExit(main())
