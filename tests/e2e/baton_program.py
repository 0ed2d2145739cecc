"""The program `baton` in tests: its commands, and `baton up` in the foreground."""
import os
import queue
import re
import subprocess
import threading

from fleet import BIN, LONG_S, ROOT, free_port

BATON = BIN / "baton"
# On a busy machine nobody is lost for being slow, and what drains has the time it needs.
PATIENT = {f"BATON_{role}_{name}": "3600" for role in ("GATEWAY", "PREFILL", "DECODE")
           for name in ("SILENCE_S", "DRAIN_S")}
PATIENT |= {"BATON_PREFILL_STALL_S": "0", "BATON_DECODE_STALL_S": "0"}


def environment(**more):
    """Without what somebody's own fleet is told, and nothing is packed into the source tree."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    return {**kept, **more}


def baton(*words, env=None, **how):
    return subprocess.run([BATON, *map(str, words)], capture_output=True, text=True,
                          timeout=LONG_S, env=env or environment(), **how)


class Up:
    """`baton up` in the foreground: its one log, line by line."""

    def __init__(self, state, *words, command=(), env=None):
        self.state, self.port = state, free_port()
        self.packs = state.parent / "packs"
        self.popen = subprocess.Popen([*map(str, command), BATON, "up", "--state", state, "--port",
                                       str(self.port), "--pack-dir", self.packs, *map(str, words)],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      cwd=ROOT, env=environment(**{**PATIENT, **(env or {})}))
        self.lines, self.seen = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.popen.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def wait_line(self, pattern):
        """The match in the first line that has the pattern; processes log in any order."""
        for line in self.seen:
            if re.search(pattern, line):
                return re.search(pattern, line)
        while True:
            line = self.lines.get(timeout=LONG_S)
            assert line is not None, (f"no line with {pattern}:\n{''.join(self.seen)}\n"
                                      f"{self.popen.stderr.read()}")
            self.seen.append(line)
            if re.search(pattern, line):
                return re.search(pattern, line)

    def wait_ready(self):
        self.wait_line("Ctrl-C stops it")

    def pid(self, name):
        return int((self.state / f"{name}.pid").read_text().split()[0])

    def end(self):
        """Its exit status, once it is over; all of its lines are then in `seen`."""
        while (line := self.lines.get(timeout=LONG_S)) is not None:
            self.seen.append(line)
        return self.popen.wait(LONG_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()
        baton("down", "--state", self.state)
