#!/usr/bin/env python3
"""Compares heaptape's symbols with llvm-symbolizer's on every instruction of a program, built in one of many forms.

    truth.py ASK FORM COMPILER      (FORM: a name in forms.py, or language:FILE for a finished program)

For every instruction the chain of inlined calls, the files, lines and columns must be the same, and so must the linkage names of
the functions, but for what is known to differ:
  - ours has scopes in front of a name where the compiler left the linkage name out ("ns::f", theirs "f");
  - theirs may be the symbol of a copy ("f.cold"), or another variant of a constructor or destructor at the very same code;
  - theirs gives what lies between functions (the PLT) the name in front of it; ours gives it none;
  - theirs takes a file name from the symbol table where there is no line.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from forms import ALL, DYNAMIC, FORMS, Missing, Subject, Workshop

SKIPPED = 77
MOST_INSTRUCTIONS = 20000  # of a larger program every second, third, ...
# Share of the instructions of a finished program whose function may be another one: rustc merges functions with the same code, and
# either name is right (0.45 % of known_sums_rust). Programs that are built here have none.
MOST_MERGED = 0.01


def instructions(file):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(file)], capture_output=True, text=True).stdout
    found, section = [], ""
    for line in text.splitlines():
        if line.startswith("Disassembly of section "):
            section = line.split()[-1].rstrip(":")
        elif ":\t" in line and not section.startswith(".plt") and not re.search(r"\b(nop|data16|xchg +%ax,%ax|int3)", line):
            found.append(int(line.split(":")[0], 16))
    return found[::len(found) // MOST_INSTRUCTIONS + 1]


def ask(program, subject, addresses, *options):
    surroundings = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    done = subprocess.run([program, *subject.options, *options, str(subject.file)], capture_output=True, text=True,
                          env={**surroundings, **subject.environment},
                          input="".join(f"{address:#x}\n" for address in addresses), check=True)
    answers, places = {}, []
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            places = answers.setdefault(int(line, 16), [])
        else:
            _, function, where = line.split("\t")
            places.append((function, *where.rsplit(":", 2)))
    return answers, done.stderr


def judge(file, addresses):
    done = subprocess.run(["llvm-symbolizer", "--no-demangle", "--output-style=JSON", f"--obj={file}"], capture_output=True, text=True,
                          input="".join(f"{address:#x}\n" for address in addresses), check=True)
    answers = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        places = [(place["FunctionName"] or "?", place["FileName"] or "?", str(place["Line"]), str(place["Column"]))
                  for place in answer["Symbol"]]
        answers[int(answer["Address"], 16)] = [] if len(places) == 1 and places[0][0] == "?" else places
    return answers


def same_function(ours, theirs):
    """Linkage names, so that no two demanglers are compared."""
    if ours == theirs or ours.endswith("::" + theirs):
        return True
    return bare(ours) == bare(theirs)


def bare(name):
    """Without the suffix of a copy, and with one name for the variants of a constructor or destructor, which share their code."""
    return re.sub(r"([CD])[0-5](?=[EI])", r"\1", name.split(".")[0])


def differences(ours, theirs):
    if len(ours) != len(theirs):
        yield "number of places"
        return
    for our, their in zip(ours, theirs):
        if not same_function(our[0], their[0]):
            yield "function"
        if their[2] == "0" and our[1] == "?":
            continue
        if our[1] != their[1]:
            yield "file"
        if our[2:] != their[2:]:
            yield "line"


def compare_all(subject, ours, theirs):
    counts, shown = {}, {}
    for address, places in ours.items():
        kinds = set(differences(places, theirs.get(address, [])))
        for kind in kinds:
            counts[kind] = counts.get(kind, 0) + 1
            shown.setdefault(kind, (address, places, theirs.get(address)))
    other_names = counts.pop("function", 0)
    if counts or other_names > subject.may_be_merged * len(ours):
        for kind, (address, our, their) in shown.items():
            print(f"{kind} differs at {address:#x} of {subject.file}\n  ours   {our}\n  theirs {their}")
        print(f"{len(ours)} instructions, differences: {counts}, other functions: {other_names}")
        return False
    return True


def compare_functions(subject, ours, theirs):
    """Of a file without lines: the outermost function, or none where the table does not have it."""
    wrong, named = [], 0
    for address, places in ours.items():
        their = theirs.get(address, [])
        if not places:
            continue
        named += 1
        if places[0][1] != "?" or not their or not same_function(places[-1][0], their[-1][0]):
            wrong.append((hex(address), places, their))
    least = 0.3 if subject.knows == DYNAMIC else 0.97
    if wrong or named < least * len(ours):
        print(f"{len(ours)} instructions, {named} named, {len(wrong)} wrong: {wrong[:3]}")
        return False
    return True


def main():
    program, form, compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="heaptape-truth-") as folder:
        try:
            if form.startswith("language:"):
                file = Path(form.split(":", 1)[1])
                if not file.exists():
                    raise Missing(file)
                subject = Subject(file, file, may_be_merged=MOST_MERGED)
            else:
                subject = FORMS[form](Workshop(Path(folder), compiler))
            addresses = instructions(subject.judge)
            theirs = judge(subject.judge, addresses)
        except (Missing, FileNotFoundError) as missing:
            print(f"skipped: {missing}")
            return SKIPPED
        for file in subject.hidden:
            file.unlink()
        ours, said = ask(program, subject, addresses, "--names", "mangled")
        print(f"{len(addresses)} instructions of {subject.file}; {said.strip()}")
        same = compare_all if subject.knows == ALL else compare_functions
        return 0 if len(addresses) > 20 and same(subject, ours, theirs) else 1


if __name__ == "__main__":
    sys.exit(main())
