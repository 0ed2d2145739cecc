"""Programs that run to their end, and how Baton's own refuse to start."""
import subprocess
from pathlib import Path

from fleet import BIN, LONG_S, MODEL

PROGRAMS = ["baton", "baton-gateway", "baton-prefill", "baton-decode", "baton-load", "baton-bench",
            "baton-plan"]
WITH_LAB = [*PROGRAMS, "baton-lab"]


def run(*argv, **options):
    """The ended process, with the text of its stdout and stderr. options: subprocess.run's."""
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, **options)


def refusal(program, *argv, model=MODEL, **options):
    """The stderr of a program that ends with status 1 instead of starting."""
    argv = ["--model", model, "--pack-dir", "", *argv]
    done = run(BIN / program, *argv, timeout=LONG_S, **options)
    assert done.returncode in (1, 2), done
    return done.stderr


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
