"""A control group for this process and those it starts meanwhile, as a container has one."""
import contextlib
import os
from pathlib import Path

import pytest

MOUNT = Path("/sys/fs/cgroup")


def own_group(controller):
    """(the mount, the group of this process); version 1 mounts each controller by itself."""
    v1 = (MOUNT / controller).is_dir() and (MOUNT / controller / "cgroup.procs").exists()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if (controller in controllers.split(",")) if v1 else not controllers:
            return MOUNT / controller if v1 else MOUNT, path.lstrip("/")
    pytest.skip(f"no control group of {controller}")


class Group:
    """A context; skips where no group may be made. files: {version (1, 2): {name: text}}."""

    def __init__(self, controller, files):
        self.mount, self.home = own_group(controller)
        self.controller, self.version = controller, 2 if self.mount == MOUNT else 1
        self.files = files[self.version]
        self.dir = self.mount / f"baton-test-{os.getpid()}"

    def __enter__(self):
        try:
            self.dir.mkdir()
            for name, text in self.files.items():
                (self.dir / name).write_text(text)
            (self.dir / "cgroup.procs").write_text(str(os.getpid()))
        except OSError as error:
            self.remove()
            pytest.skip(f"{error.filename or self.dir}: {error.strerror}: only root may limit "
                        "processes, and not everywhere")
        return self

    def remove(self):
        with contextlib.suppress(OSError):  # never made, or of another kind
            self.dir.rmdir()

    def __exit__(self, *_):
        (self.mount / self.home / "cgroup.procs").write_text(str(os.getpid()))
        self.dir.rmdir()
