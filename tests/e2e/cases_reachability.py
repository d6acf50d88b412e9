"""Whether the classes of lost blocks are true: programs that know the class of each of their blocks."""

import json
import re

from harness import case, check, check_installed_library, each, equal, main, program
from tape import demand
from waiting import Waiting

CLASSES = ("definitely lost", "indirectly lost", "possibly lost", "still reachable")


def leaks(tape, *options):
    return json.loads(demand("leaks", tape, "--json", *options))["leaks"]


def classes(answer):
    counts = {row["class"]: (row["blocks"], row["bytes"]) for row in answer["classes"]}
    return [counts[name] for name in CLASSES]


def functions(site):
    return [frame["function"] for frame in site["stack"]]


# Blocks of 32 bytes in the order of CLASSES.
CASES = {"cases": (3, 2, 7, 7), "trees": (5, 9, 3, 11), "rings": (4, 7, 2, 3)}


@each(**{name: name for name in CASES})
def strict_classes_are_those_of_memcheck_for(test, what):
    answer = leaks(Waiting(test, [program("leak_cases"), what]).tape, "--strict")
    equal(classes(answer), [(count, 32 * count) for count in CASES[what]], "classes")
    for kind in ("definitely", "possibly"):
        makers = {functions(site)[0] for site in answer[f"{kind}_lost"]}
        equal(makers, {kind}, f"who made what is {kind} lost")


# What one call loses: bytes of the block itself, and blocks and bytes that only it leads to.
PAIRS = {
    "Malloc": (100, 0, 0),
    "Calloc": (800, 0, 0),
    "Realloc": (20_000, 0, 0),
    "Strdup": (26, 0, 0),
    "New": (16, 0, 0),
    "NewArray": (80, 3, 144),
    "Object": (24, 1, 48),
    "Struct": (16, 1, 7),
}
WAYS = ("Plain", "Condition", "Switch", "Goto", "Loop", "Callback", "Container", "Destructor")


@each(glibc=None, jemalloc="libjemalloc.so.2", tcmalloc="libtcmalloc_minimal.so.4")
def of_sixty_four_pairs_the_bad_one_leaks_exactly_that_and_the_good_one_nothing_with(test, library):
    if library:
        check_installed_library(library)
    answer = leaks(Waiting(test, [program("leak_pairs")], env={"LD_PRELOAD": library} if library else {}).tape)
    equal(answer["possibly_lost"], [], "possibly lost")
    found = {}
    for site in answer["definitely_lost"]:
        name = next(name for name in functions(site) if name.startswith(("bad<", "good<")))
        check(name not in found, f"{name} leaks twice")
        found[name] = (site["blocks"], *(site[key] for key in ("bytes", "indirect_blocks", "indirect_bytes")))
    equal(found, {f"bad<{kind}, {way}>": (1, *sums) for kind, sums in PAIRS.items() for way in WAYS}, "what leaks")
    equal(answer["only_from_stacks_blocks"], 0, "blocks that a stale word seems to lead to")


# Of a program that ends at once: what the last calls have left on the stack lies where exit() has its own frames.
@each(**{half: half for half in ("bad", "good")})
def words_that_are_left_over_hide_nothing_at_the_end_of_the_one_that_is(test, half):
    for kind, (size, *below) in PAIRS.items():
        for way in WAYS:
            word = re.sub("(?<!^)([A-Z])", r"_\1", kind).lower()
            outcome = test.record([program("leak_pairs"), half, word, way.lower()], options=("--leaks",))
            answer = leaks(outcome.tapes[0].path)
            found = [[site[key] for key in ("blocks", "bytes", "indirect_blocks", "indirect_bytes")] for site in answer["definitely_lost"]]
            equal(found, [[1, size, *below]] if half == "bad" else [], f"{half} {kind} {way}")
            equal(answer["possibly_lost"], [], f"possibly lost, {half} {kind} {way}")


if __name__ == "__main__":
    main()
