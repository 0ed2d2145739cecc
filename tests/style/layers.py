#!/usr/bin/python3
"""Checks that includes follow the layers of ARCHITECTURE.md, section 1.

    tests/style/layers.py [ROOT]

Every room includes only the rooms in its row of MAY_USE. Folders beside each other form no circle,
and neither do headers. Headers of a library are included only where OWNERS says.
"""
import re
import sys
from pathlib import Path

from tree import ROOT, tracked

COMMON = ["common"]
# The whole of the engine that a worker sees; engine/engine.h says why.
BOUNDARY = ["engine/engine.h", "engine/kv.h", "engine/adapter.h",
            "engine/checkpoint/checkpoint.h", "engine/checkpoint/facts.h",
            "engine/checkpoint/options.h", "engine/checkpoint/tokenizer_tables.h",
            "engine/grammar/set.h", "engine/sampling/sampled_token.h",
            "engine/tokenizer/tokenizer.h"]
# A room: the rooms it may include, beside itself and what is below it. The longest name decides.
MAY_USE = {
    "common/base": [],
    "common/batch": ["common/base"],
    "common/capacity": ["common/base"],
    "common/policy": ["common/base"],
    "common/http": ["common/base"],
    "common/obs": ["common/base"],
    "common/params": ["common/base"],
    "common/wire": ["common/base", "common/params", "proto"],
    "engine/system": ["common/base", "engine/engine.h"],
    "engine/checkpoint": ["common/base"],
    "engine/arch": ["common/base", "engine/checkpoint"],
    "engine/tokenizer": ["common/base", "engine/checkpoint"],
    "engine/grammar": ["common/base", "common/params"],
    "engine/kernels": ["common/base", "engine/arch", "engine/checkpoint", "engine/system"],
    "engine/sampling": ["common/base", "common/params", "engine/grammar", "engine/kernels",
                        "engine/system"],
    "engine": ["common/base", "engine"],
    "worker": [*COMMON, *BOUNDARY, "proto"],
    "prefill_worker": [*COMMON, *BOUNDARY, "worker", "proto"],
    "decode_worker": [*COMMON, *BOUNDARY, "worker", "proto"],
    "gateway/chat/jinja": ["common/base"],
    "gateway/chat/toolcall": ["common/base"],
    "gateway/chat": ["common/base", "engine/checkpoint", "engine/tokenizer"],
    "gateway/http": ["common/base", "common/http"],
    "gateway/web": [],
    "gateway": [*COMMON, "engine/arch", "engine/checkpoint", "engine/grammar", "engine/tokenizer",
                "gateway", "proto"],
    "tools/support": ["common/base", "common/http", "engine"],
    "tools/manual": ["common/base"],
    "tools/load": [*COMMON, "tools/support"],
    "tools": [*COMMON, "engine", "tools", "worker"],
    "bench": [*COMMON, "engine", "proto", "tools/support"],
}
# A library's headers: the only places that include them.
OWNERS = {
    r"nng/": ["common/wire"],
    r"uv\.h": ["gateway", "tools", "tests"],
    r"jansson\.h": ["common/base/json.c"],
    r"(cblas\.h|[a-z]*intrin\.h|arm_neon\.h)": ["engine/kernels", "tests/support",
                                                "tests/unit/engine/kernels"],
    r"pcre2\.h": ["engine/tokenizer"],
    r"openssl/ssl\.h": ["common/http", "gateway/http", "tests"],
    r"cmocka\.h": ["tests"],
}
INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]', re.M)


def is_in(path, room):
    return path == room or path.startswith(room + "/")


def row_of(path):
    rooms = [room for room in MAY_USE if is_in(path, room)]
    return max(rooms, key=len, default=None)


def circles(edges):
    """The strongly connected parts with more than one member, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(sorted(part))
    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def wrong_rooms(includes):
    for path, header in includes:
        row = row_of(path)
        if row is None:
            yield f"{path}: layers.py has no row for its room"
        elif not is_in(header, row) and not any(is_in(header, room) for room in MAY_USE[row]):
            yield f"{path} includes {header}, which {row} may not use"


def wrong_libraries(paths, sources):
    for path in paths:
        for kind, header in INCLUDE.findall(sources[path]):
            for pattern, owners in OWNERS.items():
                if kind == "<" and re.match(pattern, header) and not any(is_in(path, owner)
                                                                         for owner in owners):
                    yield f"{path} includes <{header}>, which is for {', '.join(owners)}"


def sibling_circles(includes):
    """Folders with the same parent, each with all that is below it."""
    parents = {parent.as_posix() for path, _ in includes for parent in Path(path).parents}
    for parent in sorted(parents):
        prefix = "" if parent == "." else parent + "/"
        edges = {}
        for pair in includes:
            names = [path[len(prefix):].split("/") for path in pair if path.startswith(prefix)]
            in_folders = len(names) == 2 and all(len(name) > 1 for name in names)
            if in_folders and names[0][0] != names[1][0]:
                edges.setdefault(names[0][0], set()).add(names[1][0])
        for circle in circles(edges):
            yield f"folders of {parent} include each other: {', '.join(circle)}"


def header_circles(includes):
    edges = {}
    for path, header in includes:
        if path.endswith(".h"):
            edges.setdefault(path, set()).add(header)
    for circle in circles(edges):
        yield f"headers include each other: {', '.join(circle)}"


def main():
    paths = [path for path in tracked("*.c", "*.h")]
    sources = {path: (ROOT / path).read_text(errors="replace") for path in paths}
    product = [path for path in paths if not is_in(path, "tests")]
    includes = [(path, header) for path in product
                for kind, header in INCLUDE.findall(sources[path]) if kind == '"']
    problems = [*wrong_rooms(includes), *wrong_libraries(paths, sources),
                *sibling_circles(includes), *header_circles(includes)]
    climbs = [f"{path} includes {header}: name it from the root" for path in paths
              for kind, header in INCLUDE.findall(sources[path]) if kind == '"' and ".." in header]
    print("\n".join([*problems, *climbs]))
    print(f"{len(includes)} includes of {len(product)} files: {len(problems) + len(climbs)} wrong")
    return bool(problems or climbs)


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    sys.exit(main())
