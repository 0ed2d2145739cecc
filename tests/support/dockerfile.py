"""Reads the part of the Dockerfile language that deploy/Dockerfile keeps to; refuses the rest."""

import dataclasses
import fnmatch
import json
import pathlib
import re
import shlex

# Not needed to build a file system; the image's users see them.
METADATA = {"ARG", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"}


@dataclasses.dataclass
class Stage:
    base: str
    name: str
    steps: list = dataclasses.field(
        default_factory=list
    )  # ("RUN", command) ("COPY", from, source, target) ("WORKDIR", path)
    env: dict = dataclasses.field(default_factory=dict)
    user: str = "root"
    command: list = dataclasses.field(default_factory=list)
    metadata: dict = dataclasses.field(default_factory=dict)


def instructions(text):
    """Yields (word, arguments), comments gone and continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            word, _, arguments = line.strip().partition(" ")
            yield word, arguments.strip()


def parse(text):
    stages = []
    for word, arguments in instructions(text):
        if word == "FROM":
            base, as_word, name = arguments.split()
            if as_word != "AS" or any(stage.name == name for stage in stages):
                raise ValueError(f"a stage needs a name of its own: FROM {arguments}")
            stages.append(Stage(base, name))
        elif not stages:
            raise ValueError(f"{word} before FROM")
        else:
            read_step(stages[-1], word, arguments, [stage.name for stage in stages[:-1]])
    return stages


def read_step(stage, word, arguments, earlier_names):
    if word in ("RUN", "COPY") and stage.user != "root":
        raise ValueError(f"{word} after USER is not understood: {arguments}")
    if word == "RUN":
        stage.steps.append(("RUN", arguments))
    elif word == "COPY":
        *options, source, target = shlex.split(arguments)
        origin = options[0].removeprefix("--from=") if options else None
        if len(options) > 1 or (options and origin not in earlier_names):
            raise ValueError(f"COPY {arguments} is not understood")
        stage.steps.append(("COPY", origin, source, target))
    elif word == "WORKDIR":
        stage.steps.append(("WORKDIR", arguments))
    elif word == "ENV":
        key, _, value = arguments.partition("=")
        if not re.fullmatch(r"[A-Z_]+", key) or re.search(r"[\s$\"']", value):
            raise ValueError(
                f"ENV {arguments} is not understood: one NAME=value, nothing to expand"
            )
        stage.env[key] = value
    elif word == "USER":
        stage.user = arguments
    elif word == "CMD":
        stage.command = json.loads(arguments)
    elif word in METADATA:
        stage.metadata[word] = arguments
    else:
        raise ValueError(f"{word} is not understood")


def is_ignored(path, patterns):
    """The last line of a .dockerignore that matches the path or a parent of it decides."""
    parents = [str(path), *(str(parent) for parent in pathlib.PurePath(path).parents)]
    ignored = False
    for pattern in patterns:
        wanted = pattern.removeprefix("!").removeprefix("**/")
        if any(fnmatch.fnmatchcase(parent, wanted) for parent in parents):
            ignored = not pattern.startswith("!")
    return ignored


def ignore_patterns(text):
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
