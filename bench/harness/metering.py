"""Runs one command under the meter and sums up its processes by the part they play."""
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Measurement:
    """One run of one workload. Times in seconds, memory in bytes."""
    wall: float = 0.0           # until the command and all it started were gone
    program_wall: float = 0.0   # from the program's exec to its end
    program_cpu: float = 0.0
    total_cpu: float = 0.0      # program, launcher, collector or interpreter, compressor
    program_rss: int = 0
    collector_rss: int = 0      # largest process beside the program
    collector_private: int = 0  # that process's private memory when it ended
    output_bytes: int = 0       # the tape or heaptrack's file
    failure: str = ""           # empty when all went well


class Meter:
    def __init__(self, program, work):
        self.program = program
        self.result = work / "meter.json"

    def command(self, command, timeout_s, address_space):
        return [str(self.program), str(self.result), str(timeout_s), str(address_space), *map(str, command)]

    def run(self, command, executable, *, environment=None, stdin=None, timeout_s=120, address_space=0):
        """Runs the command to its end; executable is the program whose part is told apart from the recorder's."""
        return self.finish(self.start(command, environment=environment, stdin=stdin, timeout_s=timeout_s,
                                      address_space=address_space), executable)

    def start(self, command, *, environment=None, stdin=None, timeout_s=120, address_space=0):
        self.result.unlink(missing_ok=True)
        with open(stdin or os.devnull, "rb") as source:
            return subprocess.Popen(self.command(command, timeout_s, address_space), stdin=source,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                    env={**os.environ, **(environment or {})})

    def finish(self, process, executable):
        errors = process.communicate()[1].decode(errors="replace").strip()
        if not self.result.exists():
            return Measurement(failure="the meter failed: " + errors)
        with open(self.result) as file:
            return summarize(json.load(file), Path(executable).resolve(), errors)


def own_cpu_us(process, processes):
    """A process's CPU time without that of the children it waited for, which the kernel adds to it."""
    waited_for = sum(p["cpu_us"] for p in processes if p["parent"] == process["pid"])
    return max(0, process["cpu_us"] - waited_for)


def summarize(result, executable, errors):
    processes = result["processes"]
    measured = Measurement(wall=result["all_gone_ns"] / 1e9, total_cpu=result["cpu_us"] / 1e6)
    programs = [p for p in processes if Path(p["executable"]) == executable and p["arguments"]]
    others = [p for p in processes if p not in programs]
    if result["timed_out"]:
        measured.failure = "timed out"
    elif not programs:
        measured.failure = "the program did not start: " + errors[-200:]
    elif programs[0]["status"] != 0:
        measured.failure = f"the program ended with wait status {programs[0]['status']}: " + errors[-200:]
    else:
        died = [p for p in others if p["status"] & 0x7f not in (0, 15)]
        if died:
            measured.failure = f"{Path(died[0]['executable']).name} was killed by signal {died[0]['status'] & 0x7f}"
    if programs:
        program = programs[0]
        measured.program_wall = program["wall_ns"] / 1e9
        measured.program_cpu = own_cpu_us(program, processes) / 1e6
        measured.program_rss = program["max_rss_kb"] * 1024
        launchers = ancestors(program, processes)
        beside = [p for p in processes if p is not program and p["pid"] not in launchers]
        if beside:
            collector = max(beside, key=lambda p: p["max_rss_kb"])
            measured.collector_rss = collector["max_rss_kb"] * 1024
            measured.collector_private = collector["exit_anonymous_kb"] * 1024
    return measured


def ancestors(process, processes):
    """Their peak memory says nothing: the kernel adds that of the children they waited for, the program among them."""
    parent_of = {p["pid"]: p["parent"] for p in processes}
    found = set()
    pid = process["parent"]
    while pid in parent_of:
        found.add(pid)
        pid = parent_of[pid]
    return found
