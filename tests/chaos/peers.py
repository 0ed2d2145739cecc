"""Peers that send garbage or lies to an inbox: nobody's bytes, half messages, Hellos and contexts without the token."""
import socket
import struct

PULL, PUSH = 0x51, 0x50


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """An integer as varint, bytes and text with a length, a float as double; ("fixed64", n)."""
    if isinstance(value, tuple):
        return varint(number << 3 | 1) + struct.pack("<Q", value[1])
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(**fields):
    """Fields by number: message(_1=2, _5="text")."""
    return b"".join(field(int(name[1:]), value) for name, value in fields.items())


def frame(envelope):
    """common/wire/frame.h, without a payload."""
    head = b"BATN" + struct.pack("<HHIII", 3, 0, len(envelope), 0, 0)
    return head + struct.pack("<I", crc32c(head + envelope)) + bytes(8) + envelope


def addressed(rng, number, body, request=0):
    fixed = {name: ("fixed64", rng.getrandbits(63) + 1) for name in ("_1", "_2", "_3")}
    named = {"_6": ("fixed64", request), "_7": 1} if request else {}
    return message(**fixed, _4=1, **named) + field(number, body)


def hello(rng, token):
    digest = "0" * 64
    status = message(_4=64, _5=64)
    return addressed(rng, 16, message(_1=2, _2=f"stranger-{rng.randrange(1000)}", _3=1, _4="tcp://127.0.0.1:9",
                                      _5="tcp://127.0.0.1:9", _6=message(_1=digest, _2=digest, _3=digest), _7="tale",
                                      _8="f32", _9="f32", _10=16, _11=512, _12=1, _13=token, _14=status))


def kv_begin(rng):
    return addressed(rng, 50, message(_1="tcp://127.0.0.1:9", _2=2, _3=16, _4=16, _5=4096, _6="f32"),
                     request=rng.getrandbits(63) + 1)


def flawed(rng, frame_bytes):
    data = bytearray(frame_bytes)
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def attack(rng, host, port, n):
    """n connections, each with something else that nobody sends. Errors of the connection are the other's answer."""
    for _ in range(n):
        what = rng.choice([hello(rng, "a guess"), hello(rng, ""), kv_begin(rng), rng.randbytes(rng.randint(1, 300))])
        data = frame(what) if rng.random() < 0.7 else flawed(rng, frame(what))
        whole = struct.pack(">Q", len(data)) + data
        try:
            with socket.create_connection((host, port), 2) as peer:
                peer.sendall(rng.randbytes(8) if rng.random() < 0.1 else b"\0SP\0" + struct.pack(">H", PUSH) + b"\0\0")
                peer.sendall(whole if rng.random() < 0.7 else whole[:rng.randrange(len(whole))])
        except OSError:
            pass
