"""Starts real Baton processes for a test, talks to them over sockets, and stops them."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("BATON_BIN", ROOT / "build/release/bin"))
MODEL = ROOT / "models/tale"
# Sanitizers make everything slower: times are stretched by this.
SLOW = float(os.environ.get("BATON_SLOW", "1"))
# A correct program takes far less time for what a test waits for.
PATIENCE_S = 60 * SLOW
LONG_S = 5 * PATIENCE_S  # for what consists of many steps, each of which is late on a busy machine
CONNECT_S = 1 * SLOW  # to another host
# Without SUSPICION a worker that a test or a busy machine stops is neither suspected nor lost.
NO_SUSPICION = ["--silence-s", 3600]
NO_STALL = ["--stall-s", 0]
# A client is not taken for one that left because the test has to wait for a processor.
PATIENT_WITH_CLIENTS = ["--stall-timeout-s", 0, "--idle-timeout-s", 3600, "--resume-s", 3600]
SUSPICION = ["--silence-s", 3]
# The value of `served_by` when nothing failed.
AT_ONCE = dict(prefill_parts=0, attempts=1, migrations=0, hand_overs=0, migration_gap_s=0,
               class_changed=False)
# Each token of such a stream is kilobytes: unread, it soon fills every buffer, and stays open.
WORDY = dict(prompt=[7] * 4, max_new_tokens=480, temperature=0, ignore_eos=True, explain=20)
WORDY_BLOCKS = 31  # of KV, that one of them reserves
# Of a gateway whose held streams keep their KV blocks, whoever waits for them.
KEEPING = ["--migration-limit", 0]


held_ports = []


def free_port():
    """A port of the kernel's choice that is this process's own until it ends.

    A socket stays bound to it, so that the kernel gives it to nobody else; it does not listen, and
    a program that sets SO_REUSEADDR, as servers do, may listen there.
    """
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind(("127.0.0.1", 0))
    held_ports.append(probe)
    return probe.getsockname()[1]


def wait_for(condition, what, patience_s=PATIENCE_S):
    """Polls until condition() is true, which must stay so: a state that passes by may be missed."""
    waited, before = 0, time.monotonic()
    while waited < patience_s:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
        now = time.monotonic()
        waited += min(now - before, 0.1)  # a look takes longer where all others take longer too
        before = now
    raise AssertionError(f"waited {patience_s:.0f} s for {what}")


def run_out_of_time(ask, timeout_s=0.1):
    """Varies the timeout until it ends a request midway.

    ask(timeout_s) returns "early", "late", or the result of the request."""
    for _ in range(60):
        answer = ask(timeout_s)
        if answer not in ("early", "late"):
            return answer
        timeout_s *= 2 if answer == "early" else 0.6
    raise AssertionError(f"no time is up midway, {timeout_s:g} s neither")


def held(account):
    """{reason: its entry} of a worker's account of its KV blocks."""
    return {entry["reason"]: entry for entry in account["held"]}


class Event:
    """One server-sent event."""

    def __init__(self, name, data):
        self.name, self.data = name, data

    def json(self):
        return json.loads(self.data)

    @property
    def text(self):
        """What a native stream's event adds to the answer."""
        if self.name == "token_json":
            return self.json()["text"]
        return self.data if self.name == "token" else ""

    def __repr__(self):
        return f"{self.name}: {self.data!r}"


def read_events(response):
    """Parses an SSE body as it arrives."""
    name, data = "message", []
    for raw in response:
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            data.append(line[6:])
        elif line == "data:":
            data.append("")
        elif line == "" and data:
            yield Event(name, "\n".join(data))
            name, data = "message", []


def abandon(connection, response):
    """Leaves without a word, as a client that crashes does."""
    sock = connection.sock or response.fp.raw._sock
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    response.close()
    connection.close()


def keep_asking(sock):
    """The connection breaks within seconds when its other end is gone without a word."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT):
        sock.setsockopt(socket.IPPROTO_TCP, option, 2)


class Stream:
    """A POST whose answer of server-sent events is in progress. The kernel buffers little of it."""

    def __init__(self, port, body, path="/generate/stream", headers=None, host="127.0.0.1"):
        self.connection = http.client.HTTPConnection(host, port, timeout=LONG_S)
        self.connection.sock = socket.socket()
        self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        self.connection.sock.settimeout(LONG_S)
        if host != "127.0.0.1":  # a host without power says nothing
            keep_asking(self.connection.sock)
            self.connection.sock.settimeout(CONNECT_S)
        self.connection.sock.connect((host, port))
        self.connection.sock.settimeout(LONG_S)
        self.connection.request("POST", path, json.dumps(body),
                                {"Content-Type": "application/json", **(headers or {})})
        self.response = self.connection.getresponse()
        self.status = self.response.status
        # On a slow machine the head comes before the first token, with a comment.
        while self.status == 200 and self.response.peek(1)[:1] == b":":
            self.response.readline()
            self.response.readline()
        self.events = read_events(self.response)

    def text(self):
        """Reads to the end; the text, and the last event."""
        text, last = "", None
        for last in self.events:
            text += last.text
        return text, last

    def abandon(self):
        abandon(self.connection, self.response)


class Clients:
    """Threads that repeat act(i) until the block ends, and raise then what one of them raised."""

    def __init__(self, n, act):
        self.n, self.act = n, act
        self.over, self.pool, self.running = threading.Event(), ThreadPoolExecutor(64), []

    def add(self, n, act):
        self.running += [self.pool.submit(self.run, act, i) for i in range(n)]

    def run(self, act, i):
        while not self.over.is_set():
            act(i)

    def __enter__(self):
        self.add(self.n, self.act)
        return self

    def __exit__(self, *_):
        self.over.set()
        self.pool.shutdown()
        for thread in self.running:
            thread.result()


class Process:
    def __init__(self, name, argv, log, env=None):
        self.name, self.log = name, Path(log)
        self.file = open(log, "wb")
        self.popen = subprocess.Popen([str(a) for a in argv], stdout=self.file, stderr=self.file,
                                      cwd=ROOT, env={**os.environ, **(env or {})})
        self.pid = self.popen.pid

    def signal(self, number):
        self.popen.send_signal(number)

    def pause(self):
        """Stops it; returns when it stands still."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.popen.wait()

    def stop(self):
        """Sends SIGTERM and returns the exit status. A drain may take its time, unless it hangs."""
        if self.popen.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
        try:
            wait_for(lambda: self.popen.poll() is not None, f"{self.name} to stop")
        except AssertionError as error:
            self.kill()
            raise AssertionError(f"{error}:\n{self.tail()}") from None
        return self.popen.returncode

    def text(self):
        return self.log.read_text(errors="replace")

    def tail(self, n=30):
        return "\n".join(self.text().splitlines()[-n:])


class Fleet:
    """A gateway and its workers. Use as a context manager."""

    scheme = "tcp"  # of the addresses between processes

    def __init__(self, prefill=1, decode=1, model=MODEL, token="secret", gateway_args=(),
                 worker_args=(), prefill_args=(), decode_args=(), key=None, token_file=None):
        self.model, self.token, self.token_file = model, token, token_file
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}  # of every request
        self.dir = tempfile.TemporaryDirectory(prefix="baton-test-")
        self.packs = Path(self.dir.name) / "packs"  # of all processes: nothing is left in the tree
        self.operator = self.headers
        if key and "--admin-keys" not in gateway_args:  # the tests' key is a client's
            self.operator = {"Authorization": "Bearer the-operators-key"}
            admins = Path(self.dir.name) / "admin-keys"
            admins.write_text("the-operators-key\n")
            gateway_args = [*gateway_args, "--admin-keys", admins]
        self.gateway_args, self.worker_args = gateway_args, worker_args
        self.role_args = {"prefill": prefill_args, "decode": decode_args}
        self.n = {"prefill": prefill, "decode": decode}
        self.workers = {}
        self.gateway = self.inbox = None

    def __enter__(self):
        self.start_gateway()
        try:
            for role, n in self.n.items():
                for i in range(n):
                    self.start_worker(role, f"{role}-{i}")
            if all(self.n.values()):
                self.wait_ready(sum(self.n.values()))
        except BaseException:
            self.kill_all()
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.check_kv_accounts()
                for process in [*self.workers.values(), self.gateway]:
                    if process.popen.poll() is None:
                        status = process.stop()
                        assert not status, f"{process.name} exited with {status}:\n{process.tail()}"
                self.check_times()
        finally:
            if kind is not None:
                for process in [self.gateway, *self.workers.values()]:
                    print(f"---- {process.name}\n{process.tail()}")
            self.kill_all()
            self.dir.cleanup()

    def check_times(self):
        """However a request ended, its stages add up to its time, less what two of them count."""
        for line in self.gateway.text().splitlines():
            if " ev=request " in line and " e2el_s=" in line:
                e2el_s, *stages, overlap_s, _ = map(
                    float, re.findall(r"_s=(\S+)", line[line.index(" e2el_s="):]))
                assert abs(sum(stages) - overlap_s - e2el_s) <= 0.02 * e2el_s + 1e-6, line

    def check_kv_accounts(self):
        """Without requests every KV block is free or cached, and no account was ever wrong."""
        alive = self.gateway and self.gateway.popen.poll() is None
        if not alive or "ev=draining" in self.gateway.text():
            return
        if self.request("GET", "/metrics")[0] != 200:
            return  # without an API key it says nothing
        for process in self.workers.values():
            if process.popen.poll() is None:
                process.resume()
        wait_for(lambda: not self.open(), "all requests to end")

        def no_owner():
            accounts = [worker for worker in self.kv("?limit=4") if worker["answered"]]
            for worker in accounts:
                assert worker["faults"] == 0, worker
                assert (worker["n_owners"] or worker["free"] + held(worker)["cached"]["blocks"]
                        == worker["blocks"]), worker
            return not any(worker["n_owners"] for worker in accounts)
        wait_for(no_owner, "all KV blocks to be free or cached")

    def kill_all(self):
        for process in [*self.workers.values(), self.gateway]:
            if process and process.popen.poll() is None:
                process.kill()

    def secret(self, token=None):
        """How a process is told the fleet's token, or another one."""
        if self.token_file and token is None:
            return ["--cluster-token-file", self.token_file]
        return ["--cluster-token", self.token if token is None else token]

    def start_gateway(self):
        if self.gateway is None and not self.inbox:
            self.inbox = f"{self.scheme}://127.0.0.1:{free_port()}"
            self.port = None
        log = f"{self.dir.name}/gateway-{time.monotonic_ns()}.log"
        self.gateway = Process("gateway", [
            BIN / "baton-gateway", "--model", self.model, "--port", self.port or 0, "--pack-dir",
            self.packs, "--inbox", self.inbox, *self.secret(), "--drain-s", PATIENCE_S,
            # A busy machine may predict waits of minutes, for which no request is refused.
            "--max-wait-s", 0, "--timeout-s", 0,
            "--absence-s", 0, *NO_SUSPICION, *PATIENT_WITH_CLIENTS, *self.gateway_args], log)

        def port():
            assert self.gateway.popen.poll() is None, self.gateway.tail()
            for line in self.gateway.text().splitlines():
                found = re.search(r'\bev"?[=:]"?listening\b.*?\bport"?[=:](\d+)', line)
                if found:
                    return int(found[1])
        self.port = wait_for(port, "the gateway to listen")

    def start_worker(self, role, name, args=(), model=None, token=None, command=()):
        process = Process(name, [*command, BIN / f"baton-{role}", "--model", model or self.model,
                                 "--gateway", self.inbox, "--id", name, *self.secret(token),
                                 "--drain-s", PATIENCE_S, "--pack-dir", self.packs,
                                 "--lease-dir", self.dir.name, *NO_SUSPICION, *NO_STALL,
                                 *self.worker_args, *self.role_args[role], *args],
                          f"{self.dir.name}/{name}-{time.monotonic_ns()}.log")
        self.workers[name] = process
        return process

    def wait_ready(self, n_workers):
        def ready():
            for process in self.workers.values():
                if process.popen.poll() not in (None, -signal.SIGKILL, 0):
                    raise AssertionError(f"{process.name} died:\n{process.tail()}")
            return sum(w["state"] == "ready" for w in self.fleet()) >= n_workers
        wait_for(ready, f"{n_workers} workers to be ready")

    def request(self, method, path, body=None, headers=None):
        """(status, parsed JSON or text, headers)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG_S)
        try:
            if body is not None and not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            headers = {**self.headers, **(headers or {})}
            if body is not None:
                headers = {"Content-Type": "application/json", **headers}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            data = response.read()
            is_json = response.getheader("Content-Type", "").startswith("application/json")
            return (response.status, json.loads(data) if is_json and data else data.decode(),
                    response.headers)
        finally:
            connection.close()

    def post(self, path, body, expected=200, headers=None):
        """The answer, whose status is the expected one."""
        status, answer, _ = self.request("POST", path, body, headers)
        assert status == expected, (status, path, body, answer)
        return answer

    def generate(self, **body):
        return self.post("/generate", body)

    def stream(self, path="/generate/stream", **body):
        stream = Stream(self.port, body, path=path, headers=self.headers)
        assert stream.status == 200, (stream.status, stream.response.read())
        return stream

    def fleet(self):
        return self.request("GET", "/workers")[1]["workers"]

    def served_at_once(self, prefill, decode):
        """`served_by` when nothing failed."""
        return {"prefill": prefill, "decode": decode, **AT_ONCE,
                "numeric_class": self.worker(decode)["numeric_class"]}

    def kv(self, query=""):
        """Each worker's account of its KV blocks."""
        status, answer, _ = self.request("GET", f"/debug/kv{query}", headers=self.operator)
        assert status == 200, answer
        return answer["workers"]

    def worker(self, name):
        return next((w for w in self.fleet() if w["id"] == name), None)

    def wait_worker(self, name):
        """Waits until the worker is ready, whatever the others are."""
        wait_for(lambda: (self.worker(name) or {}).get("state") == "ready", f"{name} to be ready")

    def active(self, name):
        """How many requests are with a worker by the gateway's own count, which is never late.

        A worker that is lost has none: a busy machine may take longer than its silence may last."""
        return (self.worker(name) or {"active": 0})["active"]

    def open(self, *states):
        """How many requests are in these states of the gateway, or in any."""
        return sum(value for name, value in self.metrics().items()
                   if name.startswith("baton_requests_open{")
                   and (not states or any(f'"{state}"' in name for state in states)))

    def pause_at_work(self, name, ask, is_right):
        """Asks, and stops a worker at work once is_right(). Returns the futures of ask()."""
        while True:
            pending = ask()
            while not all(future.done() for future in pending):
                self.workers[name].pause()
                for _ in range(20):  # so that the gateway has heard what was said before
                    n_active = self.active(name)
                if n_active and is_right():
                    return pending
                self.workers[name].resume()
                self.metrics()  # meanwhile it works
            for future in pending:  # it was through too soon: once more
                future.result()

    def hold(self, n=1, headers=None, **body):
        """n streams that nobody reads. They keep their KV blocks while nobody waits for blocks."""
        pauses = self.metrics()["baton_stream_pauses_total"]
        streams = [Stream(self.port, {**WORDY, "seed": i, **body},
                          headers={**self.headers, **(headers or {})}) for i in range(n)]
        wait_for(lambda: self.metrics()["baton_stream_pauses_total"] >= pauses + n,
                 "the streams to be paused")
        return streams

    def wait_all_free(self):
        """Waits until every KV block of every worker is free and nothing runs."""
        def free():
            workers = self.fleet()
            return workers and all(w["kv_blocks_free"] == w["kv_blocks_total"] and not w["running"]
                                   and not w["queued"] and not w["active"] for w in workers)
        wait_for(free, "all blocks to be free")

    def metrics(self):
        """{'name{labels}': value}"""
        text = self.request("GET", "/metrics")[1]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                for line in text.splitlines() if line and not line.startswith("#")}


class PeerFleet(Fleet):
    """A fleet with mutual TLS between its processes, by the options of certificates.identity."""

    scheme = "tls+tcp"

    def __init__(self, identity, gateway_args=(), prefill_args=(), **more):
        bulk = ["--bulk", "tls+tcp://127.0.0.1:0"]
        super().__init__(gateway_args=[*identity, *gateway_args],
                         worker_args=[*identity, "--inbox", bulk[1]],
                         prefill_args=[*bulk, *prefill_args], decode_args=bulk, **more)
