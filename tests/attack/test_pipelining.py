"""Clients that send requests without waiting for answers, more than the loop can do in its turn."""
import selectors
import socket
import threading

from fleet import SUSPICION, Fleet, wait_for

STORY = "Once upon a time"


def flood(port, n_connections, request):
    """Connections that sent as many requests as fit 55 kB, and read none of the answers."""
    sockets = []
    for _ in range(n_connections):
        sockets.append(socket.create_connection(("127.0.0.1", port)))
        sockets[-1].setblocking(False)
        sockets[-1].send(request * (55000 // len(request)))
    return sockets


class Reader(threading.Thread):
    """Reads whatever comes, until all have closed or `over` is set."""

    def __init__(self, sockets):
        super().__init__()
        self.sockets, self.over, self.selector = (sockets, threading.Event(),
                                                  selectors.DefaultSelector())
        for each in sockets:
            self.selector.register(each, selectors.EVENT_READ)

    def run(self):
        while not self.over.is_set():
            for key, _ in self.selector.select(0.1):
                try:
                    if not key.fileobj.recv(1 << 16):
                        self.selector.unregister(key.fileobj)
                except OSError:
                    self.selector.unregister(key.fileobj)

    def __exit__(self, *_):
        self.over.set()
        self.join()
        for each in self.sockets:
            each.close()

    def __enter__(self):
        self.start()
        return self


def test_a_flood_of_pipelined_requests_loses_no_worker_and_delays_no_client(sized):
    """50 clients send 1500 requests each at once: half a minute of the loop in one go. Bound: no
    worker is suspected, no attempt repeated, every innocent is served before the flood is."""
    n = sized(50, 300)
    with Fleet(gateway_args=SUSPICION) as fleet:
        with Reader(flood(fleet.port, n, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")):
            wait_for(lambda: fleet.metrics()["baton_http_slices_over_total"] > 100,
                     "clients to wait for their turn")
            for seed in range(12):
                assert fleet.generate(prompt=STORY, seed=seed)["output_tokens"] == 20
            metrics = fleet.metrics()
            assert metrics["baton_retries_total"] == 0
            assert metrics['baton_requests_total{outcome="ok"}'] == 12
            assert (metrics["baton_http_requests_total"]
                    < n * 1500), "the flood was over too soon to show anything"
        assert "to=suspect" not in fleet.gateway.text() and "to=lost" not in fleet.gateway.text()
