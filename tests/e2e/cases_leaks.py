"""What is lost, by reachability: classes, causes, places where pointers hide, options, exit status."""

import json

from harness import case, check, equal, main, program
from talker import Talker, ask
from tape import demand
from waiting import Waiting


def leaks(tape, *options):
    return json.loads(demand("leaks", tape, "--json", *options))["leaks"]


def classes(answer):
    return {row["class"]: (row["blocks"], row["bytes"]) for row in answer["classes"]}


@case
def a_line_per_cause_and_a_cycle_as_one(test):
    tape = Waiting(test, [program("lost")]).tape
    answer = leaks(tape)
    totals = classes(answer)
    equal(totals["definitely lost"], (110, 102_000), "definitely lost")
    equal(totals["indirectly lost"], (110, 7_000), "indirectly lost")
    equal(totals["possibly lost"], (1, 400), "possibly lost")
    sites = [tuple(site[key] for key in ("blocks", "bytes", "indirect_blocks", "indirect_bytes", "cycle")) for site in answer["definitely_lost"]]
    equal(sites, [(100, 100_000, 100, 5_000, 1), (10, 2_000, 10, 2_000, 2)], "causes")
    equal([(site["bytes"], site["reference"], site["offset"]) for site in answer["possibly_lost"]], [(400, "inside", 136)], "possibly lost")
    text = demand("leaks", tape, "--show-reachable")
    check("10 blocks in a cycle of 2 each, and 2.00 kB in 10 blocks that only they lead to" in text, text)
    check("pointed to only at +0x88" in text and "g_chain" in text, text)
    # The first page knows it, too.
    page = demand("report", tape)
    check("definitely lost 102.0 kB in 110 blocks" in page and "all 226, 109.0 kB lost" in page, page)
    equal(demand("lost", tape, "--json"), demand("leaks", tape, "--json"), "lost is another name of leaks")
    shell = json.loads(demand("shell", tape, "--command", "leaks --json"))
    equal(classes(shell), totals, "the shell's answer")


@case
def what_is_suppressed_is_left_out_and_the_rest_decides_the_status(test):
    tape = Waiting(test, [program("lost")]).tape
    equal(ask("leaks", tape).returncode, 0, "without an option")
    equal(ask("leaks", tape, "--error-exitcode", "7").returncode, 7, "there are leaks")
    file = test.dir / "known.supp"
    file.write_text("leak:leak_with_children\n{\n cycles\n Memcheck:Leak\n fun:malloc\n fun:make\n fun:leak_cycles\n}\n")
    answer = leaks(tape, "--suppressions", file)
    equal(answer["suppressed"], {"blocks": 220, "bytes": 109_000}, "suppressed")
    equal(classes(answer)["definitely lost"], (0, 0), "definitely lost")
    equal(ask("leaks", tape, "--suppressions", file, "--error-exitcode", "7").returncode, 7, "one is possibly lost")
    equal(ask("leaks", tape, "--suppressions", file, "--error-exitcode", "7", "--errors-for", "definite").returncode, 0, "of the definite ones")
    equal(ask("leaks", tape, "--error-exitcode", "7", "--errors-for", "lost").returncode, 2, "no such class")


@case
def without_memory_there_is_the_tree_and_a_way_to_more(test):
    talker = Talker(test)
    talker.finish()
    text = demand("leaks", talker.tape.path)
    check("Still live at the end" in text and "record --leaks" in text, text)
    answer = ask("leaks", talker.tape.path, "--strict")
    equal(answer.returncode, 2, "no classes without memory")
    check("record --leaks" in answer.stderr, answer.stderr)
    equal(ask("leaks", talker.tape.path, "--error-exitcode", "7").returncode, 2, "no verdict without memory")
    check("leaks" not in json.loads(demand("leaks", talker.tape.path, "--json")), "JSON")


REACHABLE = {
    "variable",
    "thread_local",
    "thread_key",
    "low_tag",
    "second_base",
    "array_cookie",
    "private_mapping",
    "shared_mapping",
    "stale_local",
    "coroutine_mapping",
    "coroutine_block",
    "register",
    "vector_register",
    "stack_below_handler",
    "alternate_stack",
}
POSSIBLY = {"packed", "behind"}
LOST = {"freed_memory", "closed_module", "below_the_stack"}
# Nobody can see these pointers, unless the user knows how they are disguised.
DISGUISED = {"high_tag": ("--pointer-mask", "0x00ffffffffffffff"), "shifted": ("--pointer-shift", "4"), "pipe": None}


@case
def pointers_are_found_wherever_they_hide(test):
    waiting = Waiting(test, [program("hiding_places")])
    places = {f"0x{address}": name for name, address in waiting.lines}

    def named(sites):
        return {places[site["example"]] for site in sites if site["example"] in places}

    answer = leaks(waiting.tape)
    equal(named(answer["definitely_lost"]), LOST | set(DISGUISED), "definitely lost")
    equal(named(answer["possibly_lost"]), POSSIBLY, "possibly lost")
    equal(set(places.values()), REACHABLE | POSSIBLY | LOST | set(DISGUISED), "all places")
    check(answer["only_from_stacks_blocks"] != 0, answer)
    for name, option in DISGUISED.items():
        if option:
            check(name not in named(leaks(waiting.tape, *option)["definitely_lost"]), name)
    without = named(leaks(waiting.tape, "--no-stacks")["definitely_lost"])
    check({"stale_local", "register", "vector_register"} <= without, without)


if __name__ == "__main__":
    main()
