"""Requests of every kind that makes tokens, and the part of an answer no worker may change."""
from fleet import SLOW

STORY = "Once upon a time"
N_TOKENS = 440 if SLOW == 1 else 200
LONG = dict(prompt=STORY, max_new_tokens=N_TOKENS, temperature=0, seed=1, ignore_eos=True)
# A schema or pattern holds these requests, and does not let them end.
HELD = {name: value for name, value in LONG.items() if name != "ignore_eos"}
CHAT = dict(messages=[{"role": "user", "content": "Tell me a story."}], ignore_eos=True)


def ids(n, first=0):
    """n token ids that differ from those of another `first`."""
    return [(first * 131 + 7 * i * i + 3 * i) % 2000 + 5 for i in range(n)]


def of_schema(schema):
    return {"type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": True}}


# Every kind of request whose tokens a decode worker makes: path, body.
DECODED = {
    "greedy": ("/generate", LONG),
    "sampled": ("/generate", {**LONG, "temperature": 0.9, "top_k": 40, "top_p": 0.95, "min_p": 0.01,
                              "seed": 11}),
    "other filters": ("/generate", {**LONG, "temperature": 1.2, "top_n_sigma": 3,
                                    "typical_p": 0.9, "seed": 14}),
    "penalties": ("/generate", {**LONG, "temperature": 0.7, "presence_penalty": 0.6,
                                "frequency_penalty": 0.4, "repetition_penalty": 1.2, "seed": 12}),
    "output penalties alone": ("/generate",
                               {**LONG, "presence_penalty": 1.5, "frequency_penalty": 0.9}),
    "stop text": ("/generate",
                  {**LONG, "temperature": 0.8, "seed": 3, "stop": ["no such text", "zebra"]}),
    "stop token": ("/generate", {**LONG, "temperature": 0.3, "seed": 5, "stop_token_ids": [2558]}),
    "explained": ("/generate",
                  {**LONG, "temperature": 0.8, "seed": 6, "explain": 3, "max_new_tokens": 200}),
    "held to a schema": ("/generate", {
        **HELD, "temperature": 0.8, "seed": 10, "explain": 2, "max_new_tokens": 200,
        "response_format": of_schema({"type": "array", "items": {"type": "string"},
                                      "minItems": 1000})}),
    "held to a pattern": ("/generate/stream",
                          {**HELD, "temperature": 0.9, "seed": 13, "regex": "([a-z]+[ ,.]){1000}"}),
    "allowed tokens alone": ("/generate", {**LONG, "temperature": 0.8, "seed": 14,
                                           "allowed_token_ids": list(range(100, 400))}),
    "without words": ("/generate", {**HELD, "temperature": 0.8, "seed": 15,
                                    "bad_words": ["the", " a", "big"]}),
    "batch": ("/generate", {**LONG, "prompt": [[7, 8, 9], [400, 11], [7, 8, 9, 10]],
                            "temperature": 0.8, "seed": 7}),
    "uncached": ("/generate", {**LONG, "cache_prompt": False}),
    "stream": ("/generate/stream", {**LONG, "temperature": 0.8, "seed": 8}),
    "explained stream": ("/generate/stream", {**LONG, "temperature": 0.8, "seed": 9, "explain": 2,
                                              "max_new_tokens": 200}),
    "completion": ("/v1/completions", dict(prompt=STORY, max_tokens=N_TOKENS, temperature=0.8,
                                           seed=1, n=3, logprobs=3, ignore_eos=True)),
    "echo": ("/v1/completions", dict(prompt=STORY, max_tokens=N_TOKENS, temperature=0.8, seed=2,
                                     echo=True, logprobs=2, ignore_eos=True)),
    "completion stream": ("/v1/completions", dict(
        prompt=STORY, max_tokens=N_TOKENS, temperature=0.8, seed=3, n=2,
        logprobs=1, stream=True, ignore_eos=True, stream_options={"include_usage": True})),
    "chat": ("/v1/chat/completions",
             {**CHAT, "max_tokens": N_TOKENS, "seed": 4, "logprobs": True, "top_logprobs": 2}),
    "chat held to a grammar": ("/v1/chat/completions", {
        "messages": CHAT["messages"], "max_tokens": N_TOKENS, "seed": 6, "n": 2,
        "grammar": 'root ::= (word " "){1000}\nword ::= [a-z]+ ("-" word)?'}),
    "chat stream": ("/v1/chat/completions",
                    {**CHAT, "max_tokens": N_TOKENS, "seed": 5, "stream": True}),
}
# The prefill worker makes the tokens of the naive loop.
NAIVE = {
    "naive": ("/generate", {**LONG, "max_new_tokens": 150, "kv_cache": False, "temperature": 0.8,
                            "seed": 21, "presence_penalty": 0.5}),
    "naive stream": ("/generate/stream", {**LONG, "max_new_tokens": 150, "kv_cache": False,
                                          "temperature": 0.8, "seed": 22}),
}
ARGS = ["--chat-template", "chatml"]  # of a gateway that takes them all

# Fields that depend on the run and not on the request.
OF_THE_RUN = {"id", "created", "served_by", "handoff", "timings", "timeline", "cold",
              "cached_tokens", "disk_tokens", "cache_note", "prompt_tokens_details",
              "speculation", "draft", "completion_tokens_details"}


def essence(value):
    """The parts of an answer that may not depend on the workers, nor on when anything happened."""
    if isinstance(value, dict):
        return {name: essence(part) for name, part in value.items()
                if name not in OF_THE_RUN and not name.endswith("_s")}
    return [essence(part) for part in value] if isinstance(value, list) else value


def is_stream(path, body):
    return path == "/generate/stream" or bool(body.get("stream"))


def texts(path, events):
    """{choice: its text} of a stream, whole or broken."""
    if path == "/generate/stream":
        return {0: "".join(event.text for event in events)}
    made = {}
    for event in events:
        for choice in (event.json() if event.data.startswith("{") else {}).get("choices", []):
            text = choice["text"] if "text" in choice else choice["delta"].get("content") or ""
            made[choice["index"]] = made.get(choice["index"], "") + text
    return made


def of_stream(path, events):
    return of_native_stream(events) if path == "/generate/stream" else of_openai_stream(events)


def of_native_stream(events):
    text = "".join(event.text for event in events)
    steps = [event.json() for event in events if event.name == "step"]
    assert [events[0].name, events[-1].name] == ["meta", "summary"], events[-1]
    return essence([text, steps, events[0].json(), events[-1].json()])


def of_openai_stream(events):
    """By choice: its text, its logprobs, how it ended; then the usage."""
    assert events[-1].data == "[DONE]", events[-1]
    choices, usage = {}, None
    for chunk in (event.json() for event in events[:-1]):
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            text, logprobs, ends = choices.setdefault(choice["index"], ([], [], []))
            text.append(choice["text"] if "text" in choice else choice["delta"].get("content", ""))
            told = choice["logprobs"] or {}
            logprobs.extend(told.get("token_logprobs") or told.get("content") or [])
            ends.append(choice["finish_reason"])
    return essence([{str(index): ("".join(text), logprobs, [end for end in ends if end])
                     for index, (text, logprobs, ends) in choices.items()}, usage])
