"""What heaptape says about its commands and their options, taken apart."""

import re
from dataclasses import dataclass, field
from itertools import takewhile

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


def parse_table(text):
    rows = [line.split("\t") for line in text.splitlines()]
    return [Value([name for name in (short, long) if name], place, name, choices.split(), help_text)
            for short, long, place, name, choices, help_text in rows]


def parse_options(lines):
    """The options of a list such as --help shows, and the lines that are none."""
    options, others = [], []
    for line in lines:
        found = OPTION.match(line)
        if found and (found[2] or found[3] or " " not in line.strip()):
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
    usage = list(takewhile(str.strip, lines)) # one line for each way to call it
    page = Help(name, usage="\n".join(line.removeprefix("usage:").strip() for line in usage))
    blocks = list(paragraphs(lines[len(usage):]))
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
