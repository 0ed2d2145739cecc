"""Any local user reads the names of all Unix sockets: they show no worker's epoch."""
import re
import socket
from pathlib import Path

import wire
from fleet import BIN, LONG_S, MODEL, Process, wait_for


def test_names_of_sockets_are_no_epochs(tmp_path):
    """Bound: the epoch in a worker's Hello is in no name; one name is the worker's."""
    before = set(re.findall(r"@baton-kv-\S+", Path("/proc/net/unix").read_text()))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LONG_S)
        gateway = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        worker = Process("decode", [BIN / "baton-decode", "--model", MODEL, "--gateway", gateway,
                                    "--lease-dir", "", "--pack-dir", tmp_path],
                         tmp_path / "log")
        try:
            epoch = wire.receive(wire.greet(server.accept()[0]))[1]
            names = wait_for(lambda: set(re.findall(r"@baton-kv-\S+", Path(
                "/proc/net/unix").read_text())) - before, "the worker's socket")
        finally:
            worker.kill()
    assert epoch > 1 << 32 and not [name for name in names if f"{epoch:x}" in name]
