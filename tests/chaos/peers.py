"""Peers that send garbage or lies to an inbox: random bytes, half messages, forged Hellos."""
import socket

import wire

NOWHERE = "tcp://127.0.0.1:9"


def hello(rng, token):
    return wire.hello(token, NOWHERE, f"stranger-{rng.randrange(1000)}", rng.getrandbits(63) + 1)


def kv_begin(rng):
    return wire.kv_begin(NOWHERE, rng.getrandbits(63) + 1, request_id=rng.getrandbits(63) + 1)


def flawed(rng, framed):
    """With other bytes here and there, but of SP's length."""
    data = bytearray(framed)
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(8, len(data))] = rng.randrange(256)
    return bytes(data)


def attack(rng, host, port, n):
    """n connections, each with other garbage. The peer may answer by closing the connection."""
    for _ in range(n):
        whole = rng.choice([hello(rng, "a guess"), hello(rng, ""), kv_begin(rng),
                            wire.frame(rng.randbytes(rng.randint(1, 300)))])
        if rng.random() < 0.3:
            whole = flawed(rng, whole)
        try:
            with socket.create_connection((host, port), 2) as peer:
                peer.sendall(rng.randbytes(8) if rng.random() < 0.1 else wire.GREETING)
                peer.sendall(whole if rng.random() < 0.7 else whole[:rng.randrange(len(whole))])
        except OSError:
            pass
