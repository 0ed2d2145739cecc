"""/openapi.json: real answers of every route are as it says, and it makes a typed client."""
import json
import os
import re
import subprocess

import jsonschema
import pytest
from conftest import TEMPLATE, TOOLS, written
from fleet import BIN, LONG_S, ROOT, Fleet, wait_for
from infill_model import infill_model
from npm import install
from test_openapi import BODIES, MESSAGES, placed, sent

CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
REASONED = {"messages": MESSAGES, "chat_template_kwargs": {"enable_thinking": True}}
# Bodies whose answers have more members than those of the least bodies do.
MORE = [
    ("/generate", {"prompt": [[7, 8], [9]], "max_new_tokens": 2}),
    ("/generate", {"prompt": "Once", "max_new_tokens": 3, "explain": 2, "timeline": True}),
    ("/generate", {"inputs": "Once", "parameters": {"max_new_tokens": 2}}),
    ("/generate", {"text": ["a", "b"], "return_logprob": True,
                   "sampling_params": {"max_new_tokens": 2}}),
    ("/generate", {"input_ids": [7], "sampling_params": {"max_new_tokens": 1}}),
    ("/invocations", {"prompt": "a", "max_tokens": 1}),
    ("/invocations", {"input": "a"}),
    ("/completion", {"prompt": ["a", "b"], "n_predict": 2, "n_probs": 2, "return_tokens": True}),
    ("/completion", {"prompt": "a", "n_predict": 2, "n_probs": 2, "post_sampling_probs": True}),
    ("/", {"inputs": "Once", "parameters": {"max_new_tokens": 2, "details": True,
                                            "decoder_input_details": True, "top_n_tokens": 2}}),
    ("/v1/completions", {"prompt": "a", "max_tokens": 3, "logprobs": 2, "echo": True, "n": 2,
                         "prompt_logprobs": 1}),
    ("/v1/chat/completions", {"messages": MESSAGES, "max_tokens": 3, "logprobs": True,
                              "top_logprobs": 2, "explain": 1, "prompt_logprobs": 0}),
    ("/v1/chat/completions", {**REASONED, **written("Well.</think>Yes.")}),
    ("/v1/chat/completions", {"messages": MESSAGES, "tools": TOOLS, **written(CALL)}),
    ("/v1/embeddings", {"input": ["a", "b"], "encoding_format": "base64"}),
    ("/rerank", {"query": "a", "texts": ["b", "c"], "return_text": True}),
    ("/v1/responses", {"input": "a", "max_output_tokens": 2, "top_logprobs": 2,
                       "include": ["message.output_text.logprobs"]}),
    ("/v1/responses", {"input": "a", "tools": [{"type": "function", **TOOLS[0]["function"]}],
                       **written(CALL)}),
    ("/v1/messages", {"messages": MESSAGES, "max_tokens": 90, **written(CALL), "tools": [
        {"name": "weather", "input_schema": TOOLS[0]["function"]["parameters"]}]}),
    ("/api/chat", {"messages": MESSAGES, "tools": TOOLS, "stream": False, **written(CALL)}),
    ("/api/chat", {"messages": MESSAGES, "think": True, "stream": False, "logprobs": True,
                   **written("Well.</think>Yes.")}),
    ("/api/generate", {"prompt": "Once", "num_predict": 1, "stream": False}),
    ("/api/generate", {"stream": False}),
]
GETS = ["/health", "/health?detail=1", "/live", "/ready", "/workers", "/version", "/debug/kv",
        "/slots", "/props", "/info", "/api/tags", "/api/ps", "/api/version", "/v1/models",
        "/v1/models/tale", "/ping", "/liveness", "/readiness", "/health_generate", "/load",
        "/get_model_info", "/get_server_info"]


@pytest.fixture(scope="module")
def calling(tmp_path_factory):
    """A fleet that calls tools and fills in the middle."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "tools.jinja").write_text(TEMPLATE)
    with Fleet(model=infill_model(folder / "tale"),
               gateway_args=["--chat-template", folder / "tools.jinja", "--files-dir",
                             folder / "files", "--served-model-name",
                             "tale,tale-reranker"]) as started:
        yield started
        started.wait_all_free()


@pytest.fixture(scope="module")
def told(calling):
    return calling.request("GET", "/openapi.json")[1]


def closed(schema):
    """The schema, in which no object has members that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {"additionalProperties": False} if "properties" in schema else {}
    return {**shut, **{key: closed(part) for key, part in schema.items()}}


def json_schema(told, method, path):
    answers = told["paths"][path][method]["responses"]
    answers = answers.get("200", answers.get("202", {})).get("content", {})
    return answers.get("application/json", {}).get("schema")


def check(told, method, path, answer):
    components = {name: closed(schema) for name, schema in told["components"]["schemas"].items()}
    schema = {**closed(json_schema(told, method, path)), "components": {"schemas": components}}
    jsonschema.validate(answer, schema, jsonschema.Draft202012Validator)


def posts():
    for path, body in [*BODIES.items(), *MORE]:
        if not path.endswith(("stream", "lora_adapter", "copy")):  # these do not answer in JSON
            yield path, {**body, **({"stream": False} if path.startswith("/api/") else {})}


def test_answers_are_as_they_are_described(calling, told):
    for path, body in posts():
        status, answer, _ = sent(calling, path, body)
        assert status == 200, (path, body, answer)
        check(told, "post", path, answer)
    for path in GETS:
        status, answer, _ = calling.request("GET", path, headers=calling.operator)
        assert status == 200, (path, answer)
        place = re.sub("/v1/models/.*", "/v1/models/{id}", path.split("?")[0])
        check(told, "get", place, answer)


def test_models_for_anthropics_clients_are_as_they_are_described(calling, told):
    components = {name: closed(schema) for name, schema in told["components"]["schemas"].items()}
    for path, name in (("/v1/models", "AnthropicModels"), ("/v1/models/tale", "AnthropicModel")):
        answer = calling.request("GET", path, headers={"anthropic-version": "2023-06-01"})[1]
        schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": components}}
        jsonschema.validate(answer, schema, jsonschema.Draft202012Validator)


def test_a_stored_response_is_as_it_is_described(calling, told):
    made = calling.request("POST", "/v1/responses", BODIES["/v1/responses"])[1]
    path = f"/v1/responses/{made['id']}"
    items = calling.request("GET", f"{path}/input_items")[1]
    check(told, "get", "/v1/responses/{id}/input_items", items)
    queued = calling.request("POST", "/v1/responses", {
        **BODIES["/v1/responses"], "background": True})[1]
    check(told, "post", "/v1/responses", queued)
    canceled = calling.request("POST", f"/v1/responses/{queued['id']}/cancel")[1]
    check(told, "post", "/v1/responses/{id}/cancel", canceled)
    for method in ("get", "delete"):
        status, answer, _ = calling.request(method.upper(), path)
        assert status == 200
        check(told, method, "/v1/responses/{id}", answer)


def test_a_conversation_is_as_it_is_described(calling, told):
    path = placed(calling, "/v1/conversations/{id}")
    added = calling.request("POST", f"{path}/items", {"items": [
        {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "rain"}]})[1]
    for method, end in (("get", "/items"), ("get", "/items/{item}"), ("delete", "/items/{item}"),
                        ("get", ""), ("delete", "")):
        place = path + end.replace("{item}", added["data"][0]["id"])
        status, answer, _ = calling.request(method.upper(), place)
        assert status == 200, answer
        check(told, method, f"/v1/conversations/{{id}}{end}", answer)


def test_a_file_is_as_it_is_described(calling, told):
    form = ('--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--x\r\n'
            'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n{}\r\n--x--\r\n')
    made = calling.request("POST", "/v1/files", form, headers={
        "Content-Type": "multipart/form-data; boundary=x"})[1]
    check(told, "post", "/v1/files", made)
    for method, path in (("get", "/v1/files"), ("get", "/v1/files/{id}"),
                         ("delete", "/v1/files/{id}")):
        status, answer, _ = calling.request(method.upper(), path.replace("{id}", made["id"]))
        assert status == 200
        check(told, method, path, answer)


def test_a_batch_is_as_it_is_described(calling, told):
    for top, ends in (("/v1/batches", ("", "/cancel")),
                      ("/v1/messages/batches", ("", "/cancel"))):
        made = sent(calling, top, BODIES[top])[1]
        check(told, "get", top, calling.request("GET", top)[1])
        for end in ends:
            method = "post" if end else "get"
            answer = calling.request(method.upper(), f"{top}/{made['id']}{end}")[1]
            check(told, method, f"{top}/{{id}}{end}", answer)
    path = f"/v1/messages/batches/{made['id']}"
    wait_for(lambda: calling.request("GET", path)[1]["processing_status"] == "ended", "the batch")
    check(told, "delete", "/v1/messages/batches/{id}", calling.request("DELETE", path)[1])


def test_a_drained_worker_is_as_it_is_described(told):
    with Fleet(decode=2) as fleet:
        status, answer, _ = fleet.request("POST", "/workers/decode-1/drain",
                                          headers=fleet.operator)
        assert status == 202, answer
        check(told, "post", "/workers/{id}/drain", answer)


def test_every_answer_in_json_has_members(told):
    """A route that is new here needs its row in gateway/api/routes/answers.c."""
    for path, methods in told["paths"].items():
        for method in methods:
            schema = json_schema(told, method, path)
            assert schema != {"type": "object"} or path == "/openapi.json", (method, path)
    ids = [of["operationId"] for methods in told["paths"].values() for of in methods.values()]
    assert len(ids) == len(set(ids))


# ---- programs that read the document ----

@pytest.fixture(scope="module")
def packages():
    version = subprocess.run(["node", "--version"], text=True, stdout=subprocess.PIPE).stdout
    if int(re.search(r"\d+", version)[0]) < 20:
        pytest.skip(f"redocly needs node 20, not {version.strip()}")
    return install(ROOT / "tests/e2e/openapi_client", BIN.parent / "openapi-client")


def run(packages, *argv, **env):
    done = subprocess.run(["node", *argv], cwd=packages, text=True, timeout=LONG_S,
                          env={**os.environ, "REDOCLY_TELEMETRY": "off", **env},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_linters_find_no_error(packages, told, tmp_path):
    (tmp_path / "openapi.json").write_text(json.dumps(told))
    run(packages, "node_modules/@redocly/cli/bin/cli.js", "lint", tmp_path / "openapi.json")
    run(packages, "node_modules/@stoplight/spectral-cli/dist/index.js", "lint",
        "--ruleset", "spectral.yaml", "--fail-severity", "error", tmp_path / "openapi.json")


def test_a_typed_client_compiles_and_chats(packages, calling, told):
    """chat.ts names members of bodies and answers, which tsc checks."""
    (packages / "openapi.json").write_text(json.dumps(told))
    run(packages, "node_modules/openapi-typescript/bin/cli.js", "openapi.json", "-o", "api.d.ts")
    run(packages, "node_modules/typescript/bin/tsc", "-p", ".")
    assert run(packages, "chat.js", BASE_URL=f"http://127.0.0.1:{calling.port}").strip() == "done"
    wrong = (packages / "chat.ts").read_text().replace("choices[0]", "no_choices[0]")
    (packages / "wrong.ts").write_text(wrong)
    with pytest.raises(AssertionError, match="no_choices"):
        run(packages, "node_modules/typescript/bin/tsc", "-p", ".")
    (packages / "wrong.ts").unlink()
