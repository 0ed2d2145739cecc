#!/usr/bin/python3
"""Runs ctest, and ends with what a person wants to read: tests/support/run_ctest.py DIR [ARGS...]

Behind ctest's own lines, at most 100 before the end: of each test that failed (the first few) what
was asserted and the last lines of the processes concerned; what was left out, with the reasons; the
slowest tests; then ctest's summary.
"""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

N_SLOWEST, MAX_FAILURES, MAX_LINES = 20, 4, 60
# The line with which ctest's summary begins.
SUMMARY = re.compile(r"^\d+% tests passed, \d+ tests failed out of \d+|^No tests were found")
# The marks of an assertion in pytest, cmocka, the sanitizers, node's runner and a script.
ASSERTED = re.compile(r"^E  |: error: |^FAILED|ERROR: |SUMMARY: |AssertionError|not ok |^Error|"
                      r"\[  FAILED  \]|: Assertion |panic:")
PROCESS = re.compile(r"^-{4} (\S+)")  # fleet.py prints a process's last lines behind this


def last_words(lines):
    """The last lines of each process of a fleet, by its name."""
    words, name = {}, None
    for line in lines:
        if found := PROCESS.match(line):
            name = found[1]
            words[name] = []
        elif name and line.startswith("ts="):
            words[name].append(line)
        elif name and words[name]:
            name = None
    return words


def digest(name, output, n_lines):
    """A failed test in n_lines."""
    lines = [line[:400] for line in output.rstrip().split("\n")]
    processes = last_words(lines)
    asserted = [line for line in lines if ASSERTED.search(line)][-max(6, n_lines // 3):]
    left = n_lines - len(asserted) - 1
    shown = []
    for process, words in processes.items():
        share = max(2, left // len(processes) - 1)
        shown += [f"  {process}:", *(f"    {word}" for word in words[-share:])]
    if not shown:
        shown = [f"  {line}" for line in lines[-left:] if line not in asserted]
    return [f"-- {name}", *asserted, *shown[:left]]


def results(junit):
    """(name, seconds, status, output) of each test."""
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        yield case.get("name"), float(case.get("time")), case.get("status"), output


def report(junit, skipped_file):
    cases = list(results(junit))
    failed = [(name, output) for name, _, status, output in cases
              if status not in ("run", "notrun", "disabled")]
    if failed:
        print(f"\n== {len(failed)} failed: what was asserted, and the last lines of the processes")
        for name, output in failed[:MAX_FAILURES]:
            print("\n".join(digest(name, output, MAX_LINES // min(len(failed), MAX_FAILURES))))
    print(f"\n== the slowest {N_SLOWEST} of {len(cases)} tests, in seconds")
    slowest = sorted(cases, key=lambda case: -case[1])[:N_SLOWEST]
    for i in range(0, len(slowest), 2):
        print("".join(f"{seconds:8.1f} {name:36.36}"
                      for name, seconds, *_ in slowest[i:i + 2]).rstrip())
    print()
    for line in skipped_file.read_text().splitlines():
        print(f"skipped: {line}")
    for name, _, status, output in cases:
        if status in ("notrun", "disabled"):
            reasons = [line for line in output.splitlines() if "skipped" in line]
            print(f"skipped: {name}: {reasons[-1] if reasons else 'see the log'}")


def main():
    folder, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="baton-ctest-") as scratch:
        skipped, junit = Path(scratch, "skipped"), Path(scratch, "junit.xml")
        skipped.touch()
        ctest = subprocess.Popen(["ctest", "--test-dir", folder, "--output-on-failure",
                                  "--no-label-summary", "--output-junit", junit,
                                  *arguments], stdout=subprocess.PIPE,
                                 text=True, errors="replace",
                                 env={**os.environ, "BATON_SKIPPED_FILE": str(skipped)})
        summary = []
        for line in ctest.stdout:
            if summary or SUMMARY.match(line):
                summary.append(line)
            else:
                print(line, end="", flush=True)
        status = ctest.wait()
        if junit.exists():
            report(junit, skipped)
        print("".join(summary), end="", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
