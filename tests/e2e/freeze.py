"""Stops one thread of a process while the others run on, by ptrace."""
import contextlib
import ctypes
import os
from pathlib import Path

import pytest
from fleet import wait_for

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


FUTEX = "202"


def computes_or_waits(tid):
    """Whether a thread waits outside of calls such as send, in which a library holds a lock."""
    return Path(f"/proc/{tid}/syscall").read_text().split()[0] in ("-1", "running", FUTEX)


def rounds(pid):
    """How often the main thread has slept: it beats, so that the count grows for ever."""
    status = Path(f"/proc/{pid}/task/{pid}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def is_blocked(pid):
    """Whether the main thread waits for a lock and not for messages or the time."""
    return Path(f"/proc/{pid}/task/{pid}/syscall").read_text().split()[0] == FUTEX


def runs_on(pid):
    """Whether the main thread still goes round: it sends a few beats, which take every lock it
    needs. Else it waits for a lock of the stopped thread, or rarely of another one."""
    goal = rounds(pid) + 4
    wait_for(lambda: rounds(pid) >= goal or is_blocked(pid), "the main thread to go round or wait")
    return rounds(pid) >= goal


class Frozen:
    """A context in which a process's engine stands still without a lock that its main thread needs,
    which would stop the whole process. Enter and leave it on the same thread."""

    def __init__(self, pid):
        self.pid, self.tid = pid, thread(pid)

    def __enter__(self):
        while True:
            if not stop(self.tid):
                pytest.skip(f"ptrace: {os.strerror(ctypes.get_errno())}")
            if computes_or_waits(self.tid) and runs_on(self.pid):
                return self
            go_on(self.tid)

    def __exit__(self, *_):
        go_on(self.tid)
