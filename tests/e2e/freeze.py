"""Stops one thread of a process while the others run on, by ptrace."""
import contextlib
import ctypes
import os
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


class Frozen:
    """A context in which a process's engine stands still. Enter and leave it on the same thread of the test."""

    def __init__(self, pid):
        self.tid = thread(pid)

    def __enter__(self):
        if not stop(self.tid):
            pytest.skip(f"ptrace: {os.strerror(ctypes.get_errno())}")
        return self

    def __exit__(self, *_):
        go_on(self.tid)
