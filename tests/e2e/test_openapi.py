"""/openapi.json: its routes and fields are what the gateway does, and nothing is left out."""
import json
import re
import subprocess

import pytest
from conftest import KEY
from fleet import BIN, LONG_S, ROOT, Fleet, wait_for
from infill_model import infill_model
from npm import install

MESSAGES = [{"role": "user", "content": "Once upon a time"}]
# The least body with which a route does its work.
BODIES = {
    "/generate": {"prompt": "Once", "max_new_tokens": 1},
    "/generate/stream": {"prompt": "Once", "max_new_tokens": 1},
    "/tokenize": {"text": "Once"},
    "/v1/load_lora_adapter": {"lora_name": "sql", "lora_path": "/nowhere"},
    "/v1/unload_lora_adapter": {"lora_name": "sql"},
    "/detokenize": {"tokens": [7]},
    "/completion": {"prompt": "Once", "n_predict": 1},
    "/completions": {"prompt": "Once", "n_predict": 1},
    "/infill": {"input_prefix": "a", "input_suffix": "b", "n_predict": 1},
    "/apply-template": {"messages": MESSAGES},
    "/v1/chat/completions/input_tokens": {"messages": MESSAGES},
    "/embedding": {"content": "Once"},
    "/embeddings": {"content": "Once"},
    "/generate_stream": {"inputs": "Once", "max_new_tokens": 1},
    "/": {"inputs": "Once", "max_new_tokens": 1},
    "/v1/completions": {"prompt": "Once", "max_tokens": 1},
    "/v1/fim/completions": {"prompt": "Once", "max_tokens": 1},
    "/v1/chat/completions": {"messages": MESSAGES, "max_tokens": 1},
    "/v1/embeddings": {"input": "Once"},
    "/invocations": {"messages": MESSAGES, "max_tokens": 1},
    "/v1/responses": {"input": "Once", "max_output_tokens": 1},
    "/v1/responses/input_tokens": {"input": "Once"},
    "/v1/conversations": {"metadata": {"a": "b"}},
    "/v1/conversations/{id}": {"metadata": {"a": "b"}},
    "/v1/conversations/{id}/items": {"items": [{"role": "user", "content": "Once"}]},
    "/chat_tokenize": {"messages": MESSAGES},
    "/v1/messages": {"messages": MESSAGES, "max_tokens": 1},
    "/v1/messages/count_tokens": {"messages": MESSAGES},
    "/v1/batches": {"input_file_id": "FILE", "endpoint": "/v1/completions",
                    "completion_window": "24h"},
    "/v1/messages/batches": {"requests": [{"custom_id": "a", "params": {}}]},
    "/api/generate": {"prompt": "Once", "num_predict": 1},
    "/api/chat": {"messages": MESSAGES, "num_predict": 1},
    **{path: {"query": "Once", "documents": ["a"]} for path in (
        "/v1/rerank", "/rerank", "/v2/rerank", "/v1/reranking", "/reranking")},
    "/v1/score": {"text_1": "Once", "text_2": ["a"]},
    "/score": {"text_1": "Once", "text_2": ["a"]},
    "/embed": {"inputs": "Once"},
    "/api/embed": {"input": "Once"},
    "/api/embeddings": {"prompt": "Once"},
    "/api/show": {},
    "/api/pull": {},
    "/api/copy": {"source": "tale", "destination": "tale:copy"},
    "/api/create": {"from": "tale", "model": "tale:copy"},
}
VALUES = [True, 0.5, -99999999999, 12345678901234567, "no such word", ["or this"], {"no": "such"}]
KINDS = {"boolean": bool, "integer": int, "number": (int, float), "string": str, "array": list,
         "object": dict}
CHUNK = 12  # names that the header of ignored fields has room for


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Its model fills in, too: every route does its work."""
    folder = tmp_path_factory.mktemp("model")
    with Fleet(model=infill_model(folder / "tale"), gateway_args=[
            "--chat-template", "chatml", "--files-dir", folder / "files",
            "--served-model-name", "tale,tale-reranker"]) as started:
        yield started
        started.wait_all_free()


@pytest.fixture(scope="module")
def document(fleet):
    status, document, headers = fleet.request("GET", "/openapi.json")
    assert status == 200 and headers["Content-Type"] == "application/json"
    return document


def bodies(document):
    """(path, schema of its body) of every route that takes an object."""
    posts = [(path, methods.get("post", {})) for path, methods in document["paths"].items()]
    taken = [(path, post["requestBody"]["content"]["application/json"]["schema"])
             for path, post in posts if "application/json" in post.get("requestBody", {}).get(
                 "content", {})]
    assert [path for path, schema in taken if schema["type"] == "array"] == ["/lora-adapters"]
    return [(path, schema) for path, schema in taken if schema["type"] == "object"]


def is_kind(value, name):
    if name == "null":
        return value is None
    return isinstance(value, KINDS[name]) and (name == "boolean" or value is not True)


def is_valid(value, schema):
    """By the few words that the document is written in."""
    number, types, words = is_number(value), schema.get("type", []), schema.get("enum")
    types = [types] if isinstance(types, str) else types
    return all([
        not types or any(is_kind(value, name) for name in types),
        words is None or any(value == one and type(value) is type(one) for one in words),
        not number or value >= schema.get("minimum", value),
        not number or value <= schema.get("maximum", value),
        not number or "exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"],
        "anyOf" not in schema or any(is_valid(value, part) for part in schema["anyOf"]),
    ])


def bad_values(schema):
    limits = [schema, *schema.get("anyOf", [])]
    edges = [part["minimum"] - 1 for part in limits if "minimum" in part]
    edges += [part["maximum"] + 1 for part in limits if "maximum" in part]
    edges += [part["exclusiveMinimum"] for part in limits if "exclusiveMinimum" in part]
    fit = [value for value in VALUES + edges if not is_number(value) or abs(value) < 2**63]
    return [value for value in fit if not is_valid(value, schema)]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def refused(fleet, path, body):
    """The name of the field that the answer, a 400 or TGI's 422, finds fault with."""
    status, answer, _ = fleet.request("POST", path, body)
    assert status == (422 if "error_type" in answer else 400), (path, body, answer)
    return (answer if isinstance(answer["error"], str) else answer["error"])["param"]


def sent(fleet, path, body):
    """The answer to the body, with a file that it may name, once there are not too many batches."""
    if body.get("input_file_id") == "FILE":
        form = ('--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--x\r\n'
                'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n{}\r\n--x--\r\n')
        body = {**body, "input_file_id": fleet.request("POST", "/v1/files", form, headers={
            "Content-Type": "multipart/form-data; boundary=x"})[1]["id"]}

    def accepted():
        answer = fleet.request("POST", placed(fleet, path), body)
        return answer if answer[0] != 429 else None
    return wait_for(accepted, "the other batches")


def placed(fleet, path):
    """The path with the id of something that it may name."""
    if "/conversations/{id}" not in path:
        return path
    made = fleet.request("POST", "/v1/conversations", {})[1]
    return path.replace("{id}", made["id"])


def test_the_document_is_valid(document):
    node = install(ROOT / "tests/e2e/openapi_judge", BIN.parent / "openapi-judge")
    done = subprocess.run(["node", "validate.mjs"], cwd=node, input=json.dumps(document), text=True,
                          check=True, stdout=subprocess.PIPE, timeout=LONG_S)
    assert json.loads(done.stdout) == {"valid": True, "version": "3.1"}
    told = subprocess.run([BIN / "baton-gateway", "--version"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    assert document["info"]["version"] in told


def test_a_document_that_a_client_has_is_not_sent_again(fleet):
    tag = fleet.request("GET", "/openapi.json")[2]["ETag"]
    status, body, headers = fleet.request("GET", "/openapi.json", headers={"If-None-Match": tag})
    assert (status, body, headers["ETag"]) == (304, "", tag)


def test_a_key_is_needed_where_keys_are(keyed):
    for key, status in (("nobody", 401), (KEY, 200)):
        headers = {"Authorization": f"Bearer {key}"}
        assert keyed.request("GET", "/openapi.json", headers=headers)[0] == status


def test_routes_and_methods_are_those_that_are_served(fleet, document):
    assert {path for path, _ in bodies(document)} == set(BODIES)
    for path, methods in document["paths"].items():
        status, _, headers = fleet.request("PATCH", re.sub(r"\{\w+\}", "x", path))
        assert (status, set(headers["Allow"].lower().split(", "))) == (405, set(methods)), path
    manual = (ROOT / "docs/http-api.md").read_text().split("\n## Routes\n")[1].split("\n## ")[0]
    told = set(re.findall(r"^\| `(\w+) ([^`]+)`", manual, re.M))
    assert told == {(method.upper(), path) for path, methods in document["paths"].items()
                    for method in methods}


def meaning(schema, name):
    """The name that a field and its other names stand for."""
    other = re.match(r"Another name of (\w+)\.", schema["properties"][name]["description"])
    return other[1] if other else name


def beside(path, schema, name):
    """The least of a body, without this field under any name."""
    return {key: value for key, value in BODIES[path].items()
            if meaning(schema, key) != meaning(schema, name)}


def test_a_bad_value_is_refused_by_the_name_of_its_field(fleet, document):
    n = 0
    for path, schema in bodies(document):
        for name, field in schema["properties"].items():
            others = beside(path, schema, name)
            for value in bad_values(field):
                n += 1
                assert refused(fleet, path, {**others, name: value}) == name, (path, name, value)
            for member, inner in field.get("properties", {}).items():
                for value in bad_values(inner):
                    n += 1
                    streams = {"stream": True} if "stream" in schema["properties"] else {}
                    whole = {**others, **streams, name: {member: value}}
                    assert refused(fleet, path, whole) == name, (path, name, member, value)
    assert n > 1000


def test_a_required_field_is_missed_by_its_name(fleet, document):
    for path, schema in bodies(document):
        for name in schema["required"]:
            assert refused(fleet, path, beside(path, schema, name)) == name
    for path in ("/api/generate", "/api/chat", "/api/embed", "/api/show"):
        assert fleet.request("POST", path, {})[0] == 200


def test_every_field_is_described(document):
    for path, schema in bodies(document):
        for name, field in schema["properties"].items():
            assert field["description"], (path, name)
            inner = field.get("properties", {}).values()
            assert all(member["description"] for member in inner), (path, name)


def names():
    """Every word that the sources quote, since it could be a field."""
    sources = [*(ROOT / "gateway/api").rglob("*.c"), *(ROOT / "engine/sampling").rglob("*.c")]
    quoted = r'"([a-z][a-z_0-9]*)"'
    return sorted({name for source in sources for name in re.findall(quoted, source.read_text())})


def is_known(fleet, path, body, some):
    """The names that a route takes as its fields, by its answers."""
    empty = {name: None for name in some if name not in body}
    status, answer, headers = sent(fleet, path, {**body, **empty})
    if status == 200:
        return set(some) - set(headers.get("x-baton-ignored", "").split(", "))
    assert (status, answer["error"]["code"]) == (400, "unknown_field"), (path, some, answer)
    return set(some) - {answer["error"]["param"]}


def test_no_field_that_is_read_is_left_out(fleet, document):
    for path, schema in bodies(document):
        told = set(schema["properties"])
        rest = [name for name in names() if name not in told]
        size = CHUNK if schema["additionalProperties"] else 1
        for i in range(0, len(rest), size):
            assert not is_known(fleet, path, BODIES[path], rest[i:i + size]), path
        if schema["additionalProperties"]:
            known = sorted(told - set(BODIES[path]))
            assert is_known(fleet, path, BODIES[path], known) == set(known), path
