"""Clients that send their heads and bodies one byte at a time hold connections, and no more."""
import socket

from fleet import Fleet, wait_for

LIMITS = ["--head-timeout-s", 2, "--body-timeout-s", 2]
HEAD = b"POST /generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
TEXTS = [HEAD, HEAD + b"Content-Length: 100\r\n\r\n{"]


class Slow:
    """Sends the first bytes at once, the others one by one."""

    def __init__(self, port, text, n_at_once):
        self.text, self.sent, self.answer, self.closed = text, n_at_once, b"", False
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(text[:n_at_once])
        self.socket.setblocking(False)

    def step(self):
        if self.closed:
            return
        try:
            if self.sent < len(self.text) - 1:
                self.socket.send(self.text[self.sent:self.sent + 1])
                self.sent += 1
            data = self.socket.recv(4096)
            self.answer += data
            self.closed = not data
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True


def test_slow_heads_and_bodies_are_ended_and_delay_nobody(sized):
    """Bound: each gets 408, none is held when its time is over, every innocent is served."""
    n = sized(100, 500)
    with Fleet(gateway_args=LIMITS) as fleet:
        before = fleet.metrics()["baton_http_connections"]
        crowd = [Slow(fleet.port, TEXTS[i % 2], (20, len(TEXTS[1]) - 1)[i % 2]) for i in range(n)]
        n_served = 0

        def are_over():
            nonlocal n_served
            for each in crowd:
                each.step()
            n_served += fleet.generate(prompt="Once", max_new_tokens=2)["output_tokens"] == 2
            return all(each.closed for each in crowd)
        wait_for(are_over, "all slow senders to be ended")
        assert all(each.answer.startswith(b"HTTP/1.1 408 ") for each in crowd)
        wait_for(lambda: fleet.metrics()["baton_http_connections"] <= before,
                 "their connections to be gone")
        assert fleet.metrics()['baton_requests_total{outcome="ok"}'] == n_served > 0
