"""The catalogue of workloads: what to run, and the goals it is held to."""
import os
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from . import build


@dataclass
class Workload:
    name: str
    about: str
    command: list
    environment: dict = field(default_factory=dict)
    stdin: Path = None
    # Goals, None where there is none: added CPU of the program per event, tape bytes per event.
    max_ns: float = None
    max_bytes: float = None
    server: bool = False  # started, then loaded by a client (harness/redis.py)

    @property
    def executable(self):
        return Path(shutil.which(str(self.command[0])) or self.command[0]).resolve()


class Catalogue:
    def __init__(self, work, quick):
        self.work = work
        self.scale = 0.1 if quick else 1.0

    def scaled(self, count):
        return str(max(1, int(count * self.scale)))

    def all(self):
        makers = [self.pairs, self.handover, self.map_tree, self.sqlite, self.python, self.cc1plus, self.clang, self.redis]
        return [workload for maker in makers for workload in maker()]

    def pairs(self):
        program = build.compile_program("workloads/pairs.cpp", self.work, ["workloads/keep.h"])
        goals = {5: 25, 60: 45}
        for depth, pairs in ((5, 4e6), (30, 4e6), (60, 2e6), (100, 2e6)):
            yield Workload(f"pairs-{depth}", f"malloc/free pairs of one size at depth {depth}, the stack unchanged",
                           [program, "fixed", depth, self.scaled(pairs)], max_ns=goals.get(depth))
        yield Workload("pairs-30-sizes", "malloc/free pairs of random sizes at depth 30",
                       [program, "sizes", "30", self.scaled(4e6)])
        yield Workload("pairs-30-walk", "malloc/free pairs, one per leaf of a call tree: six of 30 frames change",
                       [program, "walk", "30", self.scaled(4e6)])
        for live in (10_000, 100_000):
            yield Workload(f"random-{live // 1000}k", f"random sizes, random order of frees, {live} blocks live, depth 30",
                           [program, "live", "30", self.scaled(3e6), str(live)], max_bytes=5.0)

    def handover(self):
        program = build.compile_program("workloads/handover.cpp", self.work, ["workloads/keep.h"])
        for threads in (1, 2, 4):
            yield Workload(f"threads-{threads}", f"{threads} threads at depth 30, each freeing what another allocated",
                           [program, threads, "30", self.scaled(3e6 / threads)], max_ns=60 if threads == 4 else None)

    def map_tree(self):
        program = build.compile_program("workloads/map_tree.cpp", self.work, ["workloads/keep.h"])
        yield Workload("map-tree", "building and pruning a tree of std::map<std::string, ...>", [program, self.scaled(800)])

    def sqlite(self):
        if not shutil.which("sqlite3"):
            return
        script = self.work / f"statements-{self.scale}.sql"
        if not script.exists():
            write_sql(script, int(60_000 * self.scale))
        yield Workload("sqlite", "sqlite3 in memory: single inserts, an index, joins, updates, deletes",
                       ["sqlite3", "-batch", ":memory:"], stdin=script, max_ns=90, max_bytes=1.5)

    def python(self):
        if not os.access("/usr/bin/python3", os.X_OK):
            return
        yield Workload("python", "python3 with PYTHONMALLOC=malloc: dicts, lists, strings, JSON, regular expressions",
                       ["/usr/bin/python3", build.BENCH / "workloads/objects.py", self.scaled(30)],
                       environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, max_ns=90, max_bytes=1.5)

    def cc1plus(self):
        if not shutil.which("g++"):
            return
        compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True).stdout.strip()
        yield Workload("cc1plus", "g++'s compiler proper on a template-heavy file",
                       [compiler, "-quiet", "-fpreprocessed", self.preprocessed("g++"), "-std=c++17", "-O1", "-o", "/dev/null"],
                       max_bytes=3.5)

    def clang(self):
        clang = shutil.which("clang++") or shutil.which("clang++-14")
        if not clang:
            return
        # The -cc1 form, so that one process does it all.
        yield Workload("clang", "clang on the same file",
                       [Path(clang).resolve(), "-cc1", "-triple", "x86_64-pc-linux-gnu", "-std=c++17", "-fexceptions",
                        "-fcxx-exceptions", "-x", "c++-cpp-output", "-S", "-O1", "-o", "/dev/null",
                        self.preprocessed(clang)])

    def preprocessed(self, compiler):
        source = build.BENCH / "workloads/template_heavy.cpp"
        output = self.work / f"template_heavy-{Path(compiler).name}{'-short' if self.scale < 1 else ''}.ii"
        if not output.exists() or output.stat().st_mtime < source.stat().st_mtime:
            short = ["-DSHORT"] if self.scale < 1 else []
            subprocess.run([compiler, "-std=c++17", "-E", *short, str(source), "-o", str(output)], check=True)
        return output

    def redis(self):
        if not (shutil.which("redis-server") and shutil.which("redis-benchmark")):
            return
        yield Workload("redis", "redis-server under redis-benchmark: wall is the client's, CPU the server's",
                       ["redis-server"], environment={"REQUESTS": self.scaled(100_000)}, max_ns=90, server=True)


def write_sql(path, rows):
    """The same statements in every run."""
    chance = random.Random(5)
    with open(path, "w") as out:
        out.write("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, kind INT, price REAL);\n"
                  "CREATE TABLE sale(item INT, day INT, count INT);\nBEGIN;\n")
        for i in range(rows):
            out.write(f"INSERT INTO item VALUES({i}, 'item number {chance.randrange(10 ** 9)}', {chance.randrange(50)}, "
                      f"{chance.random() * 100:.2f});\n")
        out.write("COMMIT;\nCREATE INDEX item_kind ON item(kind, name);\n")
        out.write(f"INSERT INTO sale SELECT value * 7919 % {rows}, value % 365, value % 9 "
                  f"FROM generate_series(1, {rows * 4});\n")
        for kind in range(50):
            out.write(f"SELECT kind, count(*), group_concat(substr(name, 12)) FROM item WHERE kind = {kind} GROUP BY kind;\n")
        for day in range(0, 365, 30):
            out.write(f"SELECT i.kind, sum(s.count * i.price) FROM sale s JOIN item i ON i.id = s.item WHERE s.day = {day} "
                      "GROUP BY i.kind ORDER BY 2;\n")
        for i in range(0, rows, 4):
            out.write(f"UPDATE item SET name = name || '+' WHERE id = {chance.randrange(rows)};\n")
            out.write(f"DELETE FROM item WHERE id = {chance.randrange(rows)};\n")
        out.write("SELECT count(*), sum(length(name)) FROM item;\n")
