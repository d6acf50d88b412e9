"""The ways to run a workload: natively, recorded by heaptape, recorded by heaptrack."""
import json
import shutil
import subprocess
from pathlib import Path

# heaptrack's interpreter can grow without bound on deep stacks of several threads; this stops it before the machine does.
HEAPTRACK_ADDRESS_SPACE = 8 << 30


class Native:
    name = "native"
    address_space = 0

    def command(self, program):
        return program

    def output_bytes(self):
        return 0

    def clear(self):
        pass


class Heaptape:
    name = "heaptape"
    address_space = 0

    def __init__(self, executable, work, options=()):
        self.executable = executable
        self.tape = work / "bench.tape"
        self.options = list(options)

    def command(self, program):
        return [str(self.executable), "record", "-q", "--force", "--no-index", "-o", str(self.tape), *self.options, "--", *program]

    def output_bytes(self):
        return self.tape.stat().st_size if self.tape.exists() else 0

    def clear(self):
        self.tape.unlink(missing_ok=True)

    def info(self):
        """What `heaptape info --json` says of the last tape; an empty dict when it cannot be read."""
        answer = subprocess.run([str(self.executable), "info", "--json", str(self.tape)], capture_output=True, text=True)
        return json.loads(answer.stdout) if answer.returncode == 0 else {}

    def version(self):
        answer = subprocess.run([str(self.executable), "--version"], capture_output=True, text=True)
        return answer.stdout.strip()


class Heaptrack:
    name = "heaptrack"
    address_space = HEAPTRACK_ADDRESS_SPACE

    def __init__(self, work):
        self.output = work / "bench.heaptrack"
        self.file = Path(str(self.output) + ".zst")

    @staticmethod
    def available():
        return shutil.which("heaptrack") is not None

    def command(self, program):
        return ["heaptrack", "-o", str(self.output), *program]

    def output_bytes(self):
        return self.file.stat().st_size if self.file.exists() else 0

    def clear(self):
        self.file.unlink(missing_ok=True)

    def events(self):
        """Allocations and frees in the last file; heaptrack writes one line for each."""
        unpacked = subprocess.Popen(["zstd", "-dcq", str(self.file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        counted = subprocess.run(["grep", "-c", "^[+-]"], stdin=unpacked.stdout, capture_output=True, text=True)
        unpacked.wait()
        return int(counted.stdout.strip() or 0)

    def version(self):
        return subprocess.run(["heaptrack", "--version"], capture_output=True, text=True).stdout.strip()
