"""What the numbers were measured on: enough to compare, nothing that names the machine."""
import datetime
import os
import platform
import re
import subprocess

from . import build


def cpu_model():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def first_line(command):
    try:
        lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    except OSError:
        return ""
    return lines[0].strip() if lines else ""


def memory_bytes():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def commit():
    return first_line(["git", "-C", str(build.ROOT), "describe", "--always", "--dirty"])


def describe():
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory_bytes() / (1 << 30)),
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "compiler": first_line([build.compiler(), "--version"]),
    }


def file_name(machine):
    """DATE-MACHINE, without extension."""
    cpu = re.sub(r"\((R|TM)\)|CPU|Processor", "", machine["cpu"])
    slug = re.sub(r"[^a-z0-9.]+", "-", cpu.lower()).strip("-")
    return f"{machine['date']}-{slug}-{machine['cores']}-cores"


def load_average():
    return os.getloadavg()[0]
