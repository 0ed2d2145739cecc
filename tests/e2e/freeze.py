"""Stops one thread of a process while the others run on, by ptrace."""
import contextlib
import ctypes
import os
import time
from pathlib import Path

import pytest

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def thread(pid, name="baton-engine"):
    """The id of the thread of that name; None while there is none."""
    with contextlib.suppress(OSError):  # one has just ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            if (task / "comm").read_text().strip() == name:
                return int(task.name)


def stop(tid):
    """Returns when the thread stands still; False: it cannot be stopped."""
    if libc.ptrace(PTRACE_SEIZE, tid, None, None) or libc.ptrace(PTRACE_INTERRUPT, tid, None, None):
        return False
    os.waitpid(tid, WALL)
    return True


def go_on(tid):
    """By the thread of the test that stopped it."""
    if libc.ptrace(PTRACE_DETACH, tid, None, None):
        with contextlib.suppress(ChildProcessError):  # it has died, and waits for who stopped it
            os.waitpid(tid, WALL | os.WNOHANG)


def rounds(pid):
    """How often the main thread has slept: it beats, so that the count grows for ever."""
    status = Path(f"/proc/{pid}/task/{pid}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def runs_on(pid):
    """Whether the main thread goes round. One that waits for a lock of the stopped thread has gone to sleep once more,
    and then no more; one that had no processor for a second may be taken for it."""
    seen, n_alike = rounds(pid), 0
    goal = seen + 3
    while seen < goal and n_alike < 100:
        time.sleep(0.01)
        before, seen = seen, rounds(pid)
        n_alike = n_alike + 1 if seen == before else 0
    return seen >= goal


class Frozen:
    """A context in which a process's engine stands still, but not with a lock that its main thread needs: that would
    be a whole process that stands still. Enter and leave it on the same thread of the test."""

    def __init__(self, pid):
        self.pid, self.tid = pid, thread(pid)

    def __enter__(self):
        while True:
            if not stop(self.tid):
                pytest.skip(f"ptrace: {os.strerror(ctypes.get_errno())}")
            if runs_on(self.pid):
                return self
            go_on(self.tid)

    def __exit__(self, *_):
        go_on(self.tid)
