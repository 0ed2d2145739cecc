"""Files that are either whole or not there."""
import json
import os

from lab.errors import LabError


def write(path, text):
    """Replaces the file at once: a reader finds the old or the new one, even after a kill."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_text(text)
        os.replace(part, path)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None


def write_json(path, value):
    write(path, json.dumps(value, indent=1) + "\n")


def read_json(path):
    """None when there is no such file."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LabError(f"{path}: {error}") from None
