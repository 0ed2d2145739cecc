"""HTTPS: real clients, certificates that change, and peers that speak no TLS or stop midway."""
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess

import certificates
import pytest
from fleet import LONG_S, ROOT, WORDY, Fleet, free_port, read_events, wait_for
from programs import refusal, run

STORY = dict(prompt="Once upon a time", max_new_tokens=24, temperature=0)
HEAD_TIMEOUT_S = 3


class SecureFleet(Fleet):
    """A fleet whose gateway speaks HTTPS."""

    def __init__(self, certfile, keyfile, gateway_args=(), **more):
        self.certfile = certfile
        self.trust = ssl.create_default_context(cafile=certfile)
        super().__init__(gateway_args=["--ssl-certfile", certfile, "--ssl-keyfile", keyfile,
                                       *gateway_args], **more)

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=LONG_S,
                                           context=self.trust)

    def request(self, method, path, body=None, headers=None):
        connection = self.connect()
        try:
            body = json.dumps(body) if isinstance(body, dict) else body
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            data = response.read()
            is_json = response.getheader("Content-Type", "").startswith("application/json")
            return response.status, json.loads(data) if is_json else data.decode(), response.headers
        finally:
            connection.close()

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=LONG_S)

    def secure(self, trust=None):
        return (trust or self.trust).wrap_socket(self.raw(), server_hostname="localhost",
                                                 suppress_ragged_eofs=False)

    def reload(self, event):
        before = self.gateway.text().count(f" ev={event} ")
        self.gateway.signal(signal.SIGHUP)
        wait_for(lambda: self.gateway.text().count(f" ev={event} ") > before, event)
        return [line for line in self.gateway.text().splitlines() if f" ev={event} " in line][-1]

    def failed(self):
        return self.metrics()["baton_http_handshakes_failed_total"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def fleet(files):
    with SecureFleet(*files, gateway_args=["--head-timeout-s", HEAD_TIMEOUT_S * 4]) as started:
        yield started


@pytest.fixture(scope="module")
def text(fleet):
    """The output after the prompt."""
    return output(fleet.generate(**STORY))


def output(answer):
    return answer["text"].removeprefix(STORY["prompt"])


def curl(fleet, *arguments):
    done = run("curl", "-sS", "--cacert", fleet.certfile, "--max-time", LONG_S,
               "-H", "Content-Type: application/json", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def s_client(fleet, *arguments):
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{fleet.port}",
                           "-CAfile", fleet.certfile, *arguments], input=b"", capture_output=True,
                          timeout=LONG_S)
    return (done.stdout + done.stderr).decode(errors="replace")


# Clients


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
@pytest.mark.parametrize("version", [["--tlsv1.2", "--tls-max", "1.2"], ["--tlsv1.3"], ["--http2"]],
                         ids=str)
def test_curl_is_answered(fleet, text, version):
    url = f"https://localhost:{fleet.port}"
    answer = json.loads(curl(fleet, *version, f"{url}/generate", "-d", json.dumps(STORY)))
    assert output(answer) == text
    out = curl(fleet, *version, "-N", f"{url}/generate/stream", "-d", json.dumps(STORY))
    tokens = [event for event in read_events(line.encode() + b"\n" for line in out.split("\n"))
              if event.name == "token"]
    assert "".join(event.data for event in tokens) == text


def test_a_connection_is_kept_for_further_requests(fleet, text):
    connection = fleet.connect()
    for _ in range(3):
        connection.request("POST", "/generate", json.dumps(STORY))
        assert output(json.loads(connection.getresponse().read())) == text
    connection.close()


def test_requests_and_answers_may_be_longer_than_a_record(fleet):
    filler = "x" * (600 << 10)
    answer = fleet.post("/tokenize", {"text": filler})
    assert len(answer["tokens"]) > 100_000
    status, answer, _ = fleet.request("POST", "/tokenize", "{" + " " * (2 << 20))
    assert status == 413


def test_an_end_is_told_from_a_cut(fleet):
    """Python raises SSLEOFError at an end without close_notify."""
    with fleet.secure() as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b""
        while part := client.recv(65536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_client_that_reads_nothing_is_waited_for(fleet):
    pauses = fleet.metrics()["baton_stream_pauses_total"]
    with fleet.secure() as client:
        client.sendall(b"POST /generate/stream HTTP/1.0\r\nHost: localhost\r\n"
                       b"Content-Length: %d\r\n\r\n%s"
                       % (len(json.dumps(WORDY)), json.dumps(WORDY).encode()))
        wait_for(lambda: fleet.metrics()["baton_stream_pauses_total"] > pauses,
                 "the stream to be paused")
        received = b""
        while part := client.recv(1 << 16):
            received += part
    last = list(read_events(line + b"\n" for line in received.split(b"\n")))[-1]
    assert last.name == "summary" and last.json()["output_tokens"] == WORDY["max_new_tokens"]
    fleet.wait_all_free()


def test_the_protocol_is_http_1_1(fleet):
    assert "ALPN protocol: http/1.1" in s_client(fleet, "-alpn", "h2,http/1.1")
    assert "no application protocol" in s_client(fleet, "-alpn", "h2")
    assert "No ALPN negotiated" in s_client(fleet)


def test_versions_before_1_2_are_refused(fleet):
    old = s_client(fleet, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
    assert "Cipher is (NONE)" in old
    for version in "-tls1_2", "-tls1_3":
        assert "Verify return code: 0 (ok)" in s_client(fleet, version)


# Certificates


def test_a_reload_changes_the_certificate_of_new_connections_only(files, text, tmp_path):
    certfile, keyfile = tmp_path / "server.pem", tmp_path / "server.key"
    shutil.copy(files[0], certfile), shutil.copy(files[1], keyfile)
    with SecureFleet(certfile, keyfile) as fleet:
        before = fleet.connect()
        before.request("GET", "/health")
        assert before.getresponse().read()
        other = certificates.make(tmp_path, "other", key="rsa", days=9)
        keyfile.write_text("no key")
        line = fleet.reload("certificate_kept")
        assert "ssl-keyfile" in line and str(keyfile) in line and "lvl=error" in line
        assert fleet.request("GET", "/health")[0] == 200
        shutil.copy(other[0], certfile), shutil.copy(other[1], keyfile)
        assert re.search("days_left=[89]$", fleet.reload("certificate_loaded"))
        before.request("POST", "/generate", json.dumps(STORY))  # on the old connection
        assert output(json.loads(before.getresponse().read())) == text
        with pytest.raises(ssl.SSLCertVerificationError):
            fleet.request("GET", "/health")
        fleet.trust = ssl.create_default_context(cafile=other[0])
        assert output(fleet.generate(**STORY)) == text


@pytest.mark.parametrize("case, reason", [
    ("no key", "ssl-keyfile is needed with ssl-certfile"),
    ("no certificate", "ssl-certfile is needed with ssl-keyfile"),
    ("missing", "No such file"), ("empty", "no start line"), ("of another", "mismatch"),
    ("password", "ssl-keyfile"),
])
def test_files_that_cannot_be_used_are_an_error_at_start(files, tmp_path, case, reason):
    certfile, keyfile = files
    if case == "missing":
        certfile = tmp_path / "none"
    elif case == "empty":
        certfile = tmp_path / "empty"
        certfile.write_text("")
    elif case == "of another":
        keyfile = certificates.make(tmp_path, "other")[1]
    elif case == "password":
        keyfile = tmp_path / "locked.key"
        subprocess.run(["openssl", "ec", "-aes128", "-passout", "pass:secret", "-in", files[1],
                        "-out", keyfile], check=True, capture_output=True)
    options = [*(["--ssl-certfile", certfile] if case != "no certificate" else []),
               *(["--ssl-keyfile", keyfile] if case != "no key" else [])]
    assert reason in refusal("baton-gateway", "--port", 0, "--inbox",
                             f"tcp://127.0.0.1:{free_port()}", *options, stdin=subprocess.DEVNULL)


# Peers that are no clients


def hello_bytes():
    """The first bytes that a TLS client sends."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def answer_to(fleet, *pieces):
    """The gateway's bytes until it closes or resets the connection."""
    answer = b""
    with fleet.raw() as sock:
        try:
            for piece in pieces:
                sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
            while part := sock.recv(65536):
                answer += part
        except OSError:
            pass
    return answer


def test_plain_http_is_no_tls(fleet, text):
    failed = fleet.failed()
    answer = answer_to(fleet, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ") and b"This port speaks HTTPS" in answer
    assert fleet.failed() == failed + 1
    assert output(fleet.generate(**STORY)) == text


def test_the_containers_health_check_knows_https(fleet):
    env = {**os.environ, "BATON_GATEWAY_PORT": str(fleet.port),
           "BATON_GATEWAY_SSL_CERTFILE": "server.pem"}
    check = [ROOT / "deploy/healthcheck", "gateway"]
    assert subprocess.run(check, env=env).returncode == 0
    env["BATON_GATEWAY_PORT"] = str(free_port())
    assert subprocess.run(check, env=env, capture_output=True).returncode != 0


def test_garbage_harms_nobody(fleet, text):
    rng, hello = random.Random(16), hello_bytes()
    for _ in range(60):
        noise = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 400)))
        answer_to(fleet, noise)
        cut = rng.randrange(len(hello))
        answer_to(fleet, hello[:cut])
        flipped = bytearray(hello)
        for _ in range(rng.randrange(1, 6)):
            flipped[rng.randrange(len(hello))] ^= 1 << rng.randrange(8)
        answer_to(fleet, bytes(flipped), noise)
    assert output(fleet.generate(**STORY)) == text
    fleet.wait_all_free()


def test_a_wrong_record_ends_its_connection_only(fleet, text):
    """The stream goes on until the record comes; its blocks are freed."""
    other = fleet.connect()
    other.request("POST", "/generate/stream", json.dumps(STORY))
    with fleet.secure() as client:
        client.sendall(b"POST /generate/stream HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Length: %d\r\n\r\n%s"
                       % (len(json.dumps(WORDY)), json.dumps(WORDY).encode()))
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
        under = socket.socket(fileno=client.detach())
        under.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
        under.close()
    assert "".join(e.data for e in read_events(other.getresponse()) if e.name == "token") == text
    fleet.wait_all_free()


def test_a_client_that_leaves_midway_frees_what_it_had(fleet):
    for how in ("close", "reset"):
        client = fleet.secure()
        client.sendall(b"POST /generate/stream HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Length: %d\r\n\r\n%s"
                       % (len(json.dumps(WORDY)), json.dumps(WORDY).encode()))
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
        if how == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        fleet.wait_all_free()


def test_a_handshake_has_its_time(files):
    with SecureFleet(*files, prefill=0, decode=0, gateway_args=["--head-timeout-s", "1"]) as alone:
        silent, midway = alone.raw(), alone.raw()
        midway.sendall(hello_bytes()[:100])
        # The gateway closes them within the time of the socket, else recv raises.
        for sock in silent, midway:
            assert sock.recv(1000) == b""
            sock.close()
        with alone.secure() as idle:  # is not bound by it: that is keep-alive's time
            idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert idle.recv(1000).startswith(b"HTTP/1.1 200 ")


def gave_way(fleet):
    return fleet.metrics()["baton_http_gave_way_total"]


def test_handshakes_are_bounded_in_number(files):
    """Above the bound the oldest silent one makes room, after its second."""
    with SecureFleet(*files, prefill=0, decode=0,
                     gateway_args=["--head-timeout-s", "3600"]) as alone:
        silent = [alone.raw() for _ in range(300)]
        for sock in silent:
            sock.sendall(hello_bytes())
        assert alone.request("GET", "/health")[0] == 200
        assert gave_way(alone) >= 300 - 256
        for sock in silent:
            sock.close()


def test_half_hellos_hold_nobody_up(files):
    """They are as cheap as half heads, so a handshake waits for none of them."""
    with SecureFleet(*files, prefill=0, decode=0,
                     gateway_args=["--head-timeout-s", "3600", "--max-connections", 350]) as alone:
        hello = hello_bytes()
        silent = [alone.raw() for _ in range(300)]
        for sock in silent:
            sock.sendall(hello[:100])
        assert alone.request("GET", "/health")[0] == 200
        assert gave_way(alone) == 0
        silent += [alone.raw() for _ in range(100)]
        assert alone.request("GET", "/health")[0] == 200
        assert gave_way(alone) >= 50
        for sock in silent:
            sock.close()
