"""Strangers send an inbox what is no message."""
import random
import socket

from fleet import LONG_S

STORY = "Once upon a time"


def is_closed_by_peer(sock):
    """Reads (and drops) what comes until the other side ends the connection."""
    sock.settimeout(LONG_S)
    try:
        while sock.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


def test_a_flood_of_garbage_on_the_inbox_harms_no_request(fleet, sized):
    """Bound: every message is counted as rejected, both workers stay, the next answer is right."""
    rng = random.Random(2)
    host, port = fleet.inbox.removeprefix("tcp://").split(":")
    n_messages = 0
    for _ in range(sized(200, 5000)):
        with socket.create_connection((host, int(port))) as sock:
            kind = rng.randrange(3)
            payload = rng.randbytes(rng.randint(0, 400))
            if kind:  # the SP handshake of a PUSH socket
                sock.sendall(b"\0SP\0\0\x50\0\0")
            if kind == 2:  # a whole message, which is no frame
                sock.sendall(len(payload).to_bytes(8, "big") + payload)
                n_messages += 1
                assert is_closed_by_peer(sock)
            else:
                sock.sendall(payload)
    assert fleet.metrics()["baton_inbox_rejected_total"] == n_messages > 0
    assert fleet.generate(prompt=STORY)["output_tokens"] == 20
    assert len(fleet.fleet()) == 2
