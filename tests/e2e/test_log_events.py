"""docs/log-events.md lists what the processes log, and every line that they log is in it."""
import json
import re
import signal

from fleet import ROOT, Fleet, wait_for
from log_events import in_code, in_document

ALWAYS = {"ts", "lvl", "proc", "pid", "ev", "not_shown"}
STAGES = {f"{name}_s" for name in re.findall(r"^    X\((\w+), ",
                                             (ROOT / "common/obs/stage.h").read_text(), re.M)}
TRACE = "0af7651916cd43dd8448eb211c80319c"
NAMED = {"X-Request-Id": "order-66", "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}


def test_the_table_lists_the_events_of_the_code_and_no_others():
    code, document = in_code(), in_document()
    assert set(document) == set(code) and len(code) > 90
    for event, fields in code.items():
        assert set(document[event]) == set(fields), event
    assert list(document) == sorted(document)
    prose = [line for line in (ROOT / "docs/log-events.md").read_text().splitlines()
             if not line.startswith("|")]
    assert max(map(len, prose)) <= 100


def json_lines(process):
    return [json.loads(line) for line in process.text().splitlines() if line.startswith("{")]


def about(process, **wanted):
    return [line for line in json_lines(process) if wanted.items() <= line.items()]


def test_what_is_logged_is_in_the_table_and_a_request_is_followed_by_its_id():
    listed = in_document()
    as_json = ["--log-format", "json", "--log-level", "debug"]
    with Fleet(gateway_args=as_json, prefill_args=as_json, decode_args=as_json) as fleet:
        body = {"prompt": "Once upon a time", "max_new_tokens": 5, "timeline": True}
        status, answer, headers = fleet.request("POST", "/generate", body, NAMED)
        assert status == 200
        assert headers["x-request-id"] == "order-66" and answer["id"] == "gen-order-66"
        assert headers["traceparent"].startswith(f"00-{TRACE}-")
        fleet.request("GET", "/nowhere")
        fleet.request("POST", "/generate", {"prompt": 7})
        processes = {"gateway": fleet.gateway, **fleet.workers}
        ends = {"gateway": "access", "prefill-0": "handoff", "decode-0": "sequence"}
        for name, event in ends.items():
            wait_for(lambda: about(processes[name], ev=event, id="order-66", trace=TRACE),
                     f"{name} to tell of it")
        reqs = {line["req"] for process in processes.values()
                for line in about(process, id="order-66") if "req" in line}
        assert len(reqs) == 1 and reqs != {"order-66"}
        wait_for(lambda: about(fleet.gateway, ev="access", status=400), "the last answer's line")
        access = about(fleet.gateway, ev="access")
        asked = [(line["method"], line["path"], line["status"]) for line in access
                 if line["path"] != "/ready"]
        assert asked[-3:] == [("POST", "/generate", 200), ("GET", "/nowhere", 404),
                              ("POST", "/generate", 400)]
        for path in ("/ready", "/metrics", "/", "/workers", "/v1/models"):
            assert fleet.request("GET", path)[0] == 200
        fleet.request("GET", "/nowhere/2")
        wait_for(lambda: about(fleet.gateway, ev="access", path="/nowhere/2"), "the next line")
        reads = [line for line in about(fleet.gateway, ev="access") if line["method"] == "GET"]
        assert all("/nowhere" in line["path"] and "prompt_tokens" not in line for line in reads)
        told = about(fleet.gateway, ev="access", id="order-66")[0]
        assert told["prompt_tokens"] == 4 and told["output_tokens"] == 5 and told["model"] == "tale"
        assert 0 < told["ttft_s"] < told["e2el_s"] and told["e2el_s"] >= answer["e2el_s"]
        assert told["sent_bytes"] > told["body_bytes"] > 0
        assert told["client"].startswith("127.0.0.1:")
        request = about(fleet.gateway, ev="request", id="order-66")[0]
        stages = {stage["name"]: stage["duration_s"] for stage in answer["timeline"]["stages"]}
        assert {name.removesuffix("_s") for name in request.keys() & STAGES} == set(stages)
        for line in sum((json_lines(process) for process in processes.values()), []):
            stages = STAGES if line["ev"] == "request" else set()
            assert not set(line) - ALWAYS - set(listed[line["ev"]]) - stages, line


def test_every_choice_of_a_completion_is_found_by_its_answers_id():
    with Fleet() as fleet:
        status, answer, headers = fleet.request("POST", "/v1/completions", {
            "prompt": "A", "n": 3, "max_tokens": 4, "ignore_eos": True})
        assert status == 200 and answer["id"] == "cmpl-" + headers["x-request-id"]
        digits = headers["x-request-id"]
        lines = [line for line in fleet.gateway.text().splitlines() if " ev=request " in line
                 and digits in line]
        assert len(lines) == 3 and sum(f" req={digits} " in line for line in lines) == 1
        for name in ("prefill-0", "decode-0"):
            event = " ev=prompt " if name == "prefill-0" else " ev=sequence "
            wait_for(lambda: sum(event in line and digits in line
                                 for line in fleet.workers[name].text().splitlines()) == 3,
                     f"{name} to tell of all")


def test_a_log_file_is_opened_anew_on_a_signal(tmp_path):
    path, moved = tmp_path / "worker.log", tmp_path / "worker.log.1"
    with Fleet(prefill=0, decode=0) as fleet:
        worker = fleet.start_worker("prefill", "prefill-0", args=["--log-file", str(path)])
        fleet.wait_ready(1)
        path.rename(moved)
        worker.signal(signal.SIGHUP)
        wait_for(lambda: "ev=nothing_to_reload" in moved.read_text(),
                 "a line in the file that was moved")
        worker.signal(signal.SIGUSR1)
        wait_for(path.exists, "the new file")
        worker.signal(signal.SIGHUP)
        wait_for(lambda: "ev=nothing_to_reload" in path.read_text(), "a line in the new file")
        assert worker.text() == "" and moved.read_text().count("ev=nothing_to_reload") == 1


def test_every_answer_has_an_access_line_if_told_so():
    args = ["--log-format", "json", "--access-log", "all"]
    with Fleet(prefill=0, decode=0, gateway_args=args) as fleet:
        paths = ["/live", "/metrics", "/ready"]
        for path in paths:
            fleet.request("GET", path)
        wait_for(lambda: about(fleet.gateway, ev="access", path="/ready"), "the last line")
        lines = about(fleet.gateway, ev="access")
        assert set(paths) <= {line["path"] for line in lines}
        assert not any("ttft_s" in line or "output_tokens" in line for line in lines)
