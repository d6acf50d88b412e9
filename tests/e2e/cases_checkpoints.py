"""Check points: their lines, with and without the recorder, and what the reports make of them."""

import json
import os
import pty
import re
import subprocess

from harness import case, check, each, equal, main, program
from tape import demand

NUMBER = r"[0-9,]+"
LINE = re.compile(rf" *[0-9.]+ +(?:us|ms|s) +(?P<threads>\d+) +(?P<change>-|0|[+-]{NUMBER}) [ ~] *(?P<live>{NUMBER}) +(?P<os>{NUMBER})[+ ]"
                  rf" +(?P<stack>-|{NUMBER})  (?P<label>.*)")
BYTES = {"HEAPTAPE_CHECKPOINT": "bytes"}


def lines_of(text):
    """Each line of check points as a dictionary; others are left out."""
    return [match.groupdict() for match in map(LINE.fullmatch, text.splitlines()) if match]


def number(text):
    return int(text.replace(",", "").replace("+", ""))


@case
def with_the_recorder_the_figures_are_exact(test):
    outcome = test.record([program("checkpoints")], env=BYTES)
    text = outcome.err.decode()
    lines = lines_of(text)
    equal([line["label"] for line in lines], ["start", "grown  42 anna entrant 7 2.5 true", "large 300", "shrunk"], text)
    check("~" not in text, f"nothing is a guess: {text}")
    live = [number(line["live"]) for line in lines]
    equal([number(line["change"]) for line in lines[1:]], [b - a for a, b in zip(live, live[1:])], "changes")
    equal(number(lines[2]["change"]), 300_000_000, "the large block")
    tape = outcome.tape
    tape.verify()
    points = json.loads(demand("checkpoints", "--json", tape.path))
    equal([point["live_bytes"] for point in points], live, "the same on the tape")
    equal([(point["name"], point.get("detail")) for point in points],
          [("start", None), ("grown", "42 anna entrant 7 2.5 true"), ("large 300", None), ("shrunk", None)], "names on the tape")
    part = re.search(r"scope part: allocated 5,700 bytes in 2 blocks, freed 5,000 bytes in 1 block, live \+700 bytes in \+1 block\n", text)
    check(part, f"the scope's line: {text}")


@case
def without_the_recorder_the_c_library_is_asked(test):
    done = test.run([program("checkpoints")], env=BYTES)
    text = done.err.decode()
    lines = lines_of(text)
    equal(len(lines), 4, text)
    equal(text.count(" ~"), 5, f"each figure, and the scope's, is marked as a guess: {text}")
    check(number(lines[1]["change"]) >= 1_000_000, text)
    check(number(lines[2]["change"]) >= 300_000_000 and number(lines[2]["os"]) >= 301_000_000, text)
    check(number(lines[3]["change"]) <= -300_000_000, text)
    check(all(line["threads"] == "1" and number(line["stack"]) > 100 for line in lines), text)


@each(recorded=True, alone=False)
def lines_of_eight_threads_never_mix(test, recorded):
    command = [program("checkpoints"), "threads"]
    outcome = test.record(command, env=BYTES) if recorded else test.run(command, env=BYTES)
    equal(outcome.status, 0, "status")
    text = outcome.err.decode()
    lines = text.splitlines()
    equal(len(lines), 1 + 8 * 200, "lines and a title")
    labels = sorted(line["label"] for line in lines_of(text))
    wanted = sorted(f"thread  {n} {i} {chr(ord('a') + n) * 200}" for n in range(8) for i in range(200))
    equal(labels, wanted, "every line is whole")
    if recorded:
        outcome.tape.verify()
        points = json.loads(demand("checkpoints", "--json", outcome.tape.path))
        equal(len(points), 1600, "check points on the tape")


@case
def the_columns_stay_where_they_are(test):
    for options in ("bytes", "human"):
        text = test.run([program("checkpoints")], env={"HEAPTAPE_CHECKPOINT": options}).err.decode()
        lines = [line for line in text.splitlines() if "scope" not in line]
        column = lines[0].index("check point")
        labels = ["start", "grown", "large", "shrunk"]
        equal([line.find(label) for line, label in zip(lines[1:], labels)], [column] * 4, f"column of the labels ({options})\n{text}")


@case
def options_choose_where_lines_go(test):
    quiet = test.record([program("checkpoints")], env={"HEAPTAPE_CHECKPOINT": "quiet"})
    equal(quiet.err, b"", "stderr")
    equal(len(json.loads(demand("checkpoints", "--json", quiet.tape.path))), 4, "check points on the tape")
    file = test.work / "lines"
    outcome = test.run([program("checkpoints")], env={"HEAPTAPE_CHECKPOINT": f"bytes,trim,file={file}"})
    equal(outcome.err, b"", "stderr")
    equal(len(lines_of(file.read_text())), 4, "lines in the file")
    nowhere = test.run([program("checkpoints")], env={"HEAPTAPE_CHECKPOINT": "bytes,file=/nonexistent/file"})
    check(nowhere.err.startswith(b"heaptape: the file for check points cannot be opened"), nowhere.err)
    equal(len(lines_of(nowhere.err.decode())), 4, "lines on stderr instead")


@case
def what_is_too_long_ends_with_dots(test):
    lines = [line["label"] for line in lines_of(test.record([program("checkpoints"), "long"], env=BYTES).err.decode())]
    equal([len(lines), lines[0][:10], lines[1][:10]], [2, "values  xx", "label xxxx"], "labels")
    check(all(line.endswith("x...") and 990 < len(line) < 1100 for line in lines), [(len(line), line[-9:]) for line in lines])


@case
def a_word_that_is_no_option_is_told_once(test):
    text = test.run([program("checkpoints")], env={"HEAPTAPE_CHECKPOINT": "bytes,colour"}).err.decode()
    equal(text.count("heaptape: 'colour' is not an option of check points: bytes, "), 1, text)
    equal(len(lines_of(text)), 4, "the check points are there, in bytes")


def on_a_terminal(command, **env):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stderr=theirs, env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **env})
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    process.wait()
    return text.decode()


@case
def colours_say_what_grew_and_what_shrank(test):
    # The program itself asks for no colour; the environment wins.
    text = test.run([program("checkpoints")], env={"HEAPTAPE_CHECKPOINT": "color,bytes"}).err.decode()
    lines = [line for line in text.splitlines() if "scope" not in line][1:]
    check("\033[33m" not in lines[0] and "\033[32m" not in lines[0], "the first has nothing to compare with")
    check("\033[33m" in lines[2] and "\033[31m" in lines[2], f"grew, and the system gave more: {lines[2]!r}")
    check("\033[32m" in lines[3] and "\033[31m" not in lines[3], f"shrank: {lines[3]!r}")
    check("\033[" not in test.run([program("checkpoints")]).err.decode(), "none in a pipe")


@case
def a_terminal_gets_colours_unless_they_are_refused(test):
    source = test.work / "terminal.c"
    source.write_text("#include <heaptape/heaptape.h>\nint main(void) { double t1 = heaptape_now(); heaptape_checkpoint(t1, \"a\");\n"
                      "void* volatile block = malloc(1000000); heaptape_checkpoint(t1, \"b\"); free(block); return 0; }\n")
    include = os.path.join(os.path.dirname(__file__), "..", "..", "include")
    subprocess.run(["cc", "-I", include, source, "-o", test.work / "terminal"], check=True)
    command = [str(test.work / "terminal")]
    check("\033[33m" in on_a_terminal(command), "colours on a terminal")
    check("\033[" not in on_a_terminal(command, NO_COLOR="1"), "none with NO_COLOR")
    check("\033[" not in on_a_terminal(command, HEAPTAPE_CHECKPOINT="no-color"), "none by choice")


@case
def reports_show_the_heap_at_and_between_check_points(test):
    tape = test.record([program("checkpoints")], env=BYTES).tape
    trees = json.loads(demand("report", "--snapshots", "--show-runtime", "--json", tape.path))["trees"]
    live = [point["live_bytes"] for point in json.loads(demand("checkpoints", "--json", tape.path))]
    equal([tree["bytes"] for tree in trees], live, "live at each")
    new = json.loads(demand("report", "--from", "grown", "--to", "large 300", "--json", tape.path))["trees"][0]
    equal(new["bytes"], 300_000_000, "new between two")
    check("check point  grown  42 anna entrant 7 2.5 true (" in demand("marks", tape.path), "in the list of marks")
    check("grown  42 anna" in demand("timeline", tape.path), "in the timeline")


if __name__ == "__main__":
    raise SystemExit(main())
