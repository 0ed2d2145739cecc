"""Responses that are kept: their input, those in the background, and the count of a prompt."""
import http.client
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import KEY, OTHER_KEY, TEMPLATE
from fleet import LONG_S, Fleet, Stream, read_events, wait_for
from javascript import Client

LONG = {"input": "Tell me a story", "background": True, "max_output_tokens": 400,
        "temperature": 0, "ignore_eos": True}
CHAT = ["--chat-template", "chatml"]
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
    assert "the response must be stored" in post(fleet, 400, **{**LONG, "store": False})["error"][
        "message"]


def test_a_failure_in_the_background_is_told(fleet):
    queued = post(fleet, **LONG, timeout_s=1e-9)
    done = ended(fleet, queued)
    assert (done["status"], done["error"]["code"]) == ("failed", "deadline_exceeded")


def test_strangers_see_nothing(fleet):
    made = post(fleet, **{**LONG, "max_output_tokens": 2})
    for method, end in (("GET", ""), ("GET", "/input_items"), ("POST", "/cancel"), ("DELETE", "")):
        assert other(fleet, method, f"/v1/responses/{made['id']}{end}") == 404
    assert ended(fleet, made)["output"]


# ---- streams in the background ----

STREAM = {**LONG, "stream": True, "max_output_tokens": 24}


def begin(fleet, **body):
    """(the response's id, the stream), of which the head and the first events were read"""
    stream = Stream(fleet.port, {**STREAM, **body}, "/v1/responses", fleet.headers)
    assert stream.status == 200, stream.response.read()
    return next(stream.events).json()["response"]["id"], stream


def replay(fleet, id, after=None, **headers):
    """The events after that number, as (number, data)."""
    connection = http.client.HTTPConnection("127.0.0.1", fleet.port, timeout=LONG_S)
    query = "" if after is None else f"&starting_after={after}"
    connection.request("GET", f"/v1/responses/{id}?stream=true{query}", None,
                       {**fleet.headers, **headers})
    response = connection.getresponse()
    assert response.status == 200, response.read()
    found = [event.json() for event in read_events(response)]
    connection.close()
    return [(event["sequence_number"], event) for event in found]


def gone(fleet, id, after, expected=400):
    error = get(fleet, f"{id}?stream=true&starting_after={after}", expected)["error"]
    assert error["param"] == "starting_after" and "starting_after: must be" in error["message"]
    return error["message"]


def test_a_stream_goes_on_without_its_client_and_is_read_from_any_event_on(fleet):
    fleet.workers["decode-0"].pause()
    id, stream = begin(fleet)
    stream.abandon()
    fleet.workers["decode-0"].resume()
    whole = ended(fleet, {"id": id})
    events = replay(fleet, id)
    assert [number for number, _ in events] == list(range(len(events)))
    assert [event["type"] for _, event in events[:3]] == [
        "response.created", "response.queued", "response.in_progress"]
    assert events[0][1]["response"]["status"] == "queued"
    assert events[-1][1]["response"] == whole and whole["status"] == "incomplete"
    text = "".join(event["delta"] for _, event in events if event["type"].endswith("text.delta"))
    assert text == whole["output"][0]["content"][0]["text"]
    for after in (0, len(events) // 2, len(events) - 2, len(events) - 1):
        assert replay(fleet, id, after) == events[after + 1:]
    assert "0..%d" % (len(events) - 1) in gone(fleet, id, len(events))


@pytest.mark.parametrize("query", ["stream=yes", "stream=true&starting_after=x", "stream=true"
                                   "&starting_after=-1", "starting_after=1",
                                   "stream=false&starting_after=1"])
def test_a_query_that_is_none_is_refused(fleet, query):
    id, stream = begin(fleet, max_output_tokens=1)
    assert stream.text()
    error = get(fleet, f"{id}?{query}", 400)["error"]
    assert error["param"] in query and error["message"].startswith(f"{error['param']}: must be ")


def test_a_client_that_comes_back_goes_on_with_the_running_stream(fleet):
    fleet.workers["decode-0"].pause()
    id, stream = begin(fleet)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(replay, fleet, id, 1)
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            stream.text()  # the first is cut off, as of any stream that is resumed
        fleet.workers["decode-0"].resume()
        events = second.result()
    assert events == replay(fleet, id)[2:] and events[-1][1]["type"] == "response.incomplete"


def test_a_stream_in_the_background_outlives_its_client_and_its_decode_worker():
    body, ids = {"max_output_tokens": 400, "explain": 20}, []

    def told():
        id, stream = begin(fleet, **body)
        stream.abandon()
        ids.append(id)
        return ended(fleet, {"id": id})
    with Fleet(decode=2, gateway_args=CHAT) as fleet, ThreadPoolExecutor(1) as pool:
        [running] = fleet.pause_at_work("decode-0", lambda: [pool.submit(told)], lambda: ids)
        fleet.workers["decode-0"].kill()
        whole = running.result()
        again = post(fleet, **{**LONG, **body, "background": False})
        assert whole["output"][0]["content"] == again["output"][0]["content"]
        assert replay(fleet, whole["id"], 5)[-1][1]["response"] == whole


def test_only_its_key_reads_a_stream(fleet):
    id, stream = begin(fleet)
    assert other(fleet, "GET", f"/v1/responses/{id}?stream=true") == 404
    assert other(fleet, "GET", f"/v1/streams/{id.partition('-')[2]}") == 404
    assert stream.text()[1].json()["type"] == "response.incomplete"


def test_a_canceled_and_a_failed_stream_end(fleet):
    fleet.workers["prefill-0"].pause()
    id, stream = begin(fleet)
    canceled = fleet.request("POST", f"/v1/responses/{id}/cancel")[1]
    fleet.workers["prefill-0"].resume()
    end = stream.text()[1]
    assert (end.name, end.json()["response"]) == ("response.incomplete", canceled)
    assert canceled["status"] == "cancelled" and get(fleet, id) == canceled
    assert replay(fleet, id)[-1][1]["response"] == canceled
    id, stream = begin(fleet, timeout_s=1e-9)
    end = stream.text()[1]
    assert end.name == "response.failed" and get(fleet, id)["status"] == "failed"
    assert replay(fleet, id)[-1][1] == end.json()
    fleet.wait_all_free()


def test_a_deleted_stream_is_gone(fleet):
    fleet.workers["prefill-0"].pause()
    id, stream = begin(fleet)
    assert fleet.request("DELETE", f"/v1/responses/{id}")[1]["deleted"]
    get(fleet, f"{id}?stream=true", 404)
    assert fleet.request("GET", f"/v1/streams/{id.partition('-')[2]}")[0] == 404
    fleet.workers["prefill-0"].resume()
    fleet.wait_all_free()


def test_a_response_without_a_stream_is_told_by_its_first_and_last_event(fleet):
    made = post(fleet, input="a", max_output_tokens=1)
    first, last = replay(fleet, made["id"])
    assert (first[0], first[1]["type"], last[0]) == (0, "response.created", 1)
    assert last[1]["type"] == "response.incomplete" and last[1]["response"] == made
    assert replay(fleet, made["id"], 7) == [(8, {**last[1], "sequence_number": 8})]
    assert get(fleet, f"{made['id']}?stream=false") == made
    fleet.workers["prefill-0"].pause()
    running = post(fleet, **LONG)["id"]
    assert "not made with stream" in get(fleet, f"{running}?stream=true", 400)["error"]["message"]
    assert fleet.request("POST", f"/v1/responses/{running}/cancel")[0] == 200
    fleet.workers["prefill-0"].resume()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Of a stream 64 KiB are kept, and there is room for one stream per client."""
    bounds = ["--resume-bytes", 64 << 10, "--resume-total-bytes", 128 << 10]
    with Fleet(gateway_args=[*CHAT, *bounds]) as one:
        yield one
        one.wait_all_free()


def test_the_oldest_events_make_room(small):
    def begun():
        id, stream = begin(small, max_output_tokens=400, explain=20)
        stream.abandon()
        return id

    def missed():  # its events are gone before it is over
        id, status = begun(), 200
        while status == 200 and get(small, id)["status"] == "queued":
            status = small.request("HEAD", f"/v1/responses/{id}?stream=true&starting_after=0")[0]
        message = gone(small, id, 0, 410) if status == 410 and (
            get(small, id)["status"] == "queued") else None
        ended(small, {"id": id})
        return message
    assert wait_for(missed, "a response whose first events are gone")
    id = begun()
    whole = ended(small, {"id": id})
    assert replay(small, id, 2) == [(3, {"type": "response.incomplete", "sequence_number": 3,
                                         "response": whole})]
    assert [event["type"] for _, event in replay(small, id)] == [
        "response.created", "response.incomplete"]


def test_a_stream_that_cannot_be_kept_is_refused(small):
    small.workers["prefill-0"].pause()
    id, stream = begin(small)
    refused = post(small, 503, **STREAM)["error"]
    assert refused["code"] == "overloaded" and "background: " in refused["message"]
    small.workers["prefill-0"].resume()
    assert stream.text()[1].name == "response.incomplete"
    with Fleet(gateway_args=[*CHAT, "--resume-s", 0]) as never:
        assert "--resume-s 0" in post(never, 400, **STREAM)["error"]["message"]


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
