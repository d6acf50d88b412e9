#!/usr/bin/env python3
"""Writes the manual pages and the completions of the shells out of what heaptape itself says.

    make_manual.py HEAPTAPE FOLDER

HEAPTAPE is the built program; it is asked for its commands and the help of each. FOLDER gets man/heaptape.1,
man/heaptape-COMMAND.1, and completions/ for bash, zsh and fish.
"""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Values worth completing, where the help names them only in a sentence.
VALUES = {
    "--color": "auto always never",
    "--names": "short full mangled",
    "--on-full": "wait drop",
}
FILE_OPTIONS = {"--output", "--suppressions", "--png", "--svg", "--dot", "--pdf", "--log"}
FOLDER_OPTIONS = {"--debug-dir", "--sysroot"}

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
class Help:
    name: str
    usage: str = ""
    purpose: str = ""
    description: list = field(default_factory=list)  # further paragraphs
    options: list = field(default_factory=list)
    more: list = field(default_factory=list)  # (title, lines); the title may be empty


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


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
            ".TP", "\\fBPAGER\\fR", "Shows long answers of \\fBheaptape\\-shell\\fR(1); empty: none.",
            ".TP", "\\fBDEBUGINFOD_URLS\\fR", "Where debug files may be asked for.",
            ".SH EXIT STATUS", "0 when all went well, 1 when the answer is no (a budget is exceeded, a tape is damaged), 2 when "
            "there was trouble; \\fBheaptape record\\fR ends with the program's own status."]
    return "\n".join(out) + "\n"


# ----------------------------------------------------------------------------------------------------------- completions


def option_words(page):
    return [name for option in page.options for name in option.names]


def values_of(option):
    return VALUES.get(option.long, "")


def bash_completion(pages):
    cases = []
    for page in pages:
        cases.append(f"    {page.name}) options='{' '.join(option_words(page))}' ;;")
    taking = sorted({name for page in pages for option in page.options if option.value and not option.value.startswith("[")
                     for name in option.names})
    fixed = "\n".join(f"    {name}) COMPREPLY=($(compgen -W '{words}' -- \"$word\")); return ;;" for name, words in VALUES.items())
    return f"""# bash completion of heaptape; made by tools/make_manual.py
_heaptape() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}} options='' i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{' '.join(page.name for page in pages)} help --help --version' -- "$word"))
    return
  fi
  case $command in
    help) COMPREPLY=($(compgen -W '{' '.join(page.name for page in pages)}' -- "$word")); return ;;
{chr(10).join(cases)}
  esac
  case $before in
{fixed}
    {'|'.join(sorted(FOLDER_OPTIONS))}) compopt -o filenames; COMPREPLY=($(compgen -d -- "$word")); return ;;
    {'|'.join(sorted(FILE_OPTIONS))}|-o) compopt -o filenames; COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  if [[ $command == record ]]; then
    # What follows the program is the program's.
    for ((i = 2; i < COMP_CWORD; ++i)); do
      case ${{COMP_WORDS[i]}} in
        --) ((++i)); break ;;
        {'|'.join(taking) or '--none'}) ((++i)) ;;
        -*) ;;
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
    compopt -o filenames
    COMPREPLY=($(compgen -f -X '!*.tape' -- "$word") $(compgen -d -- "$word"))
  fi
}}
complete -F _heaptape heaptape
"""


def zsh_text(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_option(option):
    text = zsh_text(" ".join(option.text))
    action = ""
    if option.value:
        kind = "_files" if option.long in FILE_OPTIONS else "_files -/" if option.long in FOLDER_OPTIONS else " "
        action = f":{zsh_text(option.value.strip('[]='))}:{f'({values_of(option)})' if values_of(option) else kind}"
    return [f"'*{name}[{text}]{action}'" for name in option.names]


def zsh_completion(pages):
    names = "\n".join(f"    '{page.name}:{zsh_text(page.purpose)}'" for page in pages)
    cases = []
    for page in pages:
        words = " \\\n      ".join(word for option in page.options for word in zsh_option(option))
        rest = "'*::program:_normal'" if page.name == "record" else "'*:tape:_files -g \"*.tape\"'"
        cases.append(f"    {page.name}) _arguments {words} \\\n      {rest} ;;")
    return f"""#compdef heaptape
# zsh completion of heaptape; made by tools/make_manual.py
_heaptape() {{
  local -a commands
  commands=(
{names}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{chr(10).join(cases)}
  esac
}}
_heaptape "$@"
"""


def fish_text(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def fish_completion(pages):
    out = ["# fish completion of heaptape; made by tools/make_manual.py", "complete -c heaptape -f"]
    for page in pages:
        out.append(f"complete -c heaptape -n __fish_use_subcommand -a {page.name} -d '{fish_text(page.purpose)}'")
    for page in pages:
        seen = f"-n '__fish_seen_subcommand_from {page.name}'"
        for option in page.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            more = ""
            if option.value:
                more = f" -x -a '{values_of(option)}'" if values_of(option) else " -r -F"
            out.append(f"complete -c heaptape {seen} {names}{more} -d '{fish_text(' '.join(option.text))}'")
        what = "-a '(__fish_complete_subcommand)'" if page.name == "record" else "-a '(__fish_complete_suffix .tape)'"
        out.append(f"complete -c heaptape {seen} -k {what}")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    heaptape, folder = sys.argv[1], Path(sys.argv[2])
    version = output_of(heaptape, "--version").split()[1]
    pages = [parse_help(name, output_of(heaptape, name, "--help")) for name in output_of(heaptape, "--commands").split()]
    man, completions = folder / "man", folder / "completions"
    man.mkdir(parents=True, exist_ok=True)
    completions.mkdir(parents=True, exist_ok=True)
    for page in pages:
        (man / f"heaptape-{page.name}.1").write_text(command_page(page, version))
    (man / "heaptape.1").write_text(main_page(output_of(heaptape, "--help"), pages, version))
    (completions / "heaptape").write_text(bash_completion(pages))
    (completions / "_heaptape").write_text(zsh_completion(pages))
    (completions / "heaptape.fish").write_text(fish_completion(pages))


if __name__ == "__main__":
    main()
