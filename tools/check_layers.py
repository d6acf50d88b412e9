#!/usr/bin/env python3
"""Holds the sources to the table of folders in docs/architecture.md.

    check_layers.py [ROOT]

ROOT (default: this repository) holds src/, include/, tests/, bench/ and docs/architecture.md. The table there is the only one:
each row names a folder below src/ and what it may include. Refused are

  - a folder without a row, a row without a folder, arrows that lead in a circle;
  - an include that has no arrow, that names no file, or that is not written from src/;
  - files of one folder that include each other in a circle (foo.h and foo.cpp count as one);
  - a heaptape_library() that links what its folder may not include, or not what it does include.

Prints one line per finding and ends with status 1 when there is one.
"""

import re
import sys
from pathlib import Path

PAGE = "docs/architecture.md"
ROW = re.compile(r"^\| `src/([a-z_/]+)` \|.*\| ([^|]*) \|$")

# Tests that look into the recorder and cannot lie beside it: they are loaded into real programs.
RECORDER_TESTS = ("tests/stack_truth",)

SOURCE_SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
BESIDE = re.compile(r"(_test|_fuzz|_bench|_for_test)$")  # what may use more than the code it lies beside
LIBRARY = re.compile(r"heaptape_library\(\s*(\w+)([^)]*)\)")
INTERFACE = re.compile(r"add_library\((\w+) INTERFACE\)")


def read_table(page):
    """{folder: names in its last column, as written} of the table in the architecture page."""
    rows = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if row:
            names = row.group(2).strip()
            rows[row.group(1)] = [] if names == "–" else [name.strip() for name in names.split(",")]
    return rows


def source_files(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCE_SUFFIXES) if folder.is_dir() else []


def includes_of(file):
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(1) == '"', found.group(2)


def find_circle(graph):
    """One circle of a graph {node: nodes} as a list that ends where it begins; None when there is none."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for other in sorted(graph.get(node, ())):
            circle = visit(other)
            if circle:
                return circle
        path.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        circle = visit(node)
        if circle:
            return circle
    return None


class Layers:
    def __init__(self, root):
        self.root = root
        self.source = root / "src"
        self.rows = read_table(root / PAGE)
        self.findings = []
        self.arrows = {folder: self.expand(folder, names) for folder, names in self.rows.items()}

    def expand(self, folder, names):
        """A folder with rooms stands for all of its rooms."""
        allowed = set()
        for name in names:
            rooms = {row for row in self.rows if row == name or row.startswith(name + "/")}
            if not rooms:
                self.findings.append(f"{PAGE}: src/{folder} may include {name}, which has no row")
            allowed |= rooms
        return allowed - {folder}

    def layer_of(self, path):
        folder = str(Path(path).parent)
        return folder if folder in self.rows else None

    def check_table(self):
        folders = {str(file.relative_to(self.source).parent) for file in source_files(self.source)}
        for folder in sorted(set(self.rows) - folders):
            self.findings.append(f"{PAGE}: src/{folder} has a row but no sources")
        circle = find_circle(self.arrows)
        if circle:
            self.findings.append(f"{PAGE}: the arrows lead in a circle: {' -> '.join(circle)}")

    def check_source(self, file):
        own_path = file.relative_to(self.source)
        own = self.layer_of(own_path)
        if own is None:
            folder = own_path.parent
            self.findings.append(f"src/{own_path}:1: src/{folder} has no row in the table of {PAGE}")
            return
        beside = BESIDE.search(file.stem)
        for number, quoted, name in includes_of(file):
            place = f"src/{own_path}:{number}"
            target = self.layer_of(name)
            if not quoted:
                if target is not None and (self.source / name).is_file():
                    self.findings.append(f'{place}: write #include "{name}", angle brackets are for other projects')
            elif target is None or not (self.source / name).is_file():
                self.findings.append(f'{place}: "{name}" is not a file under src/; includes read "folder/file.h"')
            elif target != own and target not in self.arrows[own]:
                known = {room.split("/")[0] for room in self.arrows[own] | {own}} - {"recorder"}
                if not (beside and target.split("/")[0] in known):  # a test may use any room of the folders it knows
                    self.findings.append(f"{place}: {own} may not include {target}")

    def check_circles(self):
        graphs = {}
        for file in source_files(self.source):
            path = file.relative_to(self.source)
            if BESIDE.search(file.stem):
                continue
            own = graphs.setdefault(str(path.parent), {}).setdefault(path.stem, set())
            for _, quoted, name in includes_of(file):
                target = Path(name)
                if quoted and target.parent == path.parent and target.stem != path.stem:
                    own.add(target.stem)
        for folder, graph in sorted(graphs.items()):
            circle = find_circle(graph)
            if circle:
                self.findings.append(f"src/{folder}: files include each other in a circle: {' -> '.join(circle)}")

    def check_libraries(self):
        """heaptape_library(NAME ... LINK library...) repeats the arrows that its sources use."""
        folder_of, links = {}, {}
        for lists in sorted(self.source.rglob("CMakeLists.txt")):
            folder = str(lists.parent.relative_to(self.source))
            text = re.sub(r"#.*", "", lists.read_text(encoding="utf-8"))
            for name, body in LIBRARY.findall(text):
                folder_of[name] = folder
                words = re.split(r"\b(SOURCES|LINK|PRIVATE_LINK)\b", body)
                links[name] = {word for key, part in zip(words[1::2], words[2::2]) if key != "SOURCES"
                               for word in part.split()}
            for name in INTERFACE.findall(text):
                folder_of.setdefault(name, folder)
        for name, linked in sorted(links.items()):
            own = folder_of[name]
            if own not in self.arrows:
                continue
            targets = set()
            for library in linked & set(folder_of):
                target = folder_of[library]
                targets |= {row for row in self.rows if row == target or row.startswith(target + "/")}
            for target in sorted(targets - self.arrows[own] - {own}):
                self.findings.append(f"src/{own}/CMakeLists.txt: {name} links {target}, which src/{own} may not include")
            for target in sorted(self.used_by(own) - targets - {own, "wire"}):
                self.findings.append(f"src/{own}/CMakeLists.txt: {name} includes {target} but does not link it")

    def used_by(self, folder):
        used = set()
        for file in (self.source / folder).iterdir():
            if file.suffix in SOURCE_SUFFIXES and not BESIDE.search(file.stem):
                used |= {self.layer_of(name) for _, quoted, name in includes_of(file) if quoted}
        return used - {None}

    def check_outside(self, file):
        """tests/ and bench/ may use any folder but the recorder; the public headers use none."""
        public = file.is_relative_to(self.root / "include")
        for number, _, name in includes_of(file):
            target = self.layer_of(name)
            if target is None or not (self.source / name).is_file():
                continue
            place = f"{file.relative_to(self.root)}:{number}"
            if public:
                self.findings.append(f"{place}: a public header may not include {target}")
            elif target.startswith("recorder/") and not place.startswith(RECORDER_TESTS):
                self.findings.append(f"{place}: nothing outside recorder/ includes it")


def check_tree(root):
    layers = Layers(root)
    layers.check_table()
    for file in source_files(root / "src"):
        layers.check_source(file)
    layers.check_circles()
    layers.check_libraries()
    for folder in ("include", "tests", "bench"):
        for file in source_files(root / folder):
            layers.check_outside(file)
    return layers.findings


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    if not source_files(root / "src"):
        print(f"check_layers: no sources under {root}/src", file=sys.stderr)
        return 2
    findings = check_tree(root)
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
