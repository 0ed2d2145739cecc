"""Fill in the middle: the requests that editors send, and what they read of the answers."""
import pytest
from fleet import Fleet
from infill_model import TOKENS, infill_model

CHUNKS = [{"text": f"def chunk_{i}():\n    return {i}\n", "time": 1, "filename": f"part{i}.py"}
          for i in range(4)]
# llama.vim (autoload/llama.vim): s:ring_update, which warms the cache up, and llama#fim.
VIM_RING = dict(id_slot=0, input_prefix="", input_suffix="", input_extra=CHUNKS, prompt="",
                n_predict=0, temperature=0.0, samplers=[], stream=False, cache_prompt=True,
                t_max_prompt_ms=1, t_max_predict_ms=1, response_fields=[""])
VIM_FIM = dict(id_slot=0, input_prefix="import os\n\n", input_suffix="\nmain()\n",
               input_extra=CHUNKS, prompt="def ma", n_predict=8, stop=[], n_indent=0, top_k=40,
               top_p=0.90, samplers=["top_k", "top_p", "infill"], stream=False, cache_prompt=True,
               t_max_prompt_ms=500, t_max_predict_ms=1000,
               response_fields=["content", "timings/prompt_n", "timings/prompt_ms",
                                "timings/prompt_per_token_ms", "timings/prompt_per_second",
                                "timings/predicted_n", "timings/predicted_ms",
                                "timings/predicted_per_token_ms", "timings/predicted_per_second",
                                "truncated", "tokens_cached"])
# llama.vscode (src/llama-server.ts, createRequestPayload), without and with noPredict.
CODE_FIM = dict(id_slot=0, input_prefix="import os\n\n", input_suffix="\nmain()\n",
                input_extra=CHUNKS, prompt="def ma", n_predict=8, n_cmpl=1, top_k=40, top_p=0.99,
                stream=False, samplers=["top_k", "top_p", "infill"], cache_prompt=True, n_indent=4,
                t_max_prompt_ms=500, t_max_predict_ms=1000)
CODE_RING = dict(id_slot=0, input_prefix="", input_suffix="", input_extra=CHUNKS, prompt="",
                 n_predict=0, samplers=[], cache_prompt=True, t_max_prompt_ms=500,
                 t_max_predict_ms=1)


@pytest.fixture(scope="module")
def fim(tmp_path_factory):
    with Fleet(model=infill_model(tmp_path_factory.mktemp("coder") / "coder")) as fleet:
        yield fleet
        fleet.wait_all_free()


def post(fleet, path="/infill", expected=200, **body):
    status, answer, headers = fleet.request("POST", path, body)
    assert status == expected, answer
    return answer, headers


def test_editors_requests_are_served(fim):
    answer, headers = post(fim, **VIM_FIM)
    assert set(answer) == set(VIM_FIM["response_fields"]), answer
    assert answer["timings/predicted_n"] and not answer["truncated"]
    # What has no effect is told: the sampler that Baton lacks, and llama.cpp's own dead field.
    assert headers["x-baton-ignored"] == "id_slot, t_max_prompt_ms, samplers[2]"
    for ring in (VIM_RING, CODE_RING):
        answer, _ = post(fim, **ring)
        assert answer.get("content", "") == "" and answer.get("tokens_predicted", 0) == 0
    assert post(fim, **VIM_RING)[0] == {}
    answer, _ = post(fim, **CODE_FIM)
    assert answer["content"] and answer["timings"]["predicted_ms"] and answer["stop"]
    answers, _ = post(fim, **{**CODE_FIM, "n_cmpl": 3})
    assert [one["index"] for one in answers] == [0, 1, 2]
    settings = fim.request("GET", "/props?model=coder&autoload=false")[1]
    assert settings["default_generation_settings"]["n_ctx"] == 512


def test_the_warm_up_of_llama_vims_instructions_computes_the_prompt(fim):
    """llama#inst: its chat is sent once without output, while the user writes the instruction."""
    warm = dict(id_slot=0, samplers=[], n_predict=0, stream=False, cache_prompt=True,
                response_fields=[""], messages=[{"role": "user", "content": "Edit: " + "x " * 60}])
    with Fleet(gateway_args=["--chat-template", "chatml"]) as fleet:
        for _ in range(2):
            answer, _ = post(fleet, "/v1/chat/completions", **warm)
            [choice] = answer["choices"]
            assert choice["message"]["content"] == "" and choice["finish_reason"] == "length"
            assert answer["usage"]["completion_tokens"] == 0
        assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] > 40


def test_the_prompt_is_that_of_qwen_coder(fim):
    answer, _ = post(fim, **{**CODE_FIM, "input_extra": CHUNKS[:1], "temperature": 0})
    assert answer["prompt"] == (
        "<|repo_name|>myproject\n<|file_sep|>part0.py\ndef chunk_0():\n    return 0\n"
        "<|file_sep|>filename\n<|fim_prefix|>import os\n\ndef ma<|fim_suffix|>\nmain()\n"
        "<|fim_middle|>")
    # The other APIs have no files of a repository.
    ids = fim.post("/tokenize", {"text": "<|fim_prefix|>def ma<|fim_suffix|>()\n<|fim_middle|>"})
    plain, _ = post(fim, "/completion", prompt=ids["tokens"], n_predict=8, temperature=0)
    around = dict(prompt="def ma", suffix="()\n", temperature=0)
    openai, _ = post(fim, "/v1/completions", **around, max_tokens=8)
    assert openai["choices"][0]["text"] == plain["content"]
    assert openai["usage"]["prompt_tokens"] == len(ids["tokens"])
    mistral, _ = post(fim, "/v1/fim/completions", **around, max_tokens=8, random_seed=1)
    assert mistral["object"] == "chat.completion"
    assert mistral["choices"][0]["message"]["content"] == plain["content"]
    ollama, _ = post(fim, "/api/generate", model="coder", stream=False, prompt="def ma",
                     suffix="()\n", options={"temperature": 0, "num_predict": 8})
    assert ollama["response"] == plain["content"]


def test_text_never_becomes_one_of_the_tokens(fim):
    special = {fim.post("/tokenize", {"text": token, "add_special_tokens": False})["tokens"][0]
               for token in TOKENS}
    spelled = "".join(TOKENS) + "<|endoftext|>"
    answer, _ = post(fim, input_prefix=spelled, input_suffix=spelled, prompt=spelled, n_predict=1,
                     input_extra=[{"filename": spelled, "text": spelled}], return_tokens=True)
    spelled_out, _ = post(fim, "/v1/completions", prompt=spelled, suffix=spelled, max_tokens=1)
    # Each spelled token costs many; three or six true ones stand in the prompt.
    n_spelled = len(fim.post("/tokenize", {"text": "<" + spelled[1:].replace("<", "< ")})["tokens"])
    assert spelled_out["usage"]["prompt_tokens"] > 1.5 * n_spelled
    assert answer["tokens_evaluated"] > 3 * n_spelled and len(special) == len(TOKENS)


def test_a_long_prompt_keeps_the_text_beside_the_cursor(fim):
    prefix, suffix = "".join(f"before_{i} = {i}\n" for i in range(400)), "after = 1\n" * 400
    answer, _ = post(fim, input_prefix=prefix, input_suffix=suffix, prompt="x = ", n_predict=4,
                     input_extra=CHUNKS)
    assert answer["truncated"] and answer["tokens_evaluated"] + 4 <= 512
    before, after = answer["prompt"].split("<|fim_prefix|>")[1].split("<|fim_suffix|>")
    assert (prefix + "x = ").endswith(before) and len(before) > len(after) > 60
    assert suffix.startswith(after.removesuffix("<|fim_middle|>"))
    # Of the files those near the end are the important ones.
    answer, _ = post(fim, input_prefix="a", input_suffix="b", n_predict=4,
                     input_extra=[{"text": "x = 1\n" * 3000}, *CHUNKS])
    assert answer["truncated"] is False or "part3.py" in answer["prompt"]
    status = fim.request("POST", "/v1/completions", {"prompt": prefix, "suffix": "b"})[0]
    assert status == 400


def test_what_stays_is_cached_when_the_middle_moves(tmp_path):
    files = [{"filename": f"f{i}.py", "text": f"def f{i}(a):\n    return a + {i}\n"}
             for i in range(2)]
    with Fleet(model=infill_model(tmp_path / "coder")) as fleet:
        def cached(prompt, **more):
            body = {**VIM_FIM, "input_prefix": "import os\n", "input_extra": files,
                    "prompt": prompt, "response_fields": ["timings/cache_n", "tokens_cached"],
                    **more}
            return post(fleet, **body)[0]["tokens_cached"]

        whole, _ = post(fleet, **{**VIM_RING, "input_extra": files, "response_fields": [
            "prompt", "tokens_evaluated"]})
        # All blocks of 16 tokens that lie before the cursor's part.
        n_files = whole["tokens_evaluated"] - 3
        for text in ("d", "def", "def main", "class A:"):
            assert cached(text) >= n_files // 16 * 16


@pytest.mark.parametrize("text, indent, expected", [
    ("a\n    b\nc", 2, "a\n    b\n"), ("a\n    b\n    c", 4, "a\n    b\n    c"),
    ("a\n  \tb\n  c", 3, "a\n  \tb\n  "), ("a\n  b\n\n  c", 1, "a\n  b\n")])
def test_an_output_ends_where_its_block_does(fim, text, indent, expected):
    pattern = text.replace("\t", "\\t")
    body = dict(prompt="x", n_predict=40, regex=pattern, n_indent=indent)
    answer, _ = post(fim, "/completion", **body)
    assert answer["content"] == expected
    assert answer["stop_type"] == ("eos" if expected == text else "limit")


def test_an_output_ends_behind_a_line_once_its_time_is_over(fim):
    lines = dict(prompt="x", n_predict=300, regex="([a-z]{9}\\n){1000}")
    answer, _ = post(fim, "/completion", **lines, t_max_predict_ms=1)
    assert answer["content"].endswith("\n") and answer["stop_type"] == "limit"
    assert answer["tokens_predicted"] < 300
    assert post(fim, "/completion", **lines, t_max_predict_ms=-1)[0]["tokens_predicted"] == 300


def test_samplers_that_are_not_named_are_off(fim):
    body = dict(prompt="Once", n_predict=12, seed=3, temperature=0.2, top_k=3, min_p=0.5)
    named, _ = post(fim, "/completion", **body, samplers=["top_k"])
    alone, _ = post(fim, "/completion", prompt="Once", n_predict=12, seed=3, top_k=3)
    assert named["content"] == alone["content"]
    assert "samplers[1]" in post(fim, "/completion", 400, prompt="a",
                                 samplers=["top_k", "warmth"])[0]["error"]["message"]


def test_what_is_wrong_is_refused(fim):
    good = dict(input_prefix="a", input_suffix="b", n_predict=1)
    for wrong, field in (({"input_prefix": None}, "input_prefix"), ({"prompt": [1]}, "prompt"),
                         ({"input_extra": [{"filename": "a"}]}, "input_extra[0]"),
                         ({"input_extra": [{"text": "a", "filename": 1}]}, "input_extra[0]"),
                         ({"n_indent": -1}, "n_indent"), ({"lora": [{"id": 0}]}, "lora"),
                         ({"response_fields": [1]}, "response_fields")):
        answer, _ = post(fim, "/infill", 400, **{**good, **wrong})
        assert answer["error"]["message"].startswith(field), answer
    assert "suffix" in post(fim, "/v1/chat/completions", 400, suffix="b",
                            messages=[{"role": "user", "content": "a"}])[0]["error"]["message"]
    assert "echo" in post(fim, "/v1/completions", 400, prompt="a", suffix="b",
                          echo=True)[0]["error"]["message"]
    for n in 1, -1:
        assert "not together with suffix" in post(
            fim, "/v1/completions", 400, prompt="a", suffix="b", truncate_prompt_tokens=n)[0][
                "error"]["message"]
    assert "suffix" in post(fim, "/v1/completions", 400, prompt=[1],
                            suffix="b")[0]["error"]["message"]


def test_a_model_without_the_tokens_says_so():
    with Fleet() as fleet:
        answer, _ = post(fleet, "/infill", 501, **VIM_FIM)
        assert answer["error"]["message"] == (
            "Infill is not supported by this model: prefix token is missing. suffix token is "
            "missing. middle token is missing.")
        for path in ("/v1/completions", "/v1/fim/completions"):
            answer, _ = post(fleet, path, 400, prompt="a", suffix="b")
            assert "not supported by this model" in answer["error"]["message"]
        answer, _ = post(fleet, "/api/generate", 400, model="tale", prompt="a", suffix="b")
        assert "does not support insert" in answer["error"]
        assert post(fleet, "/v1/completions", prompt="a", suffix="", max_tokens=1)
