"""The machine and the sources that a figure depends on: recorded in every report."""
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from lab.programs import output


def cpu_name():
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def n_cores():
    return len(os.sched_getaffinity(0))


def memory_gib():
    found = re.search(r"^MemTotal:\s*(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return round(int(found[1]) / (1 << 20), 1)


def commit():
    """The commit of these sources, with "+" for changes; None outside of a repository."""
    git = ["git", "-C", str(Path(__file__).resolve().parent)]
    if not shutil.which("git"):
        return None
    head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        return None
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD",
                              "--", ":/"], capture_output=True).returncode
    return head.stdout.strip() + ("+" if changed else "")


def describe(programs):
    return {"cpu": cpu_name(), "cores": n_cores(), "memory_gib": memory_gib(),
            "kernel": platform.release(), "python": platform.python_version(),
            "baton": output([programs.load, "--version"]).split()[-1], "commit": commit()}
