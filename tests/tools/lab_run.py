"""Shared by the tests of tools/lab, which run baton-lab's commands on real fleets."""
import csv
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

LAB = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = tempfile.TemporaryDirectory(prefix="baton-lab-")
DIR = Path(FOLDER.name)
sys.path.insert(0, str(ROOT / "tools"))  # the package, to compare with

# Nothing is left in the tree, and no other workers share our cores' table.
for role in "GATEWAY", "PREFILL", "DECODE":
    os.environ[f"BATON_{role}_PACK_DIR"] = str(DIR / "packs")
for role in "PREFILL", "DECODE":
    os.environ[f"BATON_{role}_LEASE_DIR"] = str(DIR)


def run(*words, lab=LAB, **kwargs):
    words = [str(word) for word in (lab, *words)]
    return subprocess.run(words, capture_output=True, text=True, timeout=600, **kwargs)


def run_well(*words, **kwargs):
    done = run(*words, **kwargs)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    assert "\r" not in done.stderr, "a line written over where there is no terminal"
    return done


def check_refused(words, status, *reasons, **kwargs):
    """Ends with that status, and its last message holds the reasons."""
    done = run(*words, **kwargs)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    assert "Traceback" not in done.stderr and "baton-lab " in done.stderr, (words, done.stderr)
    for reason in reasons:
        assert reason in done.stderr, (words, reason, done.stderr)
    return done


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def check_pictures(folder, *names):
    for name in names:
        root = xml.etree.ElementTree.parse(folder / f"{name}.svg").getroot()
        assert root.tag.endswith("svg") and len(list(root.iter())) > 50, name
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG"), name


def tables_of(path):
    """The Markdown's tables [[cells of a line]], heads included; all lines have as many cells."""
    tables, inside = [], False
    for line in path.read_text().splitlines():
        if line.startswith("|"):
            if not inside:
                tables.append([])
            tables[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        inside = line.startswith("|")
    for table in tables:
        assert len({len(line) for line in table}) == 1 and set(table[1]) == {"---"}, table
    return [[table[0], *table[2:]] for table in tables]


def descendants(pid):
    """All processes that it started, and those that they did; some may have ended meanwhile."""
    found = []
    try:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in task.read_text().split():
                found += [int(child), *descendants(int(child))]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found
