"""Connections that send half a head fill all places of the gateway."""
import contextlib
import socket

import pytest
from fleet import Fleet
from load import allow_files

HALVES = {"head": b"GET /health HT",
          "body": b"POST /generate HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"}


@pytest.mark.parametrize("part", HALVES)
def test_every_innocent_is_served_while_half_requests_fill_all_places(part, sized):
    """Bound: 20 of 20 innocents are served, twice: also after the attackers came back."""
    places, patient = sized(100, 4096), ["--head-timeout-s", 3600, "--body-timeout-s", 3600]
    allow_files(3 * places + 200)
    with Fleet(prefill=0, decode=0,
               gateway_args=["--max-connections", places, *patient]) as fleet:
        held = []
        for _ in range(2):
            for _ in range(places + 20):
                held.append(socket.create_connection(("127.0.0.1", fleet.port), 60))
                with contextlib.suppress(OSError):
                    held[-1].sendall(HALVES[part])
            for _ in range(20):
                assert fleet.request("GET", "/health")[0] == 200
        assert fleet.metrics()["baton_http_connections"] <= places
        for each in held:
            each.close()
