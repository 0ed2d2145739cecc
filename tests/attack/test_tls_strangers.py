"""Strangers connect to inboxes that speak TLS, and send a part of a handshake or nothing."""
import contextlib
import resource
import socket

import certificates
import pytest
import wire
from attacks import Watch
from fleet import SUSPICION, PeerFleet, wait_for
from load import allow_files

MOST_OF_AN_ADDRESS = 32
BEGINNINGS = {"nothing": b"", "a ClientHello's first bytes": b"\x16\x03\x01\x02\x00\x01\x00\x01"}


def connect(url, data):
    sock = socket.create_connection(wire.address(url.replace("tls+", "")), 60)
    with contextlib.suppress(OSError):  # ended already
        sock.sendall(data)
    return sock


@pytest.mark.parametrize("data", BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_crowd_in_handshakes_holds_few_descriptors_and_keeps_nobody_out(tmp_path, sized, data):
    """Bound: at most 32 stay open, later none; then /health is never reset; a new worker joins."""
    n = sized(200, 1000)
    allow_files(n + 200)
    identity = certificates.identity(tmp_path, "fleet")
    with PeerFleet(identity, gateway_args=SUSPICION) as fleet:
        watch, limit = Watch(fleet.gateway), sized(200, 1024)
        files = watch.files()
        resource.prlimit(fleet.gateway.pid, resource.RLIMIT_NOFILE, (files + limit,) * 2)
        held = [connect(fleet.inbox, data) for _ in range(n)]
        wait_for(lambda: sum(map(wire.is_open, held)) <= MOST_OF_AN_ADDRESS, "the crowd to shrink")
        # A client sees the end of its connection before the gateway has its descriptor back.
        wait_for(lambda: watch.files() <= files + MOST_OF_AN_ADDRESS + 16, "the descriptors")
        for _ in range(20):
            assert fleet.request("GET", "/health")[0] == 200
        fleet.start_worker("decode", "decode-1")
        fleet.wait_ready(3)
        wait_for(lambda: not any(map(wire.is_open, held)), "the last to be ended")
        wait_for(lambda: watch.files() <= files + 16, "their descriptors to be closed")
        assert "worker_lost" not in fleet.gateway.text()


def test_plain_http_at_the_https_port_is_told_so(tmp_path):
    """Bound: a whole answer in clear with status 400, every time."""
    from test_tls import SecureFleet
    with SecureFleet(*certificates.make(tmp_path), prefill=0, decode=0) as fleet:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", fleet.port), 60) as client:
                client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answer = b"".join(iter(lambda: client.recv(4096), b""))
            assert answer.startswith(b"HTTP/1.1 400 ") and b"HTTPS" in answer.upper()


def test_half_client_hellos_delay_no_https_client(tmp_path, sized):
    """Bound: every innocent of another address is served while all handshakes are unfinished."""
    from test_tls import SecureFleet
    n = sized(300, 1600)
    allow_files(n + 200)
    with SecureFleet(*certificates.make(tmp_path), prefill=0, decode=0) as fleet:
        held = []
        for _ in range(n):
            held.append(socket.create_connection(("127.0.0.1", fleet.port), 60, ("127.0.0.2", 0)))
            with contextlib.suppress(OSError):
                held[-1].sendall(BEGINNINGS["a ClientHello's first bytes"])
        for _ in range(20):
            assert fleet.request("GET", "/health")[0] == 200
        for each in held:
            each.close()
