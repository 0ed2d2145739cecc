"""Clients from npm: a directory with a lock file and tests, installed once beside the binaries."""
import os
import shutil
import subprocess

import pytest
from fleet import BIN, ROOT, SLOW
from npm import install


class Client:
    def __init__(self, name):
        """Node finds modules from a file's own place, so tests lie beside the installed clients."""
        self.dir = BIN.parent / f"{name}-client"
        for program in ("node", "npm"):
            if not shutil.which(program):
                pytest.skip(f"the clients from npm need {program}, which is not installed")
        install(ROOT / "tests/e2e" / name, self.dir)
        major = int(self.run("node", "--version").removeprefix("v").split(".")[0])
        assert major >= 18, f"the client needs Node 18, this is {major}"

    def run(self, *argv, **env):
        done = subprocess.run([str(a) for a in argv], cwd=self.dir, env={**os.environ, **env},
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300 * SLOW)
        assert done.returncode == 0, done.stdout[-12000:]
        return done.stdout

    def drive(self, fleet, test, base="", **env):
        """Runs a test against the fleet, whose address is BASE_URL."""
        return self.run("node", self.dir / test, BASE_URL=f"http://127.0.0.1:{fleet.port}{base}",
                        **env)
