"""Clients that send requests without waiting for answers, more than the loop can do in its turn."""
import selectors
import socket
import threading

from fleet import Fleet, wait_for

STORY = "Once upon a time"
# Far less than the flood takes in one go, and more than a busy machine stops a worker for.
SUSPICION = ["--silence-s", 10]


class Flood(threading.Thread):
    """Connections that first send as many requests as fit 55 kB, and then more with each answer."""

    def __init__(self, port, n_connections, request):
        super().__init__()
        self.over, self.selector = threading.Event(), selectors.DefaultSelector()
        self.text, self.n_bytes = request * (55000 // len(request)), len(request)
        for _ in range(n_connections):
            sock = socket.create_connection(("127.0.0.1", port))
            sock.setblocking(False)
            sent = sock.send(self.text)
            self.selector.register(sock, selectors.EVENT_READ, [sent % self.n_bytes])

    def step(self, sock, at):
        """Reads, and writes from where the last request was cut."""
        try:
            if not sock.recv(1 << 16):
                self.selector.unregister(sock)
                return
            at[0] = (at[0] + sock.send(self.text[at[0]:])) % self.n_bytes
        except BlockingIOError:
            pass
        except OSError:
            self.selector.unregister(sock)

    def run(self):
        while not self.over.is_set():
            for key, _ in self.selector.select(0.1):
                self.step(key.fileobj, key.data)

    def __exit__(self, *_):
        self.over.set()
        self.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()

    def __enter__(self):
        self.start()
        return self


def test_a_flood_of_pipelined_requests_loses_no_worker_and_delays_no_client(sized):
    """50 clients send 1500 requests each at once, half a minute of the loop in one go, and go on.
    Bound: no worker is suspected, no attempt repeated, every innocent is served meanwhile."""
    n = sized(50, 300)

    def delayed():
        return fleet.metrics()["baton_http_slices_over_total"]

    with Fleet(gateway_args=SUSPICION) as fleet:
        with Flood(fleet.port, n, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            wait_for(lambda: delayed() > 100, "clients to wait for their turn")
            for seed in range(12):
                assert fleet.generate(prompt=STORY, seed=seed)["output_tokens"] == 20
            metrics, before = fleet.metrics(), delayed()
            assert metrics["baton_retries_total"] == 0
            assert metrics['baton_requests_total{outcome="ok"}'] == 12
            wait_for(lambda: delayed() > before, "the flood to go on")
        assert "to=suspect" not in fleet.gateway.text() and "to=lost" not in fleet.gateway.text()
