"""The wire's bytes without the program's code: frames and messages as a stranger writes them."""
import contextlib
import re
import socket
import struct
import threading
from pathlib import Path

DIGEST = "0123456789abcdef" * 4
GREETING = b"\0SP\0\0\x50\0\0"  # of an SP "push" peer
PULL_GREETING = b"\0SP\0\0\x51\0\0"
VERSION = int(re.search(r"BATON_WIRE_VERSION = (\d+)", (
    Path(__file__).resolve().parents[2] / "common/wire/frame.h").read_text())[1])
# Numbers of the bodies in proto/baton.proto.
HELLO, STATUS, GOODBYE = 16, 19, 20
PREFILL_REQUEST, FIRST_TOKEN, PROMPT_LOGPROBS = 32, 33, 34
RESERVE, RESERVED, REJECTED, TOKENS, TOKEN_ACK, FINISHED, STEP_EVENTS = 40, 41, 42, 44, 45, 46, 47
KV_BEGIN, KV_CHUNK, KV_END, KV_ACK, FAILED = 50, 51, 52, 53, 61
HEAD = struct.Struct("<4sHHIII")


def crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        yield byte


CRC = list(crc_table())


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xffffffff


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


class Fixed(int):
    """A fixed64 field."""


def field(number, value):
    if isinstance(value, Fixed):
        return varint(number << 3 | 1) + struct.pack("<Q", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(fields):
    return b"".join(field(number, value) for number, value in fields.items())


def unpack(data):
    """The varints of a packed field."""
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number = shift = 0
    return numbers


def parse(data):
    """{number: the last value} of a message's fields: an int, or bytes."""
    fields, at = {}, 0

    def take():
        nonlocal at
        begin = at
        while data[at] > 127:
            at += 1
        at += 1
        return unpack(data[begin:at])[0]
    while at < len(data):
        key = take()
        kind = key & 7
        if kind == 0:
            fields[key >> 3] = take()
        else:
            n = take() if kind == 2 else 8 if kind == 1 else 4
            value = data[at:at + n]
            fields[key >> 3] = value if kind == 2 else Fixed(int.from_bytes(value, "little"))
            at += n
    return fields


def envelope(kind, body, src_epoch=1001, dst_epoch=0, link=3003, link_seq=1, request_id=0,
             attempt=0, link_ack=0):
    head = {1: Fixed(src_epoch), 3: Fixed(link), 4: link_seq}
    if link_ack:
        head[5] = link_ack
    if dst_epoch:
        head[2] = Fixed(dst_epoch)
    if request_id:
        head |= {6: Fixed(request_id), 7: attempt}
    return message(head | {kind: message(body)})


def frame(packed, payload=b""):
    data = HEAD.pack(b"BATN", VERSION, 0, len(packed), len(payload),
                     crc32c(payload) if payload else 0)
    data += struct.pack("<IQ", crc32c(data + packed), 0) + packed
    if payload:
        data += bytes(-len(data) % 64) + payload
    return struct.pack(">Q", len(data)) + data  # SP's length goes before


def take(pipe, n):
    """n bytes, however long they take once they began."""
    data = pipe.recv(n)
    while data and len(data) < n:
        with contextlib.suppress(TimeoutError):
            more = pipe.recv(n - len(data))
            data = data + more if more else b""
    if not data:
        raise EOFError("the peer left")
    return data


def receive(pipe):
    """The next envelope that comes by a pipe, by its fields."""
    n = struct.unpack(">Q", take(pipe, 8))[0]
    data = take(pipe, n)
    return parse(data[32:32 + HEAD.unpack_from(data)[3]])


def greet(pipe):
    """A pipe that a peer opened to an inbox of ours, its handshake done."""
    take(pipe, 8)
    pipe.sendall(PULL_GREETING)
    return pipe


def hello(token, inbox_url, worker_id="stranger", link=3003):
    return frame(envelope(HELLO, {1: 1, 2: worker_id, 3: 4711, 4: inbox_url,
                                  6: message({1: DIGEST, 2: DIGEST, 3: DIGEST}), 7: "tale",
                                  8: "f32", 9: "f32", 10: 16, 11: 512, 12: 1, 13: token,
                                  14: message({4: 8, 5: 8}), 17: DIGEST, 18: DIGEST[:16],
                                  19: "portable"}, link=link))


def kv_begin(reply_url, link, request_id=42, attempt=1, dst_epoch=2002, n_tokens=4,
             ticket=bytes(16), epoch=1001, **shape):
    body = {1: reply_url, 2: shape.get("n_layers", 6), 3: n_tokens, 4: 16,
            5: shape.get("total_bytes", 1 << 20), 6: shape.get("kv_dtype", "f32"),
            8: shape.get("kv_layout", DIGEST), 9: ticket}
    return frame(envelope(KV_BEGIN, body, epoch, dst_epoch, link, request_id=request_id,
                          attempt=attempt))


def address(url):
    host, port = url.partition("://")[2].rsplit(":", 1)
    return host, int(port)


def connect_only(url, timeout_s=60, source=None):
    """A connection without any handshake. source: the address it comes from, of 127.0.0.0/8."""
    return socket.create_connection(address(url), timeout_s, (source, 0) if source else None)


def connect(url, timeout_s=60, source=None):
    """A pipe to an inbox, its handshake done."""
    pipe = connect_only(url, timeout_s, source)
    pipe.sendall(GREETING)
    answer = pipe.recv(8, socket.MSG_WAITALL)
    assert answer[:4] == b"\0SP\0", answer
    return pipe


@contextlib.contextmanager
def another_version(url, version):
    """The url of a way to that inbox whose first frame has another wire version."""
    def carry(source, target, head):
        with contextlib.suppress(OSError):
            data = take(source, len(GREETING) + 8 + HEAD.size) if head else b""
            target.sendall(data[:20] + struct.pack("<H", version) + data[22:] if head else b"")
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                near, far = server.accept()[0], socket.create_connection(address(url))
                for way in (near, far, True), (far, near, False):
                    threading.Thread(target=carry, args=way, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


def is_open(pipe):
    """Whether the other side still holds it; inboxes never send."""
    pipe.setblocking(False)
    try:
        return bool(pipe.recv(1))
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def refusing_url():
    """Where nobody listens: every connection is refused at once."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


class listener:
    """A port that takes connections and says nothing; url, and how many came."""

    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.socket.setblocking(False)
        self.url = f"tcp://127.0.0.1:{self.socket.getsockname()[1]}"
        self.taken = []
        return self

    def n_accepted(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.taken.append(self.socket.accept()[0])
        return len(self.taken)

    def __exit__(self, *_):
        for connection in [self.socket, *self.taken]:
            connection.close()
