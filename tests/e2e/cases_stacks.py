"""Stacks of programs whose shape is known: the frames on the tape are those of the functions that ran."""

import json
from collections import Counter

from harness import PROGRAMS, case, check, each, equal, main, program
from symbols import Functions
from tape import demand

# The functions of tests/programs/stack_shapes.cpp that count as one level each.
LEVELS = ("descend", "descend_with_alloca")


def named_stacks(tape, file, *options, symbols_from=None):
    functions = Functions(symbols_from or file)
    cache = {}
    for event in tape.events(*options):
        if event.stack not in cache:
            cache[event.stack] = functions.names(event.stack, file)
        yield event, cache[event.stack]


@each(exceptions=("exceptions", 1500), longjmp=("longjmp", 1500), coroutines=("coroutines", 5000),
      alloca=("alloca", 3000))
def stacks_are_true_after(test, variant):
    shape, at_least = variant
    file = program("stack_shapes")
    outcome = test.record([file, shape])
    blocks = int(outcome.out.split()[0])
    check(blocks >= at_least, f"{blocks} blocks")
    seen = 0
    for event, names in named_stacks(outcome.tape, file):
        if event.kind == "malloc" and 10000 <= event.size < 11000:
            seen += 1
            equal(names[0], "make_block", f"innermost frame of event {event.number}")
            equal(sum(name in LEVELS for name in names), event.size - 10000, f"levels under event {event.number}: {names}")
            root = "coroutine" if shape == "coroutines" and event.size > 10000 else "main"
            check(root in names, f"event {event.number} reaches {root}: {names}")
    equal(seen, blocks, "blocks on the tape")
    equal(outcome.tape.losses().get("stack too deep", 0), 0, "stacks cut at the depth limit")


@each(pie="known_frames", frame_pointers="known_frames_fp", no_pie="known_frames_no_pie",
      stripped="known_frames_stripped", gaps_between_its_segments="known_frames_gaps")
def frames_lie_in_the_right_functions_of_a_program_with(test, name):
    file = program(name)
    symbols_from = program("known_frames") if "stripped" in name else file
    outcome = test.record([file])
    stacks = [names for event, names in named_stacks(outcome.tape, file, symbols_from=symbols_from) if event.size == 4321]
    equal(len(stacks), 10, "known blocks")
    for names in stacks:
        equal(names[:4], ["innermost", "middle", "outermost", "main"], "frames")
    equal(outcome.tape.losses().get("stack cut", 0), 0, "stacks cut short")


@case
def a_program_with_gaps_between_its_segments_is_one_module_with_its_build_id(test):
    file = program("known_frames_gaps")
    info = json.loads(demand("info", "--json", test.record([file]).tape.path))
    equal([len(module["build_id"]) for module in info["modules"] if module["path"] == file], [40], "modules of the program")


@case
def frames_of_the_recorder_never_appear(test):
    for command in ([program("stack_shapes"), "exceptions"], [program("count_calls"), "counters", "return", 2, 20]):
        for event in test.record(command).tape.events():
            for frame in event.stack:
                check("libheaptape" not in frame.module, f"event {event.number} has a frame in {frame.module}")


@case
def a_stack_of_10000_frames_is_cut_and_the_cut_is_counted(test):
    outcome = test.record([program("stack_shapes"), "deep", 10000])
    equal(outcome.out, b"20000 blocks\n", "output")
    tape = outcome.tape
    tape.verify()
    # Whole stacks of all events would be gigabytes of text: look at some of the deepest.
    deepest = next(event.number for event in tape.events("--kind", "malloc", stacks=False) if event.size == 20000)
    depths = {len(event.stack) for event in tape.events("--from", deepest - 10, "--to", deepest + 10)}
    equal(len(depths), 1, f"depths of the cut stacks {depths}")
    kept = depths.pop()
    check(256 <= kept < 10000, f"{kept} frames are kept")
    cut = tape.losses().get("stack too deep", 0)
    check(cut > 0, "cut stacks are counted")


@case
def max_depth_keeps_the_innermost_frames(test):
    file = program("stack_shapes")
    outcome = test.record([file, "deep", 100], options=["--max-depth", "10"])
    stacks = [names for event, names in named_stacks(outcome.tape, file) if event.size == 10100]
    equal(len(stacks), 2, "blocks at the deepest level")
    for names in stacks:
        equal(names, ["make_block"] + ["descend"] * 9, "frames")


@case
def a_deep_limit_gives_the_whole_stack(test):
    file = program("stack_shapes")
    outcome = test.record([file, "deep", 1200], options=["--max-depth", "2000"])
    deep = list(named_stacks(outcome.tape, file, "--where", "size>=11050 and size<14000"))  # deeper than the usual limit
    equal(len(deep), 2 * 151, "blocks of the deepest levels")
    for event, names in deep:
        equal(sum(name in LEVELS for name in names), event.size - 10000, f"levels under event {event.number}")
    equal(outcome.tape.losses().get("stack too deep", 0), 0, "stacks cut")


@case
def a_library_loaded_at_the_address_of_another_is_told_apart(test):
    libraries = [PROGRAMS / "libplugin_a.so", PROGRAMS / "libplugin_b.so"]
    outcome = test.record([program("plugins"), *libraries, 100])
    equal(outcome.status, 0, "status")
    same_address = int(outcome.err.split()[0])
    check(same_address > 10, f"the libraries shared an address {same_address} times only")
    events = outcome.tape.events(modules_change=True)
    for number, library in enumerate(libraries):
        modules = Counter(event.stack[0].module for event in events if event.size == 2001 + number)
        equal(modules, {library.name: 250}, f"where the blocks of {library.name} come from")


@each(on_the_normal_stack="plain", on_an_alternate_stack="altstack", at_profiling_signals="profiling")
def a_signal_handler_that_allocates_is_recorded(test, mode):
    file = program("signal_handlers")
    outcome = test.record([file, mode])
    in_main, in_handler, _ = map(int, outcome.out.split())
    check(in_handler > 20, f"the handler ran {in_handler} times only")
    tape = outcome.tape
    tape.verify()
    sizes = tape.sizes()
    equal(sizes[300], in_main, "blocks of the main flow")
    equal(sizes[400], in_handler, "blocks of the handler")
    equal(tape.losses().get("abandoned hook", 0), 0, "abandoned hooks")


@case
def a_handler_that_jumps_out_of_malloc_loses_only_what_it_left(test):
    outcome = test.record([program("signal_handlers"), "longjmp"])
    equal(outcome.status, 0, "status")
    in_main, in_handler, jumps = map(int, outcome.out.split())
    tape = outcome.tape
    tape.verify()
    sizes = tape.sizes()
    check(in_main <= sizes[300] <= in_main + jumps, f"{in_main} blocks, {jumps} jumps, {sizes[300]} events")
    equal(sizes[400], in_handler, "blocks of the handler")
    check(tape.losses().get("abandoned hook", 0) <= jumps, "no more hooks abandoned than jumps made")


if __name__ == "__main__":
    raise SystemExit(main())
