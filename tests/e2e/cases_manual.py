"""The manual pages and the completions of the shells: they say what --help says, and the shells and man(1) accept them."""

import re
import subprocess
import sys
from pathlib import Path

from harness import HEAPTAPE, case, check, equal, installed, main, program
from tape import demand, heaptape

MAKER = Path(__file__).resolve().parents[2] / "tools" / "make_manual.py"


def made(test):
    folder = test.work / "manual"
    subprocess.run([sys.executable, "-B", str(MAKER), str(HEAPTAPE), str(folder)], check=True)
    return folder


def commands():
    return demand("--commands").split()


def options_in(text):
    return set(re.findall(r"^ {0,6}(?:-\w, )?(--[\w-]+)(?=$| {2,}|[ =\[]\S+(?: \S+)?(?:$| {2,}))", text, re.MULTILINE))


@case
def every_command_has_a_page_with_all_its_options(test):
    folder = made(test)
    names = commands()
    check({"record", "report", "explain", "shell"} <= set(names), f"commands: {names}")
    for name in names:
        page = (folder / "man" / f"heaptape-{name}.1").read_text().replace("\\-", "-")
        missing = [option for option in options_in(demand(name, "--help")) if f"\\fB{option}\\fR" not in page]
        equal(missing, [], f"options that the page of {name} lacks")
        check(f"heaptape-{name}\\fR(1)" in (folder / "man" / "heaptape.1").read_text().replace("\\-", "-"), f"heaptape(1) names {name}")


@case
def every_command_is_in_the_first_help(_):
    text = demand("--help")
    missing = [name for name in commands() if name != "collect" and not re.search(rf"\b{name}\b", text)]
    equal(missing, [], "commands that heaptape --help does not name")


@case
def help_fits_into_80_columns(_):
    wide = [(name, line) for name in ("", *commands()) for line in demand(*filter(None, [name]), "--help").splitlines() if len(line) > 80]
    equal(wide, [], "lines that are too long")


@case
def man_has_nothing_to_say_against_the_pages(test):
    man = installed("man")
    for page in sorted((made(test) / "man").iterdir()):
        done = subprocess.run([man, "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)], capture_output=True, text=True,
                              env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MANPAGER": "cat"}, check=False)
        equal((done.returncode, done.stderr), (0, ""), page.name)


def completed(test, *words):
    """What bash offers for the last of the words."""
    script = made(test) / "completions" / "heaptape"
    quoted = " ".join(f"'{word}'" for word in ("heaptape", *words))
    text = (f"compopt() {{ :; }}; source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _heaptape; "
            "printf '%s\\n' \"${COMPREPLY[@]}\"")
    return set(test.run([installed("bash"), "--norc", "-c", text]).out.decode().split())


@case
def bash_completes_commands_options_values_and_tapes(test):
    test.fresh_work()
    (test.work / "a.tape").touch()
    (test.work / "other.txt").touch()
    equal(completed(test, "expl"), {"explain"}, "a command")
    check({"--max-depth", "--max-tape"} <= completed(test, "record", "--max-"), "options of record")
    equal(completed(test, "report", "--color", "a"), {"auto", "always"}, "values")
    equal(completed(test, "report", "a"), {"a.tape"}, "tapes")
    check("other.txt" not in completed(test, "report", ""), "other files are no tapes")


@case
def bash_offers_values_and_not_tapes_behind_an_option(test):
    test.fresh_work()
    (test.work / "a.tape").touch()
    for words, expected in ((["report", "--by", ""], {"function", "line", "file", "module", "thread", "size"}),
                            (["export", "--format", "p"], {"pprof"}), (["report", "--names", ""], {"short", "full", "mangled"}),
                            (["top", "--sort", "t"], {"temporary"}), (["sql", "--format", ""], {"table", "csv", "json"})):
        equal(completed(test, *words), expected, f"values of {words}")
    equal(completed(test, "report", "--threshold", ""), set(), "a number is not a tape")


@case
def completion_asks_for_programs_and_moments(test):
    tape = test.recording_of([program("leak_hunt")]).tapes[0].path
    moments = dict(line.split("\t") for line in demand("--complete", "moments", "report", tape, "--at", "").splitlines())
    check({"start", "peak", "end", "configuration loaded", "quiet again"} <= set(moments), f"moments: {moments}")
    equal(heaptape("--complete", "pids").returncode, 0, "programs")


@case
def every_page_that_the_help_refers_to_is_made(test):
    folder = made(test) / "man"
    pages = {path.stem for path in folder.iterdir()}
    for name in ("", *commands()):
        text = demand(*filter(None, [name]), "--help")
        missing = [page for page in re.findall(r"man (heaptape[a-z-]*)", text) if page not in pages]
        equal(missing, [], f"manual pages that the help of {name or 'heaptape'} refers to")
        check("docs/" not in text, f"the help of {name or 'heaptape'} refers to what is installed")
    for page in ("heaptape-filters.7", "heaptape-sql.7", "heaptape-tape.5"):
        check((folder / page).stat().st_size > 1000, page)


@case
def zsh_and_fish_accept_their_scripts(test):
    folder = made(test) / "completions"
    for shell, script in (("zsh", "_heaptape"), ("fish", "heaptape.fish")):
        done = subprocess.run([installed(shell), "-n", str(folder / script)], capture_output=True, text=True, check=False)
        equal((done.returncode, done.stderr), (0, ""), shell)


@case
def a_picture_of_a_terminal_is_not_letter_spaced_in_chromium(test):
    picture = test.work / "picture.svg"
    subprocess.run([sys.executable, "-B", str(MAKER.with_name("terminal_svg.py")), str(picture), "title"], check=True, text=True,
                   input="$ heaptape info\n  two   columns\n# a remark\n")
    lines = re.findall(r"<text [^>]*textLength[^>]*>", picture.read_text())
    equal(len(lines), 3, "lines with a length")
    for line in lines:
        check('xml:space="preserve"' in line, f"Chromium wants it on the element itself: {line}")


if __name__ == "__main__":
    raise SystemExit(main())
