"""Mutual TLS between processes: a whole fleet by it, and peers without a certificate."""
import contextlib
import os
import signal
import socket
import ssl

import certificates
import pytest
import wire
from attacks import Watch, begin_hello, listening
from fleet import LONG_S, Fleet, PeerFleet, free_port, wait_for
from programs import refusal

STORY = dict(prompt="Once upon a time", max_new_tokens=24, temperature=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("peers")


@pytest.fixture(scope="module")
def identity(folder):
    return certificates.identity(folder, "fleet")


@pytest.fixture(scope="module")
def fleet(identity):
    with PeerFleet(identity, decode=2) as started:
        yield started


def text_in_clear():
    with Fleet() as plain:
        return plain.generate(**STORY)["text"]


def test_a_fleet_serves_as_it_does_in_clear(fleet):
    expected = text_in_clear()
    assert {fleet.generate(**STORY)["text"] for _ in range(4)} == {expected}
    text, last = fleet.stream(**STORY).text()
    assert last.name == "summary" and expected.endswith(text)
    assert all(w["address"].startswith("tls+tcp://") for w in fleet.fleet())
    fleet.wait_all_free()


def test_prompts_are_divided_as_they_are_in_clear(identity):
    bodies = [dict(prompt=[5 + 7 * i % 2000 for i in range(n)], max_new_tokens=8, explain=3,
                   cache_prompt=False, **how) for n in (300, 449, 500)
              for how in (dict(temperature=0), dict(temperature=0.9, seed=5))]
    with Fleet() as plain:
        expected = [plain.generate(**body)["steps"] for body in bodies]
    with PeerFleet(identity, prefill=2, gateway_args=["--prefill-split", 2,
                                                      "--prefill-split-min-tokens", 64],
                   prefill_args=["--chunk", 32]) as fleet:
        for body, steps in zip(bodies, expected):
            assert fleet.generate(**body)["steps"] == steps
            fleet.wait_all_free()
        assert fleet.metrics()["baton_split_prefills_total"] == len(bodies)


def test_a_worker_that_is_killed_is_noticed_and_another_joins(fleet):
    fleet.workers["decode-1"].kill()
    wait_for(lambda: not fleet.worker("decode-1"), "the worker to be lost")
    port = free_port()  # its host is what the gateway sees
    fleet.start_worker("decode", "decode-1", args=["--inbox", f"tls+tcp://127.0.0.1:{port}",
                                                   "--advertise", f"tls+tcp://*:{port}"])
    fleet.wait_ready(3)
    assert fleet.worker("decode-1")["address"] == f"tls+tcp://127.0.0.1:{port}"
    assert fleet.generate(**STORY)["output_tokens"]


@pytest.mark.parametrize("authority, subject", [("other", "baton"), ("fleet", "mallory")])
def test_who_has_no_certificate_of_the_fleet_does_not_join(fleet, folder, authority, subject):
    """The token is right; the worker knocks again and again, and no Hello of it ever arrives."""
    stranger = certificates.identity(folder, authority, subject)
    listen = ["--inbox", "tls+tcp://127.0.0.1:0", "--bulk", "tls+tcp://127.0.0.1:0"]
    refused = fleet.gateway.text().count(" ev=peers_refused ")
    knocker = fleet.start_worker("decode", "stranger", args=[*stranger, *listen])
    wait_for(lambda: " ev=gateway_found " in knocker.text(), "the stranger to find the gateway")
    late = fleet.start_worker("decode", "decode-2")  # after it, and it is there first
    fleet.wait_ready(4)  # linked both ways: one that dies before that is missed by its silence only
    if subject != "baton":  # else it refuses the gateway before that
        wait_for(lambda: fleet.gateway.text().count(" ev=peers_refused ") > refused,
                 "the gateway to log that it refuses somebody")
    assert not fleet.worker("stranger") and "stranger" not in fleet.gateway.text()
    assert " ev=gateway_joined " not in knocker.text()
    for process in (knocker, late):
        process.kill()
        del fleet.workers[process.name]
    wait_for(lambda: not fleet.worker("decode-2"), "the worker to be lost")


def secure(url, certfile, keyfile, cafile):
    """A client with this certificate, its handshake done."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cafile)
    context.load_cert_chain(certfile, keyfile)
    return context.wrap_socket(wire.connect_only(url), server_hostname="baton")


def is_greeted(url, certfile, keyfile, cafile):
    """Whether a client with this certificate comes as far as NNG's greeting."""
    with contextlib.suppress(ssl.SSLError, ConnectionError):
        with secure(url, certfile, keyfile, cafile) as client:
            return client.recv(8) == wire.PULL_GREETING
    return False


def test_every_listener_checks_whom_a_certificate_is_for(fleet, folder, identity):
    mallory = certificates.identity(folder, "fleet", "mallory")
    for url in [fleet.inbox, *listening(fleet.workers["decode-0"])]:
        assert is_greeted(url, *identity[1::2])
        assert not is_greeted(url, *mallory[1::2])


def test_a_chain_of_64_kib_is_refused(fleet, folder, identity):
    certfile, keyfile, cafile = identity[1::2]
    short = certificates.lengthen(folder, certfile, cafile, 8 << 10)
    assert is_greeted(fleet.inbox, short, keyfile, cafile)
    long = certificates.lengthen(folder, certfile, cafile, 64 << 10)
    for _ in range(20):
        assert not is_greeted(fleet.inbox, long, keyfile, cafile)
    assert fleet.generate(**STORY)["output_tokens"]


def test_what_is_no_tls_harms_nobody(fleet):
    port = int(fleet.inbox.rpartition(":")[2])
    for noise in (b"\0SP\0\0\x50\0\0" + bytes(100), os.urandom(400), b"GET / HTTP/1.1\r\n\r\n",
                  b"\x16\x03\x01"):
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", port), timeout=LONG_S) as sock:
                sock.sendall(noise)
    assert fleet.generate(**STORY)["output_tokens"]
    wait_for(lambda: all(w["state"] == "ready" for w in fleet.fleet()), "workers that are ready")


def test_handshakes_that_never_end_keep_nobody_out(identity):
    """The first bytes of a ClientHello, again and again: NNG's TLS waits for the rest for ever."""
    def ended(reason):
        return fleet.metrics()[f'baton_inbox_strangers_ended_total{{reason="{reason}"}}']

    with PeerFleet(identity) as fleet:
        decode = fleet.workers["decode-0"]
        watch = Watch(decode)
        files = watch.files()
        for url in [fleet.inbox, *listening(decode)]:
            held = [begin_hello(url) for _ in range(40)]
            wait_for(lambda: sum(map(wire.is_open, held)) <= 32, f"{url} to end the crowd")
            if url == fleet.inbox:
                wait_for(lambda: ended("crowded") >= 8, "the gateway to count the crowd")
                fleet.start_worker("decode", "decode-1")
                fleet.wait_ready(3)
            wait_for(lambda: not any(map(wire.is_open, held)), f"{url} to end the silent")
        assert ended("silent")
        wait_for(lambda: watch.files() <= files + 8, "the descriptors to be closed")
        assert "worker_lost" not in fleet.gateway.text()
        assert fleet.generate(**STORY)["output_tokens"]


def half_close(url, identity, part):
    """A connection that its client has ended on its own side only, after this part."""
    if part == "half a hello":
        sock = begin_hello(url)
    else:
        client = secure(url, *identity[1::2])
        assert client.recv(8)
        if part == "close_notify":
            with contextlib.suppress(ssl.SSLError, OSError):
                client.setblocking(False)
                client.unwrap()
            return socket.socket(fileno=client.detach())
        if part == "a length":
            client.sendall(wire.GREETING + bytes(6) + b"\x10")
        sock = socket.socket(fileno=client.detach())
    sock.shutdown(socket.SHUT_WR)
    return sock


@pytest.mark.parametrize("part", ["half a hello", "no greeting", "a length", "close_notify"])
def test_what_a_peer_ends_on_its_side_is_closed(fleet, identity, part):
    """Most by NNG; after "a length" it waits for nothing, and does not notice the end."""
    watch = Watch(fleet.gateway)
    files = watch.files()
    held = [half_close(fleet.inbox, identity, part) for _ in range(20)]
    wait_for(lambda: not any(map(wire.is_open, held)), "the connections to be closed")
    wait_for(lambda: watch.files() <= files + 8, "the descriptors to be closed")
    assert fleet.generate(**STORY)["output_tokens"]


@pytest.mark.parametrize("program", ["baton-gateway", "baton-prefill"])
@pytest.mark.parametrize("case, reason", [
    ("one file", "are needed together"), ("no file", "No such file"), ("no key", "peer-keyfile"),
    ("in clear", "is in clear"), ("no identity", "needs peer-certfile"),
])
def test_what_cannot_work_is_an_error_at_start(identity, tmp_path, program, case, reason):
    options, scheme = list(identity), "tls+tcp"
    if case == "one file":
        options = options[:2]
    elif case == "no file":
        options[1] = tmp_path / "none"
    elif case == "no key":
        options[3] = options[1]
    elif case == "in clear":
        scheme = "tcp"
    else:
        options = []
    assert reason in refusal(program, "--inbox", f"{scheme}://127.0.0.1:{free_port()}", *options)


def test_a_fleet_changes_its_authority_while_it_serves(tmp_path):
    """Three steps for all processes: the new authority is trusted, used, and then the only one."""
    files = {name: [tmp_path / f for f in (f"{name}.pem", f"{name}.key", f"{name}-ca.pem")]
             for name in ("old", "new")}
    for name in files:
        certificates.identity(tmp_path, name)
    mine = [tmp_path / f"mine.{ending}" for ending in ("pem", "key", "ca")]
    options = ["--peer-certfile", mine[0], "--peer-keyfile", mine[1], "--peer-cafile", mine[2]]

    def install(cert, *authorities):
        for path, source in zip(mine, files[cert][:2]):
            path.write_bytes(source.read_bytes())
        mine[2].write_bytes(b"".join(files[name][2].read_bytes() for name in authorities))

    def reload(said="peer_certificate_loaded"):
        for process in [fleet.gateway, *fleet.workers.values()]:
            before = process.text().count(f"ev={said}")
            process.signal(signal.SIGHUP)
            wait_for(lambda: process.text().count(f"ev={said}") > before,
                     f"{process.name} to say {said}")

    install("old", "old")
    with PeerFleet(options) as fleet:
        expected = fleet.generate(**STORY)["text"]
        for step in ("old", "old", "new"), ("new", "old", "new"), ("new", "new"):
            [stream] = fleet.hold()
            install(*step)
            reload()
            assert stream.text()[1].name == "summary"
            fleet.start_worker("decode", "decode-1")  # reads the files as they are now
            fleet.wait_ready(3)
            assert {fleet.generate(**STORY)["text"] for _ in range(4)} == {expected}
            fleet.workers.pop("decode-1").kill()
            wait_for(lambda: not fleet.worker("decode-1"), "the worker to be lost")
        mine[0].write_text("nothing")
        reload("peer_certificate_kept")
        assert fleet.generate(**STORY)["text"] == expected
        late = ["--inbox", "tls+tcp://127.0.0.1:0", "--bulk", "tls+tcp://127.0.0.1:0"]
        old = ["--peer-certfile", files["old"][0], "--peer-keyfile", files["old"][1],
               "--peer-cafile", files["old"][2]]
        knocker = fleet.start_worker("decode", "stranger", args=[*old, *late])
        new = ["--peer-certfile", files["new"][0], "--peer-keyfile", files["new"][1],
               "--peer-cafile", files["new"][2]]
        wait_for(lambda: " ev=gateway_found " in knocker.text(), "the old one to find the gateway")
        fleet.start_worker("decode", "decode-2", args=[*new, *late])
        fleet.wait_ready(3)
        assert not fleet.worker("stranger")
        knocker.kill()
        del fleet.workers["stranger"]
