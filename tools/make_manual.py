#!/usr/bin/env python3
"""Writes the manual pages and the completions of the shells out of what heaptape itself says.

    make_manual.py HEAPTAPE FOLDER

HEAPTAPE is the built program; it is asked for its commands and the help of each. FOLDER gets man/heaptape.1,
man/heaptape-COMMAND.1, man/heaptape-TOPIC.7 and .5 (from docs/), and completions/ for bash, zsh and fish.
"""

import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[1] / "docs"
# Pages of the guide that are manual pages, too: (name, section, file, what apropos shows).
TOPICS = [
    ("heaptape-filters", 7, "guide/filters.md", "which events and blocks a question is about: --where"),
    ("heaptape-sql", 7, "guide/sql.md", "the tables of heaptape sql"),
    ("heaptape-tape", 5, "tape-format.md", "the format of tape files"),
]

# What a value is, by its name in the help: so completion knows what to offer where an option has no list of choices.
FILES = {"FILE", "CORE", "SOCKET"}
FOLDERS = {"DIR", "FOLDER"}
MOMENTS = {"MOMENT", "POSITION"}

# "  -o, --output FILE   what it does"; the value may also hang on the name: --cpu[=HZ]
OPTION = re.compile(r"^ {0,6}((?:-\w, )?--?\w[\w-]*)(?: ?(\S+(?: \S+)*))?(?: {2,}(\S.*))?$")


@dataclass
class Option:
    names: list
    value: str = ""
    text: list = field(default_factory=list)

    @property
    def long(self):
        return self.names[-1]


@dataclass
class Value:
    """An option as the command itself declares it: what completion needs."""
    names: list
    place: str  # none, next, maybe, attached, series, word
    name: str
    choices: list
    text: str

    @property
    def kind(self):
        if self.choices:
            return "choices"
        for kind, names in (("files", FILES), ("folders", FOLDERS), ("moments", MOMENTS), ("pids", {"PID"}), ("tapes", {"TAPE", "BEFORE", "AFTER"})):
            if self.name.split(" ")[0].strip("[].") in names:
                return kind
        return "other"


@dataclass
class Help:
    name: str
    usage: str = ""
    purpose: str = ""
    description: list = field(default_factory=list)  # further paragraphs
    options: list = field(default_factory=list)
    more: list = field(default_factory=list)  # (title, lines); the title may be empty
    values: list = field(default_factory=list)  # its options as a table

    def value_options(self):
        return [value for value in self.values if value.place not in ("none", "word")]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def parse_table(text):
    rows = [line.split("\t") for line in text.splitlines()]
    return [Value([name for name in (short, long) if name], place, name, choices.split(), help_text)
            for short, long, place, name, choices, help_text in rows]


def parse_options(lines):
    """The options of a list such as --help shows, and the lines that are none."""
    options, others = [], []
    for line in lines:
        found = OPTION.match(line)
        if found and (found[2] or found[3] or len(line) < 24):
            options.append(Option(found[1].split(", "), found[2] or "", [found[3]] if found[3] else []))
        elif options and not others and line.startswith(" " * 8):
            options[-1].text.append(line.strip())
        else:
            others.append(line)
    return options, others


def paragraphs(lines):
    block = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []


def parse_help(name, text):
    lines = text.rstrip("\n").split("\n")
    page = Help(name, usage=lines[0].removeprefix("usage: "))
    blocks = list(paragraphs(lines[1:]))
    page.purpose = " ".join(blocks[0])
    for block in blocks[1:]:
        title = ""
        if re.fullmatch(r"[A-Z][\w ,']*:", block[0]):
            title, block = block[0][:-1], block[1:]
        options, others = parse_options(block)
        if others and not title and not page.options:
            page.description.append(others)
        elif others:
            page.more.append((title, others))
        known = {option.long for option in page.options}
        page.options += [option for option in options if option.long not in known]
    return page


# ------------------------------------------------------------------------------------------------------------- man pages


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def heading(title, version, purpose):
    # A name section must be one line for apropos.
    first = re.split(r"(?<=[.;])\s", purpose)[0].rstrip(".")
    return [f'.TH {roff(title.upper())} 1 "" "heaptape {roff(version)}" "heaptape"', ".SH NAME",
            f"{roff(title)} \\- {roff(first[:1].lower() + first[1:])}"]


def as_is(lines):
    return [".PP", ".nf", *(roff(line) for line in lines), ".fi"]


def more_sections(page):
    out, opened = [], "OPTIONS" if page.options else "DESCRIPTION"
    for title, lines in page.more:
        section = title.upper() or "NOTES"
        if section != opened:
            out.append(f".SH {roff(section)}")
            opened = section
        if title == "" and not lines[0].startswith(" "):
            out += [".PP", *(roff(line) for line in lines)]
        else:
            out += as_is(lines)
    return out


def command_page(page, version):
    title = f"heaptape-{page.name}"
    out = heading(title, version, page.purpose)
    out += [".SH SYNOPSIS", roff(page.usage), ".SH DESCRIPTION", roff(page.purpose)]
    for lines in page.description:
        out += as_is(lines) if lines[0].startswith(" ") else [".PP", *(roff(line) for line in lines)]
    if page.options:
        out.append(".SH OPTIONS")
    for option in page.options:
        label = ", ".join(f"\\fB{roff(name)}\\fR" for name in option.names)
        if option.value:
            joint = "" if option.value.startswith(("[", "=")) else " "
            label += f"{joint}\\fI{roff(option.value)}\\fR"
        out += [".TP", label, roff(" ".join(option.text)) or "\\&"]
    out += more_sections(page)
    out += [".SH SEE ALSO", "\\fBheaptape\\fR(1)"]
    return "\n".join(out) + "\n"


def main_page(text, pages, version):
    lines = text.rstrip("\n").split("\n")
    purpose = lines[0]
    summaries = dict(re.findall(r"^  ([a-z]+).*? {2,}(\S.*)$", text, re.M))
    out = heading("heaptape", version, "records every heap event of a program and plays the tape back")
    out += [".SH SYNOPSIS", "\\fBheaptape\\fR \\fICOMMAND\\fR [\\fIoptions\\fR] [\\fITAPE\\fR]", ".SH DESCRIPTION", roff(purpose),
            "Without \\fITAPE\\fR, the newest *.tape in the current directory is meant.", ".SH COMMANDS"]
    for page in pages:
        summary = summaries.get(page.name, page.purpose)
        out += [".TP", f"\\fBheaptape\\-{roff(page.name)}\\fR(1)", roff(summary)]
    out += [".SH ENVIRONMENT", ".TP", "\\fBHEAPTAPE_*\\fR",
            "Options of \\fBheaptape\\-record\\fR(1) for programs that are started without it.",
            ".TP", "\\fBNO_COLOR\\fR", "When set, nothing is coloured unless \\-\\-color=always says so.",
            ".TP", "\\fBHEAPTAPE_PAGER\\fR, \\fBPAGER\\fR",
            "Shows long answers on a terminal (default: less); empty, or \\fBheaptape \\-\\-no\\-pager\\fR: none.",
            ".TP", "\\fBDEBUGINFOD_URLS\\fR", "Where debug files may be asked for.",
            ".SH EXIT STATUS", "0 when all went well, 1 when the answer is no (a budget is exceeded, a tape is damaged), 2 when "
            "there was trouble; \\fBheaptape record\\fR ends with the program's own status.",
            ".SH SEE ALSO", ", ".join(f"\\fB{roff(name)}\\fR({section})" for name, section, _, _ in TOPICS) + ",",
            "and the guide in /usr/share/doc/heaptape/guide"]
    return "\n".join(out) + "\n"


def inline(text):
    """A line of Markdown as roff: code and emphasis in their fonts, links by their text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*|(?<![\w*])\*[^*]+\*(?![\w*]))", text)
    out = ""
    for part in parts:
        if part.startswith("`"):
            out += f"\\fB{roff(part[1:-1])}\\fR"
        elif part.startswith("**"):
            out += f"\\fB{roff(part[2:-2])}\\fR"
        elif part.startswith("*") and part.endswith("*") and len(part) > 2:
            out += f"\\fI{roff(part[1:-1])}\\fR"
        else:
            out += part.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + out if out.startswith((".", "'")) else out


def plain_cells(line):
    cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
    return [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").replace("**", "") for cell in cells]


def table(rows):
    """A table as aligned text; the last column is wrapped."""
    cells = [plain_cells(row) for row in rows if not re.fullmatch(r"[\s|:-]+", row)]
    columns = max(map(len, cells))
    cells = [row + [""] * (columns - len(row)) for row in cells]
    widths = [max(len(row[i]) for row in cells) for i in range(columns - 1)]
    left = sum(widths) + 2 * len(widths)
    lines = []
    for row in cells:
        head = "".join(cell.ljust(width) + "  " for cell, width in zip(row, widths))
        wrapped = textwrap.wrap(row[-1], max(30, 78 - left)) or [""]
        lines += [(head + wrapped[0]).rstrip(), *(" " * left + more for more in wrapped[1:])]
    return lines


def topic_page(name, section, file, purpose, version):
    """A page of the guide as a manual page."""
    out = [f'.TH {roff(name.upper())} {section} "" "heaptape {roff(version)}" "heaptape"', ".SH NAME",
           f"{roff(name)} \\- {roff(purpose)}", ".SH DESCRIPTION"]
    lines = (GUIDE / file).read_text().split("\n")
    at, fresh = 0, True
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("```"):
            end = lines.index("```", at)
            out += [".PP", ".RS 2", ".nf", *(roff(code) for code in lines[at:end]), ".fi", ".RE"]
            at, fresh = end + 1, True
        elif line.startswith("|"):
            rows = [line]
            while at < len(lines) and lines[at].startswith("|"):
                rows.append(lines[at])
                at += 1
            out += [".PP", ".nf", *(roff(row) for row in table(rows)), ".fi"]
            fresh = True
        elif line.startswith("# "):
            continue
        elif line.startswith("#"):
            out.append((".SH " if line.startswith("## ") else ".SS ") + f'"{roff(line.lstrip("# ").replace("`", ""))}"')
            fresh = False
        elif found := re.match(r"(\s*)(?:[-*]|\d+\.) (.*)", line):
            out += [".IP \\(bu 2", inline(found[2])]
            fresh = False
        elif not line.strip():
            fresh = True
        else:
            if fresh:
                out.append(".PP")
            out.append(inline(line.strip()))
            fresh = False
    out += [".SH SEE ALSO", "\\fBheaptape\\fR(1)"]
    return "\n".join(out) + "\n"


# ----------------------------------------------------------------------------------------------------------- completions
# Lists that change (processes, marks) are asked of heaptape itself: heaptape --complete pids|moments [WORDS of the line].

BASH_KINDS = {
    "files": "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))",
    "folders": "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))",
    "pids": "_heaptape_lines pids",
    "moments": "_heaptape_lines moments",
    "tapes": "_heaptape_tapes",
    "other": "COMPREPLY=()",
}


def bash_values(page):
    """The branches of a case on the option before the word."""
    out = []
    for value in page.value_options():
        if value.place == "attached" and not value.choices:
            continue
        if value.place in ("maybe", "attached") and value.kind == "other":
            continue
        names = "|".join(value.names)
        action = f"COMPREPLY=($(compgen -W '{' '.join(value.choices)}' -- \"$word\"))" if value.choices else BASH_KINDS[value.kind]
        out.append(f"        {names}) {action}; return ;;")
    return "\n".join(out)


def option_words(page):
    return [name for value in page.values if value.place != "word" for name in value.names] + ["--help"]


def bash_completion(pages):
    cases = []
    for page in pages:
        cases.append(f"    {page.name})\n      options='{' '.join(option_words(page))}'\n      case $before in\n{bash_values(page)}\n"
                     f"        '') ;;\n      esac ;;")
    taking = sorted({name for page in pages if page.name == "record" for value in page.value_options() if value.place == "next"
                     for name in value.names})
    names = " ".join(page.name for page in pages)
    return f"""# bash completion of heaptape; made by tools/make_manual.py
_heaptape_tapes() {{
  compopt -o filenames
  COMPREPLY=($(compgen -f -X '!*.tape' -- "$word") $(compgen -d -- "$word"))
}}
# What heaptape lists, a line each; what stands behind a tab is for people.
_heaptape_lines() {{
  local line IFS=$'\\n'
  while read -r line; do
    line=${{line%%$'\\t'*}}
    [[ $line == "$word"* ]] && COMPREPLY+=("$(printf %q "$line")")
  done < <("${{COMP_WORDS[0]}}" --complete "$1" "${{COMP_WORDS[@]:1}}" 2>/dev/null)
}}
_heaptape() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}} options='' i
  COMPREPLY=()
  # "--by=fun" comes as three words.
  if [[ $word == = ]]; then word=''; elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  if ((COMP_CWORD == 1)); then
    if [[ $word == */* ]]; then
      compopt -o filenames
      COMPREPLY=($(compgen -f -- "$word"))
      return
    fi
    COMPREPLY=($(compgen -W '{names} help --help --version' -- "$word") $(compgen -f -X '!*.tape' -- "$word"))
    return
  fi
  case $command in
    help) COMPREPLY=($(compgen -W '{names}' -- "$word")); return ;;
{chr(10).join(cases)}
  esac
  if [[ $command == record ]]; then
    # What follows the program is the program's.
    for ((i = 2; i < COMP_CWORD; ++i)); do
      case ${{COMP_WORDS[i]}} in
        --) ((++i)); break ;;
        {'|'.join(taking) or '--none'}) ((++i)) ;;
        -*|=) ;;
        *) break ;;
      esac
    done
    if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
      _command_offset "$i"
      return
    fi
    if [[ $word != -* ]]; then
      compopt -o filenames
      COMPREPLY=($(compgen -c -- "$word") $(compgen -f -- "$word"))
      return
    fi
  fi
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    _heaptape_tapes
  fi
}}
complete -F _heaptape heaptape
"""


def zsh_text(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


ZSH_KINDS = {"files": "_files", "folders": "_files -/", "pids": "_heaptape_lines pids", "moments": "_heaptape_lines moments",
             "tapes": '_files -g "*.tape"', "other": " "}


def zsh_option(value):
    text, out = zsh_text(value.text), []
    for name in value.names:
        if value.place == "none":
            out.append(f"'*{name}[{text}]'")
            continue
        action = f"({' '.join(value.choices)})" if value.choices else ZSH_KINDS[value.kind]
        # An attached value comes behind "="; one that may be left out has two colons.
        joint = {"attached": "=-", "next": "=" if name.startswith("--") else "", "series": ""}.get(value.place, "")
        colons = "::" if value.place in ("maybe", "attached") else ":"
        out.append(f"'*{name}{joint}[{text}]{colons}{zsh_text(value.name.strip('[]=') or 'value')}:{action}'")
    return out


def zsh_completion(pages):
    names = "\n".join(f"    '{page.name}:{zsh_text(page.purpose)}'" for page in pages)
    cases = []
    for page in pages:
        words = " \\\n      ".join([*(word for value in page.values if value.place != "word" for word in zsh_option(value)),
                                    "'--help[show this help]'"])
        rest = "'*::program:_normal'" if page.name == "record" else "'*:tape:_files -g \"*.tape\"'"
        cases.append(f"    {page.name}) _arguments -s {words} \\\n      {rest} ;;")
    return f"""#compdef heaptape
# zsh completion of heaptape; made by tools/make_manual.py
# What heaptape lists, a line each; what stands behind a tab describes it.
_heaptape_lines() {{
  local -a found
  local line tab=$'\\t'
  for line in ${{(f)"$($_heaptape_program --complete $1 $words 2>/dev/null)"}}; do
    found+=("${{${{line%%$tab*}}//:/\\\\:}}:${{line#*$tab}}")
  done
  _describe -V $1 found
}}
_heaptape() {{
  local -a commands
  local _heaptape_program=$words[1]
  commands=(
{names}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    _files
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{chr(10).join(cases)}
    help) _describe command commands ;;
  esac
}}
_heaptape "$@"
"""


def fish_text(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


FISH_KINDS = {"files": " -r -F", "folders": " -x -a '(__fish_complete_directories)'",
              "pids": " -x -a '(heaptape --complete pids 2>/dev/null)'",
              "moments": " -x -a '(heaptape --complete moments (commandline -opc)[2..-1] 2>/dev/null)'",
              "tapes": " -x -a '(__fish_complete_suffix .tape)'", "other": " -x"}


def fish_completion(pages):
    out = ["# fish completion of heaptape; made by tools/make_manual.py", "complete -c heaptape -f"]
    for page in pages:
        out.append(f"complete -c heaptape -n __fish_use_subcommand -a {page.name} -d '{fish_text(page.purpose)}'")
    out.append("complete -c heaptape -n __fish_use_subcommand -k -a '(__fish_complete_suffix .tape)'")
    for page in pages:
        seen = f"-n '__fish_seen_subcommand_from {page.name}'"
        for value in page.values:
            if value.place == "word":
                continue
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in value.names)
            more = ""
            if value.place != "none":
                more = f" -x -a '{' '.join(value.choices)}'" if value.choices else FISH_KINDS[value.kind]
            if value.place in ("attached", "maybe"):
                more = more.replace(" -x", " -f").replace(" -r", "")
            out.append(f"complete -c heaptape {seen} {names}{more} -d '{fish_text(value.text)}'")
        what = "-a '(__fish_complete_subcommand)'" if page.name == "record" else "-a '(__fish_complete_suffix .tape)'"
        out.append(f"complete -c heaptape {seen} -k {what}")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    heaptape, folder = sys.argv[1], Path(sys.argv[2])
    version = output_of(heaptape, "--version").split()[1]
    pages = [parse_help(name, output_of(heaptape, name, "--help")) for name in output_of(heaptape, "--commands").split()]
    for page in pages:
        page.values = parse_table(output_of(heaptape, page.name, "--list-options"))
    man, completions = folder / "man", folder / "completions"
    man.mkdir(parents=True, exist_ok=True)
    completions.mkdir(parents=True, exist_ok=True)
    for page in pages:
        (man / f"heaptape-{page.name}.1").write_text(command_page(page, version))
    for name, section, file, purpose in TOPICS:
        (man / f"{name}.{section}").write_text(topic_page(name, section, file, purpose, version))
    (man / "heaptape.1").write_text(main_page(output_of(heaptape, "--help"), pages, version))
    (completions / "heaptape").write_text(bash_completion(pages))
    (completions / "_heaptape").write_text(zsh_completion(pages))
    (completions / "heaptape.fish").write_text(fish_completion(pages))


if __name__ == "__main__":
    main()
