"""The tools that users choose between, each run as its manual says. Those that are not installed are left out."""
import shutil
import subprocess
from pathlib import Path


class Peer:
    """Runs a workload under one tool; output_bytes() is what it left on disk."""
    address_space = 0
    languages = None  # the workloads that it can look at; None: all

    def __init__(self, name, prefix, output=None, environment=None):
        self.name = name
        self.prefix = prefix
        self.output = output
        self.environment = environment or {}

    def command(self, program):
        return [*self.prefix, *program]

    def output_bytes(self):
        return self.output.stat().st_size if self.output and self.output.exists() else 0

    def clear(self):
        if self.output:
            self.output.unlink(missing_ok=True)


class Memray(Peer):
    """Python only: it takes the place of the interpreter's own start."""
    languages = ("python",)

    def __init__(self, work, native):
        output = work / "bench.memray"
        options = ["--native"] if native else []
        super().__init__("memray --native" if native else "memray",
                         ["-m", "memray", "run", "-q", "-f", *options, "--trace-python-allocators", "-o", str(output)], output)

    def command(self, program):
        return [program[0], *self.prefix, *program[1:]]

    @staticmethod
    def available():
        return subprocess.run(["/usr/bin/python3", "-c", "import memray"], capture_output=True).returncode == 0


def leak_sanitizer():
    """gcc's LeakSanitizer as a library to preload; None where it is not installed."""
    compiler = shutil.which("g++")
    if not compiler:
        return None
    path = Path(subprocess.run([compiler, "-print-file-name=liblsan.so"], capture_output=True, text=True).stdout.strip())
    return path.resolve() if path.is_absolute() and path.exists() else None


def installed(work):
    """Every peer that can be measured here, besides heaptrack, which bench/run knows."""
    peers = []
    if shutil.which("valgrind"):
        for tool, output in (("massif", "massif.out"), ("dhat", "dhat.out"), ("memcheck", None)):
            options = {"massif": [f"--massif-out-file={work / 'massif.out'}"],
                       "dhat": [f"--dhat-out-file={work / 'dhat.out'}"],
                       "memcheck": ["--leak-check=full"]}[tool]
            peers.append(Peer(tool, ["valgrind", "-q", f"--tool={tool}", *options], output and work / output))
    library = leak_sanitizer()
    if library:
        peers.append(Peer("LSan", ["env", f"LD_PRELOAD={library}", "LSAN_OPTIONS=exitcode=0"]))
    if Memray.available():
        peers += [Memray(work, native=False), Memray(work, native=True)]
    return peers
