"""Clients from npm: a directory with a lock file and tests, installed once beside the binaries."""
import os
import subprocess

from fleet import BIN, ROOT, SLOW
from npm import install, node


class Client:
    def __init__(self, name):
        """Node finds modules from a file's own place, so tests lie beside the installed clients."""
        self.dir = BIN.parent / f"{name}-client"
        self.node = node()
        install(ROOT / "tests/e2e" / name, self.dir)

    def run(self, *argv, cwd=None, **env):
        env = {**os.environ, **{name: str(value) for name, value in env.items()}}
        done = subprocess.run([str(a) for a in argv], cwd=cwd or self.dir, env=env,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300 * SLOW)
        assert done.returncode == 0, done.stdout[-12000:]
        return done.stdout

    def drive(self, fleet, test, base="", **env):
        """Runs a test against the fleet, whose address is BASE_URL.

        A client that left a stream unread may hold its connection, and Node would wait for it."""
        return self.run(self.node, "--test-force-exit", self.dir / test,
                        BASE_URL=f"http://127.0.0.1:{fleet.port}{base}", **env)
