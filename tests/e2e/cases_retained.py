"""What holds the heap: variables, blocks and what hangs on them, at a snapshot of memory."""

import json

from harness import case, check, equal, main, program
from talker import ask
from tape import demand
from waiting import Waiting


def rows_of(answer, key="holders"):
    """(depth, what, blocks, retained blocks, retained bytes) of each row."""
    return [(row["depth"], row.get("root") or row["largest"]["type"], row["blocks"], row["retained_blocks"], row["retained_bytes"])
            for row in answer[key]]


@case
def variables_come_with_what_hangs_on_them_by_type(test):
    typed = Waiting(test, [program("typed")])
    answer = json.loads(demand("retained", typed.tape, "-n", 1000, "--json"))
    equal(answer["more"], 0, "rows that are not shown")
    rows = rows_of(answer)
    top = [row for row in rows if row[0] == 1]
    equal(sum(row[3] for row in top), answer["reachable_blocks"], "blocks below all roots")
    equal(sum(row[4] for row in top), answer["reachable_bytes"], "bytes below all roots")
    world = rows.index(next(row for row in top if row[1] == "g_world (variables of typed)"))
    held = []
    for row in rows[world + 1:]:
        if row[0] == 1:
            break
        held.append(row[:4])
    for row in [
        (2, "node of map<unsigned long, std::string>", 40, 80),
        (3, "char[]", 40, 40),
        (2, "node of list<unsigned long>", 40, 40),
        (2, "Circle[]", 1, 1),
        (3, "field +0x8 of Plain", 20, 20),
    ]:
        check(row in held or (row[0] + 1, *row[1:]) in held, f"{row} among {held}")
    text = demand("retained", typed.tape)
    check("g_world (variables of typed)" in text and "40 × node of map<unsigned long, std::string>" in text, text)


@case
def a_block_is_named_with_what_holds_it_up_to_a_variable(test):
    lost = Waiting(test, [program("lost")])
    block, child, end_of_chain = lost.addresses
    answer = json.loads(demand("retained", lost.tape, hex(end_of_chain + 8), "--json"))
    equal((answer["address"], answer["bytes"], answer["retained_bytes"], answer["retained_blocks"]),
          (hex(end_of_chain), 300, 300, 1), "the end of the chain")
    equal([row["retained_bytes"] for row in answer["held_by"]], [1500, 1200, 900, 600], "what the blocks before it retain")
    equal((answer["root"], answer["holds"]), ("g_chain (variables of lost)", []), "root and what hangs on it")
    first = answer["held_by"][0]["address"]
    text = demand("retained", lost.tape, first)
    check("retains   1.50 kB in 5 blocks" in text and "held by   g_chain (variables of lost)" in text, text)
    check("4 blocks of make lost.cpp:" in text, text)
    text = demand("retained", lost.tape, hex(block))
    check("unreachable: definitely lost" in text and "with 50 bytes in 1 block that only it leads to" in text, text)
    check(f"through {block:#x}" in demand("retained", lost.tape, hex(child)), "what is lost through another block")
    # Without a block or a variable the question has no answer.
    refused = ask("retained", lost.tape, "0x10")
    check(refused.returncode != 0 and "was in no live block" in refused.stderr, refused.stderr)


@case
def a_variable_is_asked_about_by_its_name(test):
    lost = Waiting(test, [program("lost")])
    answer = json.loads(demand("retained", lost.tape, "g_chain", "--json"))
    equal((answer["variable"], answer["retained_bytes"], answer["retained_blocks"]), ("g_chain", 1500, 5), "what the chain's variable retains")
    (first,) = answer["points_to"]
    equal((first["offset"], first["bytes"]), (0, 300), "its first block")
    text = demand("retained", lost.tape, "g_chain")
    check("variable g_chain, 8 bytes of lost" in text and "retains   1.50 kB in 5 blocks" in text, text)
    text = demand("trace", lost.tape, "g_middle")
    check("variable g_middle, 8 bytes of lost" in text and "400-byte block of make" in text and "entered at +0x88" in text, text)
    text = demand("refs", lost.tape, "g_chain")
    check(f"-> {first['block']} 300-byte block" in text and f"1 reference to {first['block']}" in text, text)
    answer = json.loads(demand("trace", lost.tape, "g_hidden", "--json"))
    equal((answer["variable"], answer["points_to"]), ("g_hidden", []), "a variable without pointers")
    check("leads to no live block" in demand("retained", lost.tape, "g_hidden"), "the same in words")
    bytes_of = json.loads(demand("bytes", lost.tape, "g_hidden", "--json"))
    equal(int(bytes_of["end"], 16) - int(bytes_of["begin"], 16), 24, "bytes of the variable alone")
    check("variable g_hidden, 24 bytes of lost" in demand("bytes", lost.tape, "g_hidden"), "and its name")


if __name__ == "__main__":
    main()
