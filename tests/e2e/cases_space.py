"""The address space on a tape: heaps, arenas, stacks, modules and mappings are what the program itself says they are."""

import json

from harness import HEAPTAPE, case, check, each, equal, main, program


def places(output):
    """What the program arenas printed: {(what, number): address}; of several the last."""
    lines = [line.split() for line in output.decode().splitlines()]
    return {(what, int(number)): int(address, 16) for what, number, address in lines}


def ask(test, command, tape, *words):
    outcome = test.run([HEAPTAPE, command, tape.path, *words, "--json"])
    equal(outcome.status, 0, f"status of {command}; stderr: {outcome.err}")
    return json.loads(outcome.out)


def holder(ranges, address):
    found = [r for r in ranges if int(r["begin"], 16) <= address < int(r["end"], 16)]
    check(len(found) == 1, f"{address:#x} lies in one mapping, not in {len(found)}")
    return found[0]


@each(the_launcher="record", the_library_alone="direct")
def every_mapping_is_named_for_what_it_is_with(test, form):
    outcome = test.record([program("arenas")], form=form)
    equal(outcome.status, 0, "status")
    at = places(outcome.out)
    space = ask(test, "mappings", outcome.tape)
    check(space["from_kernel"], "the kernel was asked")
    ranges = space["mappings"]
    kind = lambda what, number=0: holder(ranges, at[what, number])["kind"]
    equal(kind("block"), "main_heap", "kind of the main thread's block")
    equal(kind("stack"), "main_stack", "kind of the main thread's stack")
    equal(kind("zeroed"), "module", "kind of a zeroed variable")
    equal(kind("code"), "module", "kind of code")
    check(holder(ranges, at["code", 0])["name"].endswith("/arenas"), "code is named after its file")
    check("libc" in holder(ranges, at["library", 0])["name"], "the library's code is named after its file")
    for number in range(1, 5):
        equal(kind("block", number), "thread_arena", f"kind of thread {number}'s block")
        equal(kind("stack", number), "thread_stack", f"kind of thread {number}'s stack")
    equal(len({holder(ranges, at["block", n])["begin"] for n in range(1, 5)}), 4, "arenas")
    equal(len({holder(ranges, at["stack", n])["thread"] for n in range(1, 5)}), 4, "threads with a stack")
    own, reserve = holder(ranges, at["mmap", 0]), holder(ranges, at["reserve", 0])
    equal((own["kind"], own["bytes"], own["committed_bytes"]), ("anonymous", 300 * 4096, 300 * 4096), "the own mapping")
    equal((reserve["kind"], reserve["bytes"], reserve["committed_bytes"]), ("anonymous", 70 * 4096, 0), "the reserve")
    check(0 < own["event"] < reserve["event"], "both name the event that made them")
    equal(kind("large"), "anonymous", "kind of the large block's mapping")


@case
def each_thread_has_its_arena(test):
    outcome = test.recording_of([program("arenas")])
    at = places(outcome.out)
    answer = ask(test, "arenas", outcome.tape)
    equal(answer["allocator"], "glibc", "allocator")
    arenas = answer["arenas"]
    equal(arenas[0]["kind"], "main_heap", "the first arena")
    own = [arena for arena in arenas if arena["kind"] == "thread_arena"]
    equal(len(own), 4, "thread arenas")
    for number in range(1, 5):
        mine = [arena for arena in own if holds(arena, at["block", number])]
        equal(len(mine), 1, f"arenas with thread {number}'s block")
        equal(len(mine[0]["threads"]), 1, "threads in it")
        check(mine[0]["threads"][0]["home"], "the thread is at home there")
        check(mine[0]["live_blocks"] >= 100 and mine[0]["live_bytes"] >= 100 * (1000 + number), "its blocks are counted")
        check(mine[0]["live_bytes"] < mine[0]["committed_bytes"] < mine[0]["reserved_bytes"] == 64 << 20, "sizes")
    large = [arena for arena in arenas if arena["kind"] == "large_blocks"]
    equal([arena["live_blocks"] for arena in large], [1], "large blocks")
    equal(large[0]["live_bytes"], 1 << 20, "their bytes")
    text = test.run([HEAPTAPE, "mappings", outcome.tape.path, "stack"]).out
    for number in range(1, 5):
        check(f"(worker-{number})".encode() in text, f"the stack of worker-{number} is named: {text}")


def holds(arena, address):
    return any(int(r["begin"], 16) <= address < int(r["end"], 16) for r in arena["ranges"])


if __name__ == "__main__":
    raise SystemExit(main())
