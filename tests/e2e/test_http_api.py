"""docs/http-api.md and the gateway agree on routes, fields, answers, errors and metrics, both ways.

A list item of the document that begins with names in backticks describes these names: fields of a
request (in parentheses what they must be, in the words of the gateway's errors), members of an
answer (as paths), events, or metrics.
"""
import http.client
import json
import re

import pytest
from conftest import TOOLS, written
from fleet import BIN, LONG_S, ROOT, WORDY, Fleet, Stream, run_out_of_time, wait_for
from infill_model import infill_model
from programs import run

DOCUMENT = (ROOT / "docs/http-api.md").read_text()
API_SOURCES = [path.read_text() for folder in ("gateway/api", "engine/sampling")
               for path in (ROOT / folder).rglob("*.c")]
GATEWAY_SOURCES = [path.read_text() for path in (ROOT / "gateway").rglob("*.c")]
NUMBERS = {"error.n_prompt_tokens", "error.n_ctx"}  # of a prompt that does not fit
TGI = ("/generate_stream", "/", "/chat_tokenize", "/embed")
MESSAGES = [{"role": "user", "content": "Tell me a story"}]
# The model repeats one token, so that there are drafts.
REPEATING = {"speculation": {"mode": "prompt_lookup", "min_tokens": 2}, "logit_bias": {"5": 100}}


def sections():
    """{heading: its text, without that of the headings below it}"""
    parts = re.split(r"^#+ (.*)$", DOCUMENT, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


SECTIONS = sections()


def items(*headings):
    """{name: (what it must be, default)} of the list items of these sections."""
    found = {}
    for heading in headings:
        text = re.sub(r"\n +(?=[^ -])", " ", SECTIONS[heading])
        for names, parentheses in re.findall(r"^ *- ((?:`[^`]+`(?:, )?)+)(?: \((.*?)\))?:(?: |$)",
                                             text, re.M):
            rule, _, fallback = parentheses.partition("; ")
            for name in re.findall(r"`([^`]+)`", names):
                assert name not in found, f"{name} is described twice in {heading}"
                found[name] = rule, fallback
    return found


def table(heading):
    """Rows of the table of a section, its head aside; cells as they stand there."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in SECTIONS[heading].splitlines() if line.startswith("|")]
    return rows[2:]


def paths(value, prefix=""):
    """Every member of a JSON value, as the document writes it: choices[].logprobs."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield f"{prefix}{key}"
            yield from paths(member, f"{prefix}{key}.")
    elif isinstance(value, list):
        for element in value:
            yield from paths(element, f"{prefix[:-1]}[].")


def members(*answers, without=()):
    """The paths of all answers, but for what lies below those in without."""
    found = {path for answer in answers for path in paths(answer)}
    return {path for path in found if not path.startswith(
        tuple(f"{prefix}{mark}" for prefix in without for mark in (".", "[")))}


def described(*headings, prefix=""):
    """The paths of the document's items, with the paths that lead to them."""
    found = {prefix + name for name in items(*headings)}
    return found | {path[:at.start()] for path in found
                    for at in re.finditer(r"(\[\])?\.", path)} - {""}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Its model fills in, too: every route does its work."""
    folder = tmp_path_factory.mktemp("model")
    options = ["--chat-template", "chatml", "--unknown-fields", "refuse", "--files-dir",
               folder / "files", "--served-model-name", "tale,tale-reranker"]
    model = infill_model(folder / "tale")
    with Fleet(model=model, gateway_args=options) as started:
        yield started
        started.wait_all_free()


# ---- routes ----

def documented_routes():
    return {row[0].strip("`") for row in table("Routes")}


def test_the_routes_are_those_of_the_gateways_table():
    source = (ROOT / "gateway/api/routes/table.c").read_text()
    routes = re.findall(r'\{"([A-Z]+)", "([^"]+)", gw_\w+,', source)
    assert len(routes) > 10
    assert documented_routes() == {f"{method} {path}" for method, path in routes}


def test_every_documented_route_answers_and_refuses_another_method(fleet):
    for route in documented_routes():
        method, path = route.split(" ")
        methods = {other.split(" ")[0] for other in documented_routes()
                   if other.split(" ")[1] == path}
        path = path.replace("models/{id}", "models/tale").replace("{name}", "app.js")
        asked = "/events?seconds=1" if path == "/events" else path  # it ends no sooner
        status, _, _ = fleet.request(method, asked, {} if method == "POST" else None)
        of_another = path.startswith("/api/") or path in TGI
        takes_nothing = method == "GET" or path.startswith(("/api/", "/flush_cache", "/ping")) or (
            path == "/v1/conversations")
        of_nobody = path.endswith(("/drain", "/{id}", "/input_items", "/cancel", "/content",
                                   "/results")) or (method != "POST" and "/{id}/items" in path)
        takes_nothing &= path not in ("/api/copy", "/api/create", "/api/delete")
        bad = 422 if path in TGI else 400
        expected = 404 if of_nobody else 200 if takes_nothing else bad
        assert status == expected, route
        status, answer, headers = fleet.request("PUT", path)
        code = answer["code"] if of_another else answer["error"]["code"]
        assert status == 405
        assert set(headers["Allow"].split(", ")) == methods and code == "method_not_allowed"


def test_the_limits_are_the_options_with_their_defaults():
    done = run(BIN / "baton-gateway", "--print-config", check=True)
    options = json.loads(done.stdout)
    assert len(table("Conventions")) > 10
    for _, option, default, _ in table("Conventions"):
        if option:
            value = options[option.strip("`-")]
            if default == "any":
                assert value == 0, option
                continue
            shown = {"--max-prompt-tokens": "the context",
                     "--max-body-bytes": "16 per token of the context, at least 1 MiB",
                     "--context-tokens": "what the model knows"}
            assert default == shown.get(option.strip("`"), str(value)), option


# ---- fields of requests ----

EVERY, CHAT = "Fields of every generating route", "Fields of every chat"
OPENAI, ANTHROPIC = "Fields of both OpenAI routes", "Fields of both Anthropic routes"
LLAMACPP = "Fields of both llama.cpp routes"
OLLAMA, TEXT_GENERATION = "Fields of both Ollama routes", "Fields of the TGI routes"
ROUTE_FIELDS = {
    "/generate": (EVERY, "POST /generate"),
    "/generate/stream": (EVERY, "POST /generate"),
    "/v1/completions": (EVERY, OPENAI, "POST /v1/completions"),
    "/v1/chat/completions": (EVERY, OPENAI, CHAT, "POST /v1/chat/completions"),
    "/v1/responses": (EVERY, CHAT, "POST /v1/responses"),
    "/v1/messages": (EVERY, ANTHROPIC, "POST /v1/messages"),
    "/v1/messages/count_tokens": (ANTHROPIC, "POST /v1/messages/count_tokens"),
    "/api/generate": (EVERY, OLLAMA, "POST /api/generate"),
    "/api/chat": (EVERY, OLLAMA, CHAT, "POST /api/chat"),
    "/v1/fim/completions": (EVERY, OPENAI, "POST /v1/fim/completions"),
    "/completion": (EVERY, LLAMACPP, "POST /completion"),
    "/infill": (EVERY, LLAMACPP, "POST /infill"),
    "/generate_stream": (EVERY, TEXT_GENERATION, "POST /generate_stream"),
    "/": (EVERY, TEXT_GENERATION, "POST /"),
    "/apply-template": (CHAT, "POST /apply-template"),
    "/v1/chat/completions/input_tokens": (CHAT, "POST /v1/chat/completions/input_tokens"),
    **{path: (f"POST {path}",) for path in (
        "/v1/rerank", "/v1/score", "/embed", "/embedding", "/api/show", "/v1/embeddings",
        "/api/embed", "/api/embeddings", "/tokenize", "/detokenize")},
}
PROMPT, CONVERSATION = {"prompt": "a"}, {"messages": MESSAGES}
LEAST = {"/generate": PROMPT, "/generate/stream": PROMPT, "/v1/completions": PROMPT,
         "/v1/chat/completions": CONVERSATION, "/v1/messages": CONVERSATION,
         "/v1/messages/count_tokens": CONVERSATION, "/api/chat": CONVERSATION,
         "/v1/chat/completions/input_tokens": CONVERSATION,
         "/apply-template": CONVERSATION, "/v1/responses": {"input": "a"},
         "/v1/fim/completions": PROMPT, "/infill": {"input_prefix": "a", "input_suffix": "b"},
         "/api/generate": PROMPT, "/completion": PROMPT, "/api/embeddings": PROMPT,
         "/generate_stream": {"inputs": "a"}, "/": {"inputs": "a"}, "/api/show": {},
         "/v1/rerank": {"query": "a", "documents": ["b"]},
         "/v1/score": {"text_1": "a", "text_2": ["b"]}, "/embedding": {"content": "a"},
         "/v1/embeddings": {"input": "a"}, "/embed": {"inputs": "a"},
         "/api/embed": {"input": "a"}, "/tokenize": {"text": "a"}, "/detokenize": {"tokens": [5]}}
SHORT = {path: {name: 1} for name, paths in {
    "max_new_tokens": ("/generate", "/generate/stream", "/generate_stream", "/"),
    "max_tokens": ("/v1/completions", "/v1/fim/completions",
                   "/v1/chat/completions", "/v1/messages"),
    "max_output_tokens": ("/v1/responses",), "num_predict": ("/api/generate", "/api/chat"),
    "n_predict": ("/completion", "/infill")}.items() for path in paths}
GENERATING = tuple(SHORT)


def request_fields(path):
    """A route's documented fields, without the answer's, which two sections list as well."""
    found = items(*ROUTE_FIELDS[path])
    return {name: rule for name, rule in found.items() if path in GENERATING or rule[0]}


class Client:
    """One connection for many requests."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG_S)

    def error(self, path, body):
        """The error object of a request; {} when it is accepted."""
        self.connection.request("POST", path, json.dumps(body),
                                {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        data = response.read()
        if response.status == 200:
            return {}
        answer = json.loads(data)
        return ({**answer, "message": answer["error"]} if isinstance(answer["error"], str)
                else answer["error"])


def words_of_the_sources():
    """Everything that may be a field's name."""
    return {word for source in API_SOURCES for word in re.findall(r'"([a-z][a-z0-9_]*)"', source)}


@pytest.mark.parametrize("path", ROUTE_FIELDS)
def test_the_documented_fields_are_those_that_a_route_knows(fleet, path):
    client, known = Client(fleet.port), set()
    documented = set(request_fields(path))
    for word in sorted(words_of_the_sources()
                       | {name for route in ROUTE_FIELDS for name in request_fields(route)}):
        if path == "/generate" and word in ("inputs", "text", "input_ids", "sampling_params"):
            continue  # which make it a body of TGI or of SGLang
        if path == "/tokenize" and word in ("inputs", "messages"):
            continue  # which make it a body of TGI or of vLLM
        value = [] if word in ("options", "parameters") else {"": 0}  # whose members are fields
        error = client.error(path, {**LEAST[path], **SHORT.get(path, {}), word: value})
        if error.get("code") != "unknown_field":
            known.add(word)
        else:
            assert error["param"] == word
    assert known == documented


@pytest.mark.parametrize("path", ROUTE_FIELDS)
def test_a_fields_rule_stands_in_the_document_in_the_words_of_its_error(fleet, path):
    client, n_checked = Client(fleet.port), 0
    context = fleet.request("GET", "/v1/models")[1]["data"][0]["context_length"]
    for name, (rule, _) in request_fields(path).items():
        wrong = ([0] if name in ("logit_bias", "speculation", "options", "parameters", "grammar")
                 else {"": 0})
        message = client.error(path, {**LEAST[path], name: wrong}).get("message", "")
        said = re.fullmatch(r"\w+: must be (.*?)(?:, not (?:an? )?\w+)?", message)
        if not said or not rule or (path == "/generate/stream" and name == "prompt"):
            continue
        assert said[1].replace(f"to {context}", "to the context") == rule, name
        n_checked += 1
    assert n_checked >= (12 if path in GENERATING else 1)


@pytest.mark.parametrize("path", GENERATING)
def test_a_documented_default_is_accepted(fleet, path):
    body = {**LEAST[path], **SHORT[path]}
    for name, (_, fallback) in request_fields(path).items():
        if re.fullmatch(r"-?[\d.]+|true|false", fallback):
            body.setdefault(name, json.loads(fallback))
    if path == "/generate/stream":
        stream = Stream(fleet.port, body, path)
        assert stream.status == 200 and stream.text()[1].name == "summary"
    else:
        fleet.post(path, body)


# ---- members of answers ----

def test_the_generation_object(fleet):
    body = {"max_new_tokens": 8, "top_k": 5, "explain": 2, "timeline": True, **REPEATING}
    whole = fleet.post("/generate", {"prompt": "Once upon a time", **body})
    texts = ["Once upon", "The cat"]
    several = fleet.post("/generate", {"prompt": texts, **body})["results"]
    alone = [fleet.post("/generate", {"prompt": text, **body}) for text in texts]
    assert [answer["text"] for answer in several] == [answer["text"] for answer in alone]
    wrong = fleet.post("/generate", {"prompt": ["a", 5.5]}, 400)["error"]
    assert (wrong["param"], wrong["code"]) == ("prompt[1]", "invalid_type")
    batch = fleet.post("/generate", {"prompt": [[5, 6], [7, 8]], **body})
    below = ("steps", "timeline", "results")
    assert members(whole, without=below) == described("Generation object")
    assert members(batch, without=("results", "input")) == described("Batch object")
    assert all(members(result) == members(whole) for result in batch["results"])
    assert members(*whole["steps"]) == described("Steps")
    assert members(whole["timeline"]) == described("Timeline")
    stages = {row[0].strip("`") for row in table("Timeline")}
    assert {stage["name"] for stage in whole["timeline"]["stages"]} == stages - {"migration"}


def event_members(name, heading="POST /generate/stream"):
    """The members that an event's item in the document names."""
    text = re.sub(r"\n +(?=[^ -])", " ", SECTIONS[heading])
    return set(re.findall(r"`(\w+)`", re.search(rf"^- `{name}`:(.*)$", text, re.M)[1]))


def test_the_events_of_a_stream(fleet):
    body = {"prompt": "Once upon a time", "max_new_tokens": 8, "explain": 1, "timeline": True,
            **REPEATING}
    events = list(Stream(fleet.port, body).events)

    def fails_midway(timeout_s):
        stream = Stream(fleet.port, {**WORDY, "timeout_s": timeout_s})
        if stream.status == 504:
            return "early"
        last = list(stream.events)[-1]
        return last if last.name == "error" else "late"
    error = run_out_of_time(fails_midway)
    stream = Stream(fleet.port, {"prompt": "Once", **written("\r")})
    [returned] = [event for event in stream.events if event.name == "token_json"]
    assert set(returned.json()) == event_members("token_json") - {"token", "token_json"}
    names = {event.name for event in [*events, error, returned]}
    assert names == set(items("POST /generate/stream"))
    assert (members(error.json(), without=("error.usage",))
            == described("Errors") - {"error.retry_after_s", *NUMBERS})
    assert set(events[0].json()) == event_members("meta")
    assert set(events[-1].json()) == event_members("summary") and events[-1].name == "summary"
    assert (members(*(event.json() for event in events if event.name == "step"))
            == described("Steps"))


def test_tokenize_and_detokenize(fleet):
    for path, body in (("/tokenize", {"text": "a b", "return_token_strs": True}),
                       ("/detokenize", {"tokens": [5]})):
        answer = {name for name, (rule, _) in items(f"POST {path}").items() if not rule}
        assert members(fleet.post(path, body)) == answer


def test_the_rerank_and_the_scores_object(fleet):
    for path, heading in (("/v1/rerank", "Rerank object"), ("/v1/score", "Scores object")):
        assert members(fleet.post(path, LEAST[path])) == described(heading)


def chunks(fleet, path, body):
    *found, last = [each.data for each in Stream(fleet.port, {**body, "stream": True}, path).events]
    assert last == "[DONE]"
    return [json.loads(chunk) for chunk in found]


# An answer of all parts.
PARTS = written(
    '<think>Hm.</think>Well. <tool_call>{"name": "weather", "arguments": {}}</tool_call>')


def test_the_completion_object(fleet, calling):
    text = {"prompt": "Once upon a time", "max_tokens": 8, "logprobs": 2, "explain": 1,
            "echo": True, **REPEATING}
    chat = {"messages": MESSAGES, "max_tokens": 3, "logprobs": True, "top_logprobs": 2,
            "explain": 1, "return_token_ids": True}
    usage = {"stream_options": {"include_usage": True}}
    scored = {"prompt_logprobs": 1}
    answers = [fleet.post("/v1/completions", {**text, **scored}),
               fleet.post("/v1/chat/completions", {**chat, **scored}),
               *chunks(fleet, "/v1/completions", {**text, **usage}),
               *chunks(fleet, "/v1/chat/completions", chat)]
    call = {"messages": MESSAGES, "tools": TOOLS, "explain": 1, **PARTS}
    answers += [calling.post("/v1/chat/completions", call),
                *chunks(calling, "/v1/chat/completions", call)]
    for answer in answers:
        for choice in answer["choices"]:
            tops = (choice["logprobs"] or {}).get("top_logprobs", [])
            assert all(isinstance(number, float) for top in tops if top for number in top.values())
    tops = "choices[].logprobs.top_logprobs"
    found = members(*answers, without=("choices[].steps", tops, "choices[].prompt_logprobs",
                                       "prompt_logprobs"))
    assert found == {path for path in described("Completion object")
                     if not path.startswith(f"{tops}[")}
    steps = [step for answer in answers for choice in answer["choices"] for step in choice["steps"]]
    assert members(*steps) == described("Steps")


def test_the_message_object_and_its_events(fleet, calling):
    body = {"messages": MESSAGES, "max_tokens": 4, "explain": 1}
    call = {"messages": MESSAGES,
            "tools": [{"name": "weather", "input_schema": {"type": "object"}}], **PARTS}
    whole, called = fleet.post("/v1/messages", body), calling.post("/v1/messages", call)
    assert members(whole, called, without=("steps",)) == described("Message object")
    assert members(*whole["steps"]) < described("Steps")
    events = [event for asked, said in ((fleet, body), (calling, call))
              for event in Stream(asked.port, {**said, "stream": True}, "/v1/messages").events]
    heading = "Events of a message"
    assert {event.name for event in events} | {"error"} == set(items(heading))
    for event in events:
        data = event.json()
        inner = {name for member in data.values() if isinstance(member, dict) for name in member}
        told = event_members(event.name, heading)
        assert data.pop("type") == event.name and set(data) - {"steps"} <= told, event
        assert (event.name == "message_start"
                or inner - set(whole["usage"]) - {"type", "text"} <= told), event
    counted = fleet.post("/v1/messages/count_tokens", {"messages": MESSAGES})
    assert members(counted) == described("POST /v1/messages/count_tokens")
    error = fleet.post("/v1/messages", {}, 400)
    at_times = {"error.retry_after_s", "error.usage", *NUMBERS}
    assert members(error) == described("Errors of the Anthropic routes") - at_times


def test_the_response_object_and_its_events(fleet, calling):
    body = {"input": "Tell me a story", "max_output_tokens": 4, "temperature": 0, "explain": 1,
            "top_logprobs": 1, "user": "u"}
    whole = fleet.post("/v1/responses", body)
    assert whole["conversation"] is None
    call = {"input": "Hi", "tools": [{"type": "function", "name": "weather"}],
            "text": {"format": PARTS["response_format"]}}
    said = written('<tool_call>{"name": "on__say", "arguments": {"input": "Hi"}}</tool_call>')
    custom = {"input": "Hi", "text": {"format": said["response_format"]}, "tools": [
        {"type": "namespace", "name": "on", "tools": [{"type": "custom", "name": "say"}]}]}
    output = [item for asked in (call, custom)
              for item in calling.post("/v1/responses", asked)["output"]]
    repeated = ("steps", "text", "reasoning", "output[].content[].logprobs[].bytes",
                "output[].content[].logprobs[].top_logprobs")
    assert (members(whole, {"output": output}, without=repeated)
            == described("Response object") | {"incomplete_details.reason"})
    asked = (fleet, body), (fleet, {**body, "background": True}), (calling, call), (calling, custom)
    events = [event for fleet, said in asked
              for event in Stream(fleet.port, {**said, "stream": True}, "/v1/responses").events]
    heading = "Events of a response"
    names = set(items(heading))
    assert {event.name for event in events} | {"response.failed"} == names
    for event in events:
        data = event.json()
        assert data.pop("type") == event.name
        assert set(data) - {"steps", "sequence_number"} <= event_members(event.name, heading), event
    deleted = fleet.request("DELETE", f"/v1/responses/{whole['id']}")[1]
    assert members(deleted) == described("DELETE /v1/responses/{id}")


def test_ollamas_answers(fleet, calling):
    body = {"options": {"num_predict": 3, "explain": 1}, "logprobs": True, "top_logprobs": 1}
    answers = [fleet.post("/api/generate", {"prompt": "a", "stream": False, **body}),
               fleet.post("/api/chat", {"messages": MESSAGES, "stream": False, **body}),
               fleet.post("/api/generate", {"prompt": "a " * 999, "stream": False, **body})]
    told = {"stream": False, **PARTS}
    called = [calling.post("/api/chat", {"messages": MESSAGES, "tools": TOOLS, **told}),
              calling.post("/api/generate", {"prompt": "a", **told})]
    assert members(*answers, *called, without=("steps",)) == described("Ollama's answer")
    stream = Stream(fleet.port, {"messages": MESSAGES, **body}, "/api/chat")
    *lines, last = [json.loads(line) for line in stream.response.read().splitlines()]
    assert set(last) == set(answers[1]) and all(set(line) < set(last) for line in lines)
    for path in ("tags", "ps", "version"):
        assert members(fleet.request("GET", f"/api/{path}")[1]) == described(f"GET /api/{path}")
    shown = {name for name, (rule, _) in items("POST /api/show").items() if not rule}
    assert members(fleet.post("/api/show", {}), without=("model_info",)) - {"details"} == shown
    error = fleet.post("/api/chat", {"messages": 0}, 400)
    assert members(error) == described("Errors of the Ollama routes") - {"retry_after_s", "usage"}


def test_the_embeddings_object_and_ollamas(fleet):
    assert members(fleet.post("/v1/embeddings", {"input": "a"})) == described("Embeddings object")
    for path, body in (("/api/embed", {"input": "a"}), ("/api/embeddings", {"prompt": "a"})):
        answer = {name for name, (rule, _) in items(f"POST {path}").items() if not rule}
        assert members(fleet.post(path, body)) - {"model"} == answer  # which is a field too


def test_llamacpps_answers(fleet):
    body = {"prompt": "Once upon a time", "n_predict": 3, "n_probs": 1, "explain": 1,
            "logit_bias": {"5": 1}}
    whole = fleet.post("/completion", body)
    assert members(whole, without=("steps",)) == described("llama.cpp's answer")
    stream = Stream(fleet.port, {**body, "stream": True}, "/completion")
    *events, last = [event.json() for event in stream.events]
    early = set(list(whole)[:list(whole).index("steps") + 1])
    assert set(last) == set(whole) and events and all(set(event) == early for event in events)
    for path in "/apply-template", "/v1/chat/completions/input_tokens":
        answer = {name for name, (rule, _) in items(f"POST {path}").items() if not rule}
        assert members(fleet.post(path, {"messages": MESSAGES})) == answer
    [embedding] = fleet.post("/embedding", {"content": "a"})
    assert members(embedding) == {name for name, (rule, _) in items("POST /embedding").items()
                                  if not rule}
    [stream] = fleet.hold()
    assert members(*fleet.request("GET", "/slots")[1]) == described("GET /slots")
    stream.abandon()
    props = fleet.request("GET", "/props")[1]
    below = ("default_generation_settings.params",)
    assert members(props, without=below) == described("GET /props")


def test_tgis_answers(fleet):
    parameters = {"max_new_tokens": 3, "details": True, "decoder_input_details": True,
                  "top_n_tokens": 1, "explain": 1}
    [whole] = fleet.post("/", {"inputs": "Once upon a time", "parameters": parameters})
    told = members(whole, without=("steps", "details.top_tokens"))
    assert told == {name for name in described("TGI's answer") if "top_tokens[" not in name}
    del parameters["decoder_input_details"]
    stream = Stream(fleet.port, {"inputs": "a", "parameters": parameters}, "/generate_stream")
    *events, last = [event.json() for event in stream.events]
    assert members(last, without=("steps",)) == described("TGI's events")
    assert events
    assert all(set(event) == set(last) and event["generated_text"] is None for event in events)
    assert members(fleet.request("GET", "/info")[1]) == described("GET /info")
    error = fleet.post("/", {"inputs": 0}, 422)
    assert members(error) == described("Errors of the TGI routes") - {"retry_after_s", "usage"}


def test_the_state_of_the_gateway(fleet):
    health = fleet.request("GET", "/health?detail=1")[1]
    assert members(health) == described("GET /health")
    assert set(fleet.request("GET", "/health")[1]) == {"status"}
    for path in ("/live", "/ready", "/version", "/workers", "/v1/models"):
        assert members(fleet.request("GET", path)[1]) == described(f"GET {path}"), path
    one = fleet.request("GET", "/v1/models/tale")[1]
    assert one == fleet.request("GET", "/v1/models")[1]["data"][0]


def test_the_account_of_the_kv_blocks(fleet):
    [stream] = fleet.hold()
    assert members(fleet.request("GET", "/debug/kv")[1]) == described("GET /debug/kv")
    stream.abandon()


def test_a_worker_that_is_asked_to_drain():
    with Fleet(prefill=0) as alone:
        wait_for(lambda: alone.worker("decode-0"), "the worker")
        status, answer, _ = alone.request("POST", "/workers/decode-0/drain")
        assert status == 202 and members(answer) == described("POST /workers/{id}/drain")


def test_the_metrics(fleet):
    families = set(re.findall(r"^# TYPE (\w+)", fleet.request("GET", "/metrics")[1], re.M))
    assert families == set(items("GET /metrics"))


# ---- errors ----

def test_the_error_object(fleet):
    errors = [fleet.post("/generate", body, 400) for body in ({}, {"prompt": [7] * 513})]
    status, answer, headers = fleet.request("POST", "/generate", {
        "prompt": [7] * 4, "max_new_tokens": 508, "ignore_eos": True, "timeout_s": 1e-6})
    errors.append(answer)
    assert status == 504 and headers["x-should-retry"] == "false"
    assert (members(*errors, without=("error.usage",))
            == described("Errors") - {"error.retry_after_s"})
    assert set(answer["error"]["usage"]) == {"prompt_tokens", "output_tokens"}


def test_the_codes_of_errors_are_those_of_the_sources():
    """A code stands after its status, as .code, or as third argument of a failing function."""
    forms = (
        r'\b[45]\d\d,\s*"([a-z_]+)"', r'\.?code = "([a-z_]+)"', r'\bfail\(fields, i, "([a-z_]+)"',
        r'gw_fields_fail\(\s*&?fields,\s*(?:"\w*"|[\w>.\[\]-]+(?: < 1 \? [^,]*)?),\s*"([a-z_]+)"',
        r'\? "([a-z_]+)" : "(missing_field)"')
    codes = {code for source in GATEWAY_SOURCES for form in forms
             for found in re.findall(form, source)
             for code in (found if isinstance(found, tuple) else (found,)) if code}
    assert codes == {row[1].strip("`") for row in table("Errors")}


def test_documented_statuses_have_a_reason_and_no_line_is_too_wide():
    reasons = (ROOT / "gateway/http/status.c").read_text()
    for status, code, _ in table("Errors"):
        assert f"{{{status}, " in reasons, code
    assert max(len(line) for line in DOCUMENT.splitlines()) <= 100
