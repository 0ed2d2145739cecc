"""Stops one thread of a process while the others run on, by ptrace."""
import ctypes
import os
from pathlib import Path

import pytest

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def thread(pid, name):
    """The id of the thread of that name."""
    return next(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()
                if (task / "comm").read_text().strip() == name)


class Frozen:
    """A context in which the thread stands still. Enter and leave it on the same thread of the test."""

    def __init__(self, pid, name="baton-engine"):
        self.tid = thread(pid, name)

    def __enter__(self):
        if libc.ptrace(PTRACE_SEIZE, self.tid, None, None):
            pytest.skip(f"ptrace: {os.strerror(ctypes.get_errno())}")
        assert libc.ptrace(PTRACE_INTERRUPT, self.tid, None, None) == 0
        os.waitpid(self.tid, WALL)
        return self

    def __exit__(self, *_):
        libc.ptrace(PTRACE_DETACH, self.tid, None, None)
