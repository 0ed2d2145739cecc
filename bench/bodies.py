#!/usr/bin/env python3
"""The gateway's memory and its loop while clients post the JSON that costs most.

    bench/bodies.py
    bench/bodies.py --bytes 45000000 --clients 3 --rounds 1 -- --max-body-bytes 67108864

It starts a fleet of its own. For each kind of body, all clients post one at the same time. Memory
is the growth of the gateway's resident set: its peak while they wait, and what is left afterwards.
Another client measures meanwhile how long GET /health takes, which is how long the loop is held.
"""
import argparse
import collections
import http.client
import socket
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from fleet import ROOT, Fleet

SETTLES_S = 1
EMPTY, NESTED, ESCAPE = '""', '{"":[{}]}', "\\u00e9"
CHAT = ('{"model":"tale","max_tokens":1,"messages":[{"role":"user","content":"Hi"}],%s}',
        "/v1/chat/completions")


def repeated(item, n):
    return ",".join([item] * max(1, n // (len(item) + 1)))


def numbered(form, n):
    return ",".join(form % i for i in range(n // (len(form % 10**6) + 1)))


# For a size in bytes: the body and its path.
KINDS = {
    "arrays": lambda n: (CHAT[0] % f'"zz":[{repeated("[]", n)}]', CHAT[1]),
    "objects": lambda n: (CHAT[0] % f'"zz":[{repeated("{}", n)}]', CHAT[1]),
    "strings": lambda n: (CHAT[0] % f'"zz":[{repeated(EMPTY, n)}]', CHAT[1]),
    "keys": lambda n: (CHAT[0] % ('"zz":{%s}' % numbered('"k%x":1', n)), CHAT[1]),
    "nested": lambda n: (CHAT[0] % f'"zz":[{repeated(NESTED, n)}]', CHAT[1]),
    "escapes": lambda n: ('{"messages":[{"role":"user","content":"%s"}]}' % (ESCAPE * (n // 6)),
                          CHAT[1]),
    "numbers": lambda n: (CHAT[0] % f'"zz":[{repeated("1", n)}]', CHAT[1]),
    "fields": lambda n: (CHAT[0] % numbered('"k%x":1', n), CHAT[1]),
    "messages": lambda n: ('{"messages":[%s]}' % repeated('{"role":"user","content":"Hi"}', n),
                           CHAT[1]),
    "bias": lambda n: (CHAT[0] % ('"logit_bias":{%s}' % numbered('"%d":1', n)), CHAT[1]),
    "schema": lambda n: ('{"prompt":"Hi","max_new_tokens":1,"json_schema":{"properties":{%s}}}' %
                         numbered('"k%x":{}', n), "/generate"),
    "text": lambda n: ('{"messages":[{"role":"user","content":"%s"}]}' % ("once " * (n // 5)),
                       CHAT[1]),
    "prompt": lambda n: ('{"prompt":"%s"}' % ("once " * (n // 5)), "/v1/completions"),
    "ids": lambda n: ('{"prompt":[%s]}' % repeated("7", n), "/v1/completions"),
    "tokenize": lambda n: ('{"text":"%s"}' % ("once upon a time, " * (n // 18)), "/tokenize"),
    "detokenize": lambda n: ('{"tokens":[%s]}' % repeated("7", n), "/detokenize"),
}


class Memory:
    """The resident set of a process, in MiB."""

    def __init__(self, process):
        self.proc = Path(f"/proc/{process.pid}")

    def field(self, name):
        text = (self.proc / "status").read_text()
        return int(text.split(name + ":")[1].split()[0]) / 1024

    def now(self):
        return self.field("VmRSS")

    def peak(self):
        return self.field("VmHWM")

    def forget_peak(self):
        (self.proc / "clear_refs").write_text("5")


class Prober(threading.Thread):
    """Asks for /health over one connection and keeps the times in seconds."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(url.hostname, url.port)
        self.times, self.is_over = [], False

    def run(self):
        while not self.is_over:
            begun_s = time.monotonic()
            self.connection.request("GET", "/health")
            self.connection.getresponse().read()
            self.times.append(time.monotonic() - begun_s)
            time.sleep(0.002)

    def end(self):
        self.is_over = True
        self.join()
        self.connection.close()
        self.times.sort()


def post(url, request, barrier, answers):
    with socket.create_connection((url.hostname, url.port)) as client:
        client.sendall(request[:-1])
        barrier.wait()
        client.sendall(request[-1:])
        answer = b""
        try:
            while part := client.recv(1 << 16):
                answer += part
        except ConnectionError:
            pass
        answers[answer[9:12].decode() or "cut"] += 1


def post_all(url, text, path, n):
    head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Connection: close\r\nContent-Length: {len(text)}\r\n\r\n")
    request, answers = (head + text).encode(), collections.Counter()
    barrier = threading.Barrier(n)
    clients = [threading.Thread(target=post, args=(url, request, barrier, answers))
               for _ in range(n)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return answers


def measure(fleet, name, options):
    url, memory = urlsplit(fleet.url), Memory(fleet.gateway)
    text, path = KINDS[name](options.bytes)
    before = memory.now()
    memory.forget_peak()
    prober = Prober(url)
    prober.start()
    begun_s = time.monotonic()
    answers = sum((post_all(url, text, path, options.clients) for _ in range(options.rounds)),
                  collections.Counter())
    took_s = time.monotonic() - begun_s
    prober.end()
    time.sleep(SETTLES_S)
    times = [1e3 * taken_s for taken_s in prober.times]
    print(f"| {name} | {before:.0f} | {memory.peak() - before:.0f} | {memory.now() - before:.0f} | "
          f"{times[len(times) // 2]:.1f} | {times[int(len(times) * 0.99)]:.1f} | {times[-1]:.0f} | "
          f"{took_s:.1f} | " + ", ".join(f"{n} x {word}" for word, n in answers.items()) + " |",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/release/bin", help="where the programs are")
    parser.add_argument("--bytes", type=int, default=(1 << 20) - 200, help="of a body")
    parser.add_argument("--clients", type=int, default=60, help="that post at the same time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("gateway", nargs="*", help="the gateway's options, after --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, Fleet(
            options.bin, ROOT / "models/tale", directory, "--log-level", "error",
            "--chat-template", "chatml", *options.gateway) as fleet:
        fleet.start_worker("prefill", "--threads", 1)
        fleet.start_worker("decode", "--threads", 1)
        fleet.wait_ready(2)
        print("| body | before, MiB | peak | after | health p50, ms | p99 | max | s | answers |")
        print("|---|---|---|---|---|---|---|---|---|")
        for name in options.kinds:
            measure(fleet, name, options)


if __name__ == "__main__":
    main()
