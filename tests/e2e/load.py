"""A client that keeps many requests going at once, over raw sockets, in one thread."""
import io
import json
import resource
import selectors
import socket
import time

from fleet import LONG_S, read_events


def allow_files(n):
    """Raises the soft limit of open files as far as it may go; False when that is below n."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard >= n


def post(path, body, headers=()):
    """The bytes of a POST."""
    data = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Connection: close",
             "Content-Type: application/json", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


class Exchange:
    """One request and its answer, as it comes."""

    def __init__(self, port, request, receive_bytes=None):
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect(("127.0.0.1", port))
        self.sent = time.monotonic()
        self.socket.sendall(request)
        self.socket.setblocking(False)
        self.data, self.ended, self.arrivals = b"", None, []

    def fileno(self):
        return self.socket.fileno()

    def read(self, n=1 << 16):
        """Takes what is there; true once the answer is over."""
        try:
            data = self.socket.recv(n)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        now = time.monotonic()
        if data:
            self.data += data
            self.arrivals.append(now)
            return False
        self.ended = now
        return True

    def reset(self):
        """Leaves without a word, as a client that crashes does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    @property
    def answer(self):
        """Without the interim answers (1xx) that come before it."""
        data = self.data
        while data.startswith(b"HTTP/1.1 1") and b"\r\n\r\n" in data:
            data = data.split(b"\r\n\r\n", 1)[1]
        return data

    @property
    def status(self):
        return int(self.answer[9:12]) if self.answer else 0

    @property
    def headers(self):
        head = self.answer.split(b"\r\n\r\n", 1)[0].decode()
        return {k.lower(): v for k, v in (line.split(": ", 1) for line in head.split("\r\n")[1:])}

    def error(self):
        """The error object of an answer or of a stream's last event, or None."""
        body = self.answer.partition(b"\r\n\r\n")[2]
        at = body.rfind(b'{"error":')
        return json.JSONDecoder().raw_decode(body[at:].decode())[0]["error"] if at >= 0 else None

    def body(self):
        """The whole body of an answer, chunked or not."""
        head, data = self.answer.split(b"\r\n\r\n", 1)
        if b"\r\ntransfer-encoding: chunked" not in head.lower():
            return data
        body = b""
        while data and not data.startswith(b"0\r\n"):
            size, data = data.split(b"\r\n", 1)
            body, data = body + data[:int(size, 16)], data[int(size, 16) + 2:]
        return body

    def events(self):
        return list(read_events(io.BytesIO(self.body())))

    def text(self):
        """The text of a native stream's token events."""
        return "".join(event.text for event in self.events())

    def outcome(self):
        """'ok', the code of the error, or 'lost'."""
        error = self.error()
        if error:
            return error["code"]
        whole = b"event: summary" in self.data or b'"finish_reason":"' in self.data
        return "ok" if self.status == 200 and whole else "lost"


class Crowd:
    """Exchanges under way, and those that are over."""

    def __init__(self):
        self.selector, self.over = selectors.DefaultSelector(), []

    def __len__(self):
        return len(self.selector.get_map())

    def add(self, exchange):
        self.selector.register(exchange, selectors.EVENT_READ)
        return exchange

    def read(self, seconds):
        """Reads what comes within so many seconds."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return
            if not len(self):
                time.sleep(left)
                return
            for key, _ in self.selector.select(left):
                if key.fileobj.read():
                    self.selector.unregister(key.fileobj)
                    key.fileobj.socket.close()
                    self.over.append(key.fileobj)

    def finish(self):
        """Reads until all are over, as long as something comes."""
        before, came = time.monotonic(), 0
        while len(self) and time.monotonic() - before < LONG_S:
            self.read(0.05)
            n = len(self.over) + sum(len(key.fileobj.data)
                                     for key in self.selector.get_map().values())
            if n != came:
                before, came = time.monotonic(), n
        assert not len(self), f"nothing comes of {len(self)} exchanges in {LONG_S:.0f} s"

    def leave(self):
        """Closes what is still open."""
        for key in list(self.selector.get_map().values()):
            self.selector.unregister(key.fileobj)
            key.fileobj.socket.close()


def open_loop(crowd, port, request, per_second, seconds):
    """Sends at a steady rate, whatever comes back. request: bytes, or a function of the number."""
    begin, n = time.monotonic(), int(per_second * seconds)
    for i in range(n):
        crowd.read(max(0, begin + i / per_second - time.monotonic()))
        crowd.add(Exchange(port, request(i) if callable(request) else request))
    return n
