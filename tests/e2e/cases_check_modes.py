"""heaptape check: guarded blocks, and what its options do."""

import signal

from checking import all_errors, causes, checked, functions
from harness import HEAPTAPE, LIBRARY, case, check, each, equal, main, program
from tape import Tape, heaptape

DIED = 128 + signal.SIGSEGV

# What is done, on which side the block lies, and the sort of the error.
FAULTS = {"read_behind": ("read-behind", "right", "read-outside"), "write_behind": ("write-behind", "right", "write-outside"),
          "read_before": ("read-before", "left", "read-outside"), "write_before": ("write-before", "left", "write-outside"),
          "read_freed": ("read-freed", "right", "read-freed"), "write_freed": ("write-freed", "left", "write-into-freed")}


@each(**FAULTS)
def an_access_that_misses_a_guarded_block_is_found_at_its_instruction(test, fault):
    what, side, sort = fault
    outcome = checked(test, [program("guarded_accesses"), what], "--mode", "guard", "--guard-side", side)
    equal((outcome.status, outcome.out), (DIED, f"{what}\n".encode()), f"status and output: {outcome.err}")
    answer = causes(outcome.tape)
    equal([error["sort"] for error in answer["errors"]], [sort], "sorts")
    error = answer["errors"][0]
    equal((error["found"], error["length"]), ("access", 1), "found at, and bytes")
    equal(functions(error["stack"])[0], f"{what.split('-')[0]}_byte", "the function that did it")
    equal(functions(error["block"]["allocated"]["stack"])[0], "make", "who made the block")
    check(("released" in error["block"]) == ("freed" in what), f"released: {error['block']}")


@each(right=("right", "good"), left=("left", "good"), many=("right", "many"), random=("random", "many"))
def a_program_that_stays_in_its_guarded_blocks_is_left_alone(test, side_and_what):
    side, what = side_and_what
    outcome = checked(test, [program("guarded_accesses"), what], "--mode", "guard", "--guard-side", side)
    equal((outcome.status, outcome.out), (0, f"{what}\n".encode()), f"status and output: {outcome.err}")
    equal(causes(outcome.tape)["errors"], [], "errors")


@case
def a_write_between_a_guarded_block_and_its_guard_is_found_when_it_is_released(test):
    outcome = checked(test, [program("guarded_accesses"), "slack"], "--mode", "guard")
    equal([(error.sort, error.size, error.found) for error in all_errors(outcome.tape)], [("write-behind", 60, "release")], "errors")


@each(read_behind=("read-behind", "read-outside"), read_freed=("read-freed", "read-freed"), write_freed=("write-freed", "write-into-freed"))
def a_program_that_samples_goes_on_after_an_error(test, what_and_sort):
    what, sort = what_and_sort
    outcome = checked(test, [program("guarded_accesses"), what], "--mode", "sample", "--sample-every", "1")
    equal((outcome.status, outcome.out), (0, f"{what}\n".encode()), f"status and output: {outcome.err}")
    equal([error.sort for error in all_errors(outcome.tape)], [sort], "errors")
    equal(functions(causes(outcome.tape)["errors"][0]["stack"])[0], f"{what.split('-')[0]}_byte", "the function that did it")


@case
def blocks_of_other_sizes_are_checked_instead_of_guarded(test):
    outcome = checked(test, [program("guarded_accesses"), "write-behind"], "--mode", "guard", "--guard-size", "100-200")
    equal((outcome.status, [error.sort for error in all_errors(outcome.tape)]), (0, ["write-behind"]), "status and errors")


def ends_with(test, words, *options):
    return checked(test, [program("guarded_accesses"), *words], *options).status


@case
def an_exit_status_for_errors_is_given_where_there_are_any(test):
    equal(ends_with(test, ["write-behind"], "--error-exitcode", "99"), 99, "with an error")
    equal(ends_with(test, ["write-behind"]), 0, "without the option: the program's own")
    equal(ends_with(test, ["good"], "--error-exitcode", "99"), 0, "without an error")
    equal(ends_with(test, ["leak"], "--error-exitcode", "99"), 0, "what is lost does not count")
    equal(ends_with(test, ["leak"], "--error-exitcode", "99", "--leak-check"), 99, "unless it is asked for")
    equal(ends_with(test, ["good"], "--error-exitcode", "99", "--leak-check"), 0, "and nothing is lost")


@case
def what_is_lost_is_said_at_the_end(test):
    outcome = checked(test, [program("guarded_accesses"), "leak"], "--leak-check")
    text = outcome.err.decode()
    check("definitely lost     1.00 kB in 10 blocks" in text and "make guarded_accesses.c" in text, text)


@case
def at_an_error_the_program_ends_where_that_is_wanted(test):
    outcome = checked(test, [program("guarded_accesses"), "write-behind"], "--on-error", "abort")
    equal((outcome.status, len(all_errors(outcome.tape))), (128 + signal.SIGABRT, 1), f"status and errors: {outcome.err}")
    outcome = checked(test, [program("guarded_accesses"), "read-behind"], "--on-error", "abort", "--mode", "sample", "--sample-every", "1")
    equal((outcome.status, len(all_errors(outcome.tape))), (128 + signal.SIGABRT, 1), f"of a sampled block: {outcome.err}")


@case
def a_program_asks_for_a_look_at_all_blocks(test):
    outcome = checked(test, [program("guarded_accesses"), "asked"])
    equal((outcome.status, outcome.out), (0, b"asked\n0 1\n"), f"status and output: {outcome.err}")
    equal([(error.sort, error.found) for error in all_errors(outcome.tape)], [("write-behind", "request")], "errors")
    plain = test.run([program("guarded_accesses"), "asked"])
    equal(plain.out, b"asked\n-1 -1\n", "without checks")


@case
def damage_is_found_sooner_when_all_blocks_are_looked_at_now_and_then(test):
    outcome = checked(test, [program("guarded_accesses"), "late"], "--check-every", "1M")
    equal([(error.sort, error.found) for error in all_errors(outcome.tape)], [("write-behind", "request")], "errors")
    outcome = checked(test, [program("guarded_accesses"), "late"])
    equal([(error.sort, error.found) for error in all_errors(outcome.tape)], [("write-behind", "release")], "errors")


HUNTS = {"behind": ("slack", "write-behind", "write-outside"), "before": ("write-before", "write-before", "write-outside"),
         "freed": ("write-freed", "write-freed", "write-into-freed")}


@each(**HUNTS)
def a_late_finding_is_hunted_down_to_its_instruction(test, hunt):
    what, late, caught = hunt
    first = checked(test, [program("guarded_accesses"), what])
    equal([error.sort for error in all_errors(first.tape)], [late], "what was found late")
    folder = test.new_tapes_folder()
    outcome = test.run([HEAPTAPE, "hunt", "-o", f"{folder}/hunt.tape", first.tape.path], env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal((outcome.status, outcome.out), (DIED, f"{what}\n".encode()), f"status and output: {outcome.err}")
    answer = causes(Tape(folder / "hunt.tape"))
    equal([(error["sort"], error["found"]) for error in answer["errors"]], [(caught, "access")], "errors")
    equal(functions(answer["errors"][0]["stack"])[0], "write_byte", "the function that did it")


@case
def where_there_is_nothing_to_hunt_a_sentence_says_so(test):
    good = checked(test, [program("guarded_accesses"), "good"])
    result = heaptape("hunt", good.tape.path)
    equal((result.returncode, "no memory errors" in result.stderr), (2, True), result.stderr)
    bad = checked(test, [program("guarded_accesses"), "write-behind"])
    result = heaptape("hunt", "--error", "2", bad.tape.path)
    equal((result.returncode, "not 2" in result.stderr), (2, True), result.stderr)
    caught = checked(test, [program("guarded_accesses"), "write-behind"], "--mode", "guard")
    result = heaptape("hunt", caught.tape.path)
    equal((result.returncode, "nothing to hunt" in result.stderr), (2, True), result.stderr)


@case
def suppressed_errors_do_not_count(test):
    outcome = checked(test, [program("guarded_accesses"), "write-behind"])
    entries = heaptape("errors", "--gen-suppressions", outcome.tape.path).stdout
    file = test.work / "known.supp"
    file.write_text(entries)
    outcome = checked(test, [program("guarded_accesses"), "write-behind"], "--suppressions", str(file), "--error-exitcode", "99")
    equal(outcome.status, 0, outcome.err)


@case
def the_fill_of_released_memory_can_be_chosen(test):
    outcome = checked(test, [program("guarded_accesses"), "write-freed"], "--stomp", "0x07")
    equal(all_errors(outcome.tape), [], "the program wrote what is there anyway")
    outcome = checked(test, [program("guarded_accesses"), "write-freed"], "--stomp", "a5")
    equal([error.sort for error in all_errors(outcome.tape)], ["write-freed"], "errors")


WRONG = {"mode": (["--mode", "wild"], "wild"), "byte": (["--stomp", "123"], "two hexadecimal digits"),
         "side_alone": (["--guard-side", "left"], "--mode guard"), "sizes": (["--mode", "guard", "--guard-size", "x-"], "--guard-size"),
         "no_heap": (["--no-heap", "--cpu"], "--no-heap"), "quarantine": (["--quarantine", "much"], "--quarantine"),
         "leaks_of_samples": (["--mode", "sample", "--leak-check"], "--leak-check"),
         "supp": (["--suppressions", "/nowhere.supp"], "/nowhere.supp")}


@each(**WRONG)
def a_wrong_option_is_refused_in_one_sentence(test, options_and_word):
    options, word = options_and_word
    result = heaptape("check", *options, "--", program("guarded_accesses"))
    equal(result.returncode, 2, result.stderr)
    check(word in result.stderr and result.stdout == "", f"{result.stderr} {result.stdout}")


@case
def what_else_check_may_mean_is_understood(test):
    outcome = checked(test, [program("guarded_accesses"), "good"])
    for words, said in ((["check", outcome.tape.path], "verify"), (["check", "heap", outcome.tape.path], "check-heap")):
        check(f"heaptape {said}" in heaptape(*words).stderr, words)


if __name__ == "__main__":
    raise SystemExit(main())
