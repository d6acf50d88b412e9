#!/usr/bin/env python3
"""Draws a terminal session as an SVG picture for the README.

    terminal_svg.py OUT.svg TITLE < session.txt

Lines that start with "$ " are drawn as commands, "# " as remarks, the rest as output. The text is used as it is: record the
session with the real program (docs/img/make does) and do not edit what it printed.
"""

import sys
from xml.sax.saxutils import escape

CHAR_WIDTH = 8.4
LINE_HEIGHT = 19
PADDING = 16
BAR = 30
COLOURS = {"$ ": "#e8e8e8", "# ": "#8a93a0", "": "#b9c4d0"}
PROMPT = "#7bd88f"


def style_of(line):
    return next(prefix for prefix in COLOURS if line.startswith(prefix))


def draw(lines, title):
    columns = max([len(line) for line in lines] + [len(title), 40])
    width = columns * CHAR_WIDTH + 2 * PADDING
    height = len(lines) * LINE_HEIGHT + 2 * PADDING + BAR
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
           f'viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{escape(title)}">')
    yield f'<rect width="100%" height="100%" rx="8" fill="#1b2028"/>'
    for index, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        yield f'<circle cx="{PADDING + 6 + 20 * index}" cy="{BAR / 2 + 2:.0f}" r="6" fill="{colour}"/>'
    yield (f'<text x="50%" y="{BAR / 2 + 7:.0f}" fill="#8a93a0" text-anchor="middle" font-size="13" '
           f'font-family="sans-serif">{escape(title)}</text>')
    yield '<g font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="14">'
    for index, line in enumerate(lines):
        prefix = style_of(line)
        y = BAR + PADDING + LINE_HEIGHT * index + 12
        body = escape(line)
        if prefix == "$ ":
            body = f'<tspan fill="{PROMPT}">$</tspan>{escape(line[1:])}'
        # textLength keeps columns aligned whatever monospace font the reader has. Chromium looks for xml:space on the
        # element itself: inherited, blanks are dropped and the rest is spread over the length.
        yield (f'<text xml:space="preserve" x="{PADDING}" y="{y}" fill="{COLOURS[prefix]}" '
               f'textLength="{len(line) * CHAR_WIDTH:.1f}">{body}</text>' if line else "")
    yield "</g>"
    yield "</svg>"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lines = [line.rstrip("\n").expandtabs() for line in sys.stdin]
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("\n".join(part for part in draw(lines, sys.argv[2]) if part) + "\n")


if __name__ == "__main__":
    main()
