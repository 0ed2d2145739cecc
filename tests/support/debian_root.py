"""A bare Debian 12 as a directory, for tests where nothing installed by hand may help."""

import os
import re
import shutil
import subprocess

SUITE = "bookworm"
# Where a proxy shows certificates of its own, this names theirs, and npm needs them too.
AUTHORITIES = "NODE_EXTRA_CA_CERTS"


class CannotMake(Exception):
    """This host lacks a program or a right that is needed."""


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def apt_sources():
    """This host's mirror and security mirror: nothing else may be reachable from here."""
    host = dict(line.rstrip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
    targets = output_of(
        "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"
    )
    uris = {
        release: uri for uri, release in (line.split() for line in reversed(targets.splitlines()))
    }
    release = host.get("VERSION_CODENAME", "").strip('"')
    if host["ID"].strip('"') != "debian" or release not in uris:
        raise CannotMake("needs a Debian host whose apt sources name a mirror of Debian")
    lines = [f"deb {uris[release]} {SUITE} main"]
    if f"{release}-security" in uris:
        lines.append(f"deb {uris[f'{release}-security']} {SUITE}-security main")
    return uris[release], "\n".join(lines) + "\n"


def make_base(base, log):
    """Makes the directory base; the log gets the words of debootstrap."""
    mirror, sources = apt_sources()
    with open(log, "w") as out:
        subprocess.run(
            ["debootstrap", "--variant=minbase", SUITE, str(base), mirror],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=True,
        )
    (base / "etc/apt/sources.list").write_text(sources)
    settings = [
        line
        for line in output_of("apt-config", "dump").splitlines()
        if re.match(r"Acquire::(https?::.|Check-|Retries)", line)
    ]
    (base / "etc/apt/apt.conf.d/90host").write_text("\n".join(settings) + "\n")
    shutil.copytree("/etc/apt/trusted.gpg.d", base / "etc/apt/trusted.gpg.d", dirs_exist_ok=True)
    for name in ("resolv.conf", "hosts"):
        shutil.copy(f"/etc/{name}", base / "etc" / name)
    if AUTHORITIES in os.environ:
        shutil.copy(os.environ[AUTHORITIES], base / "etc/host-authorities.pem")
    # The official image does the same: no services start, packages are not flushed one by one.
    (base / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (base / "usr/sbin/policy-rc.d").chmod(0o755)
    (base / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")
