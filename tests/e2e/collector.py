"""A collector of OpenTelemetry spans: it keeps what it receives and answers as it is told."""
import json
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TAKEN = b'{"partialSuccess":{}}'


def answer(status, body=b"", **headers):
    """A whole answer, after which the connection is kept."""
    def act(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    return act


def raw(*pieces):
    """Sends the bytes as they are until the client leaves, and closes the connection."""
    def act(handler):
        handler.close_connection = True
        try:
            for piece in pieces:
                handler.wfile.write(piece)
        except OSError:
            pass  # the client has heard enough
    return act


def endless(begin, again):
    def act(handler):
        handler.close_connection = True
        try:
            handler.wfile.write(begin)
            while True:
                handler.wfile.write(again)
        except OSError:
            pass
    return act


def hold(event):
    """Takes the request, and answers when the event is set."""
    def act(handler):
        event.wait()
        answer(200, TAKEN)(handler)
    return act


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            acts = self.server.acts
            act = acts.pop(0) if acts else answer(200, TAKEN, Content_Type="application/json")
            self.server.posts.append((self.path, dict(self.headers), json.loads(body)))
        act(self)

    def do_GET(self):
        self.server.posts.append((self.path, dict(self.headers), None))
        answer(405)(self)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # what clients do to their connections is looked at by the tests


class Collector:
    """acts: what is done with the first requests; all others are taken."""

    def __init__(self, *acts, certificate=None):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.lock, self.server.acts, self.server.posts = threading.Lock(), list(acts), []
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
        self.url = f"{self.scheme}://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def will(self, act):
        """Queues the act for the next request."""
        with self.server.lock:
            self.server.acts.append(act)

    @property
    def posts(self):
        """[(path, headers, body)] in the order in which they came."""
        with self.server.lock:
            return list(self.server.posts)


def nobody():
    """An address that refuses connections as long as the socket is held."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    return sock, f"http://127.0.0.1:{sock.getsockname()[1]}"
