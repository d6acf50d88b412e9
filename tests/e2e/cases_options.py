"""Every option of every command, read from the commands themselves: none takes the tape for its value."""

from harness import case, check, equal, main
from tape import demand, heaptape

# Commands that read no tape of the command line, and why.
WITHOUT_TAPE = {"record": "its words are the program's", "check": "as of record", "ps": "lists recordings", "mark": "-p alone", "snapshot": "-p alone", "stop": "-p alone",
                "flush": "-p alone", "collect": "writes tapes", "import": "reads a file of another tool"}
# What a command needs besides a tape, before and behind it.
NEEDED = {"export": (["--format", "folded"], []), "budget": (["--max-peak", "1G"], []), "diff": ([], ["peak"]), "explain": ([], ["0x10"]),
          "history": ([], ["0x10"]), "owner": ([], ["0x10"]), "event": ([], ["1"]), "stack": ([], ["1"]), "symbol": ([], ["0x10"]),
          "symbolat": ([], ["main"]), "text": ([], ["x"]), "sql": ([], ["select 1"]), "where": ([], ["0x10"])}
# Options that want something else of their command.
INSTEAD = {("diff", "--from"): (["--to", "end"], []), ("diff", "--to"): (["--from", "start"], []), ("sql", "--tables"): ([], []),
           ("leaks", "--errors-for"): (["--error-exitcode", "1"], []),
           **{("top", name): (["--once"], []) for name in ("--count", "-o", "--output", "--first", "--frames")},
           **{(command, name): (["--format", *words], []) for command in ("export", "flamegraph", "html") for name, words in {
               "--label": ["gprof2dot"], "--events": ["csv"], "--threshold": ["massif"], "--all-frames": ["html"], "--no-plumbing": ["folded"],
               "--at": ["core"], "--without-contents": ["tape"], "--value": ["svg"], "--blocks": ["svg"], "--cpu": ["svg"], "--segment": ["svg", "--cpu"]}.items()}}
VALUES = {"N": "2", "PERCENT": "5", "SIZE": "1G", "TIME": "1s", "MOMENT": "end", "POSITION": "end", "MOMENT MOMENT...": "start end",
          "RE": "main", "FILTER": "size>1", "FILE": "written", "[FILE]": "", "DIR": "/", "PID": "2", "WHICH": "main", "LABEL": "leaked",
          "KINDS": "malloc", "CMD": "stats", "MASK": "ff", "CLASSES": "all", "BYTE": "bd", "MIN-MAX": "16-64"}


def values_of(row):
    """The words that may stand between an option and the tape."""
    _, long, place, name, choices, _ = row
    if place in ("none", "attached"):
        return []
    if choices:
        return [choices.split()[0]]
    check(name in VALUES, f"a value for {long} {name}: add it to VALUES")
    return VALUES[name].split()


@case
def no_option_of_any_command_takes_the_tape_for_its_value(test):
    # It begins as tapes do, is not called *.tape, and no command can read it: whatever opens it says its name.
    tape = test.work / "named-otherwise"
    tape.write_bytes(b"HEAPTAPE" + bytes(56))
    tried, wrong = 0, []
    for command in demand("--commands").split():
        if command in WITHOUT_TAPE:
            continue
        for row in (line.split("\t") for line in demand(command, "--list-options").splitlines()):
            short, long, place, *_ = row
            if place == "word":
                continue
            for name in filter(None, (short, long)):
                before, behind = INSTEAD.get((command, name), NEEDED.get(command, ([], [])))
                before = [] if {short, long} & set(before) else before
                words = [command, *before, name, *values_of(row), tape, *behind]
                result = heaptape(*words, cwd=test.work)
                # -p PID is another way to name a tape: both together are refused, in many words.
                if result.returncode != 2 or not ("named-otherwise" in result.stderr or long == "--pid"):
                    wrong.append(f"{' '.join(map(str, words))}: status {result.returncode}, {result.stderr}")
                equal(tape.read_bytes(), b"HEAPTAPE" + bytes(56), f"the tape after {words}")
                tried += 1
    equal(wrong, [], "command lines whose tape was not taken for one")
    check(tried > 250, f"{tried} options were tried")


if __name__ == "__main__":
    raise SystemExit(main())
