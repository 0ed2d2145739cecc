"""llama.cpp's own routes: what a client of its server reads of Baton's."""
import json

import pytest
from fleet import Fleet, Stream

GREEDY = {"prompt": "Once upon a time", "n_predict": 12, "temperature": 0}
FLEET = dict(gateway_args=["--chat-template", "chatml"])


def post(fleet, path="/completion", expected=200, **body):
    status, answer, headers = fleet.request("POST", path, body)
    assert status == expected, answer
    return answer, headers


def events_of(fleet, **body):
    return [event.json()
            for event in Stream(fleet.port, {**body, "stream": True}, "/completion").events]


def test_a_completion_is_that_of_the_native_route(fleet):
    native, _ = post(fleet, "/generate", prompt=GREEDY["prompt"], max_new_tokens=12, temperature=0)
    answer, headers = post(fleet, **GREEDY, return_tokens=True, cache_prompt=True, id_slot=0,
                           top_k=-1, seed=-1)
    assert answer["content"] == native["generated_text"]
    assert answer["stop"] and answer["stop_type"] == "limit"
    assert (len(answer["tokens"]) == answer["tokens_predicted"] == answer["timings"]["predicted_n"]
            == 12)
    assert answer["tokens_evaluated"] == native["prompt_tokens"]
    assert answer["prompt"] == GREEDY["prompt"]
    assert headers["x-baton-ignored"] == "id_slot"
    assert post(fleet, **GREEDY)[0]["tokens"] == []
    assert post(fleet, "/completions", **GREEDY)[0]["content"] == answer["content"]


def test_a_stream_gathers_to_the_same(fleet):
    whole, _ = post(fleet, **GREEDY, return_tokens=True)
    *pieces, last = events_of(fleet, **GREEDY, timings_per_token=True)
    assert "".join(piece["content"] for piece in pieces) == whole["content"]
    assert sum([piece["tokens"] for piece in [*pieces, last]], []) == whole["tokens"]
    assert all(not piece["stop"] and piece["timings"]["predicted_n"] for piece in pieces)
    assert last["stop"] and last["stop_type"] == "limit" and last["content"] == ""


def test_prompts_of_an_array_are_answered_by_an_array(fleet):
    one, _ = post(fleet, **GREEDY)
    answers, _ = post(fleet, **{**GREEDY, "prompt": [GREEDY["prompt"], "The cat"]})
    assert [answer["index"] for answer in answers] == [0, 1]
    assert answers[0]["content"] == one["content"]


@pytest.mark.parametrize("path", ["/completion", "/v1/completions"])
def test_a_prompt_may_mix_ids_and_texts_and_a_batch_may_mix_forms(fleet, path):
    def ids(text):
        return fleet.post("/tokenize", {"content": text})["tokens"]

    def told(**body):
        answer = post(fleet, path, max_tokens=6, temperature=0, **body)[0]
        answers = answer if isinstance(answer, list) else answer.get("choices", [answer])
        return [one.get("content", one.get("text")) for one in answers]
    [whole] = told(prompt=GREEDY["prompt"])
    first, second = ids("Once upon"), ids(" a time")
    for mixed in ([*first, " a time"], ["Once upon", *second], ["Once upon", *second, ""]):
        assert told(prompt=mixed) == [whole]
    assert told(prompt=[first + second, GREEDY["prompt"], [*first, " a time"]]) == [whole] * 3
    if path == "/completion":
        assert told(prompt={"prompt_string": GREEDY["prompt"]}) == [whole]
        assert told(prompt=[{"prompt_string": GREEDY["prompt"]}, first + second]) == [whole] * 2


def test_a_text_is_tokenized_as_llama_cpp_does(fleet):
    text = "a \N{HUGGING FACE} b"
    plain = post(fleet, "/tokenize", content=text)[0]
    pieces = post(fleet, "/tokenize", content=text, with_pieces=True)[0]["tokens"]
    assert [one["id"] for one in pieces] == plain["tokens"]
    spelled = [one["piece"] if isinstance(one["piece"], list) else list(one["piece"].encode())
               for one in pieces]
    assert bytes(sum(spelled, [])) == text.encode() and any(
        isinstance(one["piece"], list) for one in pieces)
    special = fleet.request("GET", "/props")[1]["eos_token"]
    [one], many = (post(fleet, "/tokenize", content=special, parse_special=parse)[0]["tokens"]
                   for parse in (True, False))
    assert one not in many and len(many) > 1


def test_why_an_output_ended(fleet):
    text = post(fleet, **GREEDY)[0]["content"]
    word, _ = post(fleet, **GREEDY, stop=["#never#", text[-4:]])
    assert word["stop_type"] == "word" and word["stopping_word"] == text[-4:]
    ids = post(fleet, **GREEDY, return_tokens=True)[0]["tokens"]
    assert post(fleet, **GREEDY, stop_token_ids=[ids[3]])[0]["stop_type"] == "eos"
    prompt_alone, _ = post(fleet, **{**GREEDY, "n_predict": 0})
    assert prompt_alone["content"] == "" and prompt_alone["tokens_predicted"] == 0


def test_stop_tokens_wait_for_min_tokens(fleet):
    """Also those of the first token, which another worker chooses; the reason is told."""
    ids = post(fleet, **GREEDY, return_tokens=True)[0]["tokens"]
    for stop, least in ((ids[0], 1), (ids[3], 9)):
        early, _ = post(fleet, **GREEDY, stop_token_ids=[stop], return_tokens=True)
        late, _ = post(fleet, **GREEDY, stop_token_ids=[stop], return_tokens=True, min_tokens=least,
                       explain=3)
        at = ids.index(stop)
        assert early["tokens"] == ids[:at + 1]
        assert late["tokens_predicted"] > least and stop not in late["tokens"][:least]
        [held] = [one for one in late["steps"][at]["candidates"] if one["token_id"] == stop]
        assert held["removed_by"] == "min_tokens" and not held["kept"]


def test_probabilities_and_structure(fleet):
    answer, _ = post(fleet, **GREEDY, n_probs=3, return_tokens=True)
    entries = answer["completion_probabilities"]
    assert [entry["id"] for entry in entries] == answer["tokens"]
    assert all(len(entry["top_logprobs"]) == 3 and entry["top_logprobs"][0]["id"] == entry["id"]
               for entry in entries)
    schema = {"type": "object",
              "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 9}},
              "required": ["age"], "additionalProperties": False}
    held, _ = post(fleet, **{**GREEDY, "n_predict": 60}, json_schema=schema)
    assert 0 <= json.loads(held["content"])["age"] <= 9


@pytest.mark.parametrize("more",
                         [{"seed": 7, "top_k": 3}, {"seed": 8, "temperature": 1.7, "min_p": 0.05},
                          {"temperature": 0}, {"seed": 9, "regex": "[a-z ]{9}"}])
def test_probabilities_after_sampling_are_those_of_the_steps(fleet, more):
    body = {**GREEDY, "temperature": 0.9, **more}
    steps = post(fleet, **body, explain=20)[0]["steps"]
    answer, _ = post(fleet, **body, n_probs=3, post_sampling_probs=True)
    assert "steps" not in answer and answer["content"] == post(fleet, **body)[0]["content"]
    entries = answer["completion_probabilities"]
    assert entries and len(entries) == len(steps)
    for entry, step in zip(entries, steps):
        left = [(one["token_id"], one["prob"]) for one in step["candidates"] if one["kept"]]
        assert [one["id"] for one in entry["top_probs"]] == [token for token, _ in left[:3]]
        assert ([one["prob"] for one in entry["top_probs"]]
                == pytest.approx([prob for _, prob in left[:3]]))
        assert entry["id"] == step["token_id"] and "logprob" not in entry and 0 < entry["prob"] <= 1
    both = post(fleet, **body, n_probs=3, post_sampling_probs=True, explain=2)[0]
    assert all(len(step["candidates"]) == 2 for step in both["steps"])
    pieces = [one for event in events_of(fleet, **body, n_probs=3, post_sampling_probs=True)
              for one in event["completion_probabilities"]]
    assert pieces == entries


def test_embeddings_are_those_of_openais_route(fleet):
    texts = ["Once upon a time", "The cat"]
    theirs = [one["embedding"]
              for one in fleet.request("POST", "/v1/embeddings", {"input": texts})[1]["data"]]
    for path, field in ("/embedding", "content"), ("/embeddings", "input"):
        answers, _ = post(fleet, path, **{field: texts})
        assert [one["embedding"] for one in answers] == [[vector] for vector in theirs]
        assert [one["index"] for one in answers] == [0, 1]
    [raw], _ = post(fleet, "/embedding", content=texts[0], embd_normalize=-1)
    length = sum(value * value for value in raw["embedding"][0]) ** 0.5
    assert [value / length for value in raw["embedding"][0]] == pytest.approx(theirs[0], abs=1e-6)
    assert length > 1.1
    assert "embd_normalize" in post(fleet, "/embedding", 400, content="a",
                                    embd_normalize=1)[0]["error"]["message"]


def test_slots_are_the_places_of_the_decode_workers():
    # Another policy may give a worker whose steps are slow at the moment fewer than its half.
    with Fleet(1, 2, decode_args=["--max-batch", "3"],
               gateway_args=["--decode-policy", "round-robin"]) as fleet:
        slots = fleet.request("GET", "/slots")[1]
        assert [slot["id"] for slot in slots] == list(range(6))
        assert not any(slot["is_processing"] for slot in slots)
        assert sorted(slot["worker"] for slot in slots) == ["decode-0"] * 3 + ["decode-1"] * 3
        assert fleet.request("GET", "/slots?fail_on_no_slot=1")[0] == 200
        streams = fleet.hold(n=6)
        assert all(slot["is_processing"] for slot in fleet.request("GET", "/slots")[1])
        assert fleet.request("GET", "/slots?fail_on_no_slot=1")[0] == 503
        for stream in streams:
            stream.abandon()
        fleet.wait_all_free()
        assert not any(slot["is_processing"] for slot in fleet.request("GET", "/slots")[1])


@pytest.mark.parametrize("path", ["/completion", "/v1/completions"])
def test_a_stream_tells_how_far_its_prompt_is(path):
    prompt = [(7 * i * i + 3 * i) % 2000 + 5 for i in range(480)]
    body = {"prompt": prompt, "max_tokens": 2, "ignore_eos": True, "stream": True, "temperature": 0}
    with Fleet(prefill_args=["--chunk", "16"]) as fleet:
        def progress(**more):
            events = [json.loads(event.data)
                      for event in Stream(fleet.port, {**body, **more}, path).events
                      if event.data != "[DONE]"]
            told = [event["prompt_progress"] for event in events if "prompt_progress" in event]
            assert [event for event in events if "prompt_progress" in event] == events[:len(told)]
            return told
        assert progress() == progress(return_progress=False) == []
        fresh = [i % 50 + 9 for i in range(480)]
        told = progress(return_progress=True, prompt=fresh)
        assert [one["processed"] for one in told] == list(range(16, 481, 16))
        assert all(one["total"] == 480 and one["cache"] == 0 and one["time_ms"] > 0 for one in told)
        again = progress(return_progress=True, prompt=fresh)
        assert again[-1]["processed"] == 480 and again[0]["cache"] >= 448
        whole = fleet.request("POST", path, {**body, "stream": False, "return_progress": True})
        assert whole[0] == 200 and "prompt_progress" not in whole[1]
        fleet.wait_all_free()


def test_the_template_and_the_props(fleet):
    messages = [{"role": "user", "content": "Tell me a story"}]
    prompt = post(fleet, "/apply-template", messages=messages)[0]["prompt"]
    assert "user\nTell me a story" in prompt
    props = fleet.request("GET", "/props")[1]
    context = fleet.request("GET", "/v1/models")[1]["data"][0]["context_length"]
    assert props["default_generation_settings"]["n_ctx"] == context
    assert props["model_alias"] == "tale"
    assert props["default_generation_settings"]["params"]["temperature"] == post(
        fleet, prompt="a", n_predict=1)[0]["generation_settings"]["temperature"]


@pytest.mark.parametrize("body,words", [
    ({"n_probs": 21}, "n_probs: must be"), ({"n_predict": -3}, "n_predict: must be"),
    ({"repeat_penalty": 0}, "repeat_penalty: must be"),
    ({"return_progress": 1}, "return_progress: must be"),
    ({"post_sampling_probs": 1}, "post_sampling_probs: must be"),
    ({"json_schema": 1}, "json_schema: must be"),
    ({"json_schema": {}, "regex": "a"}, "only one of"),
    ({"prompt": [1, "a", True]}, "prompt[2]: must be a token id"),
    ({"prompt": [[1, "a", -1]]}, "prompt[0][2]: must be a token id"),
    ({"prompt": ["a", 5.5]}, "prompt[1]: must be a string or an array"),
    ({"prompt": [["a", "b"]]}, "prompt[0][0]: must be a token id"),
    ({"prompt": {"prompt_string": "a", "multimodal_data": ["AA"]}}, "multimodal_data: the model"),
    ({"prompt": {"text": "a"}}, "prompt: must be a string, an array of token ids or"),
    ({"prompt": [7, "word " * 600]}, "prompt is too long"),
])
def test_what_is_not_understood_is_refused_by_name(fleet, body, words):
    assert words in post(fleet, expected=400, **{**GREEDY, **body})[0]["error"]["message"]


def test_biases_come_as_pairs_too(fleet):
    def of(bias):
        return post(fleet, "/completion", prompt="Once", n_predict=4, temperature=0,
                    logit_bias=bias)[0]["content"]
    token = fleet.post("/tokenize", {"text": " fox"})["tokens"]
    assert of([[token[0], 100]]) == of({str(token[0]): 100}) == of({" fox": 100}) != of([])
    assert of([["\u0000", 1]]) == of([]) == of({})
    first = of([]).split()[0]
    assert not of([[f" {first}", False], [first, -100]]).lstrip().startswith(first)


def test_the_properties_have_slots_and_template(fleet):
    props = fleet.request("GET", "/props")[1]
    assert props["total_slots"] == len(fleet.request("GET", "/slots")[1])
    assert isinstance(props["chat_template"], str) and props["model_path"]


def test_paths_without_v1_have_llama_cpps_types_of_errors(fleet):
    messages = [{"role": "user", "content": "fox " * 900}]
    types = [post(fleet, path, 400, messages=messages)[0]["error"]["type"]
             for path in ("/chat/completions", "/v1/chat/completions")]
    assert types == ["exceed_context_size_error", "invalid_request_error"]
    count = post(fleet, "/chat/completions/input_tokens", messages=messages)[0]
    assert count["object"] == "response.input_tokens" and count["input_tokens"] > 900


def test_a_gateways_seed_is_that_of_requests_without_one():
    with Fleet(gateway_args=["--seed", "7"]) as seeded:
        body = {"prompt": GREEDY["prompt"], "n_predict": 12}
        answers = [seeded.post("/completion", {**body, **more})
                   for more in ({}, {}, {"seed": -1}, {"seed": 7}, {"seed": 8})]
        assert [answer["generation_settings"]["seed"] for answer in answers] == [7, 7, 7, 7, 8]
        assert len({answer["content"] for answer in answers[:4]}) == 1
