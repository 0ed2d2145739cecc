"""Streams whose clients are lost and come back, and then have each byte of the stream once.
`python3 test_resume.py --cuts N` cuts streams of all routes at random, N times."""
import argparse
import http.client
import json
import random
import re
import signal
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor

import certificates
import pytest
from balancer import Balancer
from chromium import Browser
from conftest import KEY, OTHER_KEY, written
from fleet import LONG_S, SLOW, WORDY, Fleet, abandon, read_events, run_out_of_time, wait_for
from test_tls import SecureFleet

RESUMABLE = {"x-baton-resumable": "true"}
ARGS = dict(gateway_args=["--chat-template", "chatml", "--resume-s", 3600],
            decode_args=["--max-batch", 64])
SHORT = {"prompt": "Once", "max_new_tokens": 2}
STORY = dict(temperature=0.7, seed=5, ignore_eos=True)
CHAT = [{"role": "user", "content": "Tell me a story"}]
# A body of each route whose streams are server-sent events, and what ends such a stream.
ROUTES = {
    "/generate/stream": ({"prompt": "Once", "max_new_tokens": 24, **STORY}, "event: summary"),
    "/v1/completions": ({"prompt": "Once", "max_tokens": 24, "n": 2, "stream": True, **STORY},
                        "data: [DONE]"),
    "/v1/chat/completions": ({"messages": CHAT, "max_tokens": 24, "stream": True, "logprobs": True,
                              **STORY}, "data: [DONE]"),
    "/v1/responses": ({"input": CHAT, "max_output_tokens": 24, "stream": True, **STORY},
                      "event: response.incomplete"),
    "/v1/messages": ({"messages": CHAT, "max_tokens": 24, "stream": True, "temperature": 0},
                     "event: message_stop"),
    "/completion": ({"prompt": "Once", "n_predict": 24, "stream": True, **STORY}, '"stop":true'),
}


class Reader:
    """An answer that is read byte by byte. The kernel keeps little of what is not read."""

    def __init__(self, fleet, method, path, body=None, headers=(), trust=None):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        sock.settimeout(LONG_S)
        sock.connect(("127.0.0.1", fleet.port))
        self.connection = http.client.HTTPConnection("127.0.0.1", fleet.port)
        self.connection.sock = (trust.wrap_socket(sock, server_hostname="localhost") if trust
                                else sock)
        headers = {**fleet.headers, "Content-Type": "application/json", **dict(headers)}
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        self.response = self.connection.getresponse()
        self.status, self.headers = self.response.status, self.response.headers
        self.id = self.headers.get("x-baton-stream")

    def read(self, n=None):
        """n bytes, or all; None: the server cut it off."""
        try:
            text = self.response.read(n)
        except (http.client.IncompleteRead, ConnectionError, ssl.SSLError):
            return None
        if n is None:
            self.connection.close()
        return text

    def read_events(self, n):
        """The first n events."""
        text = b""
        while text.count(b"\n\n") < n:
            text += self.response.read(1)
        return text

    def abandon(self):
        abandon(self.connection, self.response)


def begin(fleet, path="/generate/stream", body=None, **more):
    stream = Reader(fleet, "POST", path, {**ROUTES[path][0], **(body or {})}, RESUMABLE, **more)
    assert stream.status == 200 and stream.id, stream.response.read()
    return stream


def resume(fleet, id, after=None, headers=(), **more):
    last = {} if after is None else {"Last-Event-ID": f"{id}-{after}"}
    return Reader(fleet, "GET", f"/v1/streams/{id}", None, {**last, **dict(headers)}, **more)


def whole(text):
    """(the whole events of what a client has, the number of the last one)"""
    text = text[:text.rfind(b"\n\n") + 2] if b"\n\n" in text else b""
    numbers = [int(n) for n in re.findall(rb"^id: \S+-(\d+)$", text, re.M)]
    assert numbers == list(range(1, len(numbers) + 1))
    return text, len(numbers)


def go_on(fleet, id, text, n=None, **more):
    """The client's text after it resumed and read n more bytes, or all."""
    had, last = whole(text)
    stream = resume(fleet, id, last, **more)
    if stream.status == 204:
        return had
    assert stream.status == 200 and stream.id == id, stream.response.read()
    more_of_it = stream.read(n)
    if n is not None:
        stream.abandon()
    return had + more_of_it


def pieces(event):
    """(choice, text) of an event."""
    if event.name in ("token", "token_json"):
        return [(0, event.text)]
    data = json.loads(event.data) if event.data.startswith("{") else {}
    kind = data.get("type", "")
    if kind == "content_block_delta":
        text = data["delta"]["text"]
    else:
        text = data["delta"] if kind.endswith(".delta") else data.get("content", "")
    return [(choice["index"], choice.get("text") or choice.get("delta", {}).get("content", ""))
            for choice in data.get("choices", [])] or [(0, text)]


def essence(text):
    """The text of each choice: what two runs have in common, whatever came together."""
    said = {}
    for event in read_events(text.splitlines(keepends=True)):
        for choice, piece in pieces(event):
            said[choice] = said.get(choice, "") + piece
    assert any(said.values())
    return said


def check(fleet, path, id, text, expected):
    """A client's text is that of one who asks for it all, and says what an uncut stream says."""
    stream = resume(fleet, id)
    assert stream.status == 200 and stream.read() == text
    assert ROUTES[path][1].encode() in text and essence(text) == expected


FLEET = ARGS


def counts(fleet):
    return {event: value for name, value in fleet.metrics().items()
            for event in re.findall(r'^baton_streams_total\{event="(\w+)"\}', name)}


def counted(fleet, before):
    return {event: n - before[event] for event, n in counts(fleet).items() if n != before[event]}


@pytest.mark.parametrize("path", ROUTES)
def test_a_stream_is_whole_wherever_it_was_cut(fleet, path):
    uncut = begin(fleet, path)
    text = uncut.read()
    check(fleet, path, uncut.id, text, essence(text))
    ends = [match.end() for match in re.finditer(b"\n\n", text)]
    begins = [0, *ends[:-1]]
    cuts = ends + [(a + b) // 2 for a, b in zip(begins, ends)]

    def cut(at):
        stream = begin(fleet, path)
        had = stream.read(at)
        stream.abandon()
        check(fleet, path, stream.id, go_on(fleet, stream.id, had), essence(text))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(cut, cuts))


def test_carriage_returns_survive_cuts(fleet):
    text = "a\rb\r\nc\n\rd\n\ne\r"
    body = {"prompt": "Once", "max_new_tokens": 40, "ignore_eos": False, **written(text)}
    uncut = begin(fleet, body=body).read()
    assert essence(uncut) == {0: text}
    for end in re.finditer(b"\n\n", uncut[:-2]):
        stream = begin(fleet, body=body)
        had = stream.read(end.end())
        stream.abandon()
        assert essence(go_on(fleet, stream.id, had)) == {0: text}


def cut_at_random(fleet, rng, expected):
    path = rng.choice(list(ROUTES))
    stream = begin(fleet, path)
    text = stream.read(rng.randrange(len(expected[path])))
    stream.abandon() if rng.random() < 0.5 else stream.connection.close()
    for _ in range(rng.randrange(3)):
        text = go_on(fleet, stream.id, text, rng.randrange(1, 2000))
    check(fleet, path, stream.id, go_on(fleet, stream.id, text), essence(expected[path]))


def cut_often(fleet, n, seed):
    expected = {path: begin(fleet, path).read() for path in ROUTES}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: cut_at_random(fleet, random.Random(seed + i), expected), range(n)))


def test_streams_that_are_cut_at_random_are_whole(fleet):
    cut_often(fleet, 40, seed=0)


def test_a_stream_is_resumable_if_its_client_asks(fleet):
    body = ROUTES["/generate/stream"][0]
    for headers in {}, {"x-baton-resumable": "false"}:
        stream = Reader(fleet, "POST", "/generate/stream", body, headers)
        assert stream.id is None and b"\nid: " not in b"\n" + stream.read()
    wrong = {"x-baton-resumable": "yes"}
    status, answer, _ = fleet.request("POST", "/generate/stream", body, wrong)
    assert status == 400 and answer["error"]["param"] == "x-baton-resumable"
    body = {"prompt": "Once", "options": {"num_predict": 4}}
    lines = Reader(fleet, "POST", "/api/generate", body, RESUMABLE)
    assert lines.status == 200 and lines.id is None
    assert all(json.loads(line) for line in lines.read().splitlines())
    assert fleet.request("POST", "/generate", SHORT, RESUMABLE)[0] == 200


def test_a_streams_name_is_a_secret_of_its_own(fleet):
    """128 random bits, unlike the request's id. Neither the log nor /debug/kv shows them."""
    names, accounts = set(), ""
    for _ in range(2):
        stream = Reader(fleet, "POST", "/generate/stream", WORDY,
                        {**RESUMABLE, "X-Request-Id": "story-1"})
        had = stream.read_events(3)
        assert stream.headers["x-request-id"] == "story-1"
        accounts += json.dumps(fleet.kv())
        names.add(stream.id)
        stream.abandon()
        assert go_on(fleet, stream.id, had).startswith(f"id: {stream.id}-1\n".encode())
        assert fleet.request("DELETE", f"/v1/streams/{stream.id}")[0] == 204
        assert fleet.request("POST", f"/v1/streams/{stream.id}", {})[0] == 405
    assert len(names) == 2 and all(re.fullmatch("[0-9a-f]{32}", name) for name in names)
    assert fleet.request("GET", "/v1/streams/story-1")[0] == 404
    wait_for(lambda: " status=405 " in fleet.gateway.text(), "the last line")
    for name in names:
        assert name not in fleet.gateway.text() and name not in accounts
        assert f" stream={name[:8]} " in fleet.gateway.text()
        assert not any(name in worker.text() for worker in fleet.workers.values())


def test_what_cannot_be_resumed_is_told(fleet):
    stream = begin(fleet)
    _, n = whole(stream.read())
    path = f"/v1/streams/{stream.id}"

    def ask(last, method="GET", at=path):
        return fleet.request(method, at, None, {"Last-Event-ID": last} if last else None)
    for end in "", "-", "-x", "--1", "x-1", "-1 2", f"-{10 ** 18}":
        status, answer, _ = ask(stream.id + end)
        error = answer["error"]
        assert (status, error["code"], error["param"]) == (400, "invalid_value", "Last-Event-ID")
    status, answer, _ = ask(f"{stream.id}-{n + 1}")
    assert (status, answer["error"]["code"]) == (400, "out_of_range")
    assert f"0..{n}" in answer["error"]["message"]
    assert ask(f"{stream.id}-{n}")[:2] == (204, "")
    status, answer, _ = ask("", at=path + "x")
    assert (status, answer["error"]["code"]) == (404, "stream_not_found")
    status, answer, headers = ask("", "HEAD")
    assert (status, answer) == (200, "") and headers["Content-Type"] == "text/event-stream"
    assert ask("", "POST")[0] == 405 and ask("", "POST")[2]["Allow"] == "GET, DELETE"
    assert ask("", "DELETE")[:2] == (204, "") and ask("", "DELETE")[0] == ask("")[0] == 404


def test_a_stream_belongs_to_its_key(keyed):
    stream = begin(keyed)
    had = stream.read(100)
    stream.abandon()
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    path = f"/v1/streams/{stream.id}"
    for method in "GET", "DELETE":
        status, answer, _ = keyed.request(method, path, None, other)
        assert (status, answer["error"]["code"]) == (404, "stream_not_found")
    assert keyed.request("GET", path, None, {"Authorization": "Bearer nobody-has-this"})[0] == 401
    again = begin(keyed)
    expected = essence(again.read())
    text = go_on(keyed, stream.id, had, headers={"Authorization": "", "x-api-key": KEY})
    assert essence(text) == expected


def n_canceled(fleet):
    return fleet.metrics()['baton_requests_total{outcome="canceled"}']


def hold(fleet, **body):
    """A stream that is never over unless somebody reads it, and the events that its client has."""
    stream = Reader(fleet, "POST", "/generate/stream", {**WORDY, **body}, RESUMABLE)
    return stream, stream.read_events(3)


def leave(fleet):
    """The same, left by its client; it made as much as it may without one."""
    pauses = fleet.metrics()["baton_stream_pauses_total"]
    stream, had = hold(fleet)
    stream.abandon()
    wait_for(lambda: fleet.metrics()["baton_stream_pauses_total"] > pauses, "it to be paused")
    return stream, had


def test_the_last_one_who_resumes_has_the_stream(fleet):
    before = counts(fleet)
    stream, had = hold(fleet)
    second = resume(fleet, stream.id, whole(had)[1])
    assert second.status == 200
    third = resume(fleet, stream.id, whole(had)[1])
    rest = third.read()
    assert stream.read() is None and second.read() is None  # cut off, and they see it
    assert whole(had + rest)[0].count(b"event: token") and b"event: summary" in rest
    assert counted(fleet, before) == {"opened": 1, "resumed": 2}


def told_tokens(fleet, stream):
    """Output tokens of the access lines of a stream's exchanges."""
    marks = f" id={stream.headers['x-request-id']} ", f"/v1/streams/{stream.id[:8]}..."
    lines = [line for line in fleet.gateway.text().splitlines()
             if " ev=access " in line and any(mark in line for mark in marks)]
    return [int(re.search(r" output_tokens=(\d+)", line)[1]) for line in lines]


def test_the_access_lines_of_a_stream_add_up(fleet):
    stream, had = hold(fleet, seed=3)
    stream.abandon()
    wait_for(lambda: told_tokens(fleet, stream), "the line of the first connection")
    go_on(fleet, stream.id, had)
    wait_for(lambda: len(told_tokens(fleet, stream)) == 2, "the line of the second")
    assert sum(told_tokens(fleet, stream)) == WORDY["max_new_tokens"]


def test_many_resume_one_stream_at_once(fleet):
    stream, had = hold(fleet, seed=1)
    after = whole(had)[1]

    def try_to(_):
        try:
            return resume(fleet, stream.id, after).read()
        except ConnectionError:  # the next one came before the head was read
            return None
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(try_to, range(8)))
    ended = [text for text in texts if text and b"event: summary" in text]
    assert ended and len(set(ended)) == 1  # one who came late enough has it all as well
    assert whole(had + ended[0])[0] == had[:had.rfind(b"\n\n") + 2] + ended[0]


def test_a_detached_stream_waits_when_its_window_is_full():
    with Fleet(gateway_args=["--resume-bytes", 1 << 19]) as fleet:
        expected = essence(Reader(fleet, "POST", "/generate/stream", WORDY).read())
        stream, had = leave(fleet)
        metrics = fleet.metrics()
        assert metrics['baton_streams{state="detached"}'] == 1 == fleet.open("DECODING")
        assert 1 << 18 < metrics["baton_stream_bytes"] <= 1 << 19
        text = go_on(fleet, stream.id, had)
        assert essence(text) == expected and b"event: summary" in text
        status, answer, _ = fleet.request("GET", f"/v1/streams/{stream.id}", None,
                                          {"Last-Event-ID": f"{stream.id}-1"})
        assert (status, answer["error"]["code"]) == (410, "events_gone")  # they made room
        assert fleet.metrics()["baton_stream_bytes"] <= 1 << 19


def test_all_streams_share_their_room():
    """An owner has two of four places; those that are over make room."""
    size = 1 << 18
    with Fleet(gateway_args=["--resume-bytes", size, "--resume-total-bytes", 4 * size]) as fleet:
        held = [hold(fleet, seed=i)[0] for i in range(2)]
        refused = Reader(fleet, "POST", "/generate/stream", SHORT, RESUMABLE)
        assert refused.status == 200 and refused.id is None and b"event: summary" in refused.read()
        assert counts(fleet)["refused"] == 1
        assert fleet.metrics()["baton_stream_bytes"] <= 2 * size
        for stream in held:
            assert b"event: summary" in stream.read()
        ids = []
        for _ in range(60):
            stream = begin(fleet)
            stream.read()
            ids.append(stream.id)
            assert fleet.metrics()["baton_stream_bytes"] <= 2 * size
        assert fleet.request("GET", f"/v1/streams/{ids[0]}")[0] == 404
        assert fleet.request("GET", f"/v1/streams/{ids[-1]}")[0] == 200


def test_a_client_that_stays_away_cancels_as_one_that_leaves():
    with Fleet(gateway_args=["--resume-s", 0.5]) as fleet:
        stream, _ = hold(fleet)
        stream.abandon()
        wait_for(lambda: counts(fleet)["expired"] == 1, "the window to be over")
        wait_for(lambda: n_canceled(fleet) == 1, "the request to end")
        assert fleet.request("GET", f"/v1/streams/{stream.id}")[0] == 404
        over = begin(fleet)
        over.read()
        path = f"/v1/streams/{over.id}"
        wait_for(lambda: fleet.request("HEAD", path)[0] == 404, "the end to be forgotten")
        assert counts(fleet)["expired"] == 1
        fleet.wait_all_free()


def test_a_deadline_counts_while_the_client_is_away(fleet):
    def runs_out(timeout_s):
        body = {**WORDY, "timeout_s": timeout_s}
        stream = Reader(fleet, "POST", "/generate/stream", body, RESUMABLE)
        if stream.status == 504:
            return "early"
        had = stream.read(100)
        stream.abandon()
        text = go_on(fleet, stream.id, had)  # comes when it is over
        return text if b"event: error" in text else "late"
    assert b'"code":"deadline_exceeded"' in run_out_of_time(runs_out)


def test_a_client_that_reads_nothing_is_cut_off_and_may_come_back():
    with Fleet(gateway_args=["--stall-timeout-s", 3 * SLOW]) as fleet:
        expected = essence(Reader(fleet, "POST", "/generate/stream", WORDY).read())
        stream, had = hold(fleet)
        wait_for(lambda: counts(fleet)["detached"] == 1, "the connection to be cut")
        assert fleet.metrics()["baton_stream_bytes"] <= 1 << 19
        assert essence(go_on(fleet, stream.id, had)) == expected


def test_a_client_may_give_a_stream_up(fleet):
    before = n_canceled(fleet)
    stream, _ = hold(fleet, seed=2)
    assert fleet.request("DELETE", f"/v1/streams/{stream.id}")[0] == 204
    assert stream.read() is None
    wait_for(lambda: n_canceled(fleet) == before + 1, "the request to end")


def test_a_detached_stream_holds_its_place(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(f"{KEY} max=1\n")
    keys.chmod(0o600)
    with Fleet(key=KEY, gateway_args=["--api-keys", keys]) as fleet:
        stream, had = hold(fleet)
        stream.abandon()
        wait_for(lambda: counts(fleet)["detached"] == 1, "the stream to be detached")
        assert fleet.request("POST", "/generate", SHORT)[0] == 429
        assert b"event: summary" in go_on(fleet, stream.id, had)
        assert fleet.request("POST", "/generate", SHORT)[0] == 200


def test_what_is_made_for_a_client_that_is_away_is_charged_to_it(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(f"{KEY} tokens_per_s=1\n")  # ten seconds' worth at once
    keys.chmod(0o600)
    with Fleet(key=KEY, gateway_args=["--api-keys", keys]) as fleet:
        body = {"prompt": [7], "max_new_tokens": 200, "ignore_eos": True}
        stream = Reader(fleet, "POST", "/generate/stream", body, RESUMABLE)
        stream.read_events(1)
        stream.abandon()
        wait_for(lambda: fleet.metrics()['baton_streams{state="over"}'] == 1, "the stream to end")
        status, answer, _ = fleet.request("POST", "/generate", SHORT)
        assert (status, answer["error"]["code"]) == (429, "token_rate")


def test_a_failure_while_the_client_is_away_is_told_when_it_is_back():
    with Fleet() as fleet:
        stream, had = leave(fleet)
        fleet.workers["decode-0"].kill()
        wait_for(lambda: not fleet.open(), "the request to fail")
        *_, last = read_events(go_on(fleet, stream.id, had).splitlines(keepends=True))
        assert last.name == "error" and last.json()["error"]["code"]


def test_a_detached_stream_outlives_its_worker():
    with Fleet(decode=1) as fleet:
        expected = essence(Reader(fleet, "POST", "/generate/stream", WORDY).read())
        stream, had = leave(fleet)
        fleet.start_worker("decode", "decode-9")
        fleet.wait_ready(3)
        fleet.workers["decode-0"].kill()
        wait_for(lambda: fleet.metrics()["baton_migrations_total"] == 1, "the sequence to go on")
        assert essence(go_on(fleet, stream.id, had)) == expected


def test_streams_whose_clients_are_away_give_their_blocks_to_others_that_wait():
    with Fleet(decode_args=["--kv-tokens", 1024]) as fleet:  # for two of them
        expected = essence(Reader(fleet, "POST", "/generate/stream", WORDY).read())
        away = [leave(fleet) for _ in range(2)]
        assert fleet.generate(**WORDY)["output_tokens"] == WORDY["max_new_tokens"]
        assert fleet.open("PREEMPTED") == 1
        for stream, had in away:
            assert essence(go_on(fleet, stream.id, had)) == expected
        fleet.wait_all_free()


def exits_well(process):
    wait_for(lambda: process.popen.poll() is not None, "it to exit")  # another signal could kill it
    assert process.popen.returncode == 0, process.tail()


def test_a_drain_waits_for_clients_that_are_there():
    with Fleet() as fleet:
        away, _ = hold(fleet)
        there, had = hold(fleet, seed=1)
        away.abandon()
        wait_for(lambda: counts(fleet)["detached"] == 1, "the stream to be detached")
        fleet.gateway.signal(signal.SIGTERM)
        wait_for(lambda: re.search(r" ev=request .* outcome=canceled ", fleet.gateway.text()),
                 "the one without a client to end")
        assert b"event: summary" in there.read()
        exits_well(fleet.gateway)


def test_a_drain_ends_what_its_client_leaves():
    with Fleet() as fleet:
        stream, _ = hold(fleet)
        fleet.gateway.signal(signal.SIGTERM)
        wait_for(lambda: " ev=draining " in fleet.gateway.text(), "the drain")
        stream.abandon()
        exits_well(fleet.gateway)


def test_a_stream_goes_on_over_tls(tmp_path):
    files = certificates.make(tmp_path)
    with SecureFleet(*files, gateway_args=["--chat-template", "chatml"]) as fleet:
        for path in ROUTES:
            expected = begin(fleet, path, trust=fleet.trust).read()
            for at in range(1, len(expected), len(expected) // 5):
                stream = begin(fleet, path, trust=fleet.trust)
                had = stream.read(at)
                stream.abandon()
                had = go_on(fleet, stream.id, had, 500, trust=fleet.trust)
                text = go_on(fleet, stream.id, had, trust=fleet.trust)
                assert resume(fleet, stream.id, trust=fleet.trust).read() == text
                assert essence(text) == essence(expected)


class Breaking(Balancer):
    """A proxy whose connections break, those of streams after each of these numbers of bytes."""

    def __init__(self, port, after):
        super().__init__([port])
        self.after = list(after)

    def serve(self, client):
        request = client.recv(65536)
        while b"\r\n\r\n" not in request:
            request += client.recv(65536)
        head, _, body = request.partition(b"\r\n\r\n")
        asked = re.search(rb"content-length: (\d+)", head.lower())
        while asked and len(body) < int(asked[1]):
            body += client.recv(65536)
        gateway, answer = self.ask(self.ports[0], head + b"\r\nConnection: close\r\n\r\n" + body)
        left = self.after.pop(0) if b" /v1/streams/" in head and self.after else None
        with gateway:
            while answer and (left is None or left > 0):
                client.sendall(answer[:left])
                left = left and left - len(answer)
                answer = gateway.recv(65536)
        if left is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()


IN_PAGE = """(async () => {
    const asked = await fetch('/generate/stream', {
        method: 'POST', body: JSON.stringify(BODY),
        headers: {'Content-Type': 'application/json', 'x-baton-resumable': 'true'}});
    const reader = asked.body.getReader();
    await reader.read();
    await reader.cancel();
    window.seen = {text: '', numbers: [], over: false};
    const events = new EventSource('/v1/streams/' + asked.headers.get('x-baton-stream'));
    for (const name of ['meta', 'token', 'summary'])
        events.addEventListener(name, event => {
            window.seen.numbers.push(Number(event.lastEventId.split('-')[1]));
            if (name == 'token')
                window.seen.text += event.data;
        });
    events.onerror = () => { window.seen.over = events.readyState == EventSource.CLOSED; };
})()"""


def test_a_browsers_event_source_goes_on_by_itself(fleet):
    body = ROUTES["/generate/stream"][0]
    expected = essence(Reader(fleet, "POST", "/generate/stream", body).read())
    with Breaking(fleet.port, [400, 600]) as proxy, Browser() as browser:
        page = browser.page(f"http://127.0.0.1:{proxy.port}/")
        page.js(IN_PAGE.replace("BODY", json.dumps(body)))
        page.wait("window.seen.over", "the browser to be told that it has it all")  # by a 204
        seen = page.js("window.seen")
    assert not proxy.after and seen["text"] == expected[0]
    assert seen["numbers"] == list(range(1, len(seen["numbers"]) + 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with Fleet(**ARGS) as fleet:
        cut_often(fleet, options.cuts, options.seed)
        fleet.wait_all_free()
        print(f"{options.cuts} streams were cut and are whole: {counts(fleet)}")


if __name__ == "__main__":
    main()
