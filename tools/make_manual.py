#!/usr/bin/env python3
"""Writes the manual pages and the completions of the shells out of what heaptape itself says.

    make_manual.py HEAPTAPE FOLDER

HEAPTAPE is the built program; it is asked for its commands and the help of each. FOLDER gets man/heaptape.1,
man/heaptape-COMMAND.1, man/heaptape-TOPIC.7 and .5 (from docs/), and completions/ for bash, zsh and fish.
"""

import subprocess
import sys
from pathlib import Path

from manual.completions import bash_completion, fish_completion, zsh_completion
from manual.help_text import parse_help, parse_table
from manual.man_pages import TOPICS, command_page, main_page, topic_page


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


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
