"""Packages of npm's that judges are written with, installed beside the binaries once for each lock file."""
import shutil
import subprocess

import pytest
from fleet import SLOW


def install(source, target, *options):
    """The packages of source, installed in target with npm's options; skips where npm cannot."""
    target.mkdir(exist_ok=True)
    for file in source.iterdir():
        if file.is_file():
            shutil.copy(file, target)
    lock, installed = target / "package-lock.json", target / "node_modules/.installed-lock.json"
    if installed.exists() and installed.read_bytes() == lock.read_bytes():
        return target
    done = subprocess.run(["npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund",
                           *options], cwd=target, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600 * SLOW)
    if done.returncode:
        pytest.skip(f"npm cannot install the library: {done.stdout.strip()[:200]}")
    shutil.copy(lock, installed)
    return target
