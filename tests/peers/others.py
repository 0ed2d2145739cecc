#!/usr/bin/env python3
"""What vLLM's, Ollama's, TGI's and SGLang's own tests assert of their servers, asked of Baton.

    tests/peers/others.py [vllm|ollama|tgi|sglang ...] [-v]

Their tests start their own engines, so each assertion is written down here by its behaviour: a
request, and what must be true of the answer. The names are those of their tests' subjects.
"""
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from fleet import Fleet  # noqa: E402  pylint: disable=wrong-import-position

STORY = "Once upon a time"
CHAT = [{"role": "user", "content": STORY}]
FUNCTION = {"name": "weather", "description": "Tells the weather.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
    "additionalProperties": False}}
TOOL = {"type": "function", "function": FUNCTION}
SCHEMA = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 9}},
          "required": ["age"], "additionalProperties": False}


class Answer:
    """An answer of the server: its status, its body and its events."""

    def __init__(self, fleet, method, path, body=None, headers=None):
        status, got, self.headers = fleet.request(method, path, body, headers)
        self.status, self.body = status, got
        self.events = []
        if isinstance(got, str):
            lines = [line.removeprefix("data: ") for line in got.split("\n")]
            self.events = [json.loads(line) for line in lines if line.startswith("{")]

    def __getitem__(self, name):
        return self.body[name]

    @property
    def choice(self):
        return self.body["choices"][0]

    @property
    def text(self):
        choice = self.choice
        return choice["text"] if "text" in choice else choice["message"]["content"]

    @property
    def deltas(self):
        return "".join((choice.get("delta", {}).get("content") or choice.get("text") or "")
                       for event in self.events for choice in event["choices"])

    @property
    def error(self):
        error = self.body["error"]
        return error if isinstance(error, str) else error["message"]


class Peer:
    """Asks a fleet in the words of one peer's clients."""

    def __init__(self, fleet):
        self.fleet = fleet

    def get(self, path, **headers):
        return Answer(self.fleet, "GET", path, headers=headers or None)

    def post(self, path, **body):
        return Answer(self.fleet, "POST", path, body)

    def complete(self, **body):
        return self.post("/v1/completions", **{"prompt": STORY, "max_tokens": 8, "temperature": 0,
                                               **body})

    def chat(self, **body):
        return self.post("/v1/chat/completions", **{"messages": CHAT, "max_tokens": 8,
                                                    "temperature": 0, **body})

    def ids(self, text):
        return self.post("/tokenize", prompt=text)["tokens"]


def vllm(p):
    """tests/entrypoints/openai: basic, completion, chat, token ids, tokenization, errors."""
    ids = p.ids(STORY)
    model = p.get("/v1/models")["data"][0]
    name = model["id"]
    yield "version", lambda: p.get("/version")["version"]
    yield "health", lambda: p.get("/health").status == 200
    yield "ping", lambda: p.get("/ping").status == 200
    yield "ping by POST", lambda: p.post("/ping").status == 200
    yield "load", lambda: p.get("/load")["server_load"] == 0
    yield "metrics", lambda: p.get("/metrics").status == 200
    yield "models list", lambda: model["object"] == "model" and model["owned_by"]
    yield "models max_model_len", lambda: model["max_model_len"] == 512
    yield "models root", lambda: "root" in model
    yield "request id header", lambda: Answer(
        p.fleet, "POST", "/v1/completions", {"prompt": "a", "max_tokens": 1},
        {"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
    yield "request_id of the body", lambda: "mine-2" in p.complete(request_id="mine-2")["id"]
    yield "single completion", lambda: len(p.complete().text) > 0 and p.complete()["usage"][
        "total_tokens"] == p.complete()["usage"]["prompt_tokens"] + 8
    yield "completion of ids", lambda: p.complete(prompt=ids).text == p.complete().text
    yield "batch", lambda: [c["text"] for c in p.complete(prompt=[STORY, STORY])["choices"]] == [
        p.complete().text] * 2
    yield "batch of ids", lambda: len(p.complete(prompt=[ids, ids])["choices"]) == 2
    yield "batch with n", lambda: [c["index"] for c in p.complete(
        prompt=[STORY, STORY], n=2, temperature=1)["choices"]] == [0, 1, 2, 3]
    yield "batch stream", lambda: {c["index"] for e in p.complete(
        prompt=[STORY, STORY], stream=True).events for c in e["choices"]} == {0, 1}
    yield "no logprobs", lambda: p.complete().choice["logprobs"] is None
    yield "zero logprobs", lambda: len(p.complete(logprobs=0).choice["logprobs"]["tokens"]) == 8
    yield "some logprobs", lambda: all(len(t) >= 5 for t in p.complete(
        logprobs=5).choice["logprobs"]["top_logprobs"])
    yield "too many logprobs", lambda: p.complete(logprobs=21).status == 400
    yield "prompt logprobs", lambda: p.complete(prompt_logprobs=1).choice[
        "prompt_logprobs"][0] is None
    yield "prompt logprobs with rank", lambda: all(
        e[str(i)]["rank"] >= 1 for i, e in zip(ids[1:], p.complete(
            prompt_logprobs=0).choice["prompt_logprobs"][1:]))
    yield "prompt logprobs in a stream", lambda: p.complete(
        prompt_logprobs=1, stream=True).status == 400
    yield "prompt logprobs -1", lambda: p.complete(prompt_logprobs=-2).status == 400
    yield "echo", lambda: p.complete(echo=True).text.startswith(STORY)
    yield "echo with logprobs", lambda: p.complete(echo=True, logprobs=1).choice["logprobs"][
        "token_logprobs"][0] is None
    yield "echo of max_tokens 0", lambda: p.complete(echo=True, max_tokens=0).text == STORY
    yield "stream", lambda: p.complete(stream=True).deltas == p.complete().text
    yield "stream usage", lambda: p.complete(stream=True, stream_options={
        "include_usage": True}).events[-1]["usage"]["completion_tokens"] == 8
    yield "stream usage each", lambda: all(e["usage"] for e in p.complete(
        stream=True, stream_options={"include_usage": True,
                                     "continuous_usage_stats": True}).events)
    yield "stream_options without stream", lambda: p.complete(
        stream_options={"include_usage": True}).status == 400
    yield "parallel stream", lambda: {c["index"] for e in p.complete(
        n=3, stream=True, temperature=1).events for c in e["choices"]} == {0, 1, 2}
    yield "best_of", lambda: p.complete(n=2, best_of=2, temperature=1).status == 200
    yield "logit bias", lambda: p.complete(logit_bias={"300": 100}, return_token_ids=True).choice[
        "token_ids"] == [300] * 8
    yield "logit bias outside", lambda: p.complete(logit_bias={"999999": 1}).status == 400
    yield "allowed_token_ids", lambda: set(p.complete(
        allowed_token_ids=[300, 301], return_token_ids=True).choice["token_ids"]) <= {300, 301}
    yield "allowed_token_ids outside", lambda: p.complete(allowed_token_ids=[999999]).status == 400
    yield "allowed_token_ids empty", lambda: p.complete(allowed_token_ids=[]).status == 400
    yield "bad_words", lambda: p.complete().text.split()[0] not in p.complete(
        bad_words=[p.complete().text.split()[0]]).text.split()
    yield "include_stop_str_in_output", lambda: p.complete(
        stop=[p.complete().text[3:6]], include_stop_str_in_output=True
    ).text == p.complete().text[:6]
    yield "stop_token_ids", lambda: p.complete(stop_token_ids=[p.complete(
        return_token_ids=True).choice["token_ids"][2]]).choice["finish_reason"] == "stop"
    yield "stop_reason", lambda: p.complete(stop=[p.complete().text[3:6]]).choice[
        "stop_reason"] == p.complete().text[3:6]
    yield "stop_reason of an id", lambda: isinstance(p.complete(stop_token_ids=[p.complete(
        return_token_ids=True).choice["token_ids"][2]]).choice["stop_reason"], int)
    yield "min_tokens", lambda: p.complete(min_tokens=8)["usage"]["completion_tokens"] == 8
    yield "min_tokens above max_tokens", lambda: p.complete(min_tokens=9).status == 400
    yield "min_p", lambda: p.complete(min_p=0.1, temperature=1).status == 200
    yield "top_k -1", lambda: p.complete(top_k=-1).status == 200
    yield "top_k 0", lambda: p.complete(top_k=0).status == 200
    yield "negative temperature", lambda: p.complete(temperature=-1).status == 400
    yield "top_p above 1", lambda: p.complete(top_p=1.5).status == 400
    yield "empty prompt", lambda: p.complete(prompt="").status == 400
    yield "negative max_tokens", lambda: p.complete(max_tokens=-2).status == 400
    yield "too long", lambda: "maximum context length" in p.complete(prompt="fox " * 900).error
    yield "truncate_prompt_tokens", lambda: p.complete(
        prompt="fox " * 900, truncate_prompt_tokens=20)["usage"]["prompt_tokens"] == 20
    yield "truncate_prompt_tokens -1", lambda: p.complete(
        prompt="fox " * 900, truncate_prompt_tokens=-1).status == 200
    yield "unknown model", lambda: p.complete(model="no-such").status == 404
    yield "no prompt", lambda: p.post("/v1/completions", max_tokens=1).status == 400
    yield "cache_salt", lambda: p.complete(cache_salt="a").status == 200
    yield "cache_salt empty", lambda: p.complete(cache_salt="").status in (200, 400)
    yield "return_token_ids", lambda: p.complete(return_token_ids=True).choice[
        "prompt_token_ids"] == ids
    yield "return_token_ids in a stream", lambda: sum(
        [e["choices"][0]["token_ids"] for e in p.complete(
            return_token_ids=True, stream=True).events if e["choices"]], []) == p.complete(
        return_token_ids=True).choice["token_ids"]
    yield "return_token_ids of a chat", lambda: p.chat(return_token_ids=True)["prompt_token_ids"]
    yield "return_tokens_as_token_ids", lambda: p.complete(
        logprobs=1, return_tokens_as_token_ids=True).choice["logprobs"]["tokens"][0].startswith(
        "token_id:")
    yield "chat", lambda: p.chat().choice["message"]["role"] == "assistant"
    yield "chat stream", lambda: p.chat(stream=True).deltas == p.chat().text
    yield "chat first delta", lambda: p.chat(stream=True).events[0]["choices"][0]["delta"][
        "role"] == "assistant"
    yield "chat logprobs", lambda: len(p.chat(logprobs=True, top_logprobs=5).choice["logprobs"][
        "content"][0]["top_logprobs"]) == 5
    yield "chat top_logprobs 0", lambda: p.chat(logprobs=True, top_logprobs=0).choice["logprobs"][
        "content"][0]["top_logprobs"] == []
    yield "chat too many logprobs", lambda: p.chat(logprobs=True, top_logprobs=21).status == 400
    yield "chat top_logprobs alone", lambda: p.chat(top_logprobs=2).status == 400
    yield "chat prompt_logprobs", lambda: p.chat(prompt_logprobs=0)["prompt_logprobs"][0] is None
    yield "chat echo", lambda: p.chat(echo=True, messages=CHAT + [
        {"role": "assistant", "content": "One"}], continue_final_message=True,
        add_generation_prompt=False).text.startswith("One")
    yield "chat n", lambda: len(p.chat(n=2, temperature=1)["choices"]) == 2
    yield "chat bad_words", lambda: p.chat(bad_words=["the"]).status == 200
    yield "chat max_completion_tokens", lambda: p.chat(max_tokens=None, max_completion_tokens=3)[
        "usage"]["completion_tokens"] == 3
    yield "custom role", lambda: p.chat(messages=[{"role": "my-role", "content": "a"}]
                                        ).status == 200
    yield "custom role of parts", lambda: p.chat(messages=[{"role": "my-role", "content": [
        {"type": "text", "text": "a"}]}])["usage"] == p.chat(messages=[
            {"role": "my-role", "content": "a"}])["usage"]
    yield "continue_final_message", lambda: p.chat(messages=CHAT + [
        {"role": "assistant", "content": "One"}], continue_final_message=True,
        add_generation_prompt=False).status == 200
    yield "both openings", lambda: p.chat(messages=CHAT + [{"role": "assistant", "content": "a"}],
                                          continue_final_message=True,
                                          add_generation_prompt=True).status == 400
    for field, given in (("json", SCHEMA), ("regex", "[0-9]{3}"), ("choice", ["yes", "no"]),
                         ("grammar", 'root ::= "yes" | "no"')):
        yield f"structured_outputs {field}", lambda f=field, g=given: holds(
            f, p.chat(structured_outputs={f: g}, max_tokens=60).text)
        yield f"guided_{field}", lambda f=field, g=given: holds(
            f, p.complete(**{f"guided_{f}": g}, max_tokens=60).text)
    yield "two structured outputs", lambda: p.chat(structured_outputs={
        "json": SCHEMA, "regex": "a"}).status == 400
    yield "json_object", lambda: p.chat(response_format={"type": "json_object"}).text.lstrip()[
        0] == "{"
    yield "json_schema", lambda: holds("json", p.chat(response_format={
        "type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
        max_tokens=60).text)
    yield "structural_tag", lambda: p.chat(response_format={
        "type": "structural_tag", "structures": [{"begin": "<a>", "schema": SCHEMA, "end": "</a>"}],
        "triggers": ["<a>"]}).status == 200
    yield "named tool", lambda: json.loads(p.chat(
        tools=[TOOL], tool_choice={"type": "function", "function": {"name": "weather"}},
        max_tokens=200, temperature=1, seed=3).choice["message"]["tool_calls"][0]["function"][
            "arguments"])["city"] is not None
    yield "required tool", lambda: p.chat(tools=[TOOL], tool_choice="required", max_tokens=200,
                                          temperature=1, seed=3).choice["message"]["tool_calls"]
    yield "tool choice without tools", lambda: p.chat(tool_choice="required").status == 400
    yield "unknown named tool", lambda: p.chat(tools=[TOOL], tool_choice={
        "type": "function", "function": {"name": "nope"}}).status == 400
    yield "tool choice none", lambda: not p.chat(tools=[TOOL], tool_choice="none").choice[
        "message"].get("tool_calls")
    yield "message.reasoning", lambda: "reasoning" in p.chat(include_reasoning=True).choice[
        "message"] or p.chat(include_reasoning=True).status == 200
    yield "thinking_token_budget", lambda: p.chat(thinking_token_budget=5).status == 200
    yield "tokenize prompt", lambda: p.post("/tokenize", prompt=STORY)["count"] == len(ids)
    yield "tokenize messages", lambda: p.post("/tokenize", messages=CHAT)["count"] == p.chat()[
        "usage"]["prompt_tokens"]
    yield "tokenize max_model_len", lambda: p.post("/tokenize", prompt="a")["max_model_len"] == 512
    yield "tokenize token_strs", lambda: len(p.post("/tokenize", prompt=STORY,
                                                    return_token_strs=True)["token_strs"]) == len(
        ids)
    yield "tokenize with tools", lambda: p.post("/tokenize", messages=CHAT, tools=[TOOL])[
        "count"] > 0
    yield "tokenize continue", lambda: p.post(
        "/tokenize", messages=CHAT + [{"role": "assistant", "content": "a"}],
        add_generation_prompt=False, continue_final_message=True).status == 200
    yield "detokenize", lambda: p.post("/detokenize", tokens=ids)["prompt"] == STORY
    yield "invocations", lambda: p.post("/invocations", messages=CHAT, max_tokens=2)["choices"]
    yield "invocations of prompts", lambda: p.post("/invocations", prompt="a", max_tokens=2)[
        "choices"]
    yield "embeddings", lambda: len(p.post("/v1/embeddings", input="a")["data"]) == 1
    yield "embeddings base64", lambda: isinstance(p.post(
        "/v1/embeddings", input="a", encoding_format="base64")["data"][0]["embedding"], str)
    yield "embeddings of ids", lambda: p.post("/v1/embeddings", input=[ids, ids])["data"][1]
    yield "embeddings of messages", lambda: p.post("/v1/embeddings", messages=CHAT)["data"]
    yield "embeddings truncated", lambda: p.post("/v1/embeddings", input="fox " * 900,
                                                 truncate_prompt_tokens=10)["usage"][
        "prompt_tokens"] == 10
    yield "score", lambda: p.post("/score", text_1="a", text_2="b").status == 200
    yield "responses", lambda: p.post("/v1/responses", input="a", max_output_tokens=3)[
        "object"] == "response"
    yield "error object", lambda: p.complete(temperature=-1)["error"]["type"]
    yield "unknown path", lambda: p.get("/nope").status == 404
    yield "model name of the answer", lambda: p.complete()["model"] == name
    yield "priority", lambda: p.complete(priority=5).status == 200
    yield "skip_special_tokens", lambda: p.complete(skip_special_tokens=False).status == 200
    yield "spaces_between_special_tokens", lambda: p.complete(
        spaces_between_special_tokens=True).status == 200
    yield "use_beam_search", lambda: p.complete(use_beam_search=True, n=2).status in (200, 400)
    yield "repetition_penalty", lambda: p.complete(repetition_penalty=1.2).status == 200
    yield "length_penalty", lambda: p.complete(length_penalty=1.0).status == 200


def holds(kind, text):
    if kind == "json":
        return 0 <= json.loads(text)["age"] <= 9
    if kind == "regex":
        return len(text) == 3 and text.isdigit()
    return text in ("yes", "no")


def ollama(p):
    """integration/api_test.go, and api: what the client's structs read."""
    name = p.get("/api/tags")["models"][0]["name"]

    def lines(path, **body):
        got = p.post(path, **{"model": name, **body}).body
        return ([json.loads(one) for one in got.split("\n") if one] if isinstance(got, str)
                else [got])

    def say(**body):
        return p.post("/api/generate", **{
            "model": name, "prompt": STORY, "stream": False,
            "options": {"num_predict": 4, "temperature": 0}, **body})

    def talk(**body):
        return p.post("/api/chat", **{
            "model": name, "messages": CHAT, "stream": False,
            "options": {"num_predict": 4, "temperature": 0}, **body})
    yield "version", lambda: p.get("/api/version")["version"]
    yield "root", lambda: p.get("/").status == 200
    tag = p.get("/api/tags")["models"][0]
    for member in ("name", "model", "modified_at", "digest"):
        yield f"tags {member}", lambda m=member: tag[m]
    yield "tags size", lambda: tag["size"] > 0
    for member in ("format", "family", "families", "parameter_size", "quantization_level"):
        yield f"tags details.{member}", lambda m=member: tag["details"][m]
    running = p.get("/api/ps")["models"][0]
    for member in ("name", "model", "digest", "expires_at"):
        yield f"ps {member}", lambda m=member: running[m]
    yield "ps size", lambda: running["size"] > 0
    yield "ps size_vram", lambda: "size_vram" in running
    yield "ps context_length", lambda: running["context_length"] == 512
    show = p.post("/api/show", model=name)
    for member in ("template", "modelfile", "parameters", "details", "model_info", "capabilities",
                   "modified_at"):
        yield f"show {member}", lambda m=member: show[m]
    yield "show by name", lambda: p.post("/api/show", name=name).status == 200
    yield "show of an unknown model", lambda: p.post("/api/show", model="nope").status == 404
    yield "show verbose", lambda: p.post("/api/show", model=name, verbose=True)["model_info"]
    yield "generate", lambda: say()["response"] and say()["done"]
    for member in ("total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration",
                   "eval_count", "eval_duration"):
        yield f"generate {member}", lambda m=member: say()[m] > 0
    yield "generate created_at", lambda: say()["created_at"]
    yield "generate context", lambda: say()["context"]
    yield "generate done_reason", lambda: say()["done_reason"] in ("length", "stop")
    yield "generate stream", lambda: "".join(
        e["response"] for e in lines("/api/generate", prompt=STORY, options={
            "num_predict": 4, "temperature": 0})) == say()["response"]
    yield "generate stream ends", lambda: lines("/api/generate", prompt=STORY, options={
        "num_predict": 4})[-1]["done"]
    yield "generate model", lambda: say()["model"] == name
    yield "generate latest", lambda: say(model=f"{name.split(':')[0]}:latest").status == 200
    yield "generate of a context", lambda: say(context=say()["context"]).status == 200
    yield "generate raw", lambda: say(raw=True).status == 200
    yield "generate system", lambda: say(system="Be kind.").status == 200
    yield "generate template", lambda: say(template="{{ .Prompt }}").status == 200
    yield "generate format json", lambda: json.loads(say(
        format=SCHEMA, options={"num_predict": 60, "temperature": 0})["response"])["age"] >= 0
    yield "generate stop", lambda: say(options={"stop": ["a"], "num_predict": 40}).status == 200
    yield "generate keep_alive", lambda: say(keep_alive="5m").status == 200
    yield "generate keep_alive 0", lambda: say(keep_alive=0).status == 200
    yield "generate empty loads", lambda: say(prompt="")["done_reason"] == "load"
    yield "generate empty unloads", lambda: say(prompt="", keep_alive=0)["done_reason"] == "unload"
    yield "generate seed", lambda: say(options={"seed": 3, "num_predict": 8})["response"] == say(
        options={"seed": 3, "num_predict": 8})["response"]
    yield "generate mirostat", lambda: say(options={"mirostat": 0}).status == 200
    yield "generate num_ctx", lambda: say(options={"num_ctx": 256}).status == 200
    yield "generate logprobs", lambda: len(say(logprobs=True, top_logprobs=2)["logprobs"]) == 4
    yield "generate unknown model", lambda: "not found" in say(model="nope").error
    yield "chat", lambda: talk()["message"]["role"] == "assistant"
    yield "chat stream", lambda: "".join(
        e["message"]["content"] for e in lines("/api/chat", messages=CHAT, options={
            "num_predict": 4, "temperature": 0})) == talk()["message"]["content"]
    yield "chat eval_count", lambda: talk()["eval_count"] == 4
    yield "chat load_duration", lambda: talk()["load_duration"] > 0
    yield "chat empty loads", lambda: talk(messages=[])["done_reason"] == "load"
    yield "chat tools", lambda: talk(tools=[TOOL]).status == 200
    yield "chat logprobs", lambda: talk(logprobs=True)["logprobs"]
    yield "chat unknown model", lambda: talk(model="nope").status == 404
    yield "chat too long is shortened", lambda: talk(messages=[
        {"role": "user", "content": "fox " * 200}] * 5 + CHAT).status == 200
    yield "embed", lambda: len(p.post("/api/embed", model=name, input="a")["embeddings"]) == 1
    yield "embed batch", lambda: len(p.post("/api/embed", model=name, input=["a", "b"])[
        "embeddings"]) == 2
    yield "embed counts", lambda: p.post("/api/embed", model=name, input="a")[
        "prompt_eval_count"] > 0
    yield "embed truncates", lambda: p.post("/api/embed", model=name, input="fox " * 900
                                            ).status == 200
    yield "embed truncate false", lambda: p.post("/api/embed", model=name, input="fox " * 900,
                                                 truncate=False).status == 400
    yield "embed dimensions", lambda: len(p.post("/api/embed", model=name, input="a",
                                                 dimensions=8)["embeddings"][0]) == 8
    yield "embed empty", lambda: p.post("/api/embed", model=name, input=[])["embeddings"] == []
    yield "embeddings", lambda: p.post("/api/embeddings", model=name, prompt="a")["embedding"]
    yield "pull of the served model", lambda: lines("/api/pull", stream=False)[-1][
        "status"] == "success"
    yield "pull streams", lambda: lines("/api/pull")[-1]["status"] == "success"
    yield "copy", lambda: p.post("/api/copy", source=name, destination="b").status == 200
    yield "create", lambda: p.post("/api/create", model="b", **{"from": name}).status == 200
    yield "delete", lambda: Answer(p.fleet, "DELETE", "/api/delete", {"model": "nope"}
                                   ).status == 404
    yield "blobs", lambda: p.get("/api/blobs/sha256:0").status in (400, 404)


def tgi(p):
    """integration-tests and docs/openapi.json of text-generation-inference."""
    def generate(path="/generate", **parameters):
        return p.post(path, inputs=STORY, parameters={"max_new_tokens": 4, **parameters})
    yield "health", lambda: p.get("/health").status == 200
    yield "info", lambda: p.get("/info")["model_id"] and p.get("/info")["max_total_tokens"]
    yield "generate", lambda: generate()["generated_text"]
    yield "details", lambda: generate(details=True)["details"]["generated_tokens"] == 4
    yield "decoder_input_details", lambda: generate(details=True, decoder_input_details=True)[
        "details"]["prefill"][0]["logprob"] is None
    yield "top_n_tokens", lambda: len(generate(details=True, top_n_tokens=2)["details"][
        "top_tokens"][0]) == 2
    yield "all parameters", lambda: generate(
        do_sample=True, temperature=0.5, top_k=10, top_p=0.9, typical_p=0.95, seed=0,
        repetition_penalty=1.2, frequency_penalty=0.1, return_full_text=True, stop=["zzz"],
        truncate=10, details=True, watermark=False)["generated_text"].startswith(STORY)
    yield "stream", lambda: generate("/generate_stream").events[-1]["generated_text"]
    yield "stream with a prefill", lambda: generate(
        "/generate_stream", decoder_input_details=True).status == 422
    yield "compat generate", lambda: generate("/")[0]["generated_text"]
    yield "grammar", lambda: json.loads(p.post("/generate", inputs=STORY, parameters={
        "grammar": {"type": "json", "value": SCHEMA}, "max_new_tokens": 60})["generated_text"])
    yield "grammar regex", lambda: generate(grammar={"type": "regex", "value": "[0-9]{3}"})[
        "generated_text"].isdigit()
    yield "tokenize", lambda: p.post("/tokenize", inputs=STORY)[0]["start"] == 0
    yield "chat_tokenize", lambda: p.post("/chat_tokenize", messages=CHAT)["tokenize_response"]
    yield "validation", lambda: (generate(temperature=-1).status, generate(temperature=-1)[
        "error_type"]) == (422, "validation")
    yield "too long", lambda: p.post("/generate", inputs="fox " * 900).status == 422
    yield "best_of", lambda: generate(best_of=2, do_sample=True, details=True)["details"][
        "best_of_sequences"]
    yield "chat completions", lambda: p.chat()["choices"]


def sglang(p):
    """test/srt: test_srt_endpoint, and the router's probes."""
    def generate(**body):
        return p.post("/generate", **{"text": STORY, "sampling_params": {
            "max_new_tokens": 4, "temperature": 0}, **body})
    yield "generate", lambda: generate()["text"] and generate()["meta_info"]["prompt_tokens"]
    yield "generate of ids", lambda: generate(text=None, input_ids=p.ids(STORY))["text"]
    yield "generate batch", lambda: len(generate(text=[STORY, STORY]).body) == 2
    yield "generate n", lambda: len(generate(sampling_params={
        "max_new_tokens": 2, "n": 2, "temperature": 1}).body) == 2
    yield "generate stream", lambda: generate(stream=True).events[-1]["text"]
    yield "generate logprobs", lambda: len(generate(return_logprob=True)["meta_info"][
        "output_token_logprobs"]) == 4
    yield "ebnf", lambda: p.post("/generate", text=STORY, sampling_params={
        "ebnf": 'root ::= "yes"', "max_new_tokens": 9})["text"] == "yes"
    yield "get_model_info", lambda: p.get("/get_model_info")["model_path"]
    yield "get_server_info", lambda: p.get("/get_server_info").status == 200
    yield "health_generate", lambda: p.get("/health_generate").status == 200
    yield "flush_cache", lambda: p.post("/flush_cache").status == 200
    yield "liveness and readiness", lambda: (p.get("/liveness").status,
                                             p.get("/readiness").status) == (200, 200)


PEERS = {"vllm": vllm, "ollama": ollama, "tgi": tgi, "sglang": sglang}


def count(peer, shows):
    """Prints what fails, and how much holds."""
    n = good = 0
    template = pathlib.Path(tempfile.mkdtemp()) / "tools.jinja"
    template.write_text("{% if tools %}{{ tools | tojson }}<tool_call>{% endif %}"
                        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
                        "{% if add_generation_prompt %}<|assistant|>{% endif %}")
    with Fleet(gateway_args=["--chat-template", template]) as fleet:
        for name, judge in PEERS[peer](Peer(fleet)):
            n += 1
            try:
                held, why = bool(judge()), ""
            except Exception as error:  # pylint: disable=broad-except
                held, why = False, f"{type(error).__name__}: {error}"
            good += held
            if shows or not held:
                print(f"  {'holds' if held else 'fails'}: {name} {why[:100]}".rstrip())
    print(f"{peer}: {good} of {n}", flush=True)


def main():
    names = [name for name in sys.argv[1:] if name in PEERS]
    for peer in names or PEERS:
        count(peer, "-v" in sys.argv)


main()
