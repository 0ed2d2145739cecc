#!/usr/bin/python3
"""Checks every Python script: pycodestyle by the rules of setup.cfg, and pyflakes."""
import importlib.util
import subprocess
import sys

from tree import ROOT, tracked

SKIPPED = 77


def scripts():
    """Files that end in .py, and those that name Python in their first line."""
    for path in tracked():
        if path.endswith(".py"):
            yield path
        elif "." not in path.rsplit("/", 1)[-1]:
            with open(ROOT / path, "rb") as file:
                if b"python3" in file.readline():
                    yield path


def main():
    paths, wrong = list(scripts()), False
    for module in ("pycodestyle", "pyflakes"):
        if importlib.util.find_spec(module) is None:
            print(f"skipped: {module} is not here")
            return SKIPPED
        done = subprocess.run([sys.executable, "-m", module, *paths], cwd=ROOT)
        wrong |= done.returncode != 0
    print(f"{len(paths)} scripts")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
