#!/usr/bin/env python3
"""The recorder gate: refuses code that must not run inside another program.

    check_recorder.py objects --allow imports.allow [--uses LIB...] [--init NAME] [--fini NAME] -- LIB...
    check_recorder.py shared --exports exports.map -- LIB.so

`objects` looks at object files or static libraries before they are linked into libheaptape.so, because afterwards our own
malloc would satisfy a stray call of malloc and hide it:
  - every symbol left undefined stands in the allow file (`symbol  # reason`) or is a hidden symbol of a --uses library;
  - nothing runs by itself at load or exit, except the functions named by --init and --fini;
  - no code calls a function that the same library exports (a hook that calls a hook would record twice).
`shared` looks at the finished library: it needs libc alone, exports exactly the names of the version script, and binds
every symbol at load.

Prints one line per finding and ends with status 1 when there is one, 2 when a file or a tool is missing.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Made by the linker itself, never by a library.
LINKER_MADE = {"_GLOBAL_OFFSET_TABLE_"}
RUNS_AT_LOAD = (".init_array", ".preinit_array", ".ctors")
RUNS_AT_EXIT = (".fini_array", ".dtors")
MAY_BE_NEEDED = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


class Refused(Exception):
    """A file that cannot be judged at all: missing, or not in the format it should have."""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(f"{command[0]} failed: {done.stderr.strip()}")
    return done.stdout


def demangled(name):
    if not name.startswith("_Z"):
        return name
    try:
        text = subprocess.run(["c++filt", name], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return name
    return f"{name} ({text})" if text and text != name else name


def read_allow_file(path):
    """The allowed symbols; every line carries a reason, so that a reader can judge it."""
    allowed = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        symbol, _, reason = line.partition("#")
        symbol = symbol.strip()
        if not symbol:
            continue
        if " " in symbol or not reason.strip():
            raise Refused(f"{path}:{number}: expected `symbol  # reason`")
        allowed.add(symbol)
    return allowed


def read_version_script(path):
    """The names that a linker version script makes global. Patterns are refused: the list is the contract."""
    text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"(#|//).*", " ", text)
    names = set()
    section = None
    for token in re.findall(r"[\w.@$*?\[\]]+|[{}:;]", text):
        if token in ("global", "local"):
            section = token
        elif token == "}":
            section = None
        elif token not in "{:;" and section == "global":
            if re.search(r"[*?\[]", token):
                raise Refused(f"{path}: {token} is a pattern, not a name; list every export")
            names.add(token)
    if not names:
        raise Refused(f"{path}: lists no global name")
    return names


class Binary:
    """What readelf and nm say about one ELF file."""

    def __init__(self, tools, path):
        self.tools = tools
        self.path = path

    def undefined(self):
        return {line.split()[0] for line in run(self.tools.nm, "-u", "--format=posix", self.path).splitlines() if line}

    def symbols(self):
        """(name, type, binding, visibility, section index, value) of every defined symbol."""
        found = []
        for line in run(self.tools.readelf, "-sW", self.path).splitlines():
            part = line.split()
            if len(part) == 8 and part[0].rstrip(":").isdigit() and part[6] != "UND":
                found.append((part[7], part[3], part[4], part[5], part[6], int(part[1], 16)))
        return found

    def section_names(self):
        """Name by index, both as readelf writes them."""
        return dict(re.findall(r"^\s*\[\s*(\d+)\] (\S+)", run(self.tools.readelf, "-SW", self.path), re.M))

    def relocations(self):
        """(section that is patched, symbol) of every relocation. Assemblers write `.text + 40` for a static function: such
        places get back the function's name."""
        sections = self.section_names()
        functions = {
            (sections.get(index), value): name for name, kind, _, _, index, value in self.symbols() if kind == "FUNC"
        }
        found = []
        section = ""
        for line in run(self.tools.readelf, "-rW", self.path).splitlines():
            title = re.match(r"Relocation section '\.rela?(\S+)'", line)
            if title:
                section = title.group(1)
                continue
            part = line.split()
            if len(part) >= 5 and part[2].startswith("R_"):
                offset = int(part[6], 16) if len(part) >= 7 and part[5] == "+" else 0
                found.append((section, functions.get((part[4], offset), part[4])))
        return found


def is_named(symbol, names):
    """Whether one of the names, C or unqualified C++, is that of the function `symbol`."""
    return any(symbol == name or (symbol.startswith("_Z") and f"{len(name)}{name}E" in symbol) for name in names)


def users_of(tools, files, symbol):
    """The objects that leave `symbol` undefined, as in "ring.cpp.o, capture.cpp.o"."""
    users = []
    for line in run(tools.nm, "-A", "-u", "--format=posix", *files).splitlines():
        place, _, rest = line.partition(": ")
        if rest.split()[:1] == [symbol]:
            users.append(re.sub(r".*[/\[]|\]$", "", place))
    return ", ".join(sorted(set(users))) or "?"


def check_objects(tools, arguments):
    findings = []
    allowed = read_allow_file(arguments.allow) | LINKER_MADE
    with tempfile.TemporaryDirectory() as folder:
        combined = Binary(tools, Path(folder) / "combined.o")
        run(tools.ld, "-r", "--whole-archive", *arguments.files, "-o", combined.path)

        lent = set()
        if arguments.uses:
            lender = Binary(tools, Path(folder) / "lender.o")
            run(tools.ld, "-r", "--whole-archive", *sum(arguments.uses, []), "-o", lender.path)
            lent = {name for name, _, _, visibility, _, _ in lender.symbols() if visibility == "HIDDEN"}

        for symbol in sorted(combined.undefined() - allowed - lent):
            findings.append(
                f"imports {demangled(symbol)}, which {arguments.allow.name} does not allow"
                f" (in {users_of(tools, arguments.files, symbol)})"
            )

        exported = {
            name for name, kind, binding, visibility, _, _ in combined.symbols()
            if kind == "FUNC" and binding == "GLOBAL" and visibility == "DEFAULT"
        }
        own_calls = set()
        for section, symbol in combined.relocations():
            if section.startswith(RUNS_AT_LOAD) and not is_named(symbol, arguments.init):
                findings.append(f"runs code at load: {demangled(symbol)} in {section}")
            elif section.startswith(RUNS_AT_EXIT) and not is_named(symbol, arguments.fini):
                findings.append(f"runs code at exit: {demangled(symbol)} in {section}")
            elif section.startswith(".text") and symbol in exported - allowed:
                own_calls.add(symbol)
        for symbol in sorted(own_calls):
            findings.append(f"calls its own export {demangled(symbol)}; call the hidden function behind it")
    return findings


def check_shared(tools, arguments):
    findings = []
    (path,) = arguments.files
    library = Binary(tools, path)
    dynamic = run(tools.readelf, "-dW", path)

    needed = set(re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]*)\]", dynamic))
    for name in sorted(needed - MAY_BE_NEEDED):
        findings.append(f"needs {name}; only libc may be needed")
    if "libc.so.6" not in needed:
        findings.append("does not need libc.so.6, so its imports have no versions")

    listed = read_version_script(arguments.exports)
    exported = set()
    for line in run(tools.nm, "-D", "--defined-only", "--format=posix", path).splitlines():
        name, kind = line.split()[:2]
        if kind != "A":  # the version's own name
            exported.add(name.partition("@")[0])
    for name in sorted(exported - listed):
        findings.append(f"exports {demangled(name)}, which {arguments.exports.name} does not list")
    for name in sorted(listed - exported):
        findings.append(f"does not export {demangled(name)}, which {arguments.exports.name} lists")

    if "BIND_NOW" not in dynamic and not re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic):
        findings.append("binds lazily (link with -z now): the loader would run inside a hook")
    if "(TEXTREL)" in dynamic:
        findings.append("has text relocations")
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        findings.append("carries a library search path")
    if any(symbol == "__tls_get_addr" for symbol in (name.partition("@")[0] for name in library.undefined())):
        findings.append("uses dynamic thread-local storage, which allocates (compile with -ftls-model=initial-exec)")
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for tool in ("nm", "ld", "readelf"):
        parser.add_argument(f"--{tool}", default=tool)
    modes = parser.add_subparsers(dest="mode", required=True)
    objects = modes.add_parser("objects")
    objects.add_argument("--allow", type=Path, required=True)
    objects.add_argument("--uses", type=Path, nargs="+", action="append", default=[])
    objects.add_argument("--init", action="append", default=[])
    objects.add_argument("--fini", action="append", default=[])
    objects.add_argument("files", type=Path, nargs="+")
    shared = modes.add_parser("shared")
    shared.add_argument("--exports", type=Path, required=True)
    shared.add_argument("files", type=Path, nargs=1)
    arguments = parser.parse_args()

    try:
        findings = (check_objects if arguments.mode == "objects" else check_shared)(arguments, arguments)
    except (Refused, OSError) as problem:
        print(f"recorder gate: {problem}", file=sys.stderr)
        return 2
    for finding in findings:
        print(f"recorder gate: {arguments.files[0].name}: {finding}", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
