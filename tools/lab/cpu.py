"""Processor time of processes, from /proc."""
import os
import time
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def seconds_of(pid):
    """User and system time of all its threads; None when the process is gone or not readable."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


class Meter:
    """The processor time of each role's processes between start and stop."""

    def __init__(self, pids_by_role):
        self.pids_by_role = pids_by_role

    def read(self):
        """{role: seconds}, without roles of which a process cannot be read"""
        sums = {}
        for role, pids in self.pids_by_role.items():
            values = [seconds_of(pid) for pid in pids]
            if values and None not in values:
                sums[role] = sum(values)
        return sums

    def start(self):
        self.began_s, self.before = time.monotonic(), self.read()

    def stop(self):
        after = self.read()
        return {"wall_s": time.monotonic() - self.began_s,
                "by_role": {role: round(after[role] - used, 3) for role, used in self.before.items()
                            if role in after}}
