"""LoRA adapters through gateway, prefill and decode workers: files, batches, prefixes, kills."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import Fleet, wait_for
from lora_files import LLAMA, write_gguf, write_peft
from test_gguf import convert

PROMPT = [11, 45, 7, 302, 99, 5, 81, 17, 260, 33] * 4
LONG = PROMPT * 2 + PROMPT[:20]  # of a context of 128
BODY = dict(prompt=PROMPT, max_tokens=24, temperature=0)


def ids(fleet, model=None, path="/v1/completions", **more):
    """The tokens of an answer, or their text."""
    body = {**BODY, **more, **({"model": model} if model else {})}
    return fleet.post(path, body)["choices"][0]["text"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    path = tmp_path_factory.mktemp("adapters")
    return {"one": write_peft(path / "one", 1), "two": write_peft(path / "two", 2),
            "same": write_gguf(path / "same.gguf", 1)}


def listed(files, *names):
    return ["--lora", ",".join(f"{name}={files[name]}" for name in names)]


def load(fleet, name, path, expected=200, **more):
    return fleet.post("/v1/load_lora_adapter", {"lora_name": name, "lora_path": str(path), **more},
                      expected, headers=fleet.operator)


def drop(fleet, name, expected=200):
    return fleet.post("/v1/unload_lora_adapter", {"lora_name": name}, expected,
                      headers=fleet.operator)


@pytest.fixture(scope="module")
def plain():
    """What the model says alone, in a fleet that knows no adapters."""
    with Fleet(model=LLAMA) as fleet:
        return ids(fleet)


@pytest.mark.parametrize("form", ["directory", "gguf"])
def test_each_request_has_its_own_adapter(tmp_path, files, plain, form):
    """A model of either form takes adapters of both."""
    model = LLAMA if form == "directory" else convert("llama", tmp_path)
    with Fleet(model=model, worker_args=listed(files, "one", "two", "same")) as fleet:
        assert ids(fleet) == plain
        said = {name: ids(fleet, name) for name in files}
        assert len({plain, said["one"], said["two"]}) == 3
        assert said["same"] == said["one"]  # the same numbers, as PEFT and as GGUF
        assert ids(fleet, "llama:two") == said["two"]
        for model, named in ("llama:two", "two"), ("one", "one"), ("llama", "llama"):
            assert fleet.post("/v1/completions", {**BODY, "model": model})["model"] == named
        models = fleet.request("GET", "/v1/models")[1]["data"]
        assert [(m["id"], m["parent"]) for m in models] == [
            ("llama", None), ("one", "llama"), ("same", "llama"), ("two", "llama")]
        assert fleet.request("GET", "/v1/models/two")[1]["parent"] == "llama"
        for worker in fleet.fleet():
            assert {adapter["name"] for adapter in worker["adapters"]} == set(files)
        # llama.cpp's list, and the scales: 0 is the model alone, -1 another adapter.
        adapters = {each["name"]: each["id"] for each in fleet.request("GET", "/lora-adapters")[1]}
        assert sorted(adapters) == list(adapters) == ["one", "same", "two"]
        assert ids(fleet, lora=[{"id": adapters["two"], "scale": 1}]) == said["two"]
        assert ids(fleet, lora=[{"name": "two", "scale": 0}]) == plain
        minus = ids(fleet, lora=[{"name": "two", "scale": -1}])
        assert minus not in (plain, said["two"])
        both = [{"name": "one", "scale": 0.5}, {"name": "two", "scale": 0.5}]
        assert ids(fleet, lora=both) not in (plain, said["one"], said["two"])
        # One batch of all of them says what each says alone.
        names = [None, "one", "two", None, "llama:one", "two", "same", None]
        with ThreadPoolExecutor(len(names)) as pool:
            assert list(pool.map(lambda name: ids(fleet, name), names)) == [
                said.get((name or "").split(":")[-1], plain) for name in names]
        # The defaults of requests that name none.
        fleet.post("/lora-adapters", [{"id": adapters["one"], "scale": 1}], headers=fleet.operator)
        assert ids(fleet) == said["one"] and ids(fleet, "two") == said["two"]
        fleet.post("/lora-adapters", [], headers=fleet.operator)
        assert ids(fleet) == plain


def test_clients_of_other_servers_name_adapters_in_their_ways(files):
    prompt = "Once upon a time"
    with Fleet(model=LLAMA, gateway_args=["--chat-template", "chatml"],
               worker_args=listed(files, "one", "two")) as fleet:
        for path, field, body in (
                ("/generate", "lora_path", {"text": prompt, "sampling_params":
                                            {"temperature": 0, "max_new_tokens": 9}}),
                ("/", "adapter_id", {"inputs": prompt, "max_new_tokens": 9}),
                ("/api/generate", "model", {"prompt": prompt, "stream": False, "raw": True,
                                            "options": {"temperature": 0, "num_predict": 9}}),
                ("/completion", "model", {"prompt": prompt, "n_predict": 9, "temperature": 0}),
                ("/v1/messages", "model", {"max_tokens": 9, "temperature": 0, "messages": [
                    {"role": "user", "content": prompt}]}),
                ("/v1/embeddings", "model", {"input": prompt})):
            def said(**names):
                status, answer, _ = fleet.request("POST", path, {**body, **names})
                assert status == 200, (path, names, answer)
                answer = answer[0] if isinstance(answer, list) else answer
                keys = {"text", "response", "content", "data", "generated_text"}
                return answer[(keys & set(answer)).pop()]
            texts = [said(), said(**{field: "one"}), said(**{field: "two"})]
            assert texts[0] != texts[1] != texts[2] != texts[0], path
            assert fleet.request("POST", path, {**body, field: "three"})[0] in (400, 404, 422), path
        assert fleet.post("/api/generate", {"model": "one:latest"})["model"]


@pytest.mark.parametrize("padding", [0, 20 << 10], ids=["small", "large"])
def test_texts_are_tokenized_by_an_adapters_name(files, padding):
    with Fleet(model=LLAMA, prefill=1, decode=1, worker_args=listed(files, "one")) as fleet:
        fleet.wait_ready(2)
        for path, body in ("/tokenize", {"text": "Once upon"}), ("/detokenize", {"tokens": [7, 8]}):
            def ask(model):
                text = json.dumps({**body, "model": model}) + " " * padding
                return fleet.request("POST", path, text)[:2]
            assert ask("one") == ask("llama:one") == ask("llama") and ask("one")[0] == 200
            for other in "two", "llama:two", "", "x" * 1000:
                status, answer = ask(other)
                assert status == 404 and answer["error"]["code"] == "model_not_found", other


def cached(fleet, **more):
    answer = fleet.post("/generate", {"prompt": PROMPT * 3, "max_new_tokens": 4, "temperature": 0,
                                      **more})
    return answer["cached_tokens"] > 0, answer["generated_text"]


@pytest.mark.parametrize("arguments", [[], ["--colocated-prefill-tokens", 4096]], ids=str)
def test_adapters_share_no_prefix(files, arguments):
    with Fleet(model=LLAMA, gateway_args=arguments,
               worker_args=listed(files, "one", "two")) as fleet:
        kinds = [{}, *({"lora": [{"name": name, "scale": scale}]} for name, scale in
                       (("one", 1), ("two", 1), ("one", 0.5)))]
        cold = [cached(fleet, **kind) for kind in kinds]
        assert not any(is_cached for is_cached, _ in cold)
        for kind, (_, text) in zip(kinds, cold):
            assert [cached(fleet, **kind) for _ in range(3)][-1] == (True, text)
        for worker in fleet.workers.values():
            assert " ev=foreign_block_hashes " not in worker.text()


@pytest.mark.parametrize("arguments", [
    ["--speculation", "prompt_lookup"], ["--speculation", "draft_model"],
    ["--prefill-split", 2, "--prefill-split-min-tokens", 32]], ids=str)
def test_other_ways_to_compute_say_the_same(files, arguments):
    """A draft model guesses without the adapter, and the model verifies with it."""
    prefill = 2 if "--prefill-split" in arguments else 1
    decode_args = ["--draft-model", LLAMA] if "draft_model" in arguments else []
    with Fleet(model=LLAMA, worker_args=listed(files, "one", "two")) as fleet:
        expected, plain = ids(fleet, "one", prompt=LONG), ids(fleet, prompt=LONG)
        naive = fleet.post("/generate", {"prompt": LONG, "max_new_tokens": 24, "temperature": 0,
                                         "kv_cache": False, "lora": [{"name": "one"}]})
        assert naive["generated_text"] == expected
    for chunk in 16, 48:
        with Fleet(model=LLAMA, prefill=prefill, gateway_args=arguments,
                   prefill_args=["--chunk", chunk], decode_args=decode_args,
                   worker_args=listed(files, "one", "two")) as fleet:
            assert ids(fleet, "one", prompt=LONG) == expected
            assert ids(fleet, prompt=LONG) == plain
            if prefill == 2:
                assert fleet.metrics()["baton_split_prefills_total"]
            if decode_args:
                assert fleet.metrics()['baton_drafted_tokens_total{mode="draft_model"}']


def test_a_migrated_request_keeps_its_adapter(files):
    """A worker without the adapter is not chosen, however idle it is."""
    body = dict(prompt=PROMPT, max_new_tokens=60, temperature=0, lora=[{"name": "one"}])
    with Fleet(model=LLAMA, decode=0, prefill_args=listed(files, "one")) as fleet:
        fleet.start_worker("decode", "decode-0", listed(files, "one"))
        fleet.start_worker("decode", "decode-1")
        fleet.wait_ready(3)
        expected = fleet.generate(**body)
        assert expected["served_by"]["decode"] == "decode-0"
        with ThreadPoolExecutor(1) as pool:
            pending = fleet.pause_at_work(
                "decode-0", lambda: [pool.submit(fleet.generate, **body)],
                lambda: fleet.open("DECODING") == 1)
            fleet.start_worker("decode", "decode-2", listed(files, "one"))
            fleet.wait_worker("decode-2")
            fleet.workers["decode-0"].kill()
            answer = pending[0].result()
        assert answer["generated_text"] == expected["generated_text"]
        assert answer["served_by"]["decode"] == "decode-2"
        assert answer["served_by"]["migrations"] == 1


def test_adapters_come_and_go_on_every_worker(files, plain):
    with Fleet(model=LLAMA, worker_args=["--enable-lora"]) as fleet:
        assert fleet.post("/v1/completions", {**BODY, "model": "one"},
                          404)["error"]["code"] == "model_not_found"
        said = load(fleet, "one", files["one"])
        assert said == "Success: LoRA adapter 'one' added successfully."
        for worker in fleet.fleet():
            assert [adapter["name"] for adapter in worker["adapters"]] == ["one"]
        text = ids(fleet, "one")
        assert text != plain == ids(fleet)
        assert load(fleet, "one", files["two"], 400)["error"]["param"] == "lora_name"
        load(fleet, "one", files["two"], load_inplace=True)
        assert ids(fleet, "one") not in (plain, text)
        # A worker that joins later gets it.
        fleet.start_worker("decode", "decode-1")
        fleet.wait_worker("decode-1")
        wait_for(lambda: fleet.worker("decode-1")["adapters"], "the adapter on the new worker")
        drop(fleet, "one")
        assert not any(worker["adapters"] for worker in fleet.fleet())
        assert drop(fleet, "one", 404)["error"]["param"] == "lora_name"
        fleet.post("/v1/completions", {**BODY, "model": "one"}, 404)
        assert ids(fleet) == plain


def test_a_request_keeps_its_adapter_while_it_is_dropped(files, plain):
    unread = dict(prompt=PROMPT, max_new_tokens=80, temperature=0, ignore_eos=True, explain=20)
    with Fleet(model=LLAMA, worker_args=["--enable-lora"]) as fleet:
        load(fleet, "one", files["one"])
        said, whole = ids(fleet, "one"), fleet.generate(**unread, lora=[{"name": "one"}])
        with ThreadPoolExecutor(8) as pool:
            names = ["one", None] * 8
            pending = [pool.submit(ids, fleet, name) for name in names]
            for _ in range(3):  # meanwhile others come and go
                load(fleet, "two", files["two"])
                drop(fleet, "two")
            assert [each.result() for each in pending] == [said if name else plain
                                                           for name in names]
        stream = fleet.stream(**unread, lora=[{"name": "one"}])
        drop(fleet, "one")
        assert fleet.open("DECODING") == 1
        assert stream.text()[0] == whole["generated_text"]
        fleet.post("/v1/completions", {**BODY, "model": "one"}, 404)
        assert ids(fleet) == plain


def test_bad_adapters_are_refused_by_name(files, tmp_path):
    dora = write_peft(tmp_path / "dora", 3, use_dora=True)
    with Fleet(model=LLAMA, worker_args=listed(files, "one") + ["--enable-lora"]) as fleet:
        for name, path, reason in (("a", dora, "use_dora"), ("a", tmp_path / "none", "none"),
                                   ("a", LLAMA, "adapter_config.json"),
                                   ("a b", files["two"], "lora_name"),
                                   ("llama", files["two"], "lora_name")):
            assert reason in load(fleet, name, path, 400)["error"]["message"], path
        assert [each["name"] for each in fleet.request("GET", "/lora-adapters")[1]] == ["one"]
        for lora, field in (([{"id": 7}], "id"), ([{"name": "x"}], "name"),
                            ([{"id": 0, "scale": 5000}], "scale"), ([{"id": 0, "x": 1}], "x"),
                            ({"id": 0}, "lora")):
            error = fleet.post("/v1/completions", {**BODY, "lora": lora}, 400)["error"]
            assert field in error["message"] and error["param"] == "lora", error
    with Fleet(model=LLAMA) as fleet:
        assert "--enable-lora" in load(fleet, "one", files["one"], 400)["error"]["message"]
    with Fleet(model=LLAMA, decode=0, prefill=0) as fleet:
        worker = fleet.start_worker("prefill", "prefill-0", ["--lora", f"d={dora}"])
        wait_for(lambda: worker.popen.poll() is not None, "the worker to end")
        assert worker.popen.returncode and "use_dora" in worker.text()
