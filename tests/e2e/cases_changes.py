"""Snapshots as positions, and what the difference of two is: blocks that are new or gone, and what began to hold the new ones."""

import json
import shutil

from harness import case, check, equal, main, program
from talker import ask
from tape import demand

STEPS = ["grow", "renew", "ring", "lose", "share", "none"]


def recording(test):
    """Snapshots "start" and one of each step, numbered from 1: see changing.cpp."""
    return test.recording_of([program("changing"), *STEPS]).tape.path


def changes(tape, step, by="type"):
    """What this step did, by type, function or stack."""
    number = STEPS.index(step) + 1
    answer = json.loads(demand("diff", "--by", by, f"{tape}@{number}", f"@{number + 1}", "--json"))
    equal((answer["from"]["snapshot"], answer["to"]["snapshot"], answer["to"]["name"]), (number, number + 1, step), "snapshots")
    return answer


def holders(row):
    """What holds the new blocks: how many, root, holder, and what leads from there to them."""
    return [(held["blocks"], held.get("root"), held.get("holder"), held.get("through")) for held in row["held_by"]]


@case
def a_cache_that_grew_holds_its_new_blocks(test):
    tape = recording(test)
    answer = changes(tape, "grow")
    equal((answer["new_blocks"], answer["gone_blocks"]), (601, 1), "orders, nodes and buckets")
    rows = {row["type"]: row for row in answer["changes"]}
    cache = "g_cache (variables of changing)"
    (orders,) = [row for name, row in rows.items() if "Order" in name and "unordered_map" not in name]
    equal((orders["change"], orders["before_blocks"], orders["new_blocks"], orders["gone_blocks"], orders["bytes"]),
          ("grown", 100, 300, 0, 300 * 200), f"orders: {orders}")
    ((blocks, root, holder, through),) = holders(orders)
    equal((blocks, root), (300, cache), "what holds the orders")
    check(holder is not None and through == ["node of unordered_map<unsigned int, Order*>"], f"{holder}, {through}")
    nodes = rows["node of unordered_map<unsigned int, Order*>"]
    equal([held[:2] for held in holders(nodes)], [(300, cache)], "what holds the nodes")
    buckets = rows["buckets of unordered_map<unsigned int, Order*>"]
    equal((buckets["new_blocks"], buckets["gone_blocks"]), (1, 1), "the table of buckets")
    equal(buckets["held_by"][0]["offset"], 8, "the map's first word, behind the hits")
    # The holder is the block that the variable leads to.
    place = buckets["held_by"][0]["holder_address"]
    check("g_cache" in demand("refs", f"{tape}@2", place), "refs at the snapshot")
    text = demand("diff", "--by", "type", f"{tape}@1", f"{tape}@grow")
    check("601 new" in text and f"in {cache}" in text and "through node of unordered_map" in text, text)


@case
def a_table_that_was_filled_anew_is_renewed(test):
    answer = changes(recording(test), "renew")
    equal((answer["new_blocks"], answer["gone_blocks"]), (80, 80), "routes and nodes")
    equal({row["change"] for row in answer["changes"]}, {"renewed"}, "as much as before")
    for row in answer["changes"]:
        equal([held[:3] for held in holders(row)], [(40, "g_routes (variables of changing)", None)], f"what holds {row['type']}")


@case
def rings_are_held_by_their_variable_or_lost(test):
    tape = recording(test)
    (ring,) = changes(tape, "ring")["changes"]
    equal(holders(ring), [(5, "g_ring (variables of changing)", None, [])], "a ring that a variable leads to")
    (lost,) = changes(tape, "lose")["changes"]
    equal([(held["blocks"], held["lost"]) for held in lost["held_by"]], [(3, True)], "a ring that nothing leads to")
    text = demand("diff", "--by", "type", f"{tape}@ring", f"{tape}@lose")
    check(f"lost: 'heaptape leaks {tape}@5' has the causes" in text and text.rstrip().endswith(": lost"), text)
    (badge,) = changes(tape, "share")["changes"]
    (held,) = badge["held_by"]
    equal(held["root"], "held in more than one way", "what two desks hold")
    ways = " ".join(held["ways"])
    check("g_left" in ways and "g_right" in ways, ways)


@case
def alike_snapshots_do_not_differ(test):
    tape = recording(test)
    for by in ("type", "function", "stack"):
        equal(changes(tape, "none", by)["changes"], [], f"by {by}")
    check("nothing changed" in demand("diff", "--by", "type", f"{tape}@share", f"{tape}@none"), "in words")
    check("no stack differs" in demand("diff", f"{tape}@share", f"{tape}@none"), "stack by stack")


@case
def functions_and_stacks_are_told_with_what_holds_their_blocks(test):
    tape = recording(test)
    (row,) = changes(tape, "grow", "function")["changes"]
    equal((row["function"], row["new_blocks"], row["gone_blocks"]), ("add_orders", 601, 1), "the function")
    equal(sum(held["blocks"] for held in row["held_by"]), 601, "all of it is held")
    rows = changes(tape, "grow", "stack")["changes"]
    equal(sorted((row["new_blocks"], row["gone_blocks"]) for row in rows), [(0, 1), (1, 0), (300, 0), (300, 0)], "stacks")
    check(all("add_orders" in [frame["function"] for frame in row["frames"]] for row in rows), "their frames")
    # Moments without memory can be compared, too; what holds the blocks is then not known.
    last = json.loads(demand("info", "--json", tape))["events"]
    answer = json.loads(demand("diff", "--by", "function", tape, "0", str(last), "--json"))
    check("no_holders" in answer and all(row["held_by"] == [] for row in answer["changes"]), answer)


@case
def two_tapes_are_compared_by_sums(test):
    tape = recording(test)
    other = test.dir / "other.tape"
    shutil.copy(tape, other)
    answer = json.loads(demand("diff", "--by", "type", f"{tape}@start", f"{other}@grow", "--json"))
    check("new_blocks" not in answer, "blocks of two tapes cannot be told apart")
    (nodes,) = [row for row in answer["changes"] if row["type"] == "node of unordered_map<unsigned int, Order*>"]
    equal((nodes["before_blocks"], nodes["after_blocks"], nodes["blocks"]), (100, 400, 300), "nodes")
    equal(sum(held["blocks"] for held in nodes["held_by"]), 400, "what holds them now")
    equal(json.loads(demand("diff", "--by", "type", f"{tape}@grow", f"{other}@grow", "--json"))["changes"], [], "copies")


@case
def a_snapshot_is_a_position_wherever_one_is_asked_for(test):
    tape = recording(test)
    numbers = {row["name"]: row for row in json.loads(demand("snapshots", tape, "--json"))["snapshots"]}
    event = numbers["renew"]["event"]
    for words in (["--at", "snapshot:3", tape], ["--at", "snapshot:renew", tape], [f"{tape}@3"], [f"{tape}@renew"]):
        equal(json.loads(demand("stats", "--json", *words))["event"], event, f"stats {words}")
    equal(json.loads(demand("types", "--json", f"{tape}@first"))["snapshot"], 1, "types")
    equal(json.loads(demand("types", "--json", f"{tape}@last"))["snapshot"], 7, "types at the last")
    # Two follow the same event, and each is found.
    equal(numbers["share"]["event"], numbers["none"]["event"], "events of the last two")
    equal(json.loads(demand("types", "--json", f"{tape}@6"))["snapshot"], 6, "types at the one before")
    equal(json.loads(demand("leaks", "--json", f"{tape}@6"))["leaks"]["snapshot"], 6, "leaks at the one before")
    check("snapshot 5 ('lose')" in demand("leaks", f"{tape}@lose"), "leaks by name")
    equal(demand("sql", f"{tape}@2", "SELECT count(*) FROM refs"), demand("sql", "--at", "snapshot:2", tape, "SELECT count(*) FROM refs"),
          "sql")
    check("Live at snapshot:3" in demand("report", f"{tape}@3"), "report")
    example = changes(tape, "grow")["changes"][0]["held_by"][0]["example"]
    equal(demand("where", f"{tape}@2", example), demand("where", "--at", "snapshot:2", tape, example), "where")
    core = test.dir / "two.core"
    demand("export", "--format", "core", "-o", core, f"{tape}@2")
    check(core.stat().st_size > 0, "core")
    text = demand("shell", "-c", "goto snapshot 2", "-c", "next snapshot", "-c", "goto snapshot:share", "-c", "types -n 1", "-c",
                  "previous snapshot", tape)
    check("memory of snapshot 6 ('share')" in text, text)
    check("snapshot 3 'renew'" in text and "snapshot 5 'lose'" in text, text)


@case
def a_snapshot_that_is_not_there_is_refused_with_those_that_are(test):
    tape = recording(test)
    for words in (["types", f"{tape}@9"], ["leaks", f"{tape}@9"], ["diff", "--by", "type", f"{tape}@9", "@last"],
                  ["stats", "--at", "snapshot:9", tape]):
        refused = ask(*words)
        check(refused.returncode != 0 and "there is no snapshot '9' on the tape; those there are: 1 'start', 2 'grow'" in refused.stderr,
              f"{words}: {refused.stderr}")
    for words, sentence in (
        (["verify", f"{tape}@2"], "this command is not about one snapshot; leave '@2' out"),
        (["types", "--at", "peak", f"{tape}@2"], "give the moment either as '@2' or by --at"),
        (["diff", "--by", "type", f"{tape}@2", f"{tape}@1"], "give the earlier moment first"),
        (["diff", "--by", "type", f"{tape}@2", f"{tape}@2"], "both moments have the memory of one snapshot"),
        (["diff", "--by", "type", tape, tape], "give two moments of it"),
        (["diff", "--leaks", f"{tape}@1", f"{tape}@2"], "moments are compared by what was live"),
        (["diff", "--by", "type", tape, "start", "end"], "'--by function' and '--by stack' need none"),
    ):
        refused = ask(*words)
        check(refused.returncode != 0 and sentence in refused.stderr, f"{words}: {refused.stderr}")
    # A file that is really named so is the tape.
    named = test.dir / "app.tape@2"
    shutil.copy(tape, named)
    equal(json.loads(demand("types", "--json", named))["snapshot"], 7, "a file whose name holds '@'")


if __name__ == "__main__":
    main()
