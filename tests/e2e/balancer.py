"""One address before several gateways, as a proxy offers it (deploy/README.md has it for HAProxy).

A request that a gateway refuses, drops or answers with 503 goes to the next one.
"""
import socket
import socketserver
import threading

from fleet import LONG_S, Stream


class Balancer:
    """Use as a context manager; `stream` asks through it."""

    def __init__(self, ports):
        self.ports, self.turn, self.n_next = ports, 0, 0
        balancer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                balancer.serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads, request_queue_size = True, 64
        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def stream(self, **body):
        stream = Stream(self.port, body)
        assert stream.status == 200, (stream.status, stream.response.read())
        return stream

    @staticmethod
    def read_request(client):
        """One request, which asks for the end of its connection."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += client.recv(65536)
        head, body = data.split(b"\r\n\r\n", 1)
        n = next(int(line.split(b":")[1]) for line in head.split(b"\r\n")
                 if line.lower().startswith(b"content-length:"))
        while len(body) < n:
            body += client.recv(65536)
        return head + b"\r\nConnection: close\r\n\r\n" + body

    @staticmethod
    def ask(port, request):
        """The connection to a gateway and what it says first; None: it has nothing to say."""
        try:
            gateway = socket.create_connection(("127.0.0.1", port), timeout=LONG_S)
            gateway.sendall(request)
            first = gateway.recv(65536)
        except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            return None
        return (gateway, first) if first and not first.startswith(b"HTTP/1.1 503") else None

    def serve(self, client):
        request, self.turn = self.read_request(client), self.turn + 1
        turn = self.turn
        for i in range(len(self.ports)):
            answer = self.ask(self.ports[(turn + i) % len(self.ports)], request)
            if answer:
                break
            self.n_next += 1
        else:
            client.sendall(b"HTTP/1.1 503 No Gateway\r\nContent-Length: 0\r\n\r\n")
            return
        gateway, data = answer
        with gateway:
            while data:
                client.sendall(data)
                data = gateway.recv(65536)
