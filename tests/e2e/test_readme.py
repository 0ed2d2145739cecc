"""The commands of README.md, and the curl examples of docs/using.md, run as they stand.

The examples are the commands of ```sh blocks that begin with curl, without pipes. Their fleet is
the README's, on another port and with a chat template, which the embedded model lacks.
"""
import json
import os
import re
import shlex
import subprocess

import pytest
from baton_program import PATIENT
from fleet import BIN, LONG_S, ROOT, Fleet, free_port, read_events, wait_for

PAGES = "\n".join((ROOT / name).read_text() for name in ("README.md", "docs/using.md"))
SERVER = re.compile(r"^(?:http://)?(?:127\.0\.0\.1|localhost):8000(?=/|$)")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)


def commands(block):
    """The commands of a block, each as its words; a quoted text may go over several lines."""
    text = ""
    for line in block.replace("\\\n", " ").splitlines():
        text += line + "\n"
        try:
            words = shlex.split(text, comments=True)
        except ValueError:  # a quotation is still open
            continue
        text = ""
        if words:
            yield words


EXAMPLES = [words for block in BLOCKS for words in commands(block) if words[0] == "curl"]

# The least members of an answer, by path.
KEYS = {
    "/generate": {"id", "model", "text", "generated_text", "finish_reason", "seed", "served_by"},
    "/generate/stream": {"e2el_s", "output_tokens", "finish_reason"},
    "/tokenize": {"tokens", "pieces", "count"},
    "/detokenize": {"text"},
    "/workers": {"workers"},
    "/v1/models": {"object", "data"},
    "/v1/completions": {"id", "object", "created", "model", "choices", "usage"},
    "/v1/chat/completions": {"id", "object", "created", "model", "choices", "usage"},
}


def routes():
    """(method, path) of the gateway's own table; {id} stands for a name."""
    source = (ROOT / "gateway/api/routes/table.c").read_text()
    return re.findall(r'\{"(GET|POST)", "(/[^"]*)"', source)


def pattern_of(path):
    return re.sub(r"\\\{\w+\\\}", "[^/`]+", re.escape(path))


def url_at(argv):
    return next(i for i, word in enumerate(argv) if SERVER.match(word))


def path_of(argv):
    return SERVER.sub("", argv[url_at(argv)]).split("?")[0] or "/"


def body_of(argv):
    return next((word for flag, word in zip(argv, argv[1:]) if flag in ("-d", "--data", "--json")),
                "")


def method_of(argv):
    for flag in "-X", "--request":
        if flag in argv:
            return argv[argv.index(flag) + 1]
    return "POST" if body_of(argv) else "GET"


def is_example_of(argv, method, path):
    return method_of(argv) == method and re.fullmatch(pattern_of(path), path_of(argv))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    files = tmp_path_factory.mktemp("files") / "stored"
    with Fleet(gateway_args=["--chat-template", "chatml", "--files-dir", files]) as started:
        yield started
        started.wait_all_free()


# The secrets of earlier examples' answers, by the word that stands for them.
SECRETS = {}
SHOWN_IN = {"RESPONSE": r'"id": ?"(resp-[0-9a-f]{32})"', "STREAM": r"^id: ([0-9a-f]{32})-1$",
            "CONVERSATION": r'"id": ?"(conv_[0-9a-f]{32})"', "ITEM": r'"id": ?"(msg_[0-9a-f]{32})"',
            "FILE": r'"id": ?"(file-[0-9a-f]{32})"', "BATCH": r'"id": ?"(batch_[0-9a-f]{32})"',
            "MESSAGES": r'"id": ?"(msgbatch_[0-9a-f]{32})"'}


# The fleet's model tells stories: these say which models they need.
OF_CODE_MODELS = ("/infill", "/v1/fim/completions")
OF_RERANKERS = ("/rerank", "/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking", "/score",
                "/v1/score")
OF_ADAPTERS = ("/v1/load_lora_adapter", "/v1/unload_lora_adapter")


def run(fleet, argv):
    """(content type, body) of an example, which must succeed if it is for any model."""
    argv, path = list(argv), path_of(argv)
    for word, secret in SECRETS.items():
        argv = [text.replace(word, secret) for text in argv]
    argv[url_at(argv)] = SERVER.sub(f"http://127.0.0.1:{fleet.port}", argv[url_at(argv)])

    def answered():
        done = subprocess.run([*argv, "--silent", "--show-error", "--write-out",
                               "\n%{http_code} %{content_type}"],
                              capture_output=True, text=True, timeout=LONG_S)
        assert done.returncode == 0, done.stderr
        return done if "batch_not_over" not in done.stdout else None
    done = wait_for(answered, "the batch")
    body, _, last = done.stdout.rpartition("\n")
    status, _, content_type = last.partition(" ")
    if path in OF_CODE_MODELS:
        assert status in ("400", "404", "501") and "token is missing" in body, done.stdout
        return content_type, body
    if path in OF_RERANKERS:
        assert status in ("400", "422") and "it is no reranker" in body, done.stdout
        return content_type, body
    if path in OF_ADAPTERS:
        assert status in ("400", "404") and ("--enable-lora" in body or "no adapter" in body)
        return content_type, body
    assert status == "200", done.stdout
    for word, pattern in SHOWN_IN.items():
        if shown := re.search(pattern, body, re.M):
            SECRETS[word] = shown[1]
    return content_type, body


def check_stream(path, body):
    events = list(read_events(body.encode().splitlines(keepends=True)))
    if path.startswith("/v1/responses"):
        assert events[-1].name in ("response.completed", "response.incomplete")
    elif path.startswith("/v1/"):
        assert events[-1].data == "[DONE]" and len(events) > 2
        assert json.loads(events[0].data)["choices"]
    elif path == "/events":
        assert events[0].name == "fleet" and len(events[0].json()["workers"]) == 2
    elif path == "/generate_stream":
        assert json.loads(events[-1].data)["generated_text"] and len(events) > 2
    else:
        assert events[0].name == "meta" and events[-1].name == "summary"
        assert KEYS[path] <= set(events[-1].json())


@pytest.mark.parametrize("argv", EXAMPLES, ids=lambda argv: f"{method_of(argv)} {path_of(argv)}")
def test_an_example_works(fleet, argv):
    path = path_of(argv)
    content_type, body = run(fleet, argv)
    if content_type.startswith("text/event-stream"):
        check_stream(path, body)
    elif content_type.startswith("application/json"):
        answer = json.loads(body)
        if answer == [] and path == "/lora-adapters":
            return
        if isinstance(answer, list):
            answer = answer[0]
        keys = {"results", "input"} if "results" in answer else KEYS.get(path, set())
        if path == "/generate" and '"inputs"' in body_of(argv):
            keys = {"generated_text", "details"}
        elif path == "/generate" and '"sampling_params"' in body_of(argv):
            keys = {"text", "meta_info"}
        assert answer and keys <= set(answer)
    else:
        assert body.strip() or path in ("/api/copy", "/api/delete")


def test_every_route_has_an_example():
    # Draining would end the fleet.
    table = [route for route in routes() if route != ("POST", "/workers/{id}/drain")]
    assert len(table) >= 11
    without = [r for r in table if not any(is_example_of(argv, *r) for argv in EXAMPLES)]
    assert not without, f"docs/using.md has no curl example of {without}"


def test_explaining_and_streaming_a_chat_are_among_them():
    assert any('"explain"' in body_of(argv) for argv in EXAMPLES)
    assert any('"stream"' in body_of(argv) for argv in EXAMPLES
               if path_of(argv) == "/v1/chat/completions")


README = (ROOT / "README.md").read_text()
TEXT = re.sub(r"\s+", " ", re.sub(r"^```.*?^```$", " ", README, flags=re.MULTILINE | re.DOTALL))
SHOWN = [words for block in re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
         for words in commands(block)]
LOCAL = [words for words in SHOWN if words[0] == "deploy/local"]
LOCAL += [shlex.split(code) for code in re.findall(r"`(deploy/local [^`]+)`", TEXT)]


def test_a_fleet_goes_through_the_readmes_commands(tmp_path):
    """Runs them in order with its own state, port and programs, and leaves nothing behind."""
    port = free_port()
    env = {**os.environ, "BATON_STATE": str(tmp_path), "BATON_PORT": str(port),
           "BATON_URL": f"http://127.0.0.1:{port}", "HOME": str(tmp_path), **PATIENT}

    def local(*words):
        return subprocess.run([ROOT / "deploy/local", *words, "--bin", BIN], env=env, cwd=ROOT,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=LONG_S)

    assert {words[1] for words in LOCAL} >= {"up", "run", "chat", "down"}, LOCAL
    try:
        for words in LOCAL:
            foreground = words[1] == "up" and "--detach" not in words
            done = local(*words[1:], *(["--detach"] if foreground else []))
            assert done.returncode == 0, (words, done.stdout, done.stderr)
            assert words[1] != "run" or done.stdout.strip(), done.stderr
    finally:
        local("down")


def test_no_other_command_stands_in_the_readme():
    """One that no test runs: curl and deploy/local are run here, and tests/run runs this."""
    assert {words[0] for words in SHOWN} <= {"curl", "deploy/local", "tests/run"}, SHOWN
