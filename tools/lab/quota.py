"""A share of a core for one process, by the kernel's cgroups: each worker as a small machine.

The kernel enforces it by its clock's ticks: at a share of 0.4, a process runs for some 4 ms and
rests for 6.
"""
import os
from pathlib import Path

from lab.errors import LabError

V2, V1 = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/cpu")
PERIOD_US = 10_000


class Quota:
    """Holds from now on until it is removed, after the process has ended."""

    def __init__(self, pid, share):
        quota_us = max(1000, round(share * PERIOD_US))
        if (V1 / "cpu.cfs_quota_us").exists():
            files = {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": quota_us}
        else:
            files = {"cpu.max": f"{quota_us} {PERIOD_US}"}
        self.folder = (V1 if len(files) > 1 else V2) / f"baton-lab-{os.getpid()}-{pid}"
        try:
            self.folder.mkdir()
            for name, value in {**files, "cgroup.procs": pid}.items():
                (self.folder / name).write_text(str(value))
        except OSError as error:
            self.remove()
            raise LabError("--worker-cpu: needs root and the cpu controller of cgroups: "
                           f"{error.filename or self.folder}: {error.strerror}") from None

    def remove(self):
        try:
            self.folder.rmdir()
        except OSError:
            pass  # never made
