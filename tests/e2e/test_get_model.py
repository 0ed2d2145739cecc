"""deploy/get-model against a server of our own with the Hub's layout."""
import hashlib
import http.server
import json
import os
import random
import threading

import pytest
from fleet import LONG_S, ROOT
from programs import run

GET_MODEL = ROOT / "deploy/get-model"
AT = "/distilbert/distilgpt2/resolve/2290a62682d06624634c1f46a6ad5be0f47f38aa/"
COMMIT = "c1d2" * 10


class Hub(http.server.ThreadingHTTPServer):
    """Serves `files`; so many answers break off half-way; `asked` records the requests."""

    def __init__(self, files, handler=None):
        super().__init__(("127.0.0.1", 0), handler or Handler)
        self.files, self.breaks, self.ranges_work, self.asked = files, 0, True, []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.token, self.moved, self.sums = None, False, {}


class Handler(http.server.BaseHTTPRequestHandler):
    at = AT

    def do_GET(self):
        hub, name = self.server, self.path.removeprefix(self.at)
        hub.asked.append((name, self.headers.get("Range")))
        if not self.path.startswith(self.at) or name not in hub.files:
            return self.send_error(404)
        self.send_file(hub, name)

    def send_file(self, hub, name):
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


class MetadataHandler(Handler):
    """The Hub's protocol: HEAD of a file tells its sum, large files are redirected to a storage."""

    def name(self):
        for repository in ("/Qwen/Qwen3-0.6B", "/Qwen/Qwen3-0.6B-GGUF"):
            for prefix in (f"{repository}/resolve/{COMMIT}/", f"{repository}/resolve/main/"):
                if self.path.startswith(prefix):
                    return self.path.removeprefix(prefix)
        return None

    def is_refused(self, name):
        if self.server.token and self.headers.get("Authorization") != f"Bearer {self.server.token}":
            self.send_error(401)
        elif name not in self.server.files:
            self.send_error(404)
        else:
            return False
        return True

    def do_HEAD(self):
        hub, name = self.server, self.name()
        if name is None and self.path.startswith("/moved/"):
            self.path = self.path.removeprefix("/moved")
            name = self.name()
        elif hub.moved:
            self.send_response(307)
            self.send_header("Location", "/moved" + self.path)
            return self.end_headers()
        if self.is_refused(name):
            return None
        body = hub.files[name]
        is_large = name.endswith((".safetensors", ".gguf"))
        blob = b"blob %d\0" % len(body) + body
        found = (hashlib.sha256(body) if is_large else hashlib.sha1(blob)).hexdigest()
        self.send_response(302 if is_large else 200)
        self.send_header("X-Repo-Commit", COMMIT)
        if is_large:
            self.send_header("Location", f"{hub.url}/storage/{name}")
            self.send_header("X-Linked-Size", str(len(body)))
            self.send_header("X-Linked-Etag", f'"{hub.sums.get(name, found)}"')
        else:
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'W/"{hub.sums.get(name, found)}"')
        self.end_headers()

    def do_GET(self):
        hub, name = self.server, self.name()
        if self.path == "/api/models/Qwen/Qwen3-0.6B/tree/main":
            listed = json.dumps([dict(type="file", path=name) for name in hub.files]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(listed)))
            self.end_headers()
            return self.wfile.write(listed)
        if self.path.startswith("/storage/"):
            name = self.path.removeprefix("/storage/")
            hub.asked.append((name, self.headers.get("Range")))
            return self.send_file(hub, name)
        if self.is_refused(name):
            return None
        if not name.endswith((".safetensors", ".gguf")):
            hub.asked.append((name, self.headers.get("Range")))
            return self.send_file(hub, name)
        self.send_response(302)
        self.send_header("Location", f"/storage/{name}")
        self.send_header("Content-Length", "0")
        return self.end_headers()


def serve(files, handler=None):
    server = Hub(files, handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def metadata_hub():
    shards = [f"model-{i:05}-of-00002.safetensors" for i in (1, 2)]
    index = {"weight_map": {f"layer.{i}": shard for i, shard in enumerate(shards * 2)}}
    server = serve({"config.json": b'{"model_type":"qwen3"}', "tokenizer.json": b"{}",
                    "generation_config.json": b'{"eos_token_id":1}',
                    "model.safetensors.index.json": json.dumps(index).encode(),
                    shards[0]: random.Random(8).randbytes(500_000),
                    shards[1]: random.Random(9).randbytes(300_000), "README.md": b"not asked for"},
                   MetadataHandler)
    yield server
    server.shutdown()


@pytest.fixture
def hub():
    files = {"config.json": b'{"model_type":"gpt2"}',
             "model.safetensors": random.Random(7).randbytes(3_000_000)}
    server = Hub(files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture
def sums(hub, tmp_path):
    path = tmp_path / "sums"
    path.write_text("".join(f"{hashlib.sha256(body).hexdigest()}  {name}\n"
                            for name, body in hub.files.items()))
    return path


def get_model(tmp_path, url, sums=None, timeout=LONG_S, extra=(), name="distilgpt2", token=None):
    command = [GET_MODEL, name, "--dir", tmp_path / "models", "--base-url", url, *extra]
    if sums:
        command += ["--checksums", sums]
    env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    env.pop("HF_TOKEN", None)
    if token:
        env["HF_TOKEN"] = token
    return run(*command, env=env, timeout=timeout)


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
    assert ((tmp_path / "models/distilgpt2/model.safetensors").read_bytes()
            == hub.files["model.safetensors"])


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
    assert ((tmp_path / "models/distilgpt2/model.safetensors").read_bytes()
            == hub.files["model.safetensors"])


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


@pytest.mark.parametrize("name", ["qwen3-0.6b", "Qwen/Qwen3-0.6B", "hf.co/Qwen/Qwen3-0.6B:Q8_0"])
def test_without_a_network_it_blames_nothing_else(tmp_path, name):
    refused = get_model(tmp_path, "http://127.0.0.1:1", name=name)
    assert refused.returncode == 1 and "cannot reach 127.0.0.1:1" in refused.stderr
    assert "has no" not in refused.stderr and refused.stderr.count("get-model:") == 1


def test_a_name_outside_the_directory_is_refused(hub, tmp_path):
    sums = tmp_path / "sums"
    sums.write_text(f"{'0' * 64}  ../config.json\n")
    refused = get_model(tmp_path, hub.url, sums)
    assert refused.returncode == 1 and "is no name" in refused.stderr and not hub.asked


# ---- models whose sums the Hub tells ----


def get_qwen(tmp_path, hub, **options):
    return get_model(tmp_path, hub.url, name=options.pop("name", "qwen3-0.6b"), **options)


def test_the_hubs_own_sums_check_every_file_of_one_commit(metadata_hub, tmp_path):
    done = get_qwen(tmp_path, metadata_hub)
    assert done.returncode == 0, done.stderr
    found = tmp_path / "models/qwen3-0.6b"
    assert "licence: Apache-2.0" in done.stdout and f"at {COMMIT[:12]}" in done.stdout
    for name, body in metadata_hub.files.items():
        assert (found / name).exists() == (name != "README.md")
        assert name == "README.md" or (found / name).read_bytes() == body
    lines = (found / "SHA256SUMS").read_text().splitlines()
    assert sorted(lines) == sorted(f"{hashlib.sha256(body).hexdigest()}  {name}"
                                   for name, body in metadata_hub.files.items()
                                   if name != "README.md")
    assert ({path.name for path in found.iterdir()} == set(metadata_hub.files) - {"README.md"}
            | {"SHA256SUMS"})


def test_one_file_of_weights_and_a_tokenizer_of_two_files_will_do(metadata_hub, tmp_path):
    files = metadata_hub.files
    for name in list(files):
        if "safetensors" in name or name == "tokenizer.json":
            del files[name]
    files.update({"model.safetensors": b"weights", "vocab.json": b"{}", "merges.txt": b"#"})
    done = get_qwen(tmp_path, metadata_hub)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "models/qwen3-0.6b/merges.txt").exists()


@pytest.mark.parametrize("name", ["model-00002-of-00002.safetensors", "config.json"])
def test_a_file_that_is_not_what_the_hub_says_is_thrown_away(metadata_hub, tmp_path, name):
    metadata_hub.sums[name] = "ab" * 20 if name == "config.json" else "abcd" * 16
    refused = get_qwen(tmp_path, metadata_hub)
    assert refused.returncode == 1 and f"{name} is corrupt" in refused.stderr
    assert not (tmp_path / "models/qwen3-0.6b").exists()
    metadata_hub.sums.clear()
    assert get_qwen(tmp_path, metadata_hub).returncode == 0


def test_a_shard_goes_on_where_it_stopped_at_the_commit_that_was_begun(metadata_hub, tmp_path):
    name = "model-00001-of-00002.safetensors"
    incomplete = tmp_path / "models/.qwen3-0.6b.incomplete"
    incomplete.mkdir(parents=True)
    (incomplete / "revision").write_text(COMMIT + "\n")
    body = metadata_hub.files[name]
    (incomplete / f"{name}.{hashlib.sha256(body).hexdigest()[:12]}.part").write_bytes(
        body[:200_000])
    done = get_qwen(tmp_path, metadata_hub)
    assert done.returncode == 0, done.stderr
    assert (name, "bytes=200000-") in metadata_hub.asked


def test_a_repository_is_found_by_its_own_name(metadata_hub, tmp_path):
    done = get_qwen(tmp_path, metadata_hub, name="Qwen/Qwen3-0.6B")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "models/Qwen3-0.6B/config.json").exists()


def test_a_repository_that_was_moved_is_followed(metadata_hub, tmp_path):
    metadata_hub.moved = True
    done = get_qwen(tmp_path, metadata_hub)
    assert done.returncode == 0, done.stderr


def test_a_licence_to_accept_is_said_and_the_token_is_sent(metadata_hub, tmp_path):
    metadata_hub.token = "secret"
    refused = get_qwen(tmp_path, metadata_hub)
    assert refused.returncode == 1
    assert "Accept the licence at" in refused.stderr and "HF_TOKEN" in refused.stderr
    assert "has no config.json" not in refused.stderr
    done = get_qwen(tmp_path, metadata_hub, token="secret", extra=["--send-token"])
    assert done.returncode == 0, done.stderr
    assert "secret" not in done.stdout + done.stderr


def test_a_mirror_gets_no_token_unless_told_so(metadata_hub, tmp_path):
    metadata_hub.token = "secret"
    refused = get_qwen(tmp_path, metadata_hub, token="secret")
    assert refused.returncode == 1 and "--send-token" in refused.stderr


# ---- GGUF files ----


def test_the_lists_gguf_file_of_a_model_arrives(metadata_hub, tmp_path):
    body = random.Random(11).randbytes(400_000)
    metadata_hub.files = {"Qwen3-0.6B-Q8_0.gguf": body, "README.md": b"not asked for"}
    done = get_qwen(tmp_path, metadata_hub, extra=["--gguf"])
    assert done.returncode == 0, done.stderr
    assert "licence: Apache-2.0" in done.stdout
    assert "deploy/local up --model" in done.stdout and "Qwen3-0.6B-Q8_0.gguf" in done.stdout
    (found,) = (tmp_path / "models").iterdir()
    assert found.name == "Qwen3-0.6B-Q8_0.gguf" and found.read_bytes() == body
    metadata_hub.asked.clear()
    again = get_qwen(tmp_path, metadata_hub, extra=["--gguf"])
    assert again.returncode == 0 and "there already" in again.stdout and not metadata_hub.asked


def test_all_parts_of_a_split_gguf_file_arrive(metadata_hub, tmp_path):
    names = [f"m-q4_k_m-{i:05}-of-00012.gguf" for i in range(1, 13)]
    metadata_hub.files = {name: random.Random(name).randbytes(1000) for name in names}
    done = get_qwen(tmp_path, metadata_hub, name="Qwen/Qwen3-0.6B", extra=["--file", names[0]])
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == names
    for name, body in metadata_hub.files.items():
        assert (tmp_path / "models" / name).read_bytes() == body


def test_a_gguf_file_that_is_not_what_the_hub_says_is_thrown_away(metadata_hub, tmp_path):
    metadata_hub.files = {"Qwen3-0.6B-Q8_0.gguf": b"GGUF"}
    metadata_hub.sums["Qwen3-0.6B-Q8_0.gguf"] = "abcd" * 16
    refused = get_qwen(tmp_path, metadata_hub, extra=["--gguf"])
    assert refused.returncode == 1 and "Qwen3-0.6B-Q8_0.gguf is corrupt" in refused.stderr
    assert not list((tmp_path / "models").glob("*.gguf"))


@pytest.mark.parametrize("name, extra, message", [
    ("mixtral-8x7b", ["--gguf"], "no GGUF file of mixtral-8x7b"),
    ("Qwen/Qwen3-0.6B", ["--gguf"], "no GGUF file of Qwen/Qwen3-0.6B"),
    ("Qwen/Qwen3-0.6B", ["--file", "no.gguf"], "has no no.gguf at main"),
    ("Qwen/Qwen3-0.6B", ["--file", "../x.gguf"], "takes the name of a .gguf file")])
def test_a_gguf_file_that_is_not_there_is_named(metadata_hub, tmp_path, name, extra, message):
    refused = get_qwen(tmp_path, metadata_hub, name=name, extra=extra)
    assert refused.returncode == 1 and message in refused.stderr, refused.stderr


@pytest.mark.parametrize("name, file", [
    ("hf.co/Qwen/Qwen3-0.6B:Q8_0", "m-Q8_0.gguf"), ("Qwen/Qwen3-0.6B:q4_k_m", "m-Q4_K_M.gguf"),
    ("https://huggingface.co/Qwen/Qwen3-0.6B:F16", "m-F16-00001-of-00002.gguf")])
def test_a_gguf_file_is_found_by_its_kind(metadata_hub, tmp_path, name, file):
    names = ["m-Q8_0.gguf", "m-Q4_K_M.gguf", "mmproj-m-F16.gguf", "m-F16-00001-of-00002.gguf",
             "m-F16-00002-of-00002.gguf", "m-IQ4_XS.gguf"]
    metadata_hub.files = {name: random.Random(name).randbytes(1000) for name in names}
    done = get_qwen(tmp_path, metadata_hub, name=name)
    assert done.returncode == 0, done.stderr
    assert file in {path.name for path in (tmp_path / "models").iterdir()}
    refused = get_qwen(tmp_path, metadata_hub, name="hf.co/Qwen/Qwen3-0.6B:Q3_K")
    assert refused.returncode == 1 and "it has: m-Q8_0.gguf" in refused.stderr


@pytest.mark.parametrize("missing, message", [
    ("config.json", "has no config.json at main"),
    ("tokenizer.json", "has no tokenizer.json; a sentencepiece .model alone is not read"),
    ("model.safetensors.index.json", "has no weights as .safetensors"),
    ("model-00002-of-00002.safetensors",
     "lacks model-00002-of-00002.safetensors, which its index names")])
def test_what_a_repository_lacks_is_named(metadata_hub, tmp_path, missing, message):
    del metadata_hub.files[missing]
    refused = get_qwen(tmp_path, metadata_hub)
    assert refused.returncode == 1 and message in refused.stderr


def test_a_mirror_without_sums_is_refused(metadata_hub, tmp_path):
    metadata_hub.sums["config.json"] = "5f-12"
    refused = get_qwen(tmp_path, metadata_hub)
    assert refused.returncode == 1 and "the server gives no sum for config.json" in refused.stderr


def test_the_list_says_what_fits_this_machine():
    listed = run(GET_MODEL, "--list", check=True).stdout
    rows = {line.split()[0]: line for line in listed.splitlines()}
    assert len(rows) > 40 and "free memory" in listed
    assert "Apache-2.0" in rows["qwen3-0.6b"] and " GB" in rows["qwen3-0.6b"]
    assert "Llama-3.1" in rows["llama-3.1-8b"] and "5.4 GB" in rows["llama-3.1-8b"]
    assert " -  " in rows["mixtral-8x7b"]


@pytest.mark.parametrize("arguments, message", [
    (["nobodys"], "no model is called 'nobodys'; there are: distilgpt2"),
    (["llama3.2"], "no model is called 'llama3.2'; did you mean: llama-3.2-1b, llama-3.2-3b?"),
    (["qwen3:8b"], "qwen3-8b?"), (["smolm2-135m"], "did you mean: smollm2-135m"),
    (["gpt2", "--dri", "/tmp"], "unknown option --dri"), (["gpt2", "--dir"], "--dir needs a value"),
    (["gpt2", "distilgpt2"], "not also 'distilgpt2'"),
    (["gpt2", "--checksums", "/nowhere"], "--checksums /nowhere: cannot be read")])
def test_a_bad_option_is_named(arguments, message):
    refused = run(GET_MODEL, *arguments)
    assert refused.returncode == (2 if "option" in message else 1) and message in refused.stderr


@pytest.mark.parametrize("name", ["distilgpt2", "gpt2", "gpt2-medium"])
def test_the_pinned_vocabulary_is_the_one_our_tokenizer_is_tested_with(name):
    pinned = run(GET_MODEL, name, "--list", check=True).stdout
    for file in ("vocab.json", "merges.txt"):
        body = (ROOT / "tests/golden/gpt2-tokenizer" / file).read_bytes()
        assert f"{hashlib.sha256(body).hexdigest()}  {file}" in pinned
    assert pinned.count("\n") == 6
