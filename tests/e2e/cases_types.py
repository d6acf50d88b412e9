"""Types of blocks at a snapshot of memory."""

import json

from harness import case, check, equal, main, program
from tape import demand
from waiting import Waiting


def types_of(tape):
    """By type: blocks and how they are known."""
    rows = json.loads(demand("types", tape, "--json"))["types"]
    return {(row["type"], row["known_by"]): row["blocks"] for row in rows}


@case
def types_are_known_by_virtual_tables_and_by_the_functions_that_allocate(test):
    typed = Waiting(test, [program("typed")])
    types = types_of(typed.tape)
    for name, source, blocks in [
        ("Circle", "vtable", 50),
        ("Circle[]", "vtable", 1),
        ("Both", "vtable", 10),
        ("Circle (shared)", "frame", 50),
        ("node of map<unsigned long, std::string>", "frame", 40),
        ("node of list<unsigned long>", "frame", 40),
        ("node of unordered_map<unsigned long, double>", "frame", 40),
        ("buckets of unordered_map<unsigned long, double>", "frame", 1),
        ("char[]", "frame", 40),
        ("Plain", "frame", 20),
        ("field +0x8 of Plain", "derived", 20),
    ]:
        equal(types.get((name, source)), blocks, f"blocks of {name} by {source} among {types}")
    (circle,) = typed.addresses
    answer = json.loads(demand("type", typed.tape, hex(circle + 8), "--json"))
    equal((answer["type"], answer["known_by"], answer["offset"], answer["bytes"]), ("Circle", "vtable", 8, 32), "a circle")
    text = demand("type", typed.tape, hex(circle))
    check("Circle" in text and "by its virtual table" in text and "main typed.cpp:" in text, text)
    check("32-byte Circle of main typed.cpp:" in demand("refs", typed.tape, hex(circle)), "refs names the type")


@case
def objects_of_a_stripped_program_keep_their_types(test):
    types = types_of(Waiting(test, [program("typed_stripped")]).tape)
    for name, blocks in [("Circle", 50), ("Circle[]", 1), ("Circle (shared)", 50), ("Both", 10)]:
        equal(types.get((name, "vtable")), blocks, f"blocks of {name} among {types}")


@case
def objects_of_python_have_the_types_of_python(test):
    lines = [
        "import sys",
        "class Point:",
        "    def __init__(self, x): self.x = x",
        "points = [Point(i) for i in range(1000)]",
        "lists = [[str(i), i] for i in range(2000)]",
        "tables = [{i: i} for i in range(500)]",
        "print('ready', flush=True)",
        "sys.stdin.read()",
    ]
    types = types_of(Waiting(test, ["/usr/bin/python3", "-c", "\n".join(lines)], env={"PYTHONMALLOC": "malloc"}).tape)
    equal(types.get(("python Point", "runtime")), 1000, f"points among {types}")
    for name, source, least in [
        ("python list", "runtime", 2000),
        ("python dict", "runtime", 500),
        ("python str", "runtime", 2000),
        ("items of python list", "derived", 2000),
        ("keys of python dict", "derived", 500),
    ]:
        check(types.get((name, source), 0) >= least, f"{name} among {types}")
    blocks = sum(types.values())
    known = sum(count for (_, source), count in types.items() if source in ("runtime", "derived"))
    check(known * 100 >= blocks * 95, f"{known} of {blocks} blocks have a type")


if __name__ == "__main__":
    main()
