#!/usr/bin/env python3
"""Makes a C++ source that holds text files.

    embed_texts.py OUTPUT HEADER NAME=FILE[,FILE...]...

OUTPUT includes HEADER, which declares each NAME as `extern const std::string_view` in namespace heaptape. Several files become one text,
with an empty line between them.
"""

import sys
from pathlib import Path

# Compilers need not accept longer literals; adjacent ones are joined.
PIECE = 8000


def literal(text):
    """The text as C++ string literals, one per line of the source."""
    escaped = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"}
    pieces = [text[i:i + PIECE].translate(escaped) for i in range(0, len(text), PIECE)] or [""]
    return "\n    ".join(f'"{piece}"' for piece in pieces)


def main():
    output, header, *entries = sys.argv[1:]
    lines = [f'#include "{header}"', "", "namespace heaptape {", ""]
    for entry in entries:
        name, _, files = entry.partition("=")
        text = "\n".join(Path(file).read_text(encoding="utf-8") for file in files.split(","))
        size = len(text.encode())
        lines += [f"const std::string_view {name}(\n    {literal(text)},\n    {size});", ""]
    lines += ["} // namespace heaptape", ""]
    Path(output).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
