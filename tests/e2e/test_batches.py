"""/v1/batches and /v1/messages/batches: their owners, bounds and ends, and gateways that die."""
import json
import time

import pytest
from conftest import KEY, OTHER_KEY
from fleet import Fleet, wait_for
from javascript import Client

FORM = "multipart/form-data; boundary=xyz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("batches")


@pytest.fixture(scope="module")
def fleet(folder):
    (folder / "keys").write_text(f"{KEY}\n{OTHER_KEY}\n")
    (folder / "keys").chmod(0o600)
    with Fleet(key=KEY, gateway_args=[
            "--api-keys", folder / "keys", "--chat-template", "chatml", "--files-dir",
            folder / "stored", "--files-bytes", 8 << 20, "--batch-lines", 4,
            "--absence-s", 3600]) as started:  # a gateway that restarts waits for its workers
        yield started
        started.wait_all_free()


def line(name, **body):
    return json.dumps({"custom_id": name, "method": "POST", "url": "/v1/completions", "body": {
        "prompt": "Once", "max_tokens": 4, "temperature": 0, **body}})


def upload(fleet, lines, purpose="batch"):
    contents = "\n".join(lines)
    body = (f'--xyz\r\ncontent-disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
            '--xyz\r\ncontent-disposition: form-data; name="file"; filename="in"\r\n\r\n'
            f"{contents}\r\n--xyz--\r\n")
    status, made, _ = fleet.request("POST", "/v1/files", body, {"Content-Type": FORM})
    assert status == 200, made
    return made["id"]


def create(fleet, lines, expected=200, **more):
    body = {"input_file_id": upload(fleet, lines), "endpoint": "/v1/completions",
            "completion_window": "24h", **more}
    status, made, _ = fleet.request("POST", "/v1/batches", body)
    assert status == expected, made
    return made


def got(fleet, batch):
    return fleet.request("GET", f"/v1/batches/{batch['id']}")[1]


def over(fleet, batch):
    def ended():
        found = got(fleet, batch)
        return found if found["status"] in ("completed", "failed", "expired", "cancelled") else None
    return wait_for(ended, "the batch")


def answers(fleet, batch, which="output"):
    """{custom_id: its answer}; none is there twice."""
    text = fleet.request("GET", f"/v1/files/{batch[f'{which}_file_id']}/content")[1]
    lines = [json.loads(each) for each in text.splitlines()]
    found = {each["custom_id"]: each for each in lines}
    assert len(found) == len(lines)
    return found


def test_the_client_of_openai_is_served(fleet):
    Client("openai").drive(fleet, "batches.test.mjs", "/v1", API_KEY=KEY)


def test_the_client_of_anthropic_is_served(fleet):
    Client("clients").drive(fleet, "anthropic_batches.test.mjs", API_KEY=KEY)


@pytest.mark.parametrize("fields, words", [
    ({"input_file_id": "file-" + "0" * 32}, "input_file_id: there is no such file"),
    ({"endpoint": "/v1/moderations"}, "endpoint: must be"),
    ({"endpoint": None}, "endpoint: must be given"),
    *[({"completion_window": window}, "completion_window: must be")
      for window in ("", "0h", "24", "31d", "1w", "24hh", "-1h", None, "99999999999999999999h")],
    ({"metadata": {"a": 1}}, "metadata: must be"),
])
def test_a_wrong_field_is_refused_by_its_name(fleet, fields, words):
    body = {"input_file_id": upload(fleet, [line("a")]), "endpoint": "/v1/completions",
            "completion_window": "24h", **fields}
    status, answer, _ = fleet.request("POST", "/v1/batches", body)
    assert status == 400 and words in answer["error"]["message"]


@pytest.mark.parametrize("lines, code, at", [
    ([], "empty_file", None), (["", line("a")], "invalid_request", 1),
    (["{"], "invalid_request", 1), ([line("a", stream=True)], "invalid_request", 1),
    ([line("a"), line("a")], "duplicate_custom_id", 2),
])
def test_a_wrong_line_fails_the_batch_by_its_number(fleet, lines, code, at):
    batch = over(fleet, create(fleet, lines))
    error = batch["errors"]["data"][0]
    assert (batch["status"], error["code"], error["line"]) == ("failed", code, at)
    assert batch["output_file_id"] is None and batch["error_file_id"] is None


def test_a_batch_is_its_keys_alone(fleet):
    batch = over(fleet, create(fleet, [line("a")]))
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    for method, path in (("GET", f"/v1/batches/{batch['id']}"),
                         ("POST", f"/v1/batches/{batch['id']}/cancel"),
                         ("GET", f"/v1/files/{batch['output_file_id']}/content")):
        assert fleet.request(method, path, headers=other)[0] == 404
    assert fleet.request("GET", "/v1/batches", headers=other)[1]["data"] == []
    assert fleet.request("POST", f"/v1/batches/{batch['id']}/cancel")[1] == batch
    assert fleet.request("GET", f"/v1/messages/batches/{batch['id']}")[0] == 404


def test_lines_are_of_batch_priority(fleet):
    batch = over(fleet, create(fleet, [line("a", priority="interactive")]))
    body = answers(fleet, batch)["a"]["response"]["body"]
    assert body["timings"]["priority"] == "batch"


def test_a_gateway_that_is_killed_loses_and_doubles_no_line(fleet):
    names = [str(i) for i in range(60)]
    batch = create(fleet, [line(name, max_tokens=20, ignore_eos=True) for name in names])
    for n in (5, 20):
        wait_for(lambda: got(fleet, batch)["request_counts"]["completed"] >= n, "some answers")
        fleet.gateway.kill()
        fleet.start_gateway()
        fleet.wait_ready(2)
    batch = over(fleet, batch)
    assert batch["request_counts"] == {"total": 60, "completed": 60, "failed": 0}
    found = answers(fleet, batch)
    assert set(found) == set(names)
    assert len({each["response"]["body"]["choices"][0]["text"] for each in found.values()}) == 1


def test_a_gateway_that_is_stopped_goes_on_with_its_batches(fleet):
    batch = create(fleet, [line(str(i), max_tokens=120, ignore_eos=True) for i in range(12)])
    asked = fleet.request("POST", "/v1/messages/batches", {"requests": [
        {"custom_id": str(i), "params": {"max_tokens": 120, "ignore_eos": True, "messages": [
            {"role": "user", "content": "a"}]}} for i in range(6)]})[1]
    wait_for(lambda: got(fleet, batch)["request_counts"]["completed"], "an answer")
    assert not fleet.gateway.stop()
    fleet.start_gateway()
    fleet.wait_ready(2)
    assert over(fleet, batch)["request_counts"] == {"total": 12, "completed": 12, "failed": 0}
    path = f"/v1/messages/batches/{asked['id']}"
    wait_for(lambda: fleet.request("GET", path)[1]["processing_status"] == "ended", "its results")
    results = fleet.request("GET", f"{path}/results")[1].splitlines()
    assert len({json.loads(each)["custom_id"] for each in results}) == len(results) == 6


def half_done(fleet):
    """A batch of twelve lines, some of which are answered and some of which cannot be now."""
    while True:
        batch = create(fleet, [line(str(i), max_tokens=100, ignore_eos=True) for i in range(12)])
        wait_for(lambda: got(fleet, batch)["request_counts"]["completed"] >= 2, "some answers")
        fleet.workers["decode-0"].pause()
        for _ in range(20):  # so that the gateway has heard what was said before
            n_done = got(fleet, batch)["request_counts"]["completed"]
        if n_done < 12:
            return batch
        fleet.workers["decode-0"].resume()  # it was through too soon: once more


def test_what_a_crash_cut_off_is_written_again(fleet, folder):
    batch = half_done(fleet)
    fleet.gateway.kill()
    fleet.workers["decode-0"].resume()
    journal = (folder / "stored" / batch["id"]).read_text().splitlines()
    output = folder / "stored" / json.loads(journal[1])["output"]
    output.write_bytes(output.read_bytes()[:-9])
    with (folder / "stored" / batch["id"]).open("a") as file:
        file.write('{"status":"comp')
    fleet.start_gateway()
    fleet.wait_ready(2)
    batch = over(fleet, batch)
    assert len(answers(fleet, batch)) == batch["request_counts"]["completed"] == 12


def test_a_batch_whose_window_is_over_expires(fleet, folder):
    batch = create(fleet, [line(str(i), max_tokens=400, ignore_eos=True) for i in range(99)],
                   completion_window="1m")
    fleet.gateway.kill()
    path = folder / "stored" / batch["id"]
    path.write_text(path.read_text().replace(f'"expires_at":{batch["expires_at"]}',
                                             f'"expires_at":{int(time.time()) - 1:010}'))
    fleet.start_gateway()
    fleet.wait_ready(2)
    batch = over(fleet, batch)
    assert batch["status"] == "expired" and batch["expired_at"]
    found = answers(fleet, batch, "error")
    assert {each["error"]["code"] for each in found.values()} == {"batch_expired"}
    assert len(found) == batch["request_counts"]["failed"]


def test_a_batch_without_room_for_its_answers_fails(fleet):
    filler = upload(fleet, ["x" * (1 << 19)])
    fillers = [filler, *[upload(fleet, ["x" * (1 << 19)]) for _ in range(5)]]
    batch = over(fleet, create(fleet, [line(str(i), max_tokens=200, ignore_eos=True, logprobs=20)
                                       for i in range(60)]))
    assert batch["status"] == "failed" and batch["errors"]["data"][0]["code"] == "files_full"
    for each in fillers:
        fleet.request("DELETE", f"/v1/files/{each}")


def test_there_are_not_too_many_batches(fleet):
    long = [line(str(i), max_tokens=400, ignore_eos=True) for i in range(9)]
    fleet.workers["decode-0"].pause()  # so that none ends before it is canceled
    made = [create(fleet, long)["id"] for _ in range(32)]
    assert create(fleet, long, 429)["error"]["code"] == "too_many_batches"
    for each in made:
        assert fleet.request("POST", f"/v1/batches/{each}/cancel")[0] == 200
    fleet.workers["decode-0"].resume()
    wait_for(lambda: all(got(fleet, {"id": each})["status"] == "cancelled" for each in made),
             "the batches to end")
