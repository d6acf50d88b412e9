"""What a program says about itself through <heaptape/heaptape.h>: texts, numbers, names of threads, scopes, pauses."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from harness import case, check, each, equal, main, need, program
from tape import demand

INCLUDE = Path(__file__).resolve().parents[2] / "include"
LONGEST = 4000


def marks_of(tape):
    return json.loads(demand("marks", "--json", tape.path))


def words_of(tape):
    return [(mark["kind"], mark["name"], mark.get("value")) for mark in marks_of(tape)]


@each(in_a_movable_program="annotations", in_one_that_is_not="annotations_fixed")
def words_and_numbers_are_on_the_tape_in_order(test, name):
    tape = test.record([program(name)]).tape
    tape.verify()
    words = words_of(tape)
    live = json.loads(demand("checkpoints", "--json", tape.path))[0]["live_bytes"]
    equal([value for _, name, value in words if name.startswith("live according")], [live], "the answer of heaptape_heap")
    equal([word for word in words if not word[1].startswith("live according")], [
        ("text", "in a constructor", None), ("number", "ratio", 2.5), ("number", "largest", 2**63 - 1), ("text", "x" * LONGEST, None),
        ("text", "3 of three", None), ("number", "signal", 10), ("text", "in the handler of a signal", None),
        ("scope begin", "outer begin", None), ("scope begin", "inner begin", None), ("scope end", "inner end", None),
        ("scope end", "outer end", None), ("mark", "the end", None), ("text", "", None),
    ], "marks")


@case
def without_the_recorder_and_without_the_header_nothing_happens(test):
    for name in ("annotations", "annotations_fixed", "annotations_disabled"):
        equal(subprocess.run([program(name)]).returncode, 0, f"status of {name} alone")
    equal(words_of(test.record([program("annotations_disabled")]).tape), [], "marks of a program that has none")


@case
def a_followed_child_says_it_on_its_own_tape(test):
    tapes = test.record([program("annotations")], form="follow").tapes
    equal(len(tapes), 2, "tapes")
    words = [[name for _, name, _ in words_of(tape)] for tape in tapes]
    child = [each_ for each_ in words if "in a child" in each_]
    equal(child, [["in a child", "recording paused", "recording resumed"]], "the child's words")


@case
def the_shell_and_dump_find_words_and_numbers(test):
    tape = test.recording_of([program("annotations")]).tape
    found = demand("text", tape.path, "of (three|a signal)").splitlines()
    equal([line.split("  ")[-1].strip() for line in found], ["3 of three", "in the handler of a signal"], "lines with the pattern")
    check("number       largest = 9223372036854775807\n" in demand("text", tape.path), "a number in the shell's text")
    lines = demand("dump", "--no-stacks", tape.path).splitlines()
    at = {word: next(i for i, line in enumerate(lines) if line.endswith(word)) for word in ("ratio = 2.5", "inner begin", "inner end")}
    check(at["ratio = 2.5"] < at["inner begin"] < at["inner end"], "they stand in order")
    between = lines[at["inner begin"] + 1:at["inner end"]]
    check(len(between) == 1 and " free " in between[0], f"the free stands between the marks around it: {between}")
    equal(json.loads(demand("sql", "--format", "json", tape.path, "select value from marks where name='ratio'")), [{"value": 2.5}], "in SQL")
    check("ratio = 2.5" in demand("timeline", tape.path), "in the timeline")


@case
def threads_have_the_names_that_the_program_gave(test):
    tape = test.recording_of([program("annotations")]).tape
    names = [thread["name"] for thread in json.loads(demand("threads", "--json", tape.path))]
    equal(names, ["the first thread", "a thread with a name longer than the kernel's"], "names")
    for command in (("info",), ("dump",), ("report", "--allocations", "--by", "thread", "--threshold", "0")):
        check(names[1] in demand(*command, tape.path), f"{command[0]} shows the name")


@case
def scopes_add_up(test):
    tape = test.recording_of([program("annotations")]).tape
    scopes = {scope["name"]: scope for scope in json.loads(demand("scopes", "--json", tape.path))}
    equal({name: (scope["count"], scope["allocated_bytes"], scope["freed_bytes"], scope["live_bytes_change"]) for name, scope in scopes.items()},
          {"outer": (1, 2000, 2000, 0), "inner": (1, 0, 2000, -2000)}, "scopes")
    inside = json.loads(demand("report", "--allocations", "--from", "outer begin", "--to", "outer end", "--json", tape.path))
    equal(inside["trees"][0]["bytes"], 2000, "reports accept the ends of a scope as moments")


@each(with_the_launcher="record", without_it="direct")
def what_a_pause_hides_leaves_no_trace(test, form):
    outcome = test.record([program("pauses")], form=form)
    tape = outcome.tape
    tape.verify()
    equal(tape.losses(), {"paused": int(outcome.out)}, "what was not recorded")
    facts = tape.facts()
    equal(facts["unknown_releases"], 0, "releases of unknown blocks")
    sizes = [event.size for event in tape.events(stacks=False) if event.kind in ("malloc", "realloc") and event.size >= 10]
    own = [size for size in sizes if size in (1000, 2000, 3000, 100, 200, 300_000, 400, 10, 500_000)]
    equal(own, [1000, 2000, 3000, 10, 500_000], "blocks of the program on the tape")
    equal([name for _, name, _ in words_of(tape)], ["recording paused", "marks go on", "recording resumed"], "marks")
    grown = next(event for event in tape.events(stacks=False) if event.size == 500_000)
    equal(grown.old, 0, "old block of a realloc that began on the hidden side")


@case
def threads_may_allocate_and_free_across_pauses(test):
    tape = test.record([program("pauses"), "threads"]).tape
    tape.verify()
    facts = tape.facts()
    equal(facts["unknown_releases"], 0, "releases of unknown blocks")
    check(tape.losses().get("paused", 0) > 0, "some blocks were made in a pause")
    equal([loss for loss in tape.losses() if loss not in ("paused", "stack cut")], [], "other losses")


LANGUAGES = {"c99": "gcc", "c11": "gcc", "c17": "gcc", "c++17": "g++", "c++20": "g++"}
USES = {
    "c": """#include <heaptape/heaptape.h>
        int use(int number);
        int use(int number) {
          double t1 = heaptape_now();
          struct heaptape_figures figures;
          heaptape_checkpoint_options("bytes");
          heaptape_mark("TRACE"); heaptape_snapshot("TRACE"); heaptape_text("TRACE"); heaptape_textf("TRACE %d", number);
          heaptape_number("TRACE", 1.5); heaptape_integer("TRACE", number); heaptape_thread_name("TRACE");
          heaptape_pause(); heaptape_resume(); heaptape_scope_begin("TRACE"); heaptape_scope_end("TRACE");
          heaptape_checkpoint(t1, "TRACE %d", number);
          return heaptape_heap(&figures) && heaptape_is_loaded();
        }
        """,
    "c++": """#include <chrono>
        #include <string>
        int use_too(int number);
        int use_too(int number) {
          const heaptape::scope scope("TRACE", heaptape::print::yes);
          const heaptape::paused paused;
          heaptape::number("TRACE", number);
          heaptape::checkpoint(std::chrono::system_clock::now(), "TRACE", number, std::string("TRACE"), "TRACE", 2.5, number == 1, &number, 'T');
          return number;
        }
        """,
}


@each(**{f"{compiler}_as_{language.replace('+', 'p')}": (compiler, language)
         for compiler in ("gcc", "clang") for language in LANGUAGES})
def the_header_compiles_without_a_warning_with(test, how):
    compiler, language = how
    compiler += "++" if compiler == "clang" and "++" in language else ""
    compiler = "g++" if compiler == "gcc" and "++" in language else compiler
    need(shutil.which(compiler), f"{compiler} is not installed")
    source = test.work / ("use.cpp" if "++" in language else "use.c")
    source.write_text((USES["c"] + (USES["c++"] if "++" in language else "")).strip() + "\n")
    for level in ("-O0", "-O2"):
        for disabled in (False, True):
            made = test.work / "use.o"
            command = [compiler, f"-std={language}", level, "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wshadow", "-Werror",
                       "-I", INCLUDE, "-c", source, "-o", made, *(["-DHEAPTAPE_DISABLE"] if disabled else [])]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
            equal((done.returncode, done.stderr), (0, ""), f"{language} {level} disabled: {disabled}")
            names = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
            if disabled:
                check("heaptape" not in names, f"no symbol is left at {level}: {names}")
                if level == "-O2":
                    check(b"TRACE" not in made.read_bytes(), "no text is left")
            else:
                check(" w heaptape_recorder_mark" in names, f"the recorder is a weak symbol: {names}")


@case
def several_files_with_the_header_link_in_c_and_cpp_together(test):
    (test.work / "a.c").write_text(USES["c"])
    (test.work / "b.cpp").write_text(USES["c"].replace("int use(", "int use_b(") + USES["c++"] + """
        extern "C" int use(int);
        int main() { return use(1) + use_b(1) + (use_too(1) != 1); }
        """)
    include = ["-I", str(INCLUDE), "-O1"]
    for pie in (["-fPIE", "-pie"], ["-fno-pie", "-no-pie"], ["-static"]):
        subprocess.run(["gcc", *include, *pie[:1], "-c", "a.c", "-o", "a.o"], cwd=test.work, check=True)
        subprocess.run(["g++", *include, *pie, "b.cpp", "a.o", "-o", "both"], cwd=test.work, check=True)
        done = subprocess.run([test.work / "both"], capture_output=True, text=True, env={**os.environ, "HEAPTAPE_CHECKPOINT": "no-color"})
        equal(done.returncode, 0, f"status ({pie})")
        check(done.stderr.count("check point") == 1, f"one title for all files: {done.stderr}")


if __name__ == "__main__":
    raise SystemExit(main())
