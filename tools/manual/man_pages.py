"""The manual pages, as roff: one per command, and some pages of the guide."""

import re
import textwrap
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs"
# Pages of the guide that are manual pages, too: (name, section, file, what apropos shows).
TOPICS = [
    ("heaptape-filters", 7, "guide/filters.md", "which events and blocks a question is about: --where"),
    ("heaptape-sql", 7, "guide/sql.md", "the tables of heaptape sql"),
    ("heaptape-tape", 5, "tape-format.md", "the format of tape files"),
]


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
    out += [".SH SYNOPSIS", "\n.br\n".join(roff(line) for line in page.usage.split("\n")), ".SH DESCRIPTION", roff(page.purpose)]
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
