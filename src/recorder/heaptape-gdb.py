"""Commands for gdb that ask heaptape about the program being debugged.

    heaptape where EXPR        where a pointer comes from: size, age, thread, allocating and freeing stack
    heaptape explain EXPR      what an address is, also when it is in no block
    heaptape history EXPR      every block that ever covered an address
    heaptape refs EXPR         who points at a block, at the last snapshot of memory
    heaptape trace EXPR        how the program gets at a block, from a variable or stack; the same
    heaptape top [N]           the functions with the most live bytes
    heaptape leaks [since MARK]  what is live now; with a mark, what was made since it and is still live
    heaptape mark NAME         name this moment on the tape
    heaptape snapshot [NAME]   the same for moments that 'heaptape report --snapshots' compares

They run the heaptape program, which asks the collector and not the program, so they work wherever it is stopped, inside malloc too. For
a core file say which tape belongs to it: set heaptape tape FILE ('heaptape gdb TAPE CORE' does so).

gdb loads this file by itself when the program loads libheaptape.so, beside which it lies as libheaptape.so-gdb.py, if its folder is in
'show auto-load safe-path'.
"""

import os
import re
import shutil
import struct
import subprocess

import gdb

WARNED = set()
FOLDER = os.path.dirname(os.path.realpath(__file__))

# Objects that stand for what they point at.
OWNERS = re.compile(r"^(std::(__cxx11::|__1::)?(unique_ptr|shared_ptr|weak_ptr|vector|basic_string)<|"
                    r"alloc::(vec::Vec|boxed::Box|rc::Rc|sync::Arc|collections::[\w:]+)<|alloc::string::String$)")


class Setting(gdb.Parameter):
    """A file name that the user may set."""

    def __init__(self, name, text):
        self.set_doc = "Set " + text
        self.show_doc = "Show " + text
        super().__init__("heaptape " + name, gdb.COMMAND_SUPPORT, gdb.PARAM_OPTIONAL_FILENAME)

    def get_set_string(self):
        return ""

    def get_show_string(self, value):
        return value or "not set"


class SetPrefix(gdb.Command):
    """Settings of heaptape."""

    def __init__(self, verb):
        super().__init__(verb + " heaptape", gdb.COMMAND_SUPPORT, gdb.COMPLETE_NONE, True)


def binary():
    """The heaptape that is asked: the one that was set, that belongs to this file, or is in PATH."""
    if BINARY.value:
        return BINARY.value
    for place in ("../bin/heaptape", "../../../bin/heaptape", "../../bin/heaptape", "heaptape"):
        path = os.path.join(FOLDER, place)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    found = shutil.which("heaptape")
    if not found:
        raise gdb.GdbError("heaptape was not found; set its path with: set heaptape binary FILE")
    return found


def warn_of_another_program(tape, pid):
    """Says so, once, when the tape and the core file (or the program) are of different processes."""
    if not pid or (tape, pid) in WARNED:
        return
    WARNED.add((tape, pid))
    try:
        with open(tape, "rb") as file:
            head = file.read(28)
    except OSError:
        return  # heaptape has the words for that
    if len(head) == 28 and head.startswith(b"HEAPTAPE"):
        (recorded,) = struct.unpack_from("<I", head, 24)
        if recorded != pid:
            gdb.write(f"heaptape: warning: the tape is of process {recorded}, this is process {pid}: what is said of its addresses may be wrong\n",
                      gdb.STDERR)


def subject():
    """The words that say whom the question is about."""
    pid = gdb.selected_inferior().pid
    if TAPE.value:
        warn_of_another_program(TAPE.value, pid)
        return [TAPE.value] + (["--at", MOMENT.value] if MOMENT.value else [])
    if not pid:
        raise gdb.GdbError("the program is not running; for a core file: set heaptape tape FILE")
    return ["-p", str(pid)]


def run(command, *words, colored=True):
    """Runs heaptape, prints what it says, and fails as it does."""
    line = [binary(), command, *words]
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if colored and os.isatty(1) and gdb.parameter("style enabled"):
        line += ["--color", "always"]
        variables.setdefault("COLUMNS", str(gdb.parameter("width") or 80))
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, env=variables, check=False)
    gdb.write(done.stdout.decode(errors="replace"))
    said = [text.removeprefix("heaptape: ") for text in done.stderr.decode(errors="replace").splitlines()]
    if done.returncode not in (0, 1) or (done.returncode == 1 and not done.stdout):
        raise gdb.GdbError(said[-1] if said else f"heaptape ended with status {done.returncode}")
    return said


def first_pointer(value, depth=0):
    """The first pointer in an object, looking into its parts."""
    plain = value.type.strip_typedefs()
    if plain.code == gdb.TYPE_CODE_PTR:
        return value
    if plain.code != gdb.TYPE_CODE_STRUCT or depth == 12:
        return None
    for field in plain.fields():
        if not hasattr(field, "bitpos") or field.artificial:  # static members have no place
            continue
        found = first_pointer(value[field], depth + 1)
        if found is not None:
            return found
    return None


def address_of(text):
    """What an expression points at, or where it lies when it is an object."""
    if not text:
        raise gdb.GdbError("which pointer? give an expression: heaptape where p")
    try:
        value = gdb.parse_and_eval(text)
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from error
    if value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
    plain = value.type.strip_typedefs()
    if plain.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY):
        if OWNERS.match(str(plain.unqualified())):
            held = first_pointer(value)
            if held is not None:
                return int(held) & (2**64 - 1)
        if value.address is None:
            raise gdb.GdbError(f"'{text}' is an object that lies nowhere in memory; give a pointer")
        return int(value.address) & (2**64 - 1)
    return int(value) & (2**64 - 1)


class HeaptapePrefix(gdb.Command):
    """Ask heaptape about the memory of the program being debugged."""

    def __init__(self):
        super().__init__("heaptape", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        if argument.strip():
            raise gdb.GdbError(f"not a heaptape command: '{argument.split()[0]}'; 'heaptape' alone lists them")
        gdb.execute("help heaptape")


class AboutAddress(gdb.Command):
    """A command that takes an expression and asks about the address it stands for."""

    def __init__(self, name, text):
        self.command = name
        self.__doc__ = text
        super().__init__("heaptape " + name, gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        run(self.command, *subject(), hex(address_of(argument.strip())))


class Top(gdb.Command):
    """heaptape top [N]: the functions with the most live bytes; 10 without N."""

    def __init__(self):
        super().__init__("heaptape top", gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        rows = argument.strip() or "10"
        if not rows.isdigit() or int(rows) == 0:
            raise gdb.GdbError(f"'{rows}' is not a number of rows; example: heaptape top 20")
        if MOMENT.value:
            run("shell", *subject(), "-c", f"top -n {rows}")
        else:
            run("top", "--sort", "live", "-n", rows, *subject())


class Leaks(gdb.Command):
    """heaptape leaks [since MARK]: what is live now; with a mark (or a time such as 12.5s), what was made since and is still live."""

    def __init__(self):
        super().__init__("heaptape leaks", gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        word, _, mark = argument.strip().partition(" ")
        if not word:
            run("live" if MOMENT.value else "leaks", *subject())
        elif word == "since" and mark.strip():
            until = ["--to", MOMENT.value] if MOMENT.value else []
            run("report", "--from", mark.strip().strip("'\""), *until, *[word for word in subject() if word not in ("--at", MOMENT.value)])
        else:
            raise gdb.GdbError("usage: heaptape leaks [since MARK]")


class Marking(gdb.Command):
    """A command that names this moment."""

    def __init__(self, name, text):
        self.command = name
        self.__doc__ = text
        super().__init__("heaptape " + name, gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        if TAPE.value:
            raise gdb.GdbError("a tape of the past takes no more marks")
        name = argument.strip().strip("'\"")
        if self.command == "mark" and not name:
            raise gdb.GdbError("which name? heaptape mark NAME")
        words = [name] if self.command == "mark" else ["--note", name] if name else []
        for line in run(self.command, *subject(), *words, colored=False):
            gdb.write(line + "\n")


# gdb loads the file again with every program that loads the library; what was set stays.
if hasattr(gdb, "heaptape_tape"):
    BINARY, TAPE, MOMENT = gdb.heaptape_binary, gdb.heaptape_tape, gdb.heaptape_moment
else:
    SetPrefix("set")
    SetPrefix("show")
    BINARY = gdb.heaptape_binary = Setting("binary", "the heaptape program that is asked; not set: the one that belongs to libheaptape.so.")
    TAPE = gdb.heaptape_tape = Setting("tape", "the tape that is asked instead of the running program; for core files.")
    MOMENT = gdb.heaptape_moment = Setting("moment", "where in that tape the core file belongs; not set: at its end.")
    HeaptapePrefix()
    AboutAddress("where", "heaptape where EXPR: where a pointer comes from: block, offset, age, thread, allocating and freeing stack.")
    AboutAddress("explain", "heaptape explain EXPR: what an address is: block, freed block, stack, variable, mapping, nothing.")
    AboutAddress("history", "heaptape history EXPR: every block that ever covered an address.")
    AboutAddress("refs", "heaptape refs EXPR: who points at a block, at the last snapshot of memory.")
    AboutAddress("trace", "heaptape trace EXPR: how the program gets at a block, step by step, at the last snapshot of memory.")
    Top()
    Leaks()
    Marking("mark", "heaptape mark NAME: names this moment on the tape; every report takes the name for a time.")
    Marking("snapshot", "heaptape snapshot [NAME]: a moment for 'heaptape report --snapshots', --deltas and --cumulative.")
