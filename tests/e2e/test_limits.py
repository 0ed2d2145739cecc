"""With few resources a process says what it lacks, and either serves or ends."""
import re
import resource
import subprocess
from pathlib import Path

import pytest

from fleet import BIN, LONG_S, MODEL, Fleet, free_port, wait_for

STORY = "Once upon a time"
NEEDS = "more threads are needed to start"


def start(role, limits=(), before=()):
    """A process that has nobody to talk to, with resource limits; its error output is a pipe."""
    argv = {"gateway": ["--port", 0, "--inbox", "tcp://127.0.0.1:0"],
            "decode": ["--gateway", f"tcp://127.0.0.1:{free_port()}", "--lease-dir", ""]}[role]
    argv = [*before, BIN / f"baton-{role}", "--model", MODEL, "--pack-dir", "", *argv]
    return subprocess.Popen([str(arg) for arg in argv], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: [resource.setrlimit(*limit) for limit in limits])


def says(process, event):
    """Reads until a line has the event, or to the end; all lines."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if event in line:
            break
    return lines


def is_sanitized():
    return (b"libasan" in (BIN / "baton-gateway").read_bytes()
            or b"libtsan" in (BIN / "baton-gateway").read_bytes())


@pytest.mark.skipif(is_sanitized(), reason="a sanitizer takes terabytes of address space")
@pytest.mark.parametrize("role, mib",
                         [("gateway", 100), ("gateway", 150), ("decode", 100), ("decode", 150)])
def test_without_room_for_its_threads_a_process_says_so_and_ends(role, mib):
    process = start(role, [(resource.RLIMIT_AS, (mib << 20, mib << 20))])
    errors = process.communicate(timeout=LONG_S)[1]
    assert process.returncode == 1, errors
    assert NEEDS in errors and f"address space {mib << 10} KiB" in errors, errors


@pytest.mark.skipif(is_sanitized(), reason="a sanitizer has threads of its own")
@pytest.mark.parametrize("n", [1, 6, 12, 17])
def test_a_user_with_few_threads_is_told_how_many_are_needed(n):
    """Runs as another user, since root has no limit. The process itself counts as a thread."""
    user = 64000 + n
    process = start("gateway", before=["setpriv", f"--reuid={user}", f"--regid={user}",
                                       "--clear-groups", "prlimit", f"--nproc={n}"])
    errors = process.communicate(timeout=LONG_S)[1]
    if "setpriv:" in errors:
        pytest.skip("only root may become another user")
    assert process.returncode == 1 and NEEDS in errors, errors
    assert f"threads of this user {n}" in errors and f"room for {n - 1}" in errors, errors


def test_few_open_files_are_told_at_the_start_and_when_they_are_used_up():
    process = start("gateway", [(resource.RLIMIT_NOFILE, (40, 40))])
    lines = says(process, "ev=listening")
    try:
        assert any(re.search(r"ev=few_open_files limit=40 needed=\d+ hint=", line)
                   for line in lines), lines
        port = int(lines[-1].split(" port=")[1].split()[0])
        held = []
        import socket
        for _ in range(40):
            held.append(socket.create_connection(("127.0.0.1", port)))
        assert any("ev=few_open_files" in line for line in says(process, "ev=few_open_files"))
        for connection in held:
            connection.close()
    finally:
        process.terminate()
        process.communicate()
    assert process.returncode == 0


def test_the_soft_limit_of_open_files_is_raised():
    for role in "gateway", "decode":
        process = start(role, [(resource.RLIMIT_NOFILE, (64, 20000))])
        try:
            lines = says(process, "ev=listening" if role == "gateway" else "ev=gateway_found")
            assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (20000, 20000)
            assert not any("few_open_files" in line for line in lines)
        finally:
            process.terminate()
            process.communicate()


def names(process):
    return [Path(path, "comm").read_text().strip()
            for path in Path(f"/proc/{process.pid}/task").iterdir()]


def test_every_thread_has_a_name():
    with Fleet(worker_args=["--threads", 2]) as fleet:
        fleet.generate(prompt=STORY, max_new_tokens=5)
        own = {"gateway": ["libuv-worker"],
               "prefill-0": ["baton-engine", "baton-helper", "baton-resolver"],
               "decode-0": ["baton-engine", "baton-helper", "baton-resolver"]}
        for process in fleet.gateway, *fleet.workers.values():
            # A new thread has the name of the one that made it until it has run.
            main = f"baton-{process.name.split('-')[0]}"
            wait_for(lambda: names(process).count(main) == 1, "every thread to have its name")
            found = names(process)
            assert {*own[process.name], "baton-strangers", "nng:task"} <= set(found), found
            assert all(name.startswith(("baton-", "nng:", "libuv-", "openblas"))
                       for name in found), found


@pytest.mark.parametrize("token, reason", [("", "there is no cluster token"),
                                           ("only-on-the-internal-network", "everybody can read"),
                                           ("a secret", None)])
def test_a_fleet_without_a_secret_is_told_so_once(token, reason):
    with Fleet(token=token) as fleet:
        for process in fleet.gateway, *fleet.workers.values():
            lines = [line for line in process.text().splitlines() if "ev=no_cluster_secret" in line]
            assert len(lines) == (reason is not None), lines
            assert all(reason in line and "--cluster-token-file" in line for line in lines)
