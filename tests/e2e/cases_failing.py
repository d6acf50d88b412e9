"""check --mode fail: chosen allocations get no memory; who takes it badly is named, who takes it well is not."""

import re
import signal

from harness import case, check, descendants, each, equal, main, program, wait_until
from tape import HEAPTAPE, heaptape

CASES = "failing_cases"
CRASHES = {
    "malloc": ("SIGSEGV", "malloc of 77 bytes"),
    "calloc": ("SIGSEGV", "calloc of 77 bytes"),
    "valloc": ("SIGSEGV", "valloc of 77 bytes"),
    "aligned_alloc": ("SIGSEGV", "aligned_alloc of 77 bytes"),
    "reallocarray": ("SIGSEGV", "reallocarray of 77 bytes"),
    "strdup": ("SIGSEGV", "malloc of 6 bytes"),
    "realloc": ("SIGSEGV", "realloc of 77 bytes"),
    "posix_memalign": ("SIGSEGV", "posix_memalign of 77 bytes"),
    "fopen": ("SIGSEGV", "malloc of "),
    "getline": ("SIGSEGV", "malloc of 120 bytes"),
    "new": ("SIGABRT", "new[] of 77 bytes"),
    "nothrow_new": ("SIGSEGV", "new[] of 77 bytes"),
    "aligned_new": ("SIGABRT", "new of 128 bytes"),
    "thread": ("SIGSEGV", "malloc of 77 bytes"),
    "callback": ("SIGSEGV", "malloc of 77 bytes"),
    "new_handler": ("SIGABRT", "new[] of 77 bytes"),
    "container": ("SIGABRT", "new of 78 bytes"),
    "error_path": ("1 memory error", "malloc of 77 bytes"),
    "constructor": ("1 memory error", "new[] of 77 bytes"),
}


def fail(test, *words, status=None):
    outcome = heaptape("check", "--mode", "fail", *words, cwd=test.work)
    if status is not None:
        equal(outcome.returncode, status, f"status: {outcome.stdout}{outcome.stderr}")
    return outcome


def chosen(test, what, *options, status):
    """What is said about one run of a case that takes failures well."""
    return fail(test, *options, "--", program(CASES), what, "good", status=status).stderr


def kept(test):
    return sorted(path.name for path in test.work.glob("*.tape"))


@each(**{name: name for name in CRASHES})
def a_sweep_finds_what_is_done_without_the_memory(test, what):
    ending, call = CRASHES[what]
    outcome = fail(test, "--sweep", "--", program(CASES), what, "bad", status=1)
    check(re.search(f": {ending}( in [^\n]*)? after {re.escape(call)}", outcome.stdout), f"what was found:\n{outcome.stdout}{outcome.stderr}")
    check(kept(test), "a tape was kept")
    for name in kept(test):
        check(name in outcome.stdout, f"{name} is named:\n{outcome.stdout}")
        equal(heaptape("info", name, cwd=test.work).returncode, 0, f"{name} can be read")


@each(**{name: name for name in CRASHES})
def a_sweep_has_nothing_to_say_about_a_program_that_looks(test, what):
    outcome = fail(test, "--sweep", "--", program(CASES), what, "good", status=0)
    check("failing in each" in outcome.stdout and " after " not in outcome.stdout, outcome.stdout)
    equal(kept(test), [], "tapes")


@case
def a_run_that_does_not_end_is_ended_and_named(test):
    outcome = fail(test, "--sweep", "--", program(CASES), "loop", "bad", status=1)
    check("allocation 1: did not end after malloc of 77 bytes in by_loop" in outcome.stdout, outcome.stdout)


@case
def a_sweep_that_is_interrupted_says_what_it_has(test):
    process = test.start([HEAPTAPE, "check", "--mode", "fail", "--sweep", "--", program(CASES), "loop", "bad"])

    def is_under_way():
        for pid in descendants(process.pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as words:
                    if b"--fail-nth\x001\x00" in words.read():
                        return True
            except OSError:
                pass
        return False

    wait_until(is_under_way, "the run that does not end")
    process.send_signal(signal.SIGINT)
    outcome = test.finish(process)
    equal(outcome.status, 128 + signal.SIGINT, "status")
    check("broken off after 0 runs" in str(outcome.err), str(outcome.err))


@case
def the_chosen_allocation_is_named_with_its_number(test):
    text = chosen(test, "realloc", "--fail-nth", "2", status=3)
    check("1 allocation failed on purpose: realloc of 77 bytes in " in text and "(allocation 2 of 2)" in text, text)
    check("the program went on and exited with status 3" in text, text)
    text = fail(test, "--fail-nth", "1", "--", program(CASES), "calloc", "bad", status=128 + signal.SIGSEGV).stderr
    check("calloc of 77 bytes" in text and "the program died of SIGSEGV" in text, text)


@case
def what_is_never_reached_is_said(test):
    text = chosen(test, "malloc", "--fail-nth", "9", status=0)
    check("no allocation failed on purpose; 1 could have" in text, text)


@case
def a_sweep_with_nothing_to_try_says_so(test):
    text = fail(test, "--sweep", "--fail-above", "1G", "--", program(CASES), "malloc", "good", status=0).stderr
    check("no allocation that could fail" in text, text)
    text = fail(test, "--sweep", "--", "./no_such_program", status=127).stderr
    check("no_such_program" in text, text)


@case
def conditions_combine(test):
    check("2 allocations of 2 failed" not in chosen(test, "realloc", "--fail-above", "10", status=3), "only the larger one")
    check("realloc of 77 bytes in " in chosen(test, "realloc", "--fail-above", "10", status=3), "above")
    check("malloc of 10 bytes in " in chosen(test, "realloc", "--fail-below", "77", status=3), "below")
    check("(allocation 1 of 1)" in chosen(test, "realloc", "--fail-above", "10", "--fail-nth", "1", status=3), "counted are those meant")
    check("malloc of 10 bytes in " in chosen(test, "realloc", "--fail-in", CASES, "--fail-nth", "1", status=3), "of the program")
    check("no allocation failed" in chosen(test, "realloc", "--fail-in", "libc", status=0), "the program's are not libc's")
    check("malloc of 6 bytes in " in chosen(test, "strdup", "--fail-in", "libc", status=3), "strdup's is libc's")


@case
def a_function_is_found_in_the_program_and_in_its_libraries(test):
    first = "--fail-nth", "1", "--fail-from"
    check("calloc of " in chosen(test, "getline", *first, "fmemopen", status=3), "a library's")
    check("by_getline" in chosen(test, "getline", *first, "by_getline", status=3), "the program's own, which is in no table of exports")
    text = chosen(test, "getline", *first, "by_fopen", status=0)
    check("no allocation failed on purpose; 0 could have" in text, text)
    check("malloc of 77 bytes in compare" in chosen(test, "callback", *first, "main", status=3), "through libc")


@case
def a_seed_repeats_itself(test):
    words = ("--fail-probability", "50%", "--fail-above", "1", "--seed")

    def numbers(seed):
        text = chosen(test, "container", *words, seed, status=None)
        return [line for line in text.splitlines() if "allocation " in line and "events" not in line]

    outcomes = {seed: numbers(seed) for seed in range(6)}
    check(len({str(lines) for lines in outcomes.values()}) > 1, f"seeds differ: {outcomes}")
    equal(numbers(3), outcomes[3], "the same again")


@each(nothing_chosen=((), "which allocations shall fail?"),
      another_mode=(("--mode", "full", "--fail-nth", "1"), "need"),
      probability=(("--fail-probability", "2"), "not a probability"),
      module=(("--fail-in", "a,b"), "not the name of a library"),
      function=(("--fail-from", "no_such_function"), "has a function 'no_such_function'"),
      sweep_of_zero=(("--sweep=0",), "not a number of runs"),
      empty_sizes=(("--fail-above", "10", "--fail-below", "11"), "no size is above 10 and below 11"),
      tape_of_a_sweep=(("--sweep", "-o", "x.tape"), "--sweep names the tapes itself"))
def options_that_make_no_sense_are_refused(test, options_and_words):
    options, words = options_and_words
    first = () if "--mode" in options else ("--mode", "fail")
    outcome = heaptape("check", *first, *options, "--", program(CASES), "malloc", "good", cwd=test.work)
    equal(outcome.returncode, 2, f"status: {outcome.stderr}")
    check(words in outcome.stderr, outcome.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
