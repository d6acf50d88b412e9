"""The C library's exact behaviour under the recorder, one event per logical allocation, and every stage of a process."""

from collections import Counter

from harness import LIBRARY, PROGRAMS, Skip, case, check, check_installed_library, each, equal, installed, main, program
from symbols import Functions


@each(c_functions="libc_odd_cases", operator_new="cpp_odd_cases", a_replaced_operator_new="own_new")
def odd_requests_get_the_same_answers_from(test, name):
    test.same([program(name)], events=10)


@case
def a_replaced_operator_new_and_its_malloc_are_one_block(test):
    outcome = test.record([program("own_new")])
    live = {}
    for event in outcome.tape.events():
        if event.size and event.kind not in ("realloc", "reallocarray"):
            check(event.address not in live, f"event {event.number} makes a block live twice")
        if event.size:
            live[event.address] = event
        else:
            live.pop(event.address, None)


@case
def a_malloc_in_a_shared_library_is_recorded_and_still_used(test):
    (outcome, _) = test.same([program("own_malloc_in_library")], events=2000)
    equal(outcome.out, b"1000 calls\n", "what the program's own malloc counted")
    equal(outcome.status, 5, "status")
    equal(outcome.tape.kinds(700)["malloc"], 1000, "events of the loop")


@case
def a_users_own_preloaded_library_still_wraps_malloc(test):
    wrapper = str(PROGRAMS / "libcounting_preload.so")
    outcomes = test.same([program("wrapped_blocks")], env={"LD_PRELOAD": wrapper}, forms=("record",), events=50)
    equal(outcomes[0].out, b"wrapped 25\n", "what the wrapper saw")
    equal(outcomes[0].tape.kinds(654)["malloc"], 25, "events")


@case
def a_wrapping_library_may_be_preloaded_before_or_behind_the_recorder(test):
    wrapper = str(PROGRAMS / "libcounting_preload.so")
    for preload in (f"{LIBRARY}:{wrapper}", f"{wrapper}:{LIBRARY}", f"{LIBRARY} {wrapper}"):
        folder = test.new_tapes_folder()
        words, variables = test.form("direct", [program("wrapped_blocks")], (), folder)
        outcome = test.run(words, env={**variables, "LD_PRELOAD": preload})
        equal(outcome.out, b"wrapped 25\n", f"what the wrapper saw with LD_PRELOAD={preload}")
        (tape,) = test.tapes()
        equal(tape.kinds(654)["malloc"], 25, f"events with LD_PRELOAD={preload}")


@each(jemalloc="libjemalloc.so.2", tcmalloc="libtcmalloc_minimal.so.4")
def a_preloaded_allocator_is_kept_and_recorded(test, library):
    # Not the counting program: it uses functions that these allocators lack, and libc's blocks are not theirs to free.
    check_installed_library(library)
    outcome = test.record([program("steady"), "stop", 5000], env={"LD_PRELOAD": library})
    equal((outcome.status, outcome.out), (8, b"ready\n0 wrong\n"), f"status and output; stderr: {outcome.err}")
    tape = outcome.tape
    tape.verify()
    check(any(library.split(".")[0] in module["path"] for module in tape.facts()["modules"]), f"{library} is loaded")
    made = sum(event.kind == "malloc" and 20 <= event.size < 520 for event in tape.events(stacks=False))
    check(10000 <= made <= 10005, f"10000 blocks were made, {made} are on the tape")


@each(an_allocator_of_its_own="own", malloc="by_malloc", malloc_for_large_blocks="large_by_malloc",
      free_for_delete_alone="delete_by_free")
def operator_new_of_an_unknown_library_is_one_event_a_block_when_it_uses(test, make):
    each_new_block_is_recorded_once(test, program(f"libother_new_{make}.so"))


@each(jemalloc="libjemalloc.so.2", tcmalloc="libtcmalloc_minimal.so.4")
def operator_new_is_one_event_a_block_with(test, library):
    check_installed_library(library)
    each_new_block_is_recorded_once(test, library)


@case
def operator_new_of_scudo_does_not_vanish(test):
    clang = installed("clang")
    name = "libclang_rt.scudo_standalone-x86_64.so"
    path = test.run([clang, f"--print-file-name={name}"]).out.decode().strip()
    if not path.startswith("/"):
        raise Skip(f"{name} is not installed")
    each_new_block_is_recorded_once(test, path)


def each_new_block_is_recorded_once(test, library):
    outcome = test.record([program("new_blocks")], env={"LD_PRELOAD": library})
    equal(outcome.status, 4, f"status; stderr: {outcome.err}")
    tape = outcome.tape
    tape.verify()
    events = tape.events(stacks=False)
    made = Counter(event.size for event in events if event.size in (701, 70002, 703))
    equal(made, {701: 1000, 70002: 500, 703: 250}, "blocks by size")
    live = {}
    for event in events:
        if event.size:
            live[event.address] = event.size
        else:
            live.pop(event.address, None)
    left = Counter(size for size in live.values() if size in made)
    equal(left, {701: 7, 70002: 7, 703: 7}, "blocks that are left at the end")


STAGES = {1001: "preinit", 1002: "constructor", 1003: "library constructor", 1004: "global constructor", 1005: "main",
          1006: "thread", 1007: "thread_local destructor", 1014: "thread-specific destructor"}
NORMAL_END = {1008: "main's thread_local destructor", 1009: "atexit", 1010: "global destructor", 1011: "destructor",
              1013: "library destructor"}
QUICK_END = {1012: "at_quick_exit"}


@each(a_normal_exit=([], NORMAL_END), quick_exit=(["quick"], QUICK_END))
def each_stage_of_a_process_is_recorded_up_to(test, variant):
    arguments, end = variant
    for form in ("record", "direct"):
        outcome = test.record([program("lifetime"), *arguments], form=form)
        events = outcome.tape.events()
        made = Counter(event.size for event in events if event.kind == "malloc")
        released = Counter(event.address for event in events if event.kind == "free")
        for size, stage in (STAGES | end).items():
            equal(made[size], 1, f"blocks of {stage} ({form})")
            block = next(event for event in events if event.size == size)
            check(released[block.address] >= 1, f"the block of {stage} is freed ({form})")
        for size in (NORMAL_END | QUICK_END).keys() - end.keys():
            equal(made[size], 0, f"blocks of size {size} ({form})")
        equal(outcome.tape.losses().get("before start", 0), 0, "calls before the recorder was ready")


@case
def mappings_are_events_of_their_own_kind(test):
    outcome = test.record([program("mappings")])
    equal(outcome.status, 0, "status")
    names = {"mmap": "mmap anonymous", "mmap-file": "mmap file", "munmap": "munmap", "mremap": "mremap"}
    expected = []
    for line in outcome.out.decode().splitlines():
        kind, address, size, old = line.split()
        expected.append((names[kind], int(address, 16), int(size), int(old, 16)))
    found = [(event.kind, event.address, event.size, event.old) for event in outcome.tape.events()
             if event.kind in names.values()]
    equal(found, expected, "mapping events in order")


@case
def an_event_has_number_time_thread_kind_address_size_and_stack(test):
    outcome = test.record([program("known_frames")])
    events = outcome.tape.events()
    equal([event.number for event in events], list(range(1, len(events) + 1)), "numbers")
    check(all(a.time_us <= b.time_us for a, b in zip(events, events[1:])), "time never goes back")
    for event in events:
        check(event.thread > 0 and event.kind and event.stack, f"event {event} is whole")
    made = [event for event in events if event.size == 4321]
    equal(len(made), 10, "known blocks")
    for event in made:
        end = next((e for e in events[event.number:] if e.kind == "free" and e.address == event.address), None)
        check(end and end.stack != event.stack, "each is freed, with the stack of the free")


@case
def without_free_stacks_only_frees_lack_a_stack(test):
    outcome = test.record([program("known_frames")], options=["--no-free-stacks"])
    for event in outcome.tape.events():
        equal(bool(event.stack), event.kind != "free", f"whether event {event.number} ({event.kind}) has a stack")


def live_blocks(events):
    """The blocks never released, by address."""
    live = {}
    for event in events:
        if "map" in event.kind:
            continue
        live.pop(event.old or event.address, None)
        if event.size:
            live[event.address] = event
    return live


@case
def asprintf_leaves_one_block_of_the_texts_size(test):
    outcome = test.record([program("formatted")])
    equal(outcome.status, 0, "status")
    left = Counter(event.size for event in live_blocks(outcome.tape.events()).values())
    for size in (*range(1501, 1511), *range(2501, 2511)):
        equal(left[size], 1, f"blocks of {size} bytes left")


@case
def each_asprintf_is_one_event(test):
    """The program allocates through asprintf and vasprintf alone, ten times each; what they do inside is not the user's."""
    file = program("formatted")
    outcome = test.record([file])
    functions = Functions(file)
    events = [event for event in outcome.tape.events() if "main" in functions.names(event.stack, file)]
    equal(len(events), 20, f"events under main: {Counter(event.kind for event in events)}")


@each(rust="known_sums_rust", d_with_ldc="known_sums_ldc", d_with_gdc="known_sums_gdc")
def known_sums_of_a_program_in(test, name):
    outcome = test.same([program(name)], events=990)[0]
    events = outcome.tape.events()
    equal(sum(event.size == 640 for event in events), 500, "blocks of 640 bytes")
    equal(sum(event.size == 640 for event in live_blocks(events).values()), 5, "of which are left")


@case
def redis_which_links_jemalloc_dynamically_is_recorded(test):
    redis = installed("redis-server")
    outcome = test.same([redis, "--version"], events=1)[0]
    check(b"Redis server" in outcome.out, "it runs")


if __name__ == "__main__":
    raise SystemExit(main())
