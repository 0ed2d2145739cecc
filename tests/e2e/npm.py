"""npm packages of judges and clients, installed beside the binaries once per lock file."""
import fcntl
import re
import shutil
import subprocess

import pytest
from fleet import BIN, ROOT, SLOW

QUIET = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"]


def install(source, target, *options):
    """Copies source to target with its packages, by npm's options; skips where npm cannot."""
    target.mkdir(exist_ok=True)
    with open(target / ".lock", "w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)  # tests beside this one want the same packages
        shutil.copytree(source, target, dirs_exist_ok=True)
        lock = target / "package-lock.json"
        installed = target / "node_modules/.installed-lock.json"
        if installed.exists() and installed.read_bytes() == lock.read_bytes():
            return target
        done = subprocess.run(["npm", "ci", *QUIET, *options], cwd=target, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600 * SLOW)
        if done.returncode:
            pytest.skip(f"npm cannot install the library: {done.stdout.strip()[:200]}")
        shutil.copy(lock, installed)
    return target


def version_of(node):
    text = subprocess.run([node, "--version"], text=True, stdout=subprocess.PIPE).stdout
    return [int(part) for part in re.findall(r"\d+", text)]


def node():
    """A Node that the newest clients run on: the machine's, or the one that npm has."""
    if not shutil.which("npm"):
        pytest.skip("the clients from npm need npm, which is not installed")
    if version_of("node") >= [22, 22]:
        return "node"
    packages = install(ROOT / "tests/e2e/node", BIN.parent / "node") / "node_modules"
    return next(packages.glob("node-linux-*/bin/node"))
