#!/usr/bin/env python3
"""CONTRIBUTING.md names only files and folders that exist.

Every back-quoted word of the page that looks like a path of the tree is checked: it has a slash or
a file's ending, and neither spaces nor characters that paths here do not have.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
# Files of the root, and files anywhere below it.
PATH = re.compile(r"\.?[\w-]+(?:/[\w.-]+)+/?|[A-Z]+\.md|\.clang-(?:format|tidy)")


def named_paths(text):
    without_blocks = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [word for word in re.findall(r"`([^`]+)`", without_blocks) if PATH.fullmatch(word)]


def main():
    paths = named_paths(PAGE.read_text())
    missing = sorted({path for path in paths if not (ROOT / path).exists()})
    for path in missing:
        print(f"CONTRIBUTING.md: {path} does not exist")
    if len(paths) < 40:
        print(f"CONTRIBUTING.md: only {len(paths)} paths found; is its format another one?")
    return 1 if missing or len(paths) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
