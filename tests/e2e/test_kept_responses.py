"""Responses that are kept: their input, those in the background, and the count of a prompt."""
import pytest
from conftest import KEY, OTHER_KEY, TEMPLATE
from fleet import Fleet, wait_for
from javascript import Client

LONG = {"input": "Tell me a story", "background": True, "max_output_tokens": 400,
        "temperature": 0, "ignore_eos": True}
TOOL = {"type": "function", "name": "weather", "parameters": {"type": "object"}}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    (folder / "keys").write_text(f"{KEY}\n{OTHER_KEY}\n")
    (folder / "keys").chmod(0o600)
    (folder / "tools.jinja").write_text(TEMPLATE)
    with Fleet(key=KEY, gateway_args=["--api-keys", folder / "keys", "--chat-template",
                                      folder / "tools.jinja"]) as started:
        yield started
        started.wait_all_free()


def other(fleet, method, path, body=None):
    return fleet.request(method, path, body, headers={"Authorization": f"Bearer {OTHER_KEY}"})[0]


def post(fleet, expected=200, path="/v1/responses", **body):
    status, answer, _ = fleet.request("POST", path, body)
    assert status == expected, answer
    return answer


def get(fleet, path, expected=200):
    status, answer, _ = fleet.request("GET", f"/v1/responses/{path}")
    assert status == expected, answer
    return answer


def ended(fleet, response):
    def over():
        found = get(fleet, response["id"])
        return found if found["status"] not in ("queued", "in_progress") else None
    return wait_for(over, "the response")


# ---- background ----

def test_a_response_in_the_background_is_that_of_the_foreground(fleet):
    body = {**LONG, "max_output_tokens": 12}
    queued = post(fleet, **body)
    assert (queued["status"], queued["output"], queued["background"]) == ("queued", [], True)
    done = ended(fleet, queued)
    whole = post(fleet, **{**body, "background": False})
    assert done["output"][0]["content"] == whole["output"][0]["content"]
    assert (done["status"], done["usage"]) == (whole["status"], {
        **whole["usage"], "input_tokens_details": done["usage"]["input_tokens_details"]})
    more = post(fleet, input="And?", previous_response_id=queued["id"], max_output_tokens=2)
    assert more["usage"]["input_tokens"] > done["usage"]["input_tokens"]


def test_a_running_response_is_canceled_or_deleted(fleet):
    fleet.workers["prefill-0"].pause()  # so that it runs for as long as it is looked at
    running = post(fleet, **LONG)
    path = f"/v1/responses/{running['id']}"
    refused = post(fleet, 400, input="a", previous_response_id=running["id"])
    assert "has no answer yet" in refused["error"]["message"]
    assert get(fleet, running["id"])["status"] in ("queued", "in_progress")
    assert get(fleet, f"{running['id']}/input_items", 400)
    canceled = fleet.request("POST", f"{path}/cancel")[1]
    assert canceled["status"] == "cancelled"
    assert get(fleet, running["id"]) == canceled
    assert fleet.request("POST", f"{path}/cancel")[1] == canceled
    fleet.workers["prefill-0"].resume()
    another = post(fleet, **LONG)
    assert fleet.request("DELETE", f"/v1/responses/{another['id']}")[1]["deleted"]
    fleet.wait_all_free()
    get(fleet, another["id"], 404)


def test_a_response_of_the_foreground_is_not_canceled(fleet):
    made = post(fleet, input="a", max_output_tokens=1)
    assert post(fleet, 400, f"/v1/responses/{made['id']}/cancel")["error"]["code"] == (
        "not_in_background")


def test_what_cannot_go_on_alone_is_refused(fleet):
    for fields, words in (({"stream": True}, "not together with stream"),
                          ({"store": False}, "the response must be stored")):
        assert words in post(fleet, 400, **{**LONG, **fields})["error"]["message"]


def test_a_stored_response_is_no_stream(fleet):
    made = post(fleet, input="a", max_output_tokens=1)
    assert "stream: " in get(fleet, f"{made['id']}?stream=true&starting_after=3", 400)["error"][
        "message"]
    assert get(fleet, f"{made['id']}?stream=false") == made


def test_a_failure_in_the_background_is_told(fleet):
    queued = post(fleet, **LONG, timeout_s=1e-9)
    done = ended(fleet, queued)
    assert (done["status"], done["error"]["code"]) == ("failed", "deadline_exceeded")


def test_strangers_see_nothing(fleet):
    made = post(fleet, **{**LONG, "max_output_tokens": 2})
    for method, end in (("GET", ""), ("GET", "/input_items"), ("POST", "/cancel"), ("DELETE", "")):
        assert other(fleet, method, f"/v1/responses/{made['id']}{end}") == 404
    assert ended(fleet, made)["output"]


# ---- conversations ----

def created(fleet, **body):
    return post(fleet, 200, "/v1/conversations", **body)["id"]


def test_the_client_of_openai_is_served(fleet):
    Client("openai").drive(fleet, "conversations.test.mjs", "/v1", API_KEY=KEY)


@pytest.mark.parametrize("path, body, words", [
    ("", {"items": [{"role": "nobody", "content": "a"}]}, "items[0].role: must be user"),
    ("", {"items": [{"type": "video"}]}, "items[0]: items of type"),
    ("", {"items": [{"role": "user", "content": [{"type": "input_image"}]}]}, "items[0]: content"),
    ("", {"items": [{"type": "item_reference", "id": "msg_0-ab"}]}, "items[0]: item"),
    ("", {"items": {}, "metadata": 3}, "metadata: must be"),
    ("", {"metadata": {"a": 1}}, "metadata: must be"),
    ("", {"metadata": {"a": "b" * 513}}, "metadata: must be"),
    ("", {"metadata": {str(i): "" for i in range(17)}}, "metadata: must be"),
    ("", {"items": [{"role": "user", "content": "a"}] * 4097}, "items: must be"),
    ("/{id}/items", {}, "items: must be given"),
    ("/{id}/items", {"items": [{"role": "user", "content": "a"}] * 4096}, "the conversation has"),
])
def test_a_conversation_takes_what_an_input_takes(fleet, path, body, words):
    path = path.replace("{id}", created(fleet, items=[{"role": "user", "content": "a"}]))
    assert words in post(fleet, 400, "/v1/conversations" + path, **body)["error"]["message"]


def test_what_does_not_fit_beside_a_conversation_is_refused(fleet):
    id, other_id = created(fleet), post(fleet, input="a", max_output_tokens=1)["id"]
    for fields in ({"input": "a", "previous_response_id": other_id}, {"input": "a", "conversation":
                   {"name": id}}, {"input": "a", "conversation": other_id},
                   {"messages": [{"role": "user", "content": "a"}]}):
        answer = post(fleet, 400, **{"conversation": id, "max_output_tokens": 1, **fields})
        assert answer["error"]["param"] == "conversation"
    assert get(fleet, id, 404) and post(fleet, 400, input="a", previous_response_id=id)


def test_a_failed_response_adds_nothing_and_one_in_the_background_does(fleet):
    id = created(fleet)
    queued = post(fleet, **LONG, conversation=id, timeout_s=1e-9)
    assert ended(fleet, queued)["status"] == "failed"
    assert fleet.request("GET", f"/v1/conversations/{id}/items")[1]["data"] == []
    ended(fleet, post(fleet, **{**LONG, "max_output_tokens": 2}, conversation=id, store=True))
    found = fleet.request("GET", f"/v1/conversations/{id}/items")[1]["data"]
    assert [item["role"] for item in found] == ["assistant", "user"]


def test_strangers_see_no_conversation(fleet):
    id = created(fleet, items=[{"role": "user", "content": "a"}])
    item = fleet.request("GET", f"/v1/conversations/{id}/items")[1]["data"][0]["id"]
    of_item = f"/items/{item}"
    for method, end, body in (("GET", "", None), ("GET", "/items", None), ("DELETE", "", None),
                              ("POST", "", {}), ("GET", of_item, None), ("DELETE", of_item, None),
                              ("POST", "/items", {"items": []})):
        assert other(fleet, method, f"/v1/conversations/{id}{end}", body) == 404
    assert fleet.request("GET", f"/v1/conversations/{id}/items/{item}")[0] == 200


# ---- input items ----

def test_the_input_is_listed_as_items(fleet):
    call = {"type": "function_call", "call_id": "abcdefghi", "name": "weather", "arguments": "{}"}
    given = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, call,
             {"type": "function_call_output", "call_id": "abcdefghi", "output": "rain"},
             {"role": "user", "content": [{"type": "input_text", "text": "So?"}]}]
    first = post(fleet, input=given, tools=[TOOL], max_output_tokens=1)
    items = get(fleet, f"{first['id']}/input_items?order=asc")
    told = [(item["type"], item.get("role"), item.get("output", item.get("name")),
             "".join(part["text"] for part in item.get("content", []))) for item in items["data"]]
    assert told == [("message", "system", None, "Be brief."), ("message", "user", None, "Hi"),
                    ("function_call", None, "weather", ""),
                    ("function_call_output", None, "rain", ""), ("message", "user", None, "So?")]
    assert items["data"][2]["call_id"] == items["data"][3]["call_id"] == "abcdefghi"
    second = post(fleet, input="More", previous_response_id=first["id"], max_output_tokens=1)
    newest = get(fleet, f"{second['id']}/input_items")["data"]
    assert newest[0]["content"][0]["text"] == "More" and len(newest) >= 6


def test_items_come_in_pages(fleet):
    made = post(fleet, input=[{"role": "user", "content": str(i)} for i in range(7)],
                max_output_tokens=1)
    for order in ("asc", "desc"):
        found, after = [], ""
        while True:
            page = get(fleet, f"{made['id']}/input_items?limit=3&order={order}{after}")
            found += page["data"]
            assert (page["first_id"], page["last_id"]) == (page["data"][0]["id"],
                                                           page["data"][-1]["id"])
            if not page["has_more"]:
                break
            after = f"&after={page['last_id']}"
        texts = [item["content"][0]["text"] for item in found]
        assert texts == [str(i) for i in (range(7) if order == "asc" else range(6, -1, -1))]
    for query in ("limit=0", "limit=101", "limit=x", "order=up", "after=nobody"):
        get(fleet, f"{made['id']}/input_items?{query}", 400)


# ---- input tokens ----

@pytest.mark.parametrize("body", [
    {"input": "Once upon a time"}, {"input": "Hi", "instructions": "Be brief.", "tools": [TOOL]},
    {"input": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
               {"role": "user", "content": "c"}]}])
def test_the_tokens_of_a_prompt_are_counted(fleet, body):
    counted = post(fleet, path="/v1/responses/input_tokens", **body)
    used = post(fleet, **body, max_output_tokens=1)["usage"]["input_tokens"]
    assert counted == {"object": "response.input_tokens", "input_tokens": used}


def test_more_tokens_than_fit_are_counted_too(fleet):
    assert post(fleet, path="/v1/responses/input_tokens", input="fox " * 2000)["input_tokens"] > 512
    assert post(fleet, 400, path="/v1/responses/input_tokens", input=1)["error"]["param"] == "input"
