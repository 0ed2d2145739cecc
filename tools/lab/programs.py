"""The programs in C that an experiment runs to their end, and what they print."""
import json
import subprocess

from lab.errors import LabError


class Programs:
    """The programs in C that the lab runs; they lie beside baton-lab."""

    def __init__(self, lab):
        self.folder = lab.parent
        self.load, self.bench = self.folder / "baton-load", self.folder / "baton-bench"


def output(command, timeout_s=None):
    """stdout of a program that ended well, in a session of its own: Ctrl-C is ours to handle."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout_s, start_new_session=True)
    except OSError as error:
        raise LabError(f"{words[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"{' '.join(words)}: no end after {timeout_s} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout)[-2000:].strip()
        raise LabError(f"{' '.join(words)}: exit status {done.returncode}\n{said}")
    return done.stdout


def json_of(command, timeout_s=None):
    return json.loads(output(command, timeout_s))
