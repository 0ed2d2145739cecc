"""Workers with the fleet's token whose messages contradict the request, the model or the wire.

A liar joins as one more worker, beats, and answers its orders with what no correct worker says. It
never says what might be true, such as a token of the model at the right place: nobody could tell,
as SECURITY.md says.
"""
import random
import socket
import tempfile
import threading

import wire
from fleet import BIN, MODEL, SLOW, Process
from random_requests import N_VOCAB

PREFILL, DECODE = 1, 2
ROLES = {"prefill": PREFILL, "decode": DECODE}
N_TOO_MANY = 600  # tokens, of a model with a context of 512
NAN, MINUS_ONE = wire.Fixed(0x7ff8 << 48), wire.Fixed(0xbff << 52)
learned = {}


def learn(token):
    """The Hello of a real decode worker, by its fields: a liar differs from it where it must."""
    if token not in learned:
        with (socket.create_server(("127.0.0.1", 0)) as server,
              tempfile.TemporaryDirectory() as scratch):
            url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            worker = Process("model", [BIN / "baton-decode", "--model", MODEL, "--gateway", url,
                                       "--id", "model", "--cluster-token", token, "--lease-dir", "",
                                       "--threads", 1, "--kv-tokens", 4096, "--pack-dir", scratch],
                             f"{scratch}/log")
            try:
                server.settimeout(60 * SLOW)
                envelope = wire.receive(wire.greet(server.accept()[0]))
            finally:
                worker.kill()
        learned[token] = wire.parse(envelope[wire.HELLO])
    return learned[token]


def packed(ids):
    return b"".join(wire.varint(token) for token in ids)


def lies(rng, request_id, attempt):
    """Messages about a request of which every one is wrong: (kind, body, request_id, attempt)."""
    index = rng.choice([0, 1, 2, 7, 10**6])
    beyond = N_VOCAB + rng.choice([0, 1, 10**6])
    tokens = rng.choice([{1: rng.choice([0, 10**6]), 2: packed([5])},
                         {1: index, 2: packed([beyond] * rng.randint(1, 9))},
                         {1: index, 2: packed([5] * N_TOO_MANY)}])
    finished = {1: rng.choice([1, 2]), 2: rng.choice([0, 3, 10**6])}
    event = {1: wire.Fixed(request_id), 2: attempt, 3: wire.message(tokens),
             4: wire.message(finished)}
    told = rng.choice(
        [(wire.FIRST_TOKEN, {1: beyond, 7: rng.randrange(2)}), (wire.FIRST_TOKEN, {1: 5, 5: 10**5}),
         (wire.TOKENS, tokens), (wire.FINISHED, finished),
         (wire.STEP_EVENTS, {1: wire.message(event)}),
         (wire.RESERVED, {1: 999, 2: 998, 3: rng.randbytes(16)}),
         (wire.REJECTED, {1: 10**6, 2: rng.randrange(9), 4: rng.randrange(2)}),
         (wire.PROMPT_LOGPROBS, {1: rng.randint(2, 999), 2: wire.message({1: MINUS_ONE})}),
         (wire.FAILED, {1: rng.choice([2, 3, 5, 6, 7, 8]), 2: "a lie"}),
         (wire.KV_ACK, {1: 999, 2: 999, 3: 1}), (wire.TOKEN_ACK, {1: 999, 2: 9})])
    return (*told, 0, 0) if told[0] == wire.STEP_EVENTS else (*told, request_id, attempt)


class Liar:
    """From its first Hello until stop()."""

    def __init__(self, gateway_url, host, token, role, seed):
        self.gateway_url, self.host, self.role, self.rng = (gateway_url, host, role,
                                                            random.Random(seed))
        self.hello = {**learn(token), 1: role, 2: f"liar-{self.rng.randrange(1000)}"}
        self.over, self.lock, self.heard, self.n_lies = threading.Event(), threading.Lock(), [], 0
        self.pipes = []
        self.thread = threading.Thread(target=self.lives)

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        self.over.set()
        self.close()
        self.thread.join()

    def close(self):
        with self.lock:
            for pipe in self.pipes:
                pipe.close()
            self.pipes = []

    def keep(self, pipe):
        with self.lock:
            self.pipes.append(pipe)
        return pipe

    def lives(self):
        """A gateway that has had enough ends the link: the liar says hello again."""
        while not self.over.is_set():
            try:
                self.live()
            except (OSError, AssertionError, EOFError):
                pass
            self.close()
            self.over.wait(0.05 * SLOW)

    def live(self):
        inbox, bulk = (self.keep(socket.create_server((self.host, 0))) for _ in range(2))
        self.epoch, self.link = self.rng.getrandbits(63) + 1, self.rng.getrandbits(63) + 1
        self.seq = self.ack = self.gateway_epoch = 0
        self.inbox_url, bulk_url = (f"tcp://{self.host}:{server.getsockname()[1]}"
                                    for server in (inbox, bulk))
        self.hello |= {4: self.inbox_url, **({5: bulk_url} if self.role == DECODE else {})}
        if self.role == PREFILL:
            self.hello.pop(5, None)
        self.out = self.keep(wire.connect(self.gateway_url))
        self.say(wire.HELLO, self.hello)
        inbox.settimeout(5 * SLOW)
        orders = wire.greet(self.keep(inbox.accept()[0]))
        orders.settimeout(0.1 * SLOW)
        while not self.over.is_set():
            try:
                envelope = wire.receive(orders)
            except TimeoutError:
                self.beat()
                continue
            self.ack += 1
            self.gateway_epoch = envelope[1]
            self.answer(envelope)

    def say(self, kind, body, request_id=0, attempt=0, seq=None):
        self.seq += 1
        self.out.sendall(wire.frame(wire.envelope(kind, body, self.epoch, self.gateway_epoch,
                                                  self.link, self.seq if seq is None else seq,
                                                  request_id, attempt, link_ack=self.ack)))

    def beat(self):
        if self.gateway_epoch:
            self.say(wire.STATUS, {4: 256, 5: self.rng.choice([256, 256, 0]),
                                   1: self.rng.choice([0, 0, 0, 10**6])})

    def answer(self, envelope):
        request_id, attempt = envelope.get(6, 0), envelope.get(7, 0)
        if not request_id:
            self.beat()
            return
        self.heard.append((request_id, attempt))
        # The liar needs something to lie about.
        if wire.RESERVE in envelope and self.rng.random() < 0.7:
            self.say(wire.RESERVED, {1: 99, 3: self.rng.randbytes(16)}, request_id, attempt)
            return
        if wire.PREFILL_REQUEST in envelope and self.rng.random() < 0.4:
            self.send_context(request_id, attempt, wire.parse(envelope[wire.PREFILL_REQUEST]))
        for _ in range(self.rng.choice([0, 1, 1, 2, 5])):
            self.n_lies += 1
            self.lie(*self.rng.choice([(request_id, attempt), (request_id, attempt),
                                       (request_id, attempt + 1), (request_id ^ 1, attempt),
                                       self.rng.choice(self.heard)]))

    def lie(self, request_id, attempt):
        """About a request of any time and attempt that it was given, or about the link."""
        kind = self.rng.random()
        if kind < 0.92:
            self.say(*lies(self.rng, request_id, attempt))
        elif kind < 0.935:  # no number
            self.say(wire.FIRST_TOKEN, {1: 5, 2: NAN}, request_id, attempt)
        elif kind < 0.95:  # a replay
            self.say(wire.STATUS, {4: 256, 5: 256}, seq=max(self.seq - 3, 1))
        elif kind < 0.965:  # a gap
            self.seq += 5
            self.say(wire.STATUS, {4: 256, 5: 256})
        elif kind < 0.985:  # goodbye, and silence
            self.say(wire.GOODBYE, {1: "a lie"})
            self.over.wait(0.5 * SLOW)
        else:
            self.out.sendall(wire.frame(self.rng.randbytes(self.rng.randint(1, 300))))

    def send_context(self, request_id, attempt, order):
        """One that the decode worker reserved for, which is not what it says, or does not come."""
        if 3 not in order:
            return
        to = wire.parse(order[3])
        n_tokens = len(wire.unpack(order[1])) + self.rng.choice([0, 0, 1, 10**4])
        shape = {"n_layers": self.rng.choice([6, 6, 0, 999]),
                 "total_bytes": self.rng.choice([1, 1 << 20, 1 << 50])}
        if self.rng.random() < 0.7:
            shape |= {"kv_layout": self.hello[17].decode(), "kv_dtype": self.hello[9].decode()}
        link = self.rng.getrandbits(63) + 1
        begin = wire.kv_begin(self.inbox_url, link, request_id, attempt, to[2], n_tokens, to[5],
                              epoch=self.epoch, **shape)
        with wire.connect(to[1].decode()) as pipe:
            for _ in range(self.rng.choice([1, 1, 2])):
                pipe.sendall(begin)
            chunk = {1: self.rng.choice([0, 999]), 2: self.rng.choice([0, 99]), 3: 0,
                     4: self.rng.choice([1, 10**6])}
            pipe.sendall(wire.frame(wire.envelope(wire.KV_CHUNK, chunk, self.epoch, to[2], link, 2,
                                                  request_id, attempt),
                                    self.rng.randbytes(self.rng.choice([64, 4096]))))
            pipe.sendall(wire.frame(wire.envelope(wire.KV_END, {1: 1, 2: 1}, self.epoch, to[2],
                                                  link, 3, request_id, attempt)))
