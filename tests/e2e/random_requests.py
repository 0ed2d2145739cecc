"""Random requests: valid ones with every field, invalid ones with the field to be named."""
import json

from fleet import ROOT

GOLDEN = json.loads((ROOT / "tests/golden/tale.json").read_text())
SOURCES = [p["ids"] + p["greedy_ids"] for p in GOLDEN["prompts"]]
TEXTS = [p["prompt"] for p in GOLDEN["prompts"] if len(p["ids"]) < 100]
N_VOCAB, N_CONTEXT = 2560, 512
MAX_BATCH, MAX_STOPS = 64, 16

# ---- valid


def prompt_ids(rng):
    source = rng.choice(SOURCES)
    begin = rng.randrange(len(source))
    return source[begin:begin + rng.randint(1, 40)]


def prompt_text(rng):
    text = rng.choice(TEXTS)
    return text[:rng.randint(1, len(text))] if text else text


OPTIONAL = {
    "temperature": lambda rng: rng.choice([0, 0, 0.3, 0.7, 1, 1.5, 20, 100, rng.uniform(0.01, 2)]),
    "top_n_sigma": lambda rng: rng.choice([0, -1, 1, 0.01, 1e9, rng.uniform(0, 4)]),
    "typical_p": lambda rng: rng.choice([1, 0.95, 0.2, 1e-9, rng.uniform(0.001, 1)]),
    "top_k": lambda rng: rng.choice([0, 1, 2, 10, 40, N_VOCAB - 1, N_VOCAB, 10**6]),
    "top_p": lambda rng: rng.choice([0, 1, 0.95, 0.5, 0.01, rng.uniform(0.001, 1)]),
    "min_p": lambda rng: rng.choice([0, 0.05, 0.3, 1, rng.random()]),
    "repetition_penalty": lambda rng: rng.choice([1, 1.2, 2, 0.5, rng.uniform(0.1, 3)]),
    "presence_penalty": lambda rng: rng.uniform(-2, 2),
    "frequency_penalty": lambda rng: rng.uniform(-2, 2),
    "min_tokens": lambda rng: rng.choice([0, 1, 3, 1000]),
    "logit_bias": lambda rng: {
        str(rng.randrange(N_VOCAB)): rng.choice([-100, 100, rng.uniform(-5, 5)])
        for _ in range(rng.randint(0, 5))},
    "stop": lambda rng: rng.choice([" the", [" a", "."], [], ["\n", "e", "was"],
                                    ["ß", "zebra"] * 8]),
    "stop_token_ids": lambda rng: [rng.randrange(N_VOCAB) for _ in range(rng.randint(0, 4))],
    "ignore_eos": lambda rng: rng.random() < 0.5,
    "explain": lambda rng: rng.choice([0, 1, 5, 20]),
    "speculation": lambda rng: {"mode": rng.choice(["none", "prompt_lookup", "prompt_lookup",
                                                    "draft_model"]),
                                "max_tokens": rng.randint(1, 16)},
    "kv_cache": lambda rng: rng.random() < 0.5,
    "cache_prompt": lambda rng: rng.random() < 0.5,
    "timeline": lambda rng: rng.random() < 0.5,
}


def optional_fields(rng, n_most=5):
    names = rng.sample(sorted(OPTIONAL), rng.randint(0, n_most))
    return {name: OPTIONAL[name](rng) for name in names}


def valid(rng):
    """(path, body) of a request that every fleet of the model answers alike."""
    body = {"seed": rng.randrange(2**53), **optional_fields(rng)}
    path = rng.choice(["/generate"] * 7 + ["/generate/stream"] * 2 + ["/v1/completions"])
    if path == "/v1/completions":
        body = {name: value for name, value in body.items() if name not in ("kv_cache", "timeline")}
        body |= {"n": rng.randint(1, 3), "logprobs": rng.randint(0, 5),
                 "max_tokens": rng.randint(1, 10)}
    else:
        body["max_new_tokens"] = rng.randint(1, 10)
    if path != "/generate/stream" and rng.random() < 0.2:
        body["prompt"] = [prompt_ids(rng) for _ in range(rng.randint(1, 4))]
    else:
        body["prompt"] = rng.choice([prompt_ids, prompt_text])(rng)
    return path, body


def sampling_fields(rng):
    """Fields for a long request: every one that the API's routes share, a few at a time."""
    names = rng.sample(sorted(OPTIONAL.keys() - {"kv_cache", "timeline"}), rng.randint(0, 4))
    return {"seed": rng.randrange(2**53), "ignore_eos": True,
            **{name: OPTIONAL[name](rng) for name in names}}


def lasting_native(rng):
    body = sampling_fields(rng) | {"prompt": prompt_ids(rng), "timeline": rng.random() < 0.3}
    if rng.random() < 0.2:
        return "/generate/stream", body | {"kv_cache": False, "max_new_tokens": rng.randint(1, 20)}
    return (rng.choice(["/generate/stream"] * 3 + ["/generate"]),
            body | {"max_new_tokens": rng.randint(1, 160)})


def lasting_completion(rng):
    body = sampling_fields(rng) | {"prompt": prompt_ids(rng), "n": rng.randint(1, 3),
                                   "max_tokens": rng.randint(1, 160)}
    if rng.random() < 0.5:
        body |= {"logprobs": rng.randint(0, 5), "echo": rng.random() < 0.4}
    return "/v1/completions", body | streamed(rng)


def lasting_chat(rng):
    turns = [{"role": role, "content": prompt_text(rng)[:80]}
             for role in ["user", "assistant", "user"][2 * rng.randrange(2):]]
    body = sampling_fields(rng) | {"messages": turns, "n": rng.randint(1, 2),
                                   "max_tokens": rng.randint(1, 160)}
    if rng.random() < 0.5:
        body |= {"logprobs": True, "top_logprobs": rng.randint(0, 5)}
    return "/v1/chat/completions", body | streamed(rng)


def streamed(rng):
    return {"stream": True, "stream_options": {"include_usage": True}} if rng.random() < 0.6 else {}


def lasting(rng):
    """(path, body) of any kind, mostly long enough for something to happen meanwhile."""
    return rng.choice([lasting_native, lasting_native, lasting_completion, lasting_chat,
                       valid])(rng)


# ---- invalid: each kind of field knows how it can be wrong

VALUES = {"string": "abc", "int": 7, "real": 1.5, "bool": True, "array": [["x"]],
          "object": {"a": 1}}


def value_but(*kinds):
    return lambda rng: rng.choice([value for kind, value in VALUES.items() if kind not in kinds])


def one_of(*values):
    return lambda rng: rng.choice(values)


def integer(low, high=None):
    ways = [value_but("int"), lambda rng: low - rng.choice([1, 2, 10**9])]
    return ways + ([lambda rng: high + rng.choice([1, 2, 10**9])] if high is not None else [])


def real(low, high=None, low_is_out=False):
    below = [low - 0.001, low - 1, low - 1e30] + ([low] if low_is_out else [])
    ways = [value_but("int", "real"), one_of(*below)]
    return ways + ([one_of(high + 0.001, high + 1, 1e300)] if high is not None else [])


BOOLEAN = [value_but("bool")]

STOP = [value_but("string", "array"), one_of(["a", ""]), one_of("x" * 5000, ["x" * 5000]),
        lambda rng: [str(i) for i in range(MAX_STOPS + rng.randint(1, 50))],
        lambda rng: ["a", value_but("string")(rng)]]

BAD_IDS = one_of(-1, N_VOCAB, 10**12, 1.5, "3", None, True, {})
TOKEN_IDS = [value_but("array"), lambda rng: [rng.randrange(N_VOCAB), BAD_IDS(rng)],
             lambda rng: list(range(rng.randint(1000, 2000)))]

LOGIT_BIAS = [
    value_but("object"), lambda rng: {str(rng.randrange(N_VOCAB)): rng.choice([-100.5, 101, 1e30])},
    lambda rng: {rng.choice(["-1", str(N_VOCAB), "1.5", "", "1e1", "9" * 30]): 1},
    lambda rng: {str(rng.randrange(N_VOCAB)): rng.choice(["1", None, True, [], {}])}]

SPECULATION = [value_but("object"),
               one_of({"mode": "x"}, {"mode": 1}, {"mode": None, "max_tokens": 0}, {"a": 1}),
               lambda rng: {"max_tokens": rng.choice([-1, 0, 17, 10**9, 1.5, "4"])}]

BATCH = [lambda rng: [[1]] * (MAX_BATCH + rng.randint(1, 9)), one_of([[1], []], [[]]),
         lambda rng: [[1, 2], [BAD_PIECES(rng)]], one_of([[1], 2], [1, [2]], [[[1]]])]

BAD_PIECES = one_of(-1, N_VOCAB, 10**12, 1.5, None, True, {})
PROMPT = [value_but("string", "array"), one_of([]), lambda rng: [1, BAD_PIECES(rng)],
          lambda rng: [5] * (N_CONTEXT + rng.randint(0, 9)),
          lambda rng: "a " * rng.randint(2000, 9000)]

SAMPLING = {
    "top_n_sigma": real(-1), "typical_p": real(0, 1, low_is_out=True),
    "temperature": real(0, 100), "top_k": integer(0), "top_p": real(0, 1),
    "min_p": real(0, 1),
    "repetition_penalty": real(0, low_is_out=True), "presence_penalty": real(-2, 2),
    "frequency_penalty": real(-2, 2), "min_tokens": integer(0, 2**31 - 1), "logit_bias": LOGIT_BIAS,
    "stop": STOP, "stop_token_ids": TOKEN_IDS,
    "ignore_eos": BOOLEAN, "cache_prompt": BOOLEAN, "seed": integer(0), "explain": integer(0, 20),
    "speculation": SPECULATION,
}
NATIVE = {**SAMPLING, "max_new_tokens": integer(1, N_CONTEXT), "kv_cache": BOOLEAN,
          "timeline": BOOLEAN}

REFUSED = {
    "tool_choice": [one_of("required", {"type": "function", "function": {"name": "f"}})],
    "functions": [value_but("array"), one_of([5], [{"name": 5}], [{}])],
    "function_call": [one_of({"name": "f"}, "required", 5)],
    "response_format": [one_of({"type": "yaml"}, {"type": "json_schema", "json_schema": {}})],
    "structured_outputs": [value_but("object"), one_of({"choice": ["a"], "regex": "b"})],
    "guided_choice": [one_of([1], ["a", None], "a")], "guided_regex": [one_of("(", 5)],
    "ebnf": [one_of("start: x", 'root ::= "a" (= "b")', ["a"])],
    "modalities": [one_of(["text", "audio"], ["audio"])],
    "audio": [one_of({"voice": "alloy", "format": "wav"})],
    "web_search_options": [one_of({"user_location": {}})],
    "suffix": [one_of("end")], "best_of": [one_of(2, 5)],
}


def integer_or_off(low, high=None):
    """-1 is as if it were absent."""
    return [value_but("int"),
            lambda rng: rng.choice([low - 3, low - 10**9, *([high + 1] if high else [])])]


OPENAI = {
    **SAMPLING, **REFUSED, "n": integer(1), "stream": BOOLEAN,
    "max_tokens": integer_or_off(1, N_CONTEXT),
    "seed": integer_or_off(0), "top_k": integer_or_off(0, 2**31 - 1),
    "model": [value_but("string"), one_of("gpt-4", "", "Tale", "tale ")],
    "stream_options": [value_but("object"), one_of({"include_usage": True})],
}


def message(**fields):
    return [{"role": "user", "content": "Hello", **fields}]


MESSAGES = [
    value_but("array"), one_of([]), lambda rng: [value_but("object")(rng)],
    lambda rng: message(role=rng.choice(["wizard", "", "User", 5, None, True])),
    lambda rng: message(content=rng.choice([5, True, {}, [{"type": "image_url"}], [5]])),
    one_of([{"content": "x"}], [{"role": "user"}]),
    lambda rng: message(content="a " * rng.randint(2000, 9000))]

TEMPLATE = {
    "tools": [value_but("array"), one_of([5], [{}], [{"type": "function"}], [{"type": "custom"}])],
    "documents": [value_but("array"), one_of([5], ["text"])],
    "chat_template_kwargs": [value_but("object"), one_of({"messages": []}, {"bos_token": "x"})],
    "reasoning_effort": [value_but("string")],
    "reasoning_format": [value_but("string"), one_of("legacy", "")],
    "add_generation_prompt": BOOLEAN,
    "continue_final_message": BOOLEAN + [one_of(True)],
}

# By path: what a valid body has, and how each field can be wrong.
ENDPOINTS = {
    "/generate": ({"prompt": "The fox", "max_new_tokens": 2}, {**NATIVE, "prompt": PROMPT + BATCH}),
    "/generate/stream": ({"prompt": "The fox", "max_new_tokens": 2},
                         {**NATIVE, "prompt": PROMPT + BATCH + [one_of([[1], [2]], [[1]])]}),
    "/v1/completions": ({"prompt": "The fox", "max_tokens": 2},
                        {**OPENAI, "prompt": PROMPT + BATCH + [lambda rng: ["a"] * (MAX_BATCH + 1)],
                         "tools": [one_of([{"type": "function", "function": {"name": "f"}}])],
                         "reasoning_effort": [one_of("low", "high")],
                         "reasoning_format": [one_of("deepseek", "legacy")],
                         "echo": BOOLEAN, "logprobs": integer(0, 20)}),
    "/v1/chat/completions": ({"messages": message(), "max_tokens": 2},
                             {**OPENAI, **TEMPLATE, "messages": MESSAGES, "logprobs": BOOLEAN,
                              "top_logprobs": integer(0, 20) + [lambda rng: rng.randint(1, 20)],
                              "max_completion_tokens": integer_or_off(1, N_CONTEXT)}),
}


def misspelt(rng, names):
    """An unknown field, as a careless client would send it."""
    name = rng.choice(sorted(names))
    at = rng.randrange(len(name))
    wrong = rng.choice([name[:at] + name[at + 1:], name[:at] + "x" + name[at:], name.upper(),
                        name + "s", "__proto__"])
    return wrong if wrong and wrong not in names else name + "_2"


def shuffled(rng, body):
    return dict(rng.sample(sorted(body.items()), len(body)))


def invalid(rng):
    """(path, JSON text, the field that is wrong) of a request that is wrong in one field."""
    path = rng.choice(sorted(ENDPOINTS))
    good, wrong = ENDPOINTS[path]
    neighbours = {name: OPTIONAL[name](rng)
                  for name in rng.sample(sorted(SAMPLING.keys() & OPTIONAL.keys()), 2)}
    body, kind = {**neighbours, **good}, rng.random()
    if kind < 0.08:
        name = misspelt(rng, set(wrong) | {"user", "store", "metadata"})
        body[name] = rng.choice(list(VALUES.values()))
    elif kind < 0.12 and path.startswith("/generate"):
        name = "prompt"
        body[name] = None
        if rng.random() < 0.5:
            del body[name]
    elif kind < 0.16:
        name = rng.choice(sorted(body))
        pairs = [f"{json.dumps(key)}: {json.dumps(body[key])}" for key in [*body, name]]
        return path, "{" + ", ".join(pairs) + "}", name
    else:
        name = rng.choice(sorted(wrong))
        if name == "max_completion_tokens":
            del body["max_tokens"]
        body[name] = rng.choice(wrong[name])(rng)
    return path, json.dumps(shuffled(rng, body)), name
