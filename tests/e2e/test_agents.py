"""What coding agents and proxies rely on: the words of errors, the first bytes of a stream."""
import gzip
import http.client
import json
import re
import shutil
import struct
import zlib
from urllib.parse import quote

import pytest
from fleet import LONG_S, NO_SUSPICION, ROOT, Fleet, Process, Stream, free_port, wait_for

FLEET = dict(gateway_args=["--chat-template", "chatml", *NO_SUSPICION])
# Agents shorten a conversation when an error's text matches one of their patterns.
PATTERNS = {
    "Anthropic's clients": r"prompt is too long: (\d+) tokens > (\d+) maximum",
    "Claude Code": r"prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)",
    "pi": r"maximum context length is \d+ tokens",
    "pi, of llama.cpp": r"exceeds the available context size",
    "pi, of Groq": r"reduce the length of the messages",
    "pi, of others": r"context[_ ]length[_ ]exceeded",
    "OpenClaw": r"maximum context length",
    "maki": r"exceeds the available context size",
    "OpenCode": r"context_length_exceeded",
    "Codex": r"context_length_exceeded",
    "Cline": r"\bmaximum\s*context\b",
    "Cline, of OpenRouter": r"\bcontext\s*(?:length|window)\b",
    "OpenHands": r"prompt is too long",
    "LangChain": r"maximum context length",
    "LiteLLM": r"model's maximum context length|maximum context length is",
    "VS Code, of llama.cpp": r"request \((\d+) tokens\)",
    "VS Code, its size": r"context size \((\d+) tokens\)",
}
WORDS = "the fox " * 1000
SAY = [{"role": "user", "content": WORDS}]
OVERLONG = {
    "/v1/chat/completions": {"messages": SAY},
    "/v1/completions": {"prompt": WORDS},
    "/v1/responses": {"input": WORDS},
    "/v1/messages": {"messages": SAY, "max_tokens": 1},
    "/api/chat": {"model": "tale", "messages": SAY, "truncate": False},
    "/api/generate": {"model": "tale", "prompt": WORDS, "truncate": False},
    "/completion": {"prompt": WORDS},
    "/generate": {"prompt": WORDS},
    "/generate_stream": {"inputs": WORDS},
    "/v1/embeddings": {"input": WORDS},
    "/embedding": {"content": WORDS},
}


def error_of(answer):
    error = answer["error"]
    return {**answer, "message": error} if isinstance(error, str) else error


@pytest.mark.parametrize("path", OVERLONG)
def test_agents_see_that_a_prompt_is_too_long(fleet, path):
    stream = {} if path.startswith("/generate") or "embedding" in path else {"stream": True}
    status, answer, _ = fleet.request("POST", path, {**OVERLONG[path], **stream})
    error = error_of(answer)
    assert status == (422 if "inputs" in OVERLONG[path] else 400), answer
    assert error["code"] == "context_length_exceeded", answer
    for agent, pattern in PATTERNS.items():
        assert re.search(pattern, error["message"], re.IGNORECASE), (agent, error["message"])
    n_prompt, n_most = map(int, re.search(PATTERNS["Claude Code"], error["message"]).groups())
    assert (error["n_prompt_tokens"], error["n_ctx"]) == (n_prompt, n_most)
    assert n_most == 512 and 2000 <= n_prompt <= 2100
    if path in ("/completion", "/embedding"):
        assert error["type"] == "exceed_context_size_error"


def test_a_length_is_counted_exactly_up_to_a_bound(fleet):
    def n_tokens(prompt):
        return error_of(fleet.request("POST", "/v1/completions", {"prompt": prompt})[1])[
            "n_prompt_tokens"]

    assert n_tokens([5] * 513) == 513 and n_tokens([5] * 512) == 512
    text = "a fox " * 5000
    count = fleet.request("POST", "/tokenize", {"text": text})[1]["count"]
    assert n_tokens(text) == count
    assert n_tokens("1 " * 200_000) == 4 * 512 + 65536 + 1


def test_an_output_that_does_not_fit_is_told_with_its_sum(fleet):
    status, answer, _ = fleet.request("POST", "/generate", {"prompt": [5] * 12,
                                                            "max_new_tokens": 501})
    message = answer["error"]["message"]
    assert status == 400 and "exceed context limit: 12 + 501 > 512" in message, message
    assert answer["error"]["param"] == "max_new_tokens"
    assert (answer["error"]["n_prompt_tokens"], answer["error"]["n_ctx"]) == (12, 512)


# Streams of every API, with what a client reads first of one whose first token takes long.
CHAT = [{"role": "user", "content": "Tell me a story"}]
STREAMS = {
    "/v1/chat/completions": ({"messages": CHAT, "stream": True}, b": keep-alive"),
    "/v1/completions": ({"prompt": "Once", "stream": True}, b": keep-alive"),
    "/v1/responses": ({"input": "Once", "stream": True}, b"event: response.created"),
    "/v1/messages": ({"messages": CHAT, "max_tokens": 8, "stream": True}, b"event: message_start"),
    "/api/chat": ({"model": "tale", "messages": CHAT}, b'{"model":"tale"'),
    "/completion": ({"prompt": "Once", "stream": True}, b": keep-alive"),
    "/generate/stream": ({"prompt": "Once", "max_new_tokens": 8}, b": keep-alive"),
    "/generate_stream": ({"inputs": "Once"}, b": keep-alive"),
}


def begin(port, path, **more):
    """A stream whose first token does not come."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG_S)
    connection.request("POST", path, json.dumps({**STREAMS[path][0], **more}),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response, response.readline()


@pytest.fixture
def stuck(fleet):
    """The prefill worker stands still until the block ends."""
    worker = fleet.workers["prefill-0"]
    worker.pause()
    yield fleet
    worker.resume()


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_begins_before_its_first_token(stuck, path):
    response, first = begin(stuck.port, path)
    assert response.status == 200 and response.headers["X-Accel-Buffering"] == "no"
    assert first.startswith(STREAMS[path][1]), first
    stuck.workers["prefill-0"].resume()
    rest = response.read()
    for name in (b"message_start", b"response.created"):
        assert (first + rest).count(b"event: " + name + b"\n") <= 1
    assert b'"error":{' not in rest and len(rest) > 100, rest
    if path == "/v1/responses":
        events = [json.loads(line[6:]) for line in rest.splitlines() if line.startswith(b"data: ")]
        assert [event["sequence_number"] for event in events] == list(range(len(events)))


@pytest.mark.parametrize("path", STREAMS)
def test_a_failure_after_the_begin_is_an_event(stuck, path):
    response, _ = begin(stuck.port, path, timeout_s=2)
    rest = response.read()
    assert response.status == 200 and b"deadline" in rest, rest


def test_a_failure_before_the_begin_has_its_status(stuck):
    for path, (body, _) in STREAMS.items():
        assert stuck.request("POST", path, {**body, "timeout_s": 0.05})[0] == 504, path


NGINX = """daemon off; master_process off; pid {dir}/pid; error_log {dir}/errors; events {{}}
http {{
  access_log off; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
  uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{gateway}; }} }}
}}
"""


@pytest.fixture(scope="module")
def nginx(fleet, tmp_path_factory):
    """The port of an nginx before the fleet, with its own settings but for places of files."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/bin")
    if not program:
        pytest.skip("no nginx here")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(dir=folder, port=port, gateway=fleet.port))
    process = Process("nginx", [program, "-c", config, "-e", folder / "errors"], folder / "log")
    wait_for(lambda: (folder / "pid").exists(), "nginx to start")
    yield port
    process.stop()


@pytest.mark.parametrize("path", STREAMS)
def test_nginx_passes_the_begin_of_a_stream_on(nginx, stuck, path):
    response, first = begin(nginx, path)
    assert response.status == 200 and first.startswith(STREAMS[path][1]), first
    stuck.workers["prefill-0"].resume()
    assert b'"error":{' not in response.read()


def test_a_stream_through_nginx_is_whole(nginx, fleet):
    body = {"prompt": "Once", "max_new_tokens": 480, "ignore_eos": True, "seed": 1, "explain": 5}
    direct = list(fleet.stream(**body).events)
    through = list(Stream(nginx, body).events)
    assert [event.name for event in through] == [event.name for event in direct]
    texts = [[event.text for event in events] for events in (direct, through)]
    assert texts[0] == texts[1]


# Bodies as other programs write them.
TOOL = {"type": "function", "function": {"name": "f", "parameters": {
    "type": "object", "properties": {"n": {"type": "integer", "maximum": 2 ** 64 - 1}}}}}
HALF = {"role": "user", "content": "\ud83d and \udc00"}


@pytest.mark.parametrize("path,body", [
    ("/v1/chat/completions", {"messages": CHAT, "tools": [TOOL], "max_tokens": 1}),
    ("/v1/chat/completions", {"messages": [HALF], "max_tokens": 1.0, "metadata": {"n": 2 ** 70}}),
    ("/v1/responses", {"input": "a \ud83d", "max_output_tokens": 1e0, "tools": [
        {"type": "function", **TOOL["function"]}]}),
    ("/v1/messages", {"messages": [HALF], "max_tokens": 1.0, "tools": [
        {"name": "f", "input_schema": TOOL["function"]["parameters"]}]}),
    ("/api/chat", {"model": "tale", "messages": [HALF], "stream": False, "tools": [TOOL],
                   "options": {"num_predict": 1.0, "top_k": 40.0, "seed": 3.0}}),
    ("/api/generate", {"model": "tale", "prompt": "\udc00", "keep_alive": 300.0, "stream": False,
                       "options": {"num_predict": 1.0}}),
    ("/completion", {"prompt": [5.0, 6], "n_predict": 1.0}),
    ("/generate", {"prompt": "a \ud83d", "max_new_tokens": 1.0, "priority": 0.0}),
    ("/generate_stream", {"inputs": "\ud83d", "parameters": {"max_new_tokens": 1.0}}),
])
def test_numbers_and_halves_of_characters_are_no_errors(fleet, path, body):
    assert fleet.request("POST", path, body)[0] == 200
    assert fleet.request("POST", path, ("\ufeff" + json.dumps(body)).encode())[0] == 200


def test_a_number_that_baton_needs_must_be_in_range(fleet):
    for value in (2 ** 64, -2 ** 70, 10 ** 400):
        body = f'{{"prompt":"a","max_tokens":{value}}}'
        status, answer, _ = fleet.request("POST", "/v1/completions", body)
        assert (status, answer["error"]["code"]) == (400, "out_of_range")
        assert answer["error"]["param"] == "max_tokens"


def zstd(body):
    """A frame of one block as it is."""
    block = (len(body) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(body)) + block + body


ENCODERS = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstd}


def send_encoded(fleet, coding, data, path="/v1/completions"):
    return fleet.request("POST", path, data, {"Content-Type": "application/json",
                                              "Content-Encoding": coding})


@pytest.mark.parametrize("coding", ENCODERS)
def test_encoded_bodies_are_decoded(fleet, coding):
    plain = json.dumps({"prompt": "Once upon a time " * 90, "max_tokens": 2, "seed": 1}).encode()
    whole = fleet.request("POST", "/v1/completions", plain)[1]["choices"]
    status, answer, _ = send_encoded(fleet, coding, ENCODERS[coding](plain))
    assert status == 200 and answer["choices"] == whole
    status, answer, _ = send_encoded(fleet, coding, ENCODERS[coding](plain)[:-5])
    assert (status, answer["error"]["code"]) == (400, "malformed_body")


def test_an_encoded_body_is_bounded_by_what_comes_out(fleet):
    for coding in ("gzip", "deflate"):
        bomb = ENCODERS[coding](b" " * (64 << 20))
        assert len(bomb) < 1 << 17
        status, answer, _ = send_encoded(fleet, coding, bomb)
        assert (status, answer["error"]["code"]) == (413, "body_too_large")


def test_other_codings_are_refused_by_name(fleet):
    for coding in ("br", "gzip, gzip", "compress"):
        status, answer, _ = send_encoded(fleet, coding, b"{}", "/v1/messages")
        assert status == 415 and "Content-Encoding" in answer["error"]["message"]


@pytest.mark.parametrize("headers,status", [
    ({}, 200), ({"Origin": "http://127.0.0.1:{port}"}, 415), ({"Origin": "http://a.example"}, 403),
    ({"Sec-Fetch-Site": "same-origin"}, 415), ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Referer": "http://a.example/"}, 415), ({"Cookie": "a=b"}, 415)])
def test_curls_type_is_taken_of_programs_only(fleet, headers, status):
    headers = {name: value.format(port=fleet.port) for name, value in headers.items()}
    form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    body = json.dumps({"prompt": "a", "max_tokens": 1})
    assert fleet.request("POST", "/v1/completions", body, form)[0] == status
    assert fleet.request("POST", "/v1/completions", "prompt=a", form)[0] in (403, 415)


@pytest.mark.parametrize("path", [
    "/chat/completions", "/v1/chat/completions/", "//v1/chat/completions", "/v1//chat/completions",
    "/v1/v1/chat/completions", "//chat//completions//", "/v1/chat%2Dcompletions"])
def test_paths_of_openais_api(fleet, path):
    status, answer, _ = fleet.request("POST", path, {"messages": CHAT, "max_tokens": 1})
    assert status == (404 if "%2D" in path else 200) and ("choices" in answer) == (status == 200)


def test_other_routes_without_their_version(fleet):
    assert fleet.request("GET", "/models/")[1] == fleet.request("GET", "/v1/models")[1]
    assert fleet.request("GET", "/models/tale")[0] == 200
    answer = fleet.post("/responses", {"input": "a", "max_output_tokens": 1})
    assert fleet.request("GET", f"/responses/{answer['id']}/")[1]["id"] == answer["id"]
    assert answer["id"] not in fleet.gateway.text()  # it is a secret
    body = {"messages": CHAT, "max_tokens": 1}
    assert fleet.post("/messages", body)["type"] == "message"
    assert fleet.post("/messages/count_tokens", {"messages": CHAT})["input_tokens"] > 0
    assert "content" in fleet.post("/completions", {"prompt": "a", "n_predict": 1})  # llama.cpp's
    assert fleet.request("POST", "/chat/completions", {})[0] == 400
    assert fleet.request("DELETE", "/models")[0] == 405


@pytest.mark.parametrize("path,kind", [
    ("/messages/nothing", "Anthropic"), ("/v1/messages/nothing", "Anthropic"),
    ("/v1/v1/messages/nothing", "Anthropic"), ("//v1/chat/nothing", "OpenAI"),
    ("/nothing", "OpenAI"), ("//api/nothing/", "Ollama"), ("/v1", "OpenAI")])
def test_an_unknown_path_is_told_in_its_apis_shape(fleet, path, kind):
    status, answer, _ = fleet.request("POST", path, {})
    shape = ("Anthropic" if answer.get("type") == "error"
             else "Ollama" if isinstance(answer["error"], str) else "OpenAI")
    assert status == 404 and (shape == kind or path == "/messages/nothing")


def test_a_models_name_may_need_escapes():
    names = ["Acme/Tale-1B", "q F16.gguf", "tale:4m", "f\u00fcchse", "50%"]
    with Fleet(prefill=0, decode=0,
               gateway_args=["--served-model-name", ",".join(names)]) as named:
        for name in names:
            path = "/v1/models/" + quote(name, safe="")
            assert named.request("GET", path)[1]["id"] == name, path
            assert named.request("GET", path.removeprefix("/v1") + "/")[1]["id"] == name
        assert named.request("GET", "/v1/models/Acme/Tale-1B")[1]["id"] == "Acme/Tale-1B"
        for other in ("Acme%252FTale-1B", "Acme%00", "%FF", "a" * 2000, "tale"):
            status, answer, _ = named.request("GET", "/v1/models/" + other)
            assert (status, answer["error"]["code"]) == (404, "model_not_found")
        listed = named.request("GET", "/v1/models")[1]["data"]
        assert [model["id"] for model in listed] == names
        assert [model["name"] for model in named.request("GET", "/api/tags")[1]["models"]] == [
            name if ":" in name else name + ":latest" for name in names]


def test_any_name_may_be_taken():
    with Fleet(gateway_args=["--served-model-name", "*"]) as any_name:
        for path, body in (("/v1/completions", {"prompt": "a", "max_tokens": 1}),
                           ("/api/generate", {"prompt": "a", "stream": False,
                                              "options": {"num_predict": 1}})):
            answer = any_name.post(path, {"model": "gpt-3.5-turbo", **body})
            assert answer["model"].split(":")[0] == "tale"
        assert any_name.request("GET", "/v1/models")[1]["data"][0]["id"] == "tale"


def test_an_unknown_model_is_told_in_ollamas_words(fleet):
    for path, body in (("/api/chat", {"messages": CHAT}), ("/api/show", {}),
                       ("/v1/chat/completions", {"messages": CHAT})):
        status, answer, _ = fleet.request("POST", path, {"model": "x", **body})
        assert status == 404 and "model 'x' not found" in error_of(answer)["message"]


def test_cached_tokens_are_tokens_of_the_prompt(fleet):
    body = {"prompt": ["Once upon a time there was a fox. " * 12, "Twice. " * 40], "n": 3,
            "max_tokens": 1}
    for _ in range(2):
        usage = fleet.post("/v1/completions", body)["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    assert usage["prompt_tokens"] / 2 < cached <= usage["prompt_tokens"]


@pytest.mark.parametrize("name,value", [
    ("verbosity", "low"), ("prediction", {"type": "content", "content": "a"})])
def test_wishes_without_effect_are_named(fleet, name, value):
    status, _, headers = fleet.request("POST", "/v1/chat/completions", {
        "messages": CHAT, "max_tokens": 1, name: value})
    assert status == 200 and headers["x-baton-ignored"] == name


def test_the_limit_of_bodies_follows_the_context(tmp_path):
    """16 bytes per token: text of 12 bytes per character is judged by its tokens, not its bytes."""
    model = tmp_path / "llama"
    shutil.copytree(ROOT / "tests/fixtures/models/llama", model)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 1 << 17}))
    with Fleet(prefill=0, decode=0, model=model) as large:
        def post(n):
            body = b'{"prompt":' + b" " * (n - 12) + b"5}"
            return large.request("POST", "/generate", body)[0]
        assert post(16 << 17) == 400 and post((16 << 17) + 1) == 413
    with Fleet(prefill=0, decode=0, gateway_args=["--max-body-bytes", 4096]) as small:
        assert small.request("POST", "/generate", b" " * 4097)[0] == 413


def test_texts_are_tokenized_under_other_servers_names(fleet):
    def ids(**body):
        return fleet.post("/tokenize", body)["tokens"]

    plain = ids(text="a fox", add_special_tokens=False)
    assert ids(content="a fox") == ids(content="a fox", add_special=False) == plain
    assert ids(prompt="a fox", model="tale") == ids(text="a fox")
    assert ids(content="a fox", add_special=True) == ids(text="a fox")
    answer = fleet.post("/detokenize", {"tokens": plain, "model": "tale"})
    assert answer == {"text": "a fox", "content": "a fox", "prompt": "a fox"}
    for body in ({"content": "a", "text": "b"}, {"content": 5}, {"content": "a", "model": "x"}):
        assert fleet.request("POST", "/tokenize", body)[0] in (400, 404)


def test_a_models_files_may_be_written_by_other_programs(tmp_path):
    """A byte order mark in each, and Python's words for numbers that JSON has not."""
    model = tmp_path / "llama"
    shutil.copytree(ROOT / "tests/fixtures/models/llama", model)
    for name in ("config.json", "tokenizer.json"):
        text = (model / name).read_text()
        if name == "config.json":
            text = text.rstrip().removesuffix("}") + ', "a": Infinity, "b": [NaN, -Infinity]}'
        (model / name).write_text("\ufeff" + text)
    with Fleet(prefill=0, decode=0, model=model) as served:
        assert served.request("GET", "/v1/models")[0] == 200
