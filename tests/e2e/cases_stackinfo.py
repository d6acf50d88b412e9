"""stackinfo: what every thread was doing at a snapshot, frame by frame; explain and bytes of addresses on stacks."""

import json

from harness import case, check, equal, main, program
from tape import demand, heaptape
from waiting import Waiting

DEPTH = 3000  # see deep_stacks.c
SYNC = bytes.fromhex("f1e1c4b7d36b9e0a")
PAGES = 20


class Stacks(Waiting):
    """The program `deep_stacks`: the kernel's numbers of its threads, and addresses of variables."""

    def __init__(self, test):
        super().__init__(test, [program("deep_stacks")])
        self.deep, self.reading, self.spinning, self.main, *places = self.addresses
        self.of_outermost, self.of_main, self.of_the_past = map(hex, places)

    def threads(self, *words):
        answer = json.loads(demand("stackinfo", self.tape, *words, "--json"))
        return {thread["tid"]: thread for thread in answer["threads"]}


def functions(thread):
    return [frame["function"] for frame in thread["frames"]]


def size_of(frame):
    return int(frame["end"], 16) - int(frame["begin"], 16)


@case
def every_thread_is_shown_with_what_it_was_doing(test):
    stacks = Stacks(test)
    threads = stacks.threads()
    equal(set(threads), {stacks.deep, stacks.reading, stacks.spinning, stacks.main}, "threads")
    equal(threads[stacks.deep]["state"], "in the system call pause", "the deep one")
    equal(threads[stacks.reading]["state"], "in the system call read", "the one that reads")
    equal(threads[stacks.spinning]["state"], "running", "the one that spins")
    for tid, expected in ((stacks.deep, ["go_down"]), (stacks.reading, ["wait_for_bytes", "go_reading"]),
                          (stacks.spinning, ["spin", "go_round"]), (stacks.main, ["main"])):
        found = [name for name in functions(threads[tid]) if name in expected]
        equal(found, expected, f"functions of {tid}: {functions(threads[tid])[:10]}")
        equal(threads[tid]["end"], "whole", f"the stack of {tid}")
    text = demand("stackinfo", stacks.tape)
    check(f"tid {stacks.spinning}: running\n" in text, text[:2000])
    for tid, call in ((stacks.deep, "pause"), (stacks.reading, "read")):
        check(f"tid {tid}: in the system call {call}\n" in text, text[:2000])
    check("wait_for_bytes  deep_stacks.c:" in text, text[:2000])


@case
def a_deep_recursion_is_followed_to_its_end(test):
    stacks = Stacks(test)
    [thread] = stacks.threads(stacks.deep).values()
    calls = [frame for frame in thread["frames"] if frame["function"] == "descend"]
    equal(len({frame["frame"] for frame in calls}), DEPTH, "frames of the recursion")
    equal({frame["file"].rsplit("/", 1)[-1] for frame in calls}, {"deep_stacks.c"}, "their file")
    # They lie one behind the other, and all but the innermost and the outermost are of one size.
    for inner, outer in zip(calls, calls[1:]):
        equal(inner["end"], outer["begin"], f"frames {inner['frame']} and {outer['frame']}")
    equal(len({size_of(frame) for frame in calls}), 1, "sizes")
    check(size_of(calls[0]) >= 48, "the variable has room in it")
    used = thread["stack"]["used_bytes"]
    check(used >= DEPTH * size_of(calls[0]) and thread["stack"]["limit_bytes"] >= used, thread["stack"])
    text = demand("stackinfo", stacks.tape, stacks.deep, "-n", "5")
    equal(sum(line.lstrip().startswith("#") and line.split()[0] != "#" for line in text.splitlines()), 5, text)
    check("more; -n shows them" in text, text)


@case
def a_thread_that_is_not_there_is_refused(test):
    stacks = Stacks(test)
    result = heaptape("stackinfo", stacks.tape, "99")
    equal((result.returncode, result.stdout), (2, ""), "status and output")
    check("99" in result.stderr, result.stderr)


@case
def without_a_snapshot_it_says_how_to_take_one(test):
    tape = test.recording_of([program("call_sites"), "1", "10"]).tapes[0].path
    result = heaptape("stackinfo", tape)
    equal((result.returncode, result.stdout), (2, ""), "status and output")
    check("holds no memory" in result.stderr and "--contents" in result.stderr, result.stderr)


@case
def on_a_tape_with_damaged_pages_stacks_are_shown_as_far_as_they_go(test):
    stacks = Stacks(test)
    with open(stacks.tape, "rb") as file:
        data = bytearray(file.read())
    at, hurt = data.find(SYNC), 0
    while at >= 0:
        if data[at + 8] == PAGES:
            data[at + 40] ^= 0xFF  # in the payload
            hurt += 1
        at = data.find(SYNC, at + 8)
    check(hurt > 0, "pages on the tape")
    copy = test.work / "hurt.tape"
    copy.write_bytes(data)
    result = heaptape("stackinfo", copy, "--json")
    equal(result.returncode, 0, result.stderr)
    answer = json.loads(result.stdout)
    equal({thread["tid"] for thread in answer["threads"]}, {stacks.deep, stacks.reading, stacks.spinning, stacks.main}, "threads")
    for thread in answer["threads"]:
        equal(thread["end"], "cut", f"the stack of {thread['tid']}")
        check(thread["why"] and thread["frame_count"] >= 1, thread)
        check(thread["registers"]["rip"] == thread["frames"][0]["pc"], thread["frames"][0])
    check("cannot be followed further" in heaptape("stackinfo", copy).stdout, "the text says so")


def explained(stacks, address):
    return json.loads(demand("explain", stacks.tape, address, "--json", "--at", "last snapshot"))


@case
def explain_names_the_thread_and_the_function_of_an_address_on_a_stack(test):
    stacks = Stacks(test)
    for address, tid, function in ((stacks.of_outermost, stacks.deep, "descend"), (stacks.of_main, stacks.main, "main")):
        answer = explained(stacks, address)
        equal((answer["kind"], answer["frame"]["tid"]), ("stack", tid), "kind and thread")
        check(answer["frame"]["function"].startswith(f"{function} deep_stacks.c:"), answer["frame"])
        equal(int(answer["frame"]["begin"], 16) + answer["frame"]["offset"], int(address, 16), "offset in the frame")
        # It is the frame that stackinfo shows there.
        [thread] = stacks.threads(tid).values()
        frame = next(one for one in thread["frames"] if one["frame"] == answer["frame"]["frame"])
        equal((frame["begin"], frame["function"]), (answer["frame"]["begin"], function), "the frame")
        text = demand("explain", stacks.tape, address, "--at", "last snapshot")
        check(f"in the frame of {function} deep_stacks.c:" in text and " the beginning of its frame #" in text, text)
        check("on the stack of thread " in text.splitlines()[0], text)
    [thread] = stacks.threads(stacks.deep).values()
    outermost = [frame for frame in thread["frames"] if frame["function"] == "descend"][-1]
    equal(explained(stacks, stacks.of_outermost)["frame"]["frame"], outermost["frame"], "the outermost call")


@case
def explain_says_that_a_call_has_returned_or_where_its_return_address_lies(test):
    stacks = Stacks(test)
    answer = explained(stacks, stacks.of_the_past)
    equal((answer["kind"], answer.get("below_frames"), "frame" in answer), ("stack", True, False), "below all frames")
    check("left over from calls that have returned" in answer["verdict"], answer["verdict"])
    [thread] = stacks.threads(stacks.deep).values()
    frame = next(one for one in thread["frames"] if one["function"] == "descend")
    text = demand("explain", stacks.tape, hex(int(frame["end"], 16) - 8), "--at", "last snapshot")
    check("where the address lies that it returns to" in text, text)


@case
def pointers_to_stacks_are_named_with_thread_and_function(test):
    stacks = Stacks(test)
    text = demand("bytes", stacks.tape, "of_outermost", 8)
    check(f"stack of thread {stacks.deep}, in descend deep_stacks.c:" in text, text)
    text = demand("bytes", stacks.tape, "of_the_past", 8)
    check(f"stack of thread {stacks.main}, below its end" in text, text)


if __name__ == "__main__":
    main()
