"""The documents name links, headings, commands and options that exist."""
import json
import re

import pytest
from fleet import BIN, ROOT
from programs import PROGRAMS, run

PAGES = [page for pattern in ("*.md", "bench/*.md", "deploy/*.md", "docs/**/*.md", "proto/*.md",
                              "tools/*.md") for page in sorted(ROOT.glob(pattern))]
# The changelog and the releases speak of the past.
PRESENT = [page for page in PAGES if page.name != "CHANGELOG.md" and page.parent.name != "releases"]
SCRIPTS = ["bench/*.py", "deploy/*", "tests/run", "tests/soak", "tests/*/run", "tests/support/*.py",
           "tests/e2e/*.py", "tools/*/*.py"]
# Options of other programs: systemctl, docker, cmake, llama.cpp.
OTHERS = {"now", "stop-timeout", "profile", "scale", "rm", "install", "prefix", "no-cache-prompt",
          "pure"}


def named(page):
    return str(page.relative_to(ROOT))


def without_blocks(text):
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)


def anchors(page):
    """The names of a page's headings in links."""
    for title in re.findall(r"^#+ (.*)$", without_blocks(page.read_text()), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(page.read_text())):
        path, _, anchor = target.partition("#")
        if "://" not in target:
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), target


def commands(text):
    """Blocks of commands, and what stands between backticks."""
    yield from re.findall(r"^ *```sh\n(.*?)^ *```$", text, re.M | re.S)
    yield from re.findall(r"`([^`]+)`", without_blocks(text))


def table(*words):
    told = run(BIN / words[0], *words[1:], "--print-options", check=True)
    return json.loads(told.stdout)


@pytest.fixture(scope="module")
def known():
    """Every option of a program or of one of its commands, and every word like one in a script."""
    names = {"help", "version", "config", "print-config", "print-options"} | OTHERS
    for program in PROGRAMS:
        own = table(program)
        below = [table(program, command["name"]) for command in own.get("commands", [])
                 if "becomes" not in command]
        names |= {option["name"] for one in (own, *below) for option in one.get("options", [])}
    for path in (path for pattern in SCRIPTS for path in ROOT.glob(pattern) if path.is_file()):
        names |= set(re.findall(r"--([a-z][\w-]+)", path.read_text()))
    return names


@pytest.mark.parametrize("page", PRESENT, ids=named)
def test_options_are_those_of_a_program(page, known):
    shown = {name for text in commands(page.read_text())
             for name in re.findall(r"(?<![\w-])--([a-z][a-z0-9-]+)", text)}
    assert not shown - known


def test_as_many_families_are_promised_as_run():
    runs = re.findall(r'^    \{\.model_type = "([\w-]+)"',
                      (ROOT / "engine/arch/families.c").read_text(), re.M)
    [promised] = re.findall(r"(\d+) \[families\]", (ROOT / "README.md").read_text())
    listed = (ROOT / "docs/models.md").read_text().split("## What runs")[1].split("\n## ")[0]
    assert int(promised) == len(runs) and not [name for name in runs if f"`{name}`" not in listed]
