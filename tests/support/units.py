"""Runs what systemd's units say, without systemd: a supervisor for a file system with no init.

Of a unit's settings it takes the user, the environment, the directories, the lack of capabilities
and the read-only system; it refuses a unit that does not ask for the last two.
"""

import re
import shlex
import socket
import subprocess

PLACES = {"StateDirectory": "var/lib", "CacheDirectory": "var/cache", "RuntimeDirectory": "run"}
UNIT_PATHS = ("lib/systemd/system", "usr/lib/systemd/system")


def read_settings(text):
    """Every assignment of a unit file: a name's values in their order."""
    settings = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"([A-Za-z]+)=(.*)", line):
            settings.setdefault(match[1], []).append(match[2])
    return settings


class Unit:
    def __init__(self, root, name):
        self.root, self.name = root, name
        file, self.instance = re.subn(r"@.*\.", "@.", name)[0], ""
        if match := re.search(r"@(.+)\.service", name):
            self.instance = match[1]
        paths = [root / folder / file for folder in UNIT_PATHS]
        self.settings = read_settings(next(path for path in paths if path.exists()).read_text())
        if self.one("ProtectSystem") != "strict" or self.one("CapabilityBoundingSet") != "":
            raise ValueError(f"{name} asks for a system that can be written, or for capabilities")

    def one(self, setting):
        return self.settings[setting][-1]

    def expand(self, text):
        values = {"%i": self.instance, "%l": socket.gethostname().split(".")[0],
                  "%C": "/var/cache", "%t": "/run", "%%": "%"}
        return re.sub("%.", lambda match: values[match[0]], text)

    def environment(self):
        assigned = [self.expand(line) for line in self.settings.get("Environment", [])]
        for line in self.settings.get("EnvironmentFile", []):
            file = self.root / self.expand(line).lstrip("-/")
            assigned += file.read_text().split() if file.exists() else []
        return assigned

    def directories(self):
        """The path and mode of each that systemd would make."""
        for setting, place in PLACES.items():
            mode = int(self.one(f"{setting}Mode"), 8)
            yield self.root / place / self.one(setting), mode

    def start(self, log):
        user = self.one("User")
        command = shlex.split(self.expand(self.one("ExecStart")))
        return subprocess.Popen(
            ["chroot", self.root, "setpriv", f"--reuid={user}", f"--regid={self.one('Group')}",
             "--clear-groups", "--no-new-privs", "--bounding-set=-all",
             "env", "-i", "PATH=/usr/bin:/bin", *self.environment(), *command],
            stdin=subprocess.DEVNULL, stdout=log.open("w"), stderr=subprocess.STDOUT,
        )


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def confine(root, units):
    """The system read-only but for the units' directories and /tmp."""
    ids = re.search(r"^baton:[^:]*:(\d+):(\d+):", (root / "etc/passwd").read_text(), re.M)
    writable = {path: mode for unit in units for path, mode in unit.directories()}
    for path, mode in writable.items():
        path.mkdir(exist_ok=True)
        subprocess.run(["chown", f"{ids[1]}:{ids[2]}", str(path)], check=True)
        path.chmod(mode)
    mount("--bind", root, root)
    mount("-t", "proc", "proc", root / "proc")
    mount("--rbind", "/dev", root / "dev")
    mount("-t", "tmpfs", "tmpfs", root / "tmp")
    for path in writable:
        mount("--bind", path, path)
    mount("-o", "remount,bind,ro", root)
