"""Several models behind one gateway: each answers as a fleet of its own does, whatever becomes of
the workers of the others."""
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from baton_program import Up, baton
from fleet import MODEL, ROOT, Fleet, Stream, wait_for
from lora_files import LLAMA, write_peft
from programs import refusal

FIXTURES = ROOT / "tests/fixtures"
TEMPLATE = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant]"
LONG = dict(max_tokens=200, temperature=0, ignore_eos=True)
# By name: a path, a body without its model, and the text in the answer.
REQUESTS = {
    "native": ("/generate", dict(prompt="Once upon a time", max_new_tokens=12, temperature=0),
               lambda a: a["text"]),
    "tgi": ("/generate",
            dict(inputs="Once", parameters=dict(max_new_tokens=9, seed=3, temperature=0.9)),
            lambda a: a["generated_text"]),
    "completions": ("/v1/completions", dict(prompt=["Once", "The"], max_tokens=9, temperature=0),
                    lambda a: [c["text"] for c in a["choices"]]),
    "chat": ("/v1/chat/completions",
             dict(messages=[dict(role="user", content="Hi")], max_tokens=9, seed=5),
             lambda a: a["choices"][0]["message"]["content"]),
    "grammar": ("/v1/completions", dict(prompt="A", max_tokens=9, grammar='root ::= [a-z]{9}'),
                lambda a: a["choices"][0]["text"].isalpha()),
    "responses": ("/v1/responses", dict(input="Hi", max_output_tokens=9, temperature=0),
                  lambda a: a["output"][0]["content"][0]["text"]),
    "anthropic": ("/v1/messages", dict(messages=[dict(role="user", content="Hi")], max_tokens=9,
                                       temperature=0), lambda a: a["content"][0]["text"]),
    "ollama": ("/api/chat", dict(messages=[dict(role="user", content="Hi")], stream=False,
                                 options=dict(num_predict=9, temperature=0)),
               lambda a: a["message"]["content"]),
    "llama.cpp": ("/completion", dict(prompt="Once", n_predict=9, temperature=0),
                  lambda a: a["content"]),
    "tokens": ("/tokenize", dict(text="Once upon " * 2500), lambda a: a["tokens"]),
    "vectors": ("/v1/embeddings", dict(input=["Once", "twice"]),
                lambda a: [entry["embedding"] for entry in a["data"]]),
}
OF_ENCODERS = ["tokens", "vectors"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """{name: its directory}. The twin differs from the story model in its weights alone."""
    folder = tmp_path_factory.mktemp("models")
    for name, source in dict(tale=MODEL, twin=MODEL, qwen=FIXTURES / "models/qwen3").items():
        shutil.copytree(source, folder / name)
        (folder / name / "chat_template.jinja").write_text(TEMPLATE)
    weights = bytearray((folder / "twin/model.safetensors").read_bytes())
    weights[2 << 20:3 << 20] = bytes(1 << 20)
    (folder / "twin/model.safetensors").write_bytes(weights)
    return {name: folder / name for name in ("tale", "twin", "qwen")} | {
        "bert": FIXTURES / "encoders/bert-mean"}


class Client(Fleet):
    """Asks a gateway that another program has started."""

    def __init__(self, port):
        self.port, self.headers = port, {}


def ask(fleet, kind, **more):
    path, body, read = REQUESTS[kind]
    return read(fleet.post(path, {**body, **more}))


def kinds_of(name):
    return OF_ENCODERS if name == "bert" else REQUESTS


@pytest.fixture(scope="module")
def expected(models):
    """{(name, kind): the text of a fleet of its own}"""
    found = {}
    for name, path in models.items():
        with Fleet(model=path, decode=name != "bert") as fleet:
            fleet.wait_ready(1)
            for kind in kinds_of(name):
                found[name, kind] = ask(fleet, kind)
            if name != "bert":
                found[name, "long"] = fleet.post("/v1/completions", dict(
                    LONG, prompt="Once"))["choices"][0]["text"]
    return found


def many(models, *args):
    more = ",".join(f"{name}={models[name]}" for name in ("twin", "qwen", "bert"))
    return Fleet(prefill=0, decode=0, model=models["tale"],
                 gateway_args=["--more-models", f"{more},also={models['qwen']}", *args])


def start_workers(fleet, models, names, suffix=""):
    for name in names:
        for role in ["prefill"] if name == "bert" else ["prefill", "decode"]:
            fleet.start_worker(role, f"{name}-{role}{suffix}", model=models[name])
            fleet.wait_worker(f"{name}-{role}{suffix}")


@pytest.fixture(scope="module")
def fleet(models, tmp_path_factory):
    with many(models, "--files-dir", tmp_path_factory.mktemp("files")) as started:
        start_workers(started, models, models)
        yield started


def test_each_answers_as_a_fleet_of_its_own(fleet, expected):
    with ThreadPoolExecutor(8) as pool:
        asked = {key: pool.submit(ask, fleet, key[1], model=key[0])
                 for key in expected if key[1] != "long"}
        assert {key: future.result() for key, future in asked.items()} == {
            key: text for key, text in expected.items() if key[1] != "long"}
    assert expected["tale", "native"] != expected["twin", "native"]
    for kind in REQUESTS:  # without a model, and with one in the query
        assert ask(fleet, kind) == expected["tale", kind]
        path, body, read = REQUESTS[kind]
        assert read(fleet.post(f"{path}?model=also", body)) == expected["qwen", kind]
    assert ask(fleet, "ollama", model="qwen:latest") == expected["qwen", "ollama"]


def test_no_request_reaches_workers_of_another_model(fleet, models):
    before = {worker["id"]: worker["routed"] for worker in fleet.fleet()}
    for _ in range(4):
        ask(fleet, "native", model="qwen")
        ask(fleet, "vectors", model="bert")
    routed = {worker["id"]: worker["routed"] - before[worker["id"]] for worker in fleet.fleet()}
    assert routed == {**dict.fromkeys(before, 0), "qwen-prefill": 4, "qwen-decode": 4,
                      "bert-prefill": 8}
    assert {worker["id"]: worker["served_model"] for worker in fleet.fleet()} == {
        name: name.split("-")[0] for name in before}


def test_the_lists_name_every_model_and_a_query_chooses_one(fleet, models):
    names = ["tale", "twin", "qwen", "also", "bert"]

    def listed(path, read):
        return [read(entry) for entry in fleet.request("GET", path)[1][
            "data" if path.startswith("/v1") else "models"]]
    assert listed("/v1/models", lambda m: m["id"]) == names
    assert listed("/v1/models?model=qwen", lambda m: m["id"]) == ["qwen", "also"]
    for path in "/api/tags", "/api/ps":
        assert listed(path, lambda m: m["name"]) == [f"{name}:latest" for name in names]
    assert fleet.request("GET", "/v1/models/also")[1]["aliases"] == ["qwen", "also"]
    assert fleet.request("GET", "/props?model=qwen")[1]["model_alias"] == "qwen"
    assert fleet.request("GET", "/info?model=bert")[1]["model_id"] == "bert"
    assert fleet.post("/api/show", dict(name="bert"))["capabilities"] == ["embedding"]
    assert [w["id"] for w in fleet.request("GET", "/workers?model=bert")[1]["workers"]] == [
        "bert-prefill"]
    ready = fleet.request("GET", "/ready")[1]
    assert [(m["model"], m["ready"]) for m in ready["models"]] == [
        (name, True) for name in models]
    health = fleet.request("GET", "/health?detail=1&model=bert")[1]
    assert health["all_ok"] and {check["model"] for check in health["checks"]} == {"bert"}
    metrics = fleet.metrics()
    for name in models:
        assert metrics[f'baton_requests_open{{model="{name}",state="QUEUED"}}'] == 0
        assert metrics[f'baton_requests_total{{model="{name}",outcome="ok"}}'] > 0
    assert "baton_http_requests_total" in metrics


def test_a_name_that_none_has_is_refused_with_the_list(fleet):
    for path, body, _ in REQUESTS.values():
        answer = fleet.post(path, {**body, "model": "other"}, 404)
        assert '"tale", "twin", "qwen", "bert" are served here' in json.dumps(answer).replace(
            "\\", ""), answer
    for path in "/props", "/workers", "/v1/models", "/metrics":
        assert fleet.request("GET", f"{path}?model=other")[0] == 404
    assert fleet.request("GET", "/v1/models/other")[0] == 404


def test_batches_streams_and_stored_responses_keep_their_model(fleet, expected):
    lines = [json.dumps(dict(custom_id=name, method="POST", url="/v1/completions",
                             body=dict(REQUESTS["completions"][1], model=name)))
             for name in ("tale", "qwen", "twin", "other")]
    form = "multipart/form-data; boundary=xyz"
    contents = "\n".join(lines)
    file = fleet.request("POST", "/v1/files", (
        '--xyz\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        '--xyz\r\ncontent-disposition: form-data; name="file"; filename="in"\r\n\r\n'
        f"{contents}\r\n--xyz--\r\n"), {"Content-Type": form})[1]
    batch = fleet.post("/v1/batches", dict(input_file_id=file["id"], completion_window="24h",
                                           endpoint="/v1/completions"))
    path = f"/v1/batches/{batch['id']}"
    wait_for(lambda: fleet.request("GET", path)[1]["status"] == "completed", "the batch")
    batch = fleet.request("GET", path)[1]
    text = fleet.request("GET", f"/v1/files/{batch['output_file_id']}/content")[1]
    got = {each["custom_id"]: each["response"]["body"] for each in map(json.loads,
                                                                       text.splitlines())}
    for name in "tale", "qwen", "twin":
        assert REQUESTS["completions"][2](got[name]) == expected[name, "completions"]
    assert batch["request_counts"] == dict(total=4, completed=3, failed=1)

    stream = Stream(fleet.port, dict(LONG, model="qwen", prompt="Once", stream=True),
                    path="/v1/completions", headers={"x-baton-resumable": "true"})
    streamed = "".join(event.json()["choices"][0]["text"] for event in stream.events
                       if event.data != "[DONE]" and event.json()["choices"])
    assert streamed == expected["qwen", "long"]

    first = fleet.post("/v1/responses", dict(input="Hi", model="qwen", max_output_tokens=9,
                                             temperature=0))
    assert first["model"] == "qwen"
    again = fleet.request("GET", f"/v1/responses/{first['id']}")[1]
    assert again["output"] == first["output"] and again["model"] == "qwen"
    other = fleet.post("/v1/responses", dict(previous_response_id=first["id"], input="And?",
                                             model="twin", max_output_tokens=9))
    assert other["model"] == "twin"


def test_a_further_name_belongs_to_the_model_that_it_copies(fleet, expected):
    for path, body in (("/api/copy", {"source": "twin", "destination": "double"}),
                       ("/api/create", {"from": "qwen:latest", "model": "queen"})):
        assert fleet.request("POST", path, body)[0] == 200
    for kind in "completions", "tokens", "responses":
        assert ask(fleet, kind, model="double") == expected["twin", kind]
        assert ask(fleet, kind, model="queen") == expected["qwen", kind]
    for destination in "tale", "queen":  # names of others
        status, answer, _ = fleet.request("POST", "/api/copy", {"source": "twin",
                                                                "destination": destination})
        assert status == 400 and "the name of another model" in answer["error"]
    assert fleet.request("POST", "/api/copy", {"source": "x", "destination": "y"})[0] == 404
    for name, status in ("double", 200), ("queen", 200), ("queen", 404), ("also", 400):
        assert fleet.request("DELETE", "/api/delete", {"model": name})[0] == status


def test_killed_and_drained_workers_of_one_leave_the_others_alone(models, expected):
    with many(models) as fleet, ThreadPoolExecutor(8) as pool:
        start_workers(fleet, models, ["tale", "qwen"])

        def start():
            return {name: [pool.submit(fleet.post, "/v1/completions", dict(
                LONG, prompt="Once", model=name)) for _ in range(3)] for name in ("tale", "qwen")}

        def texts(asked):
            return {name: {future.result()["choices"][0]["text"] for future in futures}
                    for name, futures in asked.items()}
        wanted = {name: {expected[name, "long"]} for name in ("tale", "qwen")}
        asked = start()
        start_workers(fleet, models, ["qwen"], "-2")
        fleet.workers["qwen-decode"].kill()
        fleet.workers["qwen-prefill"].kill()
        assert texts(asked) == wanted
        asked = start()
        start_workers(fleet, models, ["qwen"], "-3")
        for role in "prefill", "decode":
            status, _, _ = fleet.request("POST", f"/workers/qwen-{role}-2/drain", "")
            assert status == 202
        assert texts(asked) == wanted
        assert 'migrations=' in fleet.gateway.text()
        for line in fleet.gateway.text().splitlines():
            if " ev=request " in line and "prefill=tale" in line:
                assert "decode=tale-decode" in line and "migrations=0" in line, line

        for name in [name for name in fleet.workers if name.startswith("qwen")]:
            fleet.workers[name].kill()
        wait_for(lambda: len(fleet.fleet()) == 2, "the workers of qwen to be gone")
        refused = fleet.post("/v1/completions", dict(prompt="Once", model="qwen"), 503)
        assert 'model "qwen": no prefill worker is ready' in refused["error"]["message"]
        assert ask(fleet, "native", model="tale") == expected["tale", "native"]
        ready = fleet.request("GET", "/ready")
        assert ready[0] == 200 and [m["ready"] for m in ready[1]["models"]] == [
            True, False, False, False]
        assert fleet.request("GET", "/ready?model=qwen")[0] == 503


def test_workers_join_by_their_model_and_ids_are_unique(models):
    with many(models) as fleet:
        start_workers(fleet, models, ["tale"])
        stranger = fleet.start_worker("decode", "stranger", model=FIXTURES / "models/llama")
        wait_for(lambda: 'the worker has "llama"; served here: "tale", "twin"'
                 in stranger.text().replace("\\", ""), "the refusal")
        stranger.kill()
        name = "tale-prefill"
        process = fleet.workers[name]
        double = fleet.start_worker("prefill", name, model=models["qwen"])
        wait_for(lambda: f'the id "{name}" is in use' in double.text().replace("\\", ""),
                 "the refusal of the double")
        double.kill()
        fleet.workers[name] = process


def test_any_other_name_is_for_the_model_that_takes_any(models, expected):
    with many(models, "--served-model-name", "tale,*") as fleet:
        start_workers(fleet, models, ["tale"])
        for name in "gpt-4", "bert-base", "tale:latest":
            assert ask(fleet, "native", model=name) == expected["tale", "native"]
        for path, name in ("/generate", "qwen"), ("/api/generate", "qwen:latest"):
            refused = fleet.post(path, dict(model=name, prompt="Once"), 503)
            assert "no prefill worker is ready" in json.dumps(refused)


def test_adapters_lead_to_their_model(tmp_path, models):
    with Fleet(prefill=0, decode=0, model=models["tale"],
               gateway_args=["--more-models", f"llama={LLAMA}"]) as fleet:
        start_workers(fleet, models, ["tale"])
        for role in "prefill", "decode":
            fleet.start_worker(role, f"llama-{role}", ["--enable-lora"], model=LLAMA)
            fleet.wait_worker(f"llama-{role}")
        story = dict(lora_name="story", lora_path=str(write_peft(tmp_path / "story", 1)))

        def text(name):
            return fleet.generate(model=name, prompt=[5, 6, 7], max_new_tokens=8, temperature=0,
                                  ignore_eos=True)["text"]
        plain = text("llama")
        refused = fleet.post("/v1/load_lora_adapter", story, 400)
        assert "tale-" in refused["error"]["message"]  # of the first model, which takes none
        story["base_model_name"] = "llama"
        fleet.post("/v1/load_lora_adapter", story)
        assert text("story") == text("llama:story") != plain == text("llama")
        for name in "tale", "llama", "story":
            fleet.post("/v1/load_lora_adapter", {**story, "lora_name": name}, 400)
        listed = {m["id"]: m["parent"] for m in fleet.request("GET", "/v1/models")[1]["data"]}
        assert listed == dict(tale=None, llama=None, story="llama")
        fleet.post("/api/copy", dict(source="tale", destination="story"), 400)
        assert [a["name"] for a in fleet.request("GET", "/lora-adapters?model=llama")[1]] == [
            "story"]
        assert fleet.request("GET", "/lora-adapters")[1] == []
        fleet.post("/generate", dict(model="tale:story", prompt="Once"), 404)
        fleet.post("/v1/unload_lora_adapter", dict(lora_name="story"))
        fleet.post("/generate", dict(model="story", prompt="Once"), 404)


def test_a_gateway_without_weights_goes_by_the_names_of_files(tmp_path, models, expected):
    bare = {name: shutil.copytree(models[name], tmp_path / name,
                                  ignore=shutil.ignore_patterns("*.safetensors"))
            for name in ("tale", "twin")}
    copy = shutil.copytree(models["twin"], tmp_path / "copy")
    with Fleet(prefill=0, decode=0, model=bare["tale"],
               gateway_args=["--more-models", f"twin={bare['twin']}"]) as fleet:
        stranger = fleet.start_worker("decode", "stranger", model=copy)
        wait_for(lambda: '"copy" may be "tale" or "twin"' in stranger.text().replace("\\", ""),
                 "the refusal")
        stranger.kill()
        start_workers(fleet, models, ["twin", "tale"])
        for name in bare:
            assert ask(fleet, "native", model=name) == expected[name, "native"]


def test_baton_up_starts_workers_for_each(tmp_path, models, expected):
    named = tmp_path / "named"
    shutil.copytree(models["qwen"], named / "Small")
    with Up(tmp_path / "state", "--model", models["tale"], "--models", named, "--prefill", 2,
            "--more-models", f"qwen=small,{models['bert']}") as up:
        up.wait_ready()
        assert "Baton is ready: 6 prefill and 2 decode worker(s), model tale and 2 more" in "".join(
            up.seen)
        served = Client(up.port)
        for name in "tale", "qwen":
            assert ask(served, "native", model=name) == expected[name, "native"]
        assert ask(served, "vectors", model="bert-mean") == expected["bert", "vectors"]
        status = baton("status", "--state", up.state)
        assert status.returncode == 0
        rows = [line.split() for line in status.stdout.splitlines()[1:]]
        assert {row[0]: row[-1] for row in rows if row[0] != "gateway"} == {
            "NAME": "MODEL", "prefill-0": "tale", "prefill-1": "tale", "prefill-2": "qwen",
            "prefill-3": "qwen", "prefill-4": "bert-mean", "prefill-5": "bert-mean",
            "decode-0": "tale", "decode-1": "qwen"}


@pytest.mark.parametrize("more, message", [
    ("none", "--more-models"), ("a,,b", "--more-models"), ("=x", "a name must have 1 to 128 bytes"),
    (",".join(f"m{i}={MODEL}" for i in range(16)), "--more-models: at most 15 models"),
])
def test_baton_up_names_what_is_wrong_with_the_list(tmp_path, more, message):
    done = baton("up", "--state", tmp_path / "state", "--more-models", more)
    assert done.returncode == 1 and message in done.stderr, done.stderr
    done = baton("up", "--state", tmp_path / "state", "--more-models", f"b={MODEL}", "--memory",
                 1 << 32)
    assert done.returncode == 1 and "--memory: not together with --more-models" in done.stderr


@pytest.mark.parametrize("more, message", [
    ("tale={0}/models/qwen3", 'two models are called "tale"'),
    ("b={0}/models/qwen3,b={0}/models/llama", 'two models are called "b"'),
    ("b={1}", '"tale" and "b" are the same model'),
    ("b=", '"b" must be NAME=PATH or PATH'),
    ("*={0}/models/qwen3", "a name must have 1 to 128 bytes and not be *"),
    ("b={0}/none", "--more-models {0}/none: "),
])
def test_a_list_that_makes_no_sense_is_refused_at_the_start(more, message):
    said = refusal("baton-gateway", "--more-models", more.format(FIXTURES, MODEL), model=MODEL)
    assert message.format(FIXTURES) in said.replace("\\", ""), said
