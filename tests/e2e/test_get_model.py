"""deploy/get-model against a server of our own with the Hub's layout."""

import hashlib
import http.server
import os
import pathlib
import random
import subprocess
import threading

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
GET_MODEL = REPO / "deploy" / "get-model"
AT = "/distilbert/distilgpt2/resolve/2290a62682d06624634c1f46a6ad5be0f47f38aa/"


class Hub(http.server.ThreadingHTTPServer):
    """Serves `files`; so many answers break off half-way; `asked` records the requests."""

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.breaks, self.ranges_work, self.asked = files, 0, True, []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        hub, name = self.server, self.path.removeprefix(AT)
        hub.asked.append((name, self.headers.get("Range")))
        if not self.path.startswith(AT) or name not in hub.files:
            return self.send_error(404)
        body, start = hub.files[name], 0
        if self.headers.get("Range") and hub.ranges_work:
            start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                return self.send_error(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        body = body[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if hub.breaks and name == "model.safetensors":
            hub.breaks -= 1
            body = body[: len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def hub():
    files = {
        "config.json": b'{"model_type":"gpt2"}',
        "model.safetensors": random.Random(7).randbytes(3_000_000),
    }
    server = Hub(files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture
def sums(hub, tmp_path):
    path = tmp_path / "sums"
    path.write_text(
        "".join(f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in hub.files.items())
    )
    return path


def get_model(tmp_path, url, sums=None, timeout=60, extra=()):
    command = [GET_MODEL, "distilgpt2", "--dir", tmp_path / "models", "--base-url", url, *extra]
    if sums:
        command += ["--checksums", sums]
    env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout)


def of_weights(hub):
    return [byte_range for name, byte_range in hub.asked if name == "model.safetensors"]


def test_every_file_arrives_whole_and_the_second_run_asks_for_nothing(hub, sums, tmp_path):
    done = get_model(tmp_path, hub.url, sums)
    assert done.returncode == 0, done.stderr
    for name, body in hub.files.items():
        assert (tmp_path / "models/distilgpt2" / name).read_bytes() == body
    assert list((tmp_path / "models").iterdir()) == [tmp_path / "models/distilgpt2"]
    hub.asked.clear()
    again = get_model(tmp_path, hub.url, sums)
    assert again.returncode == 0 and "there already" in again.stdout and not hub.asked


def test_a_broken_transfer_goes_on_where_it_stopped(hub, sums, tmp_path):
    hub.breaks = 2
    done = get_model(tmp_path, hub.url, sums)
    assert done.returncode == 0, done.stderr
    assert of_weights(hub) == [None, "bytes=1500000-", "bytes=2250000-"]
    assert (tmp_path / "models/distilgpt2/model.safetensors").read_bytes() == hub.files[
        "model.safetensors"
    ]


def test_an_interrupted_command_goes_on_where_it_stopped(hub, sums, tmp_path):
    incomplete = tmp_path / "models/.distilgpt2.incomplete"
    incomplete.mkdir(parents=True)
    body = hub.files["model.safetensors"]
    part = f"model.safetensors.{hashlib.sha256(body).hexdigest()[:12]}.part"
    (incomplete / part).write_bytes(body[:1_000_000])
    done = get_model(tmp_path, hub.url, sums)
    assert done.returncode == 0, done.stderr
    assert of_weights(hub) == ["bytes=1000000-"]
    assert (tmp_path / "models/distilgpt2/model.safetensors").read_bytes() == body


def test_a_server_without_ranges_is_read_from_the_start(hub, sums, tmp_path):
    hub.breaks, hub.ranges_work = 1, False
    done = get_model(tmp_path, hub.url, sums)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "models/distilgpt2/model.safetensors").read_bytes() == hub.files[
        "model.safetensors"
    ]


def test_a_corrupt_file_is_refused_and_thrown_away(hub, sums, tmp_path):
    good = hub.files["model.safetensors"]
    hub.files["model.safetensors"] = b"\0" + good[1:]
    refused = get_model(tmp_path, hub.url, sums)
    assert refused.returncode == 1 and "is corrupt" in refused.stderr
    assert not (tmp_path / "models/distilgpt2").exists()
    hub.files["model.safetensors"] = good
    assert get_model(tmp_path, hub.url, sums).returncode == 0


def test_another_file_than_the_pinned_one_is_refused(hub, tmp_path):
    refused = get_model(tmp_path, hub.url)
    assert refused.returncode == 1 and "config.json is corrupt" in refused.stderr


def test_a_missing_file_is_named(hub, sums, tmp_path):
    del hub.files["model.safetensors"]
    refused = get_model(tmp_path, hub.url, sums)
    assert refused.returncode == 1 and "model.safetensors with status 404" in refused.stderr


def test_without_a_network_it_says_what_to_do(tmp_path, sums):
    refused = get_model(tmp_path, "http://nowhere.invalid", sums)
    assert refused.returncode == 1
    assert "cannot reach nowhere.invalid" in refused.stderr and "--base-url" in refused.stderr


def test_a_name_outside_the_directory_is_refused(hub, tmp_path):
    sums = tmp_path / "sums"
    sums.write_text(f"{'0' * 64}  ../config.json\n")
    refused = get_model(tmp_path, hub.url, sums)
    assert refused.returncode == 1 and "is no name" in refused.stderr and not hub.asked


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["gpt9"], "no model is called 'gpt9'; there are: distilgpt2"),
        (["gpt2", "--dri", "/tmp"], "unknown option --dri"),
        (["gpt2", "--dir"], "--dir needs a value"),
        (["gpt2", "distilgpt2"], "not also 'distilgpt2'"),
        (["gpt2", "--checksums", "/nowhere"], "--checksums /nowhere: cannot be read"),
    ],
)
def test_a_bad_option_is_named(arguments, message):
    refused = subprocess.run([GET_MODEL, *arguments], capture_output=True, text=True)
    assert refused.returncode == 1 and message in refused.stderr


@pytest.mark.parametrize("name", ["distilgpt2", "gpt2", "gpt2-medium"])
def test_the_pinned_vocabulary_is_the_one_our_tokenizer_is_tested_with(name):
    pinned = subprocess.run(
        [GET_MODEL, name, "--list"], capture_output=True, text=True, check=True
    ).stdout
    for file in ("vocab.json", "merges.txt"):
        body = (REPO / "tests/golden/gpt2-tokenizer" / file).read_bytes()
        assert f"{hashlib.sha256(body).hexdigest()}  {file}" in pinned
    assert pinned.count("\n") == 6
