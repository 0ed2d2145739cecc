"""tests/run --package WORK PACKAGE.deb: the Debian package in a bare Debian 12.

Installs it, holds what it brought against what it promises, runs the services as their units say,
asks them, installs it again over an operator's changes, and purges it. tests/run calls this with
mount and pid namespaces of its own. A chroot has no systemd, so the units' settings are taken at
their word here: user, capabilities, directories, a read-only system. systemd itself checks the
units' syntax and judges their sandbox.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

import bare
from bare import in_root, make_base, mounted, output_of, run, say
from units import Unit, confine

UNITS = ("baton-gateway.service", "baton-prefill@0.service", "baton-decode@0.service")
# systemd-analyze security: 0 is the least a service can do to the system, 10 the most.
MAX_EXPOSURE = 1.5
SECRETS = ("cluster-token", "api-keys")


def fail(text):
    sys.exit(f"tests/run --package: {text}")


def check(holds, text):
    if not holds:
        fail(text)


def in_system(work, *command):
    run(in_root(work / "root", "/", {"DEBIAN_FRONTEND": "noninteractive"}, *command), work / "log")


def apt(work, *words):
    in_system(work, "apt-get", "-y", "--no-install-recommends", *words)


# The package's contents.


def check_secrets(root):
    group = re.search(r"^baton:x:(\d+):", (root / "etc/group").read_text(), re.M)
    check(group, "there is no group baton")
    for name in SECRETS:
        file = root / "etc/baton" / name
        status = file.stat()
        check(stat.S_IMODE(status.st_mode) == 0o640, f"{file} has mode {status.st_mode:o}")
        check((status.st_uid, status.st_gid) == (0, int(group[1])), f"{file} is not root:baton")
        check(re.fullmatch("[0-9a-f]{48}", file.read_text()), f"{file} is not 24 random bytes")
    texts = {(root / "etc/baton" / name).read_text() for name in SECRETS}
    check(len(texts) == 2, "the token and the key are the same")


def check_files(root):
    listed = output_of(*in_root(root, "/", {}, "dpkg", "-L", "baton")).splitlines()
    for name in ("baton", "baton-gateway", "baton-prefill", "baton-decode"):
        check(f"/usr/bin/{name}" in listed, f"no program {name}")
        check(f"/usr/share/man/man1/{name}.1.gz" in listed, f"no manual page of {name}")
        check(f"/usr/share/bash-completion/completions/{name}" in listed,
              f"no completion of {name}")
    for path in listed:
        mode = (root / path[1:]).lstat().st_mode
        check(stat.S_ISLNK(mode) or not mode & 0o022, f"{path} may be written by others: {mode:o}")
    conffiles = (root / "var/lib/dpkg/info/baton.conffiles").read_text().split()
    wanted = {f"/etc/baton/{role}.json" for role in ("gateway", "prefill", "decode")}
    check(set(conffiles) == wanted, f"the conffiles are {conffiles}")
    enabled = list((root / "etc/systemd/system").glob("*/baton-*"))
    check(not enabled, f"enabled without being asked for: {enabled}")


def check_links(root):
    doc = root / "usr/share/doc/baton"
    for page in doc.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            check("://" in link or (page.parent / link).exists(), f"{page} links to {link}")


def check_units(root):
    say("what systemd says of the units")
    done = subprocess.run(["systemd-analyze", "verify", f"--root={root}", "--man=no", *UNITS],
                          capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if "baton" in line]
    check(not done.returncode and not complaints, f"systemd-analyze verify: {done.stderr}")
    for unit in UNITS:
        judgement = output_of("systemd-analyze", "security",
                              "--offline=true", "--no-pager", f"--root={root}", unit)
        exposure = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", judgement)[1])
        print(f"{unit}: exposure {exposure}")
        check(exposure <= MAX_EXPOSURE, f"{unit} is exposed by {exposure}:\n{judgement}")


# Used, in a network of its own.


def ask(path, key=None, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", 8000, timeout=60)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key
                                                      else {})
    connection.request("POST" if body else "GET", path, body and json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def ask_fleet(root):
    key = (root / "etc/baton/api-keys").read_text()
    body = {"prompt": "Once upon a time", "max_new_tokens": 16, "temperature": 0}
    check(ask("/generate", None, body)[0] == 401, "a request without a key is not refused")
    status, text = ask("/generate", key, body)
    check(status == 200, f"/generate answers {status}: {text}")
    print(json.loads(text)["text"])
    packs = list((root / "var/cache/baton").iterdir())
    check(packs, "no packed weights in /var/cache/baton")
    check((root / "run/baton").exists() and list((root / "run/baton").iterdir()), "no core lease")


def serve(work):
    root = work / "root"
    units = [Unit(root, name) for name in UNITS]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    confine(root, units)
    processes = {}
    try:
        for unit in units:
            processes[unit.name] = unit.start(work / f"{unit.name}.log")
        bare.wait_until_ready(processes)
        ask_fleet(root)
        for name, process in processes.items():
            process.terminate()
            check(process.wait(30) == 0, f"{name} ends with {process.returncode} on SIGTERM")
    except BaseException:
        for name, process in processes.items():
            process.kill()
            print(f"--- {name}\n{(work / f'{name}.log').read_text(errors='replace')[-3000:]}")
        raise


# Installed again, removed, purged.


def check_upgrade(work):
    root = work / "root"
    say("installing it again over an operator's changes")
    config = root / "etc/baton/gateway.json"
    changed = config.read_text().replace("8000", "8001")
    config.write_text(changed)
    before = {name: (root / "etc/baton" / name).read_text() for name in SECRETS}
    apt(work, "install", "--reinstall", "-o", "Dpkg::Options::=--force-confdef",
        "-o", "Dpkg::Options::=--force-confold", "/package.deb")
    check(config.read_text() == changed, "an operator's configuration is overwritten")
    after = {name: (root / "etc/baton" / name).read_text() for name in SECRETS}
    check(before == after, "secrets are made anew")


def left_behind(root):
    """Files of ours anywhere but in the package system's own records."""
    own = ("proc", "sys", "dev", "var/lib/dpkg", "var/lib/apt", "var/log", "var/cache/apt",
           "var/cache/debconf")
    for folder, folders, files in os.walk(root):
        place = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if os.path.normpath(f"{place}/{name}") not in own]
        yield from (f"{place}/{name}" for name in folders + files if "baton" in name)


def check_purge(work):
    root = work / "root"
    say("removing and purging it")
    apt(work, "remove", "baton")
    check(not (root / "usr/bin/baton").exists(), "remove leaves the program")
    for name in ("gateway.json", *SECRETS):
        check((root / "etc/baton" / name).exists(), f"remove takes {name} along")
    apt(work, "purge", "baton")
    left = list(left_behind(root))
    check(not left, f"purge leaves {left}")


def main():
    work, package = pathlib.Path(sys.argv[1]), sys.argv[2]
    if package == "serve":
        return serve(work)
    root = work / "root"
    (work / "archives").mkdir()
    say("a bare Debian 12")
    make_base(root, work / "log")
    shutil.copy(package, root / "package.deb")
    with mounted(root, work / "archives"):
        say(f"installing {pathlib.Path(package).name}")
        in_system(work, "apt-get", "update")
        apt(work, "install", "/package.deb")
        check_secrets(root)
        check_files(root)
        check_links(root)
        check_units(root)
    say("the services")
    subprocess.run(["unshare", "--net", "--mount", sys.executable, "-B", __file__, str(work),
                    "serve"], check=True)
    with mounted(root, work / "archives"):
        check_upgrade(work)
        check_purge(work)
    say("package: everything passed")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
