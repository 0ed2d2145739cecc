#!/usr/bin/python3
"""Checks that no line is wider than 100 columns: code, scripts, pages, prose.

Tables and links of Markdown may be wider, and so may data.
"""
import re
import sys
import unicodedata

from tree import ROOT, tracked

COLUMNS = 100
KINDS = ["*.c", "*.h", "*.py", "*.mjs", "*.js", "*.css", "*.html", "*.md", "*.sh", "*.cmake",
         "*CMakeLists.txt", "*.proto", ".ci/run", "tests/run", "deploy/local"]
EXEMPT = re.compile(r"tests/fixtures/|tests/fuzz/corpus/|docs/data/|CHANGELOG\.md")
# Markdown: a row of a table, a picture, an indented block; anywhere: an address.
MAY_BE_WIDE = re.compile(r"^(\||!\[|    )|https?://")


def columns(line):
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def too_wide(path):
    in_code = False
    for number, line in enumerate((ROOT / path).read_text(errors="replace").split("\n"), 1):
        if path.endswith(".md"):
            in_code ^= line.startswith("```")
            if in_code or MAY_BE_WIDE.search(line):
                continue
        elif "http" in line and re.search(r"https?://\S{40,}", line):
            continue
        if columns(line) > COLUMNS:
            yield f"{path}:{number}: {columns(line)} columns"


def main():
    paths = [path for path in tracked(*KINDS) if not EXEMPT.match(path)]
    wide = [line for path in paths for line in too_wide(path)]
    print("\n".join(wide[:200]))
    print(f"{len(paths)} files: {len(wide)} lines wider than {COLUMNS} columns")
    return bool(wide)


if __name__ == "__main__":
    sys.exit(main())
