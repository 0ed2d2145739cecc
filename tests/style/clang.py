#!/usr/bin/python3
"""Checks C with clang's tools: tests/style/clang.py format | tidy BUILD [--analyze] [PATH...]

    format   every file is as .clang-format says
    tidy     clang-tidy's notes on every source, clang's own warnings among them, are errors;
             --analyze adds the static analyzer, which takes a quarter of an hour for the whole tree

Other versions format and warn otherwise: the exit status is 77 where there is no version 14.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tree import ROOT, tracked

VERSION, SKIPPED = "14", 77


def tool(name):
    for program in (f"{name}-{VERSION}", name):
        if shutil.which(program):
            told = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {VERSION}\.", told):
                return program
    print(f"skipped: {name} {VERSION} is not here, and other versions judge otherwise")
    sys.exit(SKIPPED)


def failures(batches, command):
    """Runs command(batch) for all, as many at once as there are processors: (batch, its words)."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        runs = pool.map(lambda batch: subprocess.run(command(batch), cwd=ROOT, capture_output=True,
                                                     text=True), batches)
        return [(batch, run.stdout) for batch, run in zip(batches, runs) if run.returncode]


def each(paths, command):
    """Whether command([path]) fails for any. To start it costs as much as it does for a file: it
    runs for sixteen at a time, and again for each of those among which one is wrong."""
    suspects = failures([paths[i:i + 16] for i in range(0, len(paths), 16)], command)
    failed = failures([[path] for batch, _ in suspects for path in batch], command)
    for (path,), words in failed:
        print(f"{path}:\n{words}")
    print(f"{len(paths)} files: {len(failed)} wrong")
    return bool(suspects)


def check_format(paths):
    program = tool("clang-format")
    paths = paths or tracked("*.c", "*.h")
    batches = [paths[i:i + 40] for i in range(0, len(paths), 40)]
    done = [subprocess.run([program, "--dry-run", "-Werror", *batch], cwd=ROOT,
                           stderr=subprocess.PIPE, text=True) for batch in batches]
    wrong = sorted({line.split(":")[0] for run in done for line in run.stderr.splitlines()
                    if "code should be clang-formatted" in line})
    print("\n".join(wrong))
    print(f"{len(paths)} files: {len(wrong)} not as .clang-format says")
    return bool(wrong)


def check_tidy(build, paths):
    program = tool("clang-tidy")
    analyze = "--analyze" in paths
    # This build's list lacks the files of another architecture or another compiler.
    commands = json.loads(Path(build, "compile_commands.json").read_text())
    built = {os.path.relpath(entry["file"], ROOT) for entry in commands}
    paths = [path for path in paths if path != "--analyze"] or tracked("*.c")
    checks = [] if analyze else ["--checks=-clang-analyzer-*"]
    return each([path for path in paths if path in built],
                lambda batch: [program, "-p", build, "--quiet", *checks, *batch])


def main():
    match sys.argv[1:]:
        case ["format", *paths]:
            return check_format(paths)
        case ["tidy", build, *paths]:
            return check_tidy(build, paths)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
