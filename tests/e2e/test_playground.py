"""The page at GET /, in a real Chromium: what it shows is compared with what the API says."""
import gzip
import http.client
import json
import shutil
import subprocess

import pytest
from chromium import CONTROL, SHIFT
from conftest import written
from fleet import LONG_S, ROOT, Fleet
from sampling import FILTERS, shape

SOURCE = ROOT / "gateway/web"
MODULE_TESTS = ROOT / "tests/unit/gateway/web"
PARTS = sorted(path.name for path in SOURCE.iterdir() if path.suffix in (".css", ".js", ".svg"))
STORY = "Once upon a time"
KEY = "a-key-of-this-test"
OPTIONS = "#tokens [role=option]"
# The page's defaults, as its form has them.
SAMPLING = {"temperature": 0.8, "top_k": 20, "top_p": 0.95}
PHONE = 360


def generate(page, wait=True, **fields):
    """Fills in fields by their names in the API and presses Generate."""
    for name, value in fields.items():
        if isinstance(value, bool):
            page.js(f"$('[data-field={name}]').checked = {json.dumps(value)}")
        else:
            page.set("#seed" if name == "seed" else f"[data-field={name}]", value)
    page.click("#go")
    if wait:
        page.wait("$('#status').textContent.includes('ended by')", "the stream to end")


def rows(page):
    """{token id: (low, high, removed by)} of the candidates as shown; the others' row apart."""
    shown = page.js("$$('#candidates li').map(li => ({...li.dataset}))")
    listed = {int(r["tokenId"]): (float(r["low"]), float(r["high"]), r["removedBy"] or None)
              for r in shown[:-1]}
    return listed, (float(shown[-1]["low"]), float(shown[-1]["high"]))


def choose(page, stage):
    page.click(f"#strip [value={stage}] + b")
    assert page.js("$('#strip :checked').value") == stage


def close(a, b, tolerance=2e-6):
    return abs(a - b) <= tolerance * max(1, abs(a), abs(b))


def level_of(prob):
    return next(i for i, least in enumerate((0.9, 0.5, 0.2, 0.05, 0)) if prob >= least)


# The files


def test_the_page_and_its_parts_are_served_as_they_are_in_the_tree(fleet):
    for path, name in [("/", "index.html"), *((f"/web/{name}", name) for name in PARTS)]:
        status, body, headers = fleet.request("GET", path)
        assert (status, body) == (200, (SOURCE / name).read_text()), path
        assert headers["Cache-Control"] == "no-cache"
        assert headers["X-Content-Type-Options"] == "nosniff"
        policy = headers["Content-Security-Policy"].split("; ")
        assert "default-src 'none'" in policy and "script-src 'self'" in policy
        assert "unsafe" not in headers["Content-Security-Policy"]
    assert fleet.request("GET", "/")[2]["Content-Type"] == "text/html; charset=utf-8"
    assert (fleet.request("GET", "/web/app.js")[2]["Content-Type"]
            == "text/javascript; charset=utf-8")


def test_an_unchanged_file_is_not_sent_again(fleet):
    _, whole, headers = fleet.request("GET", "/web/app.js")
    tag = headers["ETag"]
    for asked in tag, f"W/{tag}", f'"other", {tag}', "*":
        status, body, again = fleet.request("GET", "/web/app.js", headers={"If-None-Match": asked})
        assert (status, body, again["ETag"]) == (304, "", tag)
    assert fleet.request("GET", "/web/app.js",
                         headers={"If-None-Match": '"other"'})[:2] == (200, whole)


def test_methods_and_names(fleet):
    status, body, headers = fleet.request("HEAD", "/")
    assert (status, body) == (200, "")
    assert int(headers["Content-Length"]) == (SOURCE / "index.html").stat().st_size
    status, answer, headers = fleet.request("POST", "/web/app.js", {})
    assert status == 405
    assert headers["Allow"] == "GET" and answer["error"]["code"] == "method_not_allowed"
    for path in "/web/", "/web/none.js", "/web/index.html/x", "/web/../web/app.js", "/web":
        assert fleet.request("GET", path)[0] in (400, 404)


def test_the_modules_that_need_no_browser(tmp_path):
    """By Node, in a copy of the tree that says what its files are."""
    if not shutil.which("node"):
        pytest.skip("no node: this system has none (deploy/packages.sh test)")
    for folder in SOURCE, MODULE_TESTS:
        shutil.copytree(folder, tmp_path / folder.relative_to(ROOT))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    tests = sorted((tmp_path / MODULE_TESTS.relative_to(ROOT)).glob("*.mjs"))
    done = subprocess.run(["node", "--test", *tests], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LONG_S)
    assert tests and done.returncode == 0, done.stdout[-8000:]


def test_the_page_is_small(fleet):
    """On the way to a browser; a client that does not accept gzip gets the bytes as they are."""
    sizes = 0
    for path in ["/", *(f"/web/{name}" for name in PARTS)]:
        connection = http.client.HTTPConnection("127.0.0.1", fleet.port, timeout=LONG_S)
        connection.request("GET", path, headers={"Accept-Encoding": "gzip, br"})
        response = connection.getresponse()
        zipped, headers = response.read(), response.headers
        connection.close()
        _, plain, plain_headers = fleet.request("GET", path)
        assert (headers["Content-Encoding"], headers["Vary"]) == ("gzip", "Accept-Encoding")
        assert headers["ETag"] == "W/" + plain_headers["ETag"]
        assert gzip.decompress(zipped).decode() == plain
        sizes += len(zipped)
    assert sizes < 100_000


# The text


def test_the_stream_appears_token_by_token(fleet, open_page):
    page = open_page(fleet)
    generate(page, prompt=STORY, seed=11, max_new_tokens=60)
    answer = fleet.generate(prompt=STORY, seed=11, max_new_tokens=60, explain=20, **SAMPLING)
    shown = page.js(f"$$('{OPTIONS}').map(e => [e.textContent, e.dataset.level, e.ariaLabel])")
    assert len(shown) == 60
    assert "".join(text for text, _, _ in shown) == answer["generated_text"]
    for (text, level, label), step in zip(shown, answer["steps"], strict=True):
        assert text == step["text"]
        assert int(level) == level_of(step["prob"])
        assert f"rank {step['rank']}" in label and "%" in label
    page.click("[name=colour][value=prob_raw]")
    levels = page.js(f"$$('{OPTIONS}').map(e => Number(e.dataset.level))")
    assert levels == [level_of(step["prob_raw"]) for step in answer["steps"]]


def test_the_numeric_class_of_an_answer_is_shown_and_that_it_changed(fleet, open_page):
    page = open_page(fleet)
    generate(page, prompt=STORY, seed=11, max_new_tokens=4)
    by = fleet.generate(prompt=STORY, seed=11, max_new_tokens=4)["served_by"]
    shown = "$('#numeric-class').textContent"
    assert page.js(shown) == f"numeric class {by['numeric_class']}"
    body = dict(prompt=STORY, seed=11, max_new_tokens=4, explain=20, timeline=True, **SAMPLING)
    events = fleet.post("/generate/stream", body)
    assert events.count('"class_changed":false') == 1
    changed = events.replace('"class_changed":false', '"class_changed":true')
    page.js(f"""window.fetch = async () => new Response({json.dumps(changed)},
        {{headers: {{"Content-Type": "text/event-stream"}}}})""")
    page.click("#go")
    page.wait(f"{shown}.endsWith('changed on the way')", "the change to be shown")


def test_a_stop_strings_tokens_are_shown_apart(fleet, open_page):
    page = open_page(fleet)
    generate(page, prompt=STORY, seed=11, stop=" was", temperature=0.5)
    answer = fleet.generate(prompt=STORY, seed=11, stop=" was", explain=1,
                            **{**SAMPLING, "temperature": 0.5})
    assert answer["finish_reason"] == "stop"
    text = page.js(f"$$('{OPTIONS}:not(.unseen)').map(e => e.textContent).join('')")
    assert text.replace("·", "") == answer["generated_text"]
    assert page.count(f"{OPTIONS}.unseen") >= 1


def test_text_without_explanation_is_shown_too(fleet, open_page):
    page = open_page(fleet)
    generate(page, prompt=STORY, seed=3, explain=0, max_new_tokens=12)
    answer = fleet.generate(prompt=STORY, seed=3, max_new_tokens=12, **SAMPLING)
    assert page.text("#tokens") == answer["text"]
    assert page.count(OPTIONS) == 0


def test_markup_in_a_prompt_is_text(fleet, open_page):
    page = open_page(fleet)
    generate(page, prompt="<img src=x onerror=alert(1)> <b>Once</b>", max_new_tokens=4)
    assert page.text("#tokens .prompt") == "<img src=x onerror=alert(1)> <b>Once</b>"
    assert page.count("#tokens img, #tokens b") == 0


def test_events_are_read_however_they_are_cut(fleet, open_page):
    page = open_page(fleet)
    assert page.js("""(async () => {
        const { events } = await import("/web/sse.js");
        const bytes = new TextEncoder().encode(
            ": hello\\r\\nevent: token\\r\\ndata:  é€🙂\\r\\ndata:\\r\\n\\r\\n" +
            "data: x\\ny: z\\n\\nevent: gone\\n\\nevent: summary\\rdata:{}\\r\\rdata: cut");
        for (let size = 1; size <= bytes.length; size++) {
            const body = new ReadableStream({ start(to) {
                for (let i = 0; i < bytes.length; i += size) to.enqueue(bytes.slice(i, i + size));
                to.close(); } });
            const got = [];
            for await (const { name, data } of events(body)) got.push(`${name}=${data}`);
            const all = got.join("|");
            if (all !== "token= é€🙂\\n|message=x|summary={}") return `${size}: ${all}`;
        }
        return "ok"; })()""") == "ok"


def test_a_streams_text_has_its_carriage_returns(fleet, open_page):
    page, text = open_page(fleet), "a\r\nb\n\r"
    body = json.dumps({"prompt": "Once", "max_new_tokens": 20, **written(text)})
    assert page.js("""(async () => {
        const { generate } = await import("/web/api.js");
        let text = "";
        for await (const { name, data } of generate(BODY)) if (name === "token") text += data;
        return text; })()""".replace("BODY", json.dumps(body))) == text


# Why this token


def test_a_click_shows_the_candidates_and_the_reason(fleet, open_page):
    page = open_page(fleet)
    generate(page, prompt=STORY, seed=7, max_new_tokens=30)
    steps = fleet.generate(prompt=STORY, seed=7, max_new_tokens=30, explain=20, **SAMPLING)["steps"]
    for index in 0, 9, 29:
        page.click(OPTIONS, index)
        step, (listed, _) = steps[index], rows(page)
        assert page.text("#why-reason") == step["reason"]
        assert f"id {step['token_id']} " in page.text("#why-facts")
        assert list(listed) == [c["token_id"] for c in step["candidates"]]
        for c in step["candidates"]:
            assert close(listed[c["token_id"]][0], c["prob"])
            assert listed[c["token_id"]][2] == c["removed_by"]
        assert page.js("$('#candidates .chosen').dataset.tokenId") == str(step["token_id"])
        needle = page.js("$('.needle').style.left")
        assert close(float(needle.rstrip("%")) / 100, step["draw"], 1e-4)


def test_each_stage_shows_what_it_made_of_them(fleet, open_page):
    page = open_page(fleet)
    sampling = {"temperature": 1.3, "top_k": 12, "typical_p": 0.9, "top_p": 0.9, "min_p": 0.04}
    generate(page, prompt=STORY, seed=5, max_new_tokens=12, repetition_penalty=1.2, **sampling)
    answer = fleet.generate(prompt=STORY, seed=5, max_new_tokens=12, repetition_penalty=1.2,
                            explain=20, **sampling)
    page.click(OPTIONS, 9)
    step = answer["steps"][9]
    logits = {c["token_id"]: c["logit_penalized"] for c in step["candidates"]}
    on = {"temperature": 1.3}
    assert page.text("#strip .stop:has([value=top_n_sigma]) span") == "off"
    for stage in [stage for stage in FILTERS if stage in sampling]:
        choose(page, stage)
        on[stage] = sampling[stage]
        expected = shape(logits, on)
        listed, others = rows(page)
        assert others[1] < 1e-6
        for token, (low, high, removed) in listed.items():
            assert close(low, high) and close(low, expected.probs.get(token, 0)), (stage, token)
            assert (removed is None) == (token in expected.probs)
        left = page.text(f"#strip .stop:has([value={stage}]) small").split()[0]
        assert int(left.replace(",", "")) == step["kept"][f"after_{stage}"]
    for stage, key in ("model", "prob_raw"), ("temperature", "prob_shaped"):
        choose(page, stage)
        listed, _ = rows(page)
        assert all(close(listed[c["token_id"]][0], c[key]) for c in step["candidates"])


# Tokens that are not listed pass each.
FILTERED = {"top_n_sigma": 3.5, "top_k": 200, "typical_p": 0.97, "top_p": 0.9, "min_p": 0.02}


def test_a_stage_holds_the_truth_where_tokens_are_not_listed(fleet, open_page):
    """After each filter, what the server says when the later ones are off."""
    page = open_page(fleet)
    asked = dict(prompt=STORY + " there was a", seed=1, max_new_tokens=1, temperature=1.3)
    generate(page, **asked, **FILTERED)
    page.click(OPTIONS, 0)
    on = {}
    for name in FILTERED:
        on[name] = FILTERED[name]
        truth = fleet.generate(**asked, explain=20, **on)["steps"][0]
        choose(page, name)
        listed, others = rows(page)
        assert truth["kept"][f"after_{name}"] > 20
        for c in truth["candidates"]:
            low, high, _ = listed[c["token_id"]]
            assert low - 1e-6 <= c["prob"] <= high + 1e-6, (name, c)
        rest = 1 - sum(c["prob"] for c in truth["candidates"])
        assert others[0] - 1e-6 <= rest <= others[1] + 1e-6, name


def test_the_pages_filters_are_the_servers(fleet, open_page):
    page = open_page(fleet)
    listed = page.js("""import("/web/filters.js").then(({ FILTERS }) =>
                            FILTERS.map(({ id, off }) => [id, off]))""")
    kept = fleet.generate(prompt=STORY, max_new_tokens=1, explain=1)["steps"][0]["kept"]
    assert [f"after_{name}" for name, _ in listed] == list(kept)
    document = fleet.request("GET", "/openapi.json")[1]["paths"]["/generate"]["post"]
    fields = document["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert [off for _, off in listed] == [fields[name]["default"] for name, _ in listed]


def test_a_choice_from_far_down_has_a_row_too(fleet, open_page):
    page = open_page(fleet)
    far = {"temperature": 3, "top_k": 0, "top_p": 1}
    generate(page, prompt=STORY, seed=4, max_new_tokens=10, **far)
    steps = fleet.generate(prompt=STORY, seed=4, max_new_tokens=10, explain=20, **far)["steps"]
    step = next(step for step in steps if step["rank"] > 20)
    page.click(OPTIONS, step["index"])
    chosen = "#candidates li:nth-child(21)"
    assert page.text(f"{chosen} .rank") == str(step["rank"]) and page.count(f"{chosen}.chosen") == 1
    assert close(float(page.js(f"$('{chosen}').dataset.low")), step["prob"])
    choose(page, "temperature")
    assert page.text(f"{chosen} output") == "of the others"
    assert close(sum(low for low, _, _ in rows(page)[0].values()) + rows(page)[1][0], 1)


def test_a_seed_is_sent_and_shown_to_the_last_digit(fleet, open_page):
    page = open_page(fleet)
    seed = 2**63 - 1
    generate(page, prompt=STORY, seed=seed, max_new_tokens=20)
    assert page.text("#tokens") == fleet.generate(prompt=STORY, seed=seed, max_new_tokens=20,
                                                  **SAMPLING)["text"]
    page.set("#seed", "")
    page.click("#status button")
    assert page.js("$('#seed').value") == str(seed)


def test_a_greedy_step_says_so(fleet, open_page):
    page = open_page(fleet)
    generate(page, prompt=STORY, temperature=0, max_new_tokens=5)
    page.click(OPTIONS, 2)
    assert page.text("#why-reason").startswith("Temperature 0 takes the highest logit")
    assert page.count(".needle") == 0
    assert page.js("$$('#strip input').map(e => e.value)") == [
        "model", "penalties", "temperature", "if"]


# Other settings


@pytest.mark.parametrize("sampling, asked", [
    ({"temperature": 1, "top_k": 20}, {"temperature": 0.7}),
    ({"temperature": 0.8, "top_k": 0, "top_p": 0.9}, {"temperature": 1.4, "top_k": 15, "top_p": 1}),
    ({"temperature": 1.5, "top_k": 20, "min_p": 0.1},
     {"temperature": 0.5, "top_k": 8, "top_p": 0.8, "min_p": 0.02}),
    ({"temperature": 0, "top_k": 0}, {"temperature": 1, "top_k": 5, "top_p": 0.9}),
    ({"temperature": 1.5, "top_k": 20}, {"temperature": 1.2, "typical_p": 0.4}),
    ({"temperature": 1.5, "top_k": 20, "typical_p": 0.7}, {"typical_p": 0.9, "top_p": 0.9}),
])
def test_what_if_is_what_the_reference_computes(fleet, open_page, sampling, asked):
    page = open_page(fleet)
    fields = {"top_p": 1, "min_p": 0, "repetition_penalty": 1.1, **sampling}
    generate(page, prompt=STORY, seed=21, max_new_tokens=10, **fields)
    step = fleet.generate(prompt=STORY, seed=21, max_new_tokens=10, explain=20,
                          **fields)["steps"][8]
    page.click(OPTIONS, 8)
    for name, value in asked.items():
        page.set(f"#if-{name}", value)
    expected = shape({c["token_id"]: c["logit_penalized"] for c in step["candidates"]},
                     {**fields, **asked})
    listed, others = rows(page)
    assert others == (0, 0)
    for token, (low, high, removed) in listed.items():
        assert close(low, high) and close(low, expected.probs.get(token, 0))
        assert (removed is None) == (token in expected.probs)
    verdict = page.text("#if-verdict")
    assert verdict.startswith("Exact.")
    if step["draw"] is not None:
        text = next(c["text"] for c in step["candidates"]
                    if c["token_id"] == expected.pick(step["draw"]))
        assert f"“{text.replace(' ', '␣')}”" in verdict
    page.click("#if-reset")
    assert page.js("$('#strip :checked').value") != "if"


def test_what_if_knows_what_top_n_sigma_left_at_any_temperature(fleet, open_page):
    """It has no slider there; with few left all of them are listed, so the answer is exact."""
    page = open_page(fleet)
    asked = dict(prompt=STORY + " there was a", seed=3, max_new_tokens=1, top_n_sigma=0.8, top_k=0)
    generate(page, **asked, temperature=1)
    page.click(OPTIONS, 0)
    assert page.count("#if-top_n_sigma") == 0
    page.set("#if-temperature", 1.7)
    truth = fleet.generate(**asked, explain=20, temperature=1.7, top_p=0.95)["steps"][0]
    listed, others = rows(page)
    assert 1 < truth["kept"]["after_top_n_sigma"] <= 20 and others == (0, 0)
    assert all(close(listed[c["token_id"]][0], c["prob"], 1e-5) for c in truth["candidates"])
    generate(page, **asked, temperature=0)
    page.click(OPTIONS, 0)
    page.set("#if-temperature", 1)
    assert page.text("#if-verdict").startswith("Ranges")


def test_where_it_cannot_be_exact_the_truth_lies_within_the_range(fleet, open_page):
    """The same context under other settings, asked of the server itself."""
    page = open_page(fleet)
    listing = dict(prompt=STORY + " there was a", max_new_tokens=1, seed=1, explain=20)
    n, widths = 0, []
    for t in 0.6, 1, 1.7:
        step = fleet.generate(**listing, temperature=t)["steps"][0]
        for asked in ({"temperature": 0.5}, {"temperature": 0.95}, {"temperature": 1.5},
                      {"temperature": 3}, {"temperature": 1.2, "top_p": 0.9},
                      {"temperature": 0.7, "top_p": 0.5}, {"top_k": 200},
                      {"temperature": 1.4, "top_k": 60, "top_p": 0.97},
                      {"temperature": 2, "min_p": 0.001},
                      {"temperature": 1.1, "top_p": 0.99, "min_p": 0.01},
                      {"temperature": 0.9, "typical_p": 0.8}):
            settings = {"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, **asked}
            truth = fleet.generate(**listing, **settings)["steps"][0]
            answer = page.js(f"""import("/web/whatif.js").then(({{ whatIf }}) => whatIf(
                {json.dumps(step)}, {{ temperature: {t}, vocabulary: 2560 }},
                {json.dumps(settings)}))""")
            for row, c in zip(answer["rows"], truth["candidates"], strict=True):
                assert row["low"] - 1e-6 <= c["prob"] <= row["high"] + 1e-6, (t, asked, row, c)
                assert row["removedBy"] is None or not c["kept"]
                n += 1
            rest = 1 - sum(c["prob"] for c in truth["candidates"])
            others = answer["others"]
            assert others["low"] - 1e-5 <= rest <= others["high"] + 1e-5, (t, asked)
            widths.append(answer["rows"][0]["high"] - answer["rows"][0]["low"])
    assert n == 660 and sorted(widths)[len(widths) // 2] < 0.2  # ranges that say something


# Times, workers, errors


def test_the_waterfall_is_the_requests_timeline(fleet, open_page):
    page = open_page(fleet)
    generate(page, prompt=STORY, max_new_tokens=30)
    timeline = fleet.generate(prompt=STORY, max_new_tokens=30, timeline=True)["timeline"]["stages"]
    names = page.js("$$('#waterfall [data-stage]').map(e => e.dataset.stage)")
    assert names == [stage["name"] for stage in timeline]
    before = page.js("$('[data-stage=prefill_compute]').getBoundingClientRect().width")
    page.click("#zoom")
    assert page.js("$('[data-stage=prefill_compute]').getBoundingClientRect().width") > before


def test_the_fleet_is_shown_as_it_changes(open_page):
    with Fleet(decode=2) as fleet:
        page = open_page(fleet)
        page.wait("$$('.worker[data-state=ready]').length == 3", "three workers")
        fleet.workers.pop("decode-1").kill()
        page.wait("!$('[data-worker=decode-1]')", "the dead one to disappear")
        assert "1 prefill, 1 decode ready" in page.text("#fleet-state")


def stand_still_after(page, fleet, name, n_tokens, **fields):
    """Generates, and stops a worker after n_tokens with more to come. Returns the worker."""
    while True:
        generate(page, wait=False, **fields)
        page.wait(f"$$('{OPTIONS}').length > {n_tokens}", "tokens")
        fleet.workers[name].pause()
        if fleet.open("DECODING"):
            return fleet.workers[name]
        fleet.workers[name].resume()  # it was through already: once more
        page.wait("$('#status').textContent.includes('ended by')", "the stream to end")


def test_a_worker_killed_mid_stream_is_told_and_the_text_kept(open_page):
    with Fleet() as fleet:
        page = open_page(fleet)
        stand_still_after(page, fleet, "decode-0", 3, prompt=STORY, max_new_tokens=500,
                          ignore_eos=True)
        fleet.workers.pop("decode-0").kill()
        page.wait("!$('#error').hidden", "the error")
        assert "worker_failed" in page.text("#error-title") and page.text("#error-text")
        assert "Broken off" in page.text("#status")
        n = page.count(OPTIONS)
        assert 3 < n < 500 and page.text("#tokens").startswith(STORY)
        page.click(OPTIONS, 1)
        assert page.count("#candidates li") > 20
        assert not page.js("$('#go').disabled")
        fleet.start_worker("decode", "decode-2")
        fleet.wait_ready(2)
        generate(page, prompt=STORY, max_new_tokens=5)
        assert page.js("$('#error').hidden")


def test_stop_ends_the_request_and_keeps_the_text(fleet, open_page):
    page = open_page(fleet)
    worker = stand_still_after(page, fleet, "prefill-0", 1, prompt=STORY, max_new_tokens=500,
                               ignore_eos=True, kv_cache=False)
    page.wait("$$('#waterfall.live [data-stage=decode]').length", "the live waterfall")
    page.click("#stop")
    page.wait("$('#status').textContent.includes('Stopped by you')", "the stop")
    worker.resume()
    assert 1 < page.count(OPTIONS) < 500 and page.js("$('#error').hidden")
    fleet.wait_all_free()


@pytest.mark.parametrize("field, value", [("temperature", -1), ("repetition_penalty", 0),
                                          ("logit_bias", "99999: 1"), ("seed", "-5"),
                                          ("max_new_tokens", 100000), ("stop_token_ids", "x")])
def test_a_refusal_names_the_field_and_takes_the_reader_there(fleet, open_page, field, value):
    page = open_page(fleet)
    generate(page, wait=False, **{field: value})
    page.wait("!$('#error').hidden", "the error")
    assert field in page.text("#error-text") and "400" in page.text("#error-title")
    assert page.js("$$('#waterfall [data-stage]').length") == 0  # no time passed anywhere
    assert page.js("document.activeElement.dataset.field ?? document.activeElement.id") == field
    assert page.js("document.activeElement.getAttribute('aria-invalid')") == "true"


def test_a_gateway_that_is_gone_is_told(open_page):
    with Fleet() as fleet:
        page = open_page(fleet)
        page.wait("$$('.worker').length == 2", "the fleet")
        fleet.gateway.kill()
        page.wait("$('#fleet-state').textContent.includes('cannot be reached')", "the error")
        generate(page, wait=False)
        page.wait("!$('#error').hidden", "the error")
        assert page.text("#error-title") == "unreachable"
        page.browser.events.clear()  # that nothing answered is what Chromium complained of
        page.call("Page.navigate", url="about:blank")


def test_a_key_is_asked_for_and_kept_in_memory_only(open_page, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(f"{KEY}\n")
    keys.chmod(0o600)
    with Fleet(key=KEY, gateway_args=["--api-keys", keys]) as fleet:
        page = open_page(fleet)
        page.wait("!$('#key-row').hidden", "the field for the key")
        generate(page, wait=False)
        page.wait("!$('#error').hidden", "the refusal")
        assert page.js("document.activeElement.id") == "key"
        page.type(KEY)
        page.key("Enter")
        page.wait("$$('.worker').length == 2", "the fleet")
        generate(page, max_new_tokens=5)
        assert page.count(OPTIONS) == 5
        assert page.js("localStorage.length + sessionStorage.length + document.cookie.length") == 0
        assert KEY not in page.js("location.href")


# Readers


def test_everything_works_by_keyboard(fleet, open_page):
    page = open_page(fleet)
    page.js("$('#prompt').focus()")
    page.js("$('#prompt').select()")
    page.type("The fox saw")
    page.key("Enter", CONTROL)
    page.wait("$('#status').textContent.includes('ended by')", "the stream to end")
    assert page.text("#tokens .prompt") == "The fox saw"
    for _ in range(30):
        page.key("Tab")
        if page.js("document.activeElement.getAttribute('role')") == "option":
            break
    moves = {"Home": 0, "Enter": 0, "ArrowRight ArrowRight ArrowDown": 3, "ArrowLeft": 2,
             "Home Home": 0}
    for keys, index in moves.items():
        for key in keys.split():
            page.key(key)
        assert page.js(f"$$('{OPTIONS}').indexOf(document.activeElement)") == index
        assert f"token {index + 1}," in page.text("#why-facts")
    page.key("End")
    stages = ["model", "penalties", "temperature", *FILTERS, "if"]
    for _ in range(30):
        page.key("Tab")
        if page.js("document.activeElement.name") == "stage":
            break
    assert page.js("document.activeElement.value") == stages[-2]
    for at in range(len(stages) - 2, 0, -1):
        page.key("ArrowLeft")
        assert page.js("document.activeElement.value") == stages[at - 1]
    page.key("Tab")
    page.key("ArrowDown")
    assert page.js("$$('#candidates .fork').indexOf(document.activeElement)") == 1
    page.key("Tab")
    assert page.js("document.activeElement.id") == "if-temperature"
    page.key("ArrowRight")
    assert page.js("$('#strip :checked').value") == "if"
    page.key("Tab", SHIFT)
    page.key("Tab", SHIFT)
    assert page.js("document.activeElement.value") == "if"


def test_escape_stops(fleet, open_page):
    page = open_page(fleet)
    worker = stand_still_after(page, fleet, "prefill-0", 1, max_new_tokens=500, ignore_eos=True,
                               kv_cache=False)
    page.key("Escape")
    page.wait("$('#status').textContent.includes('Stopped by you')", "the stop")
    worker.resume()


def overflow(page):
    return page.js("$$('body *').filter(e => e.getBoundingClientRect().right > innerWidth + 1"
                   " && !e.closest('.bar, .lane, .band, .memory'))"
                   ".map(e => e.outerHTML.slice(0, 120))")


@pytest.mark.parametrize("width", [PHONE, 720, 1024, 1280])
def test_nothing_is_wider_than_the_window(fleet, open_page, width):
    page = open_page(fleet, width=width, height=780)
    for step in "empty", "error", "done", "what if":
        if step == "error":
            generate(page, wait=False, temperature=-1)
            page.wait("!$('#error').hidden", "the error")
            page.js("$$('details').forEach(e => { e.open = true; })")
        elif step == "done":
            generate(page, temperature=1.5, top_k=0, seed=3, prompt=STORY + " " + "x" * 80)
            page.click(OPTIONS, 4)
        elif step == "what if":
            page.set("#if-temperature", 2)
        assert page.js("document.documentElement.scrollWidth") <= width, step
        assert overflow(page) == [], step


CONTRAST = """(() => {
  const parse = (c) => { const [r, g, b, a = 1] = c.match(/[\\d.]+/g).map(Number);
    return { rgb: [r, g, b], a }; };
  const over = (top, under) => top.rgb.map((x, i) => x * top.a + under[i] * (1 - top.a));
  const light = (rgb) => rgb.map((x) => x / 255)
    .map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => !e ? [255, 255, 255] :
    over(parse(getComputedStyle(e).backgroundColor), ground(e.parentElement));
  return $$("#legend span, p, h1, h2, label, summary, #go, #candidates output, dt, dd, .hint")
    .filter((e) => e.textContent.trim() && e.getClientRects().length)
    .map((e) => { const under = ground(e), ink = parse(getComputedStyle(e).color);
      const [a, b] = [light(over(ink, under)), light(under)].sort((x, y) => y - x);
      return { what: e.id || e.className || e.textContent, ratio: (a + 0.05) / (b + 0.05) }; })
    .filter(({ ratio }) => ratio < 4.5); })()"""


def test_dark_and_light_follow_the_reader_and_can_be_read(fleet, open_page):
    page = open_page(fleet, dark=True)
    generate(page, max_new_tokens=20)
    page.click(OPTIONS, 3)
    seen = set()
    for scheme in "dark", "light":
        page.scheme(scheme)
        seen.add(page.js("getComputedStyle(document.body).backgroundColor"))
        assert page.js(CONTRAST) == [], scheme
    assert len(seen) == 2


def test_controls_have_names(fleet, open_page):
    page = open_page(fleet)
    generate(page, max_new_tokens=5)
    page.click(OPTIONS, 1)
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    widgets = {"button", "textbox", "slider", "checkbox", "radio", "spinbutton", "option",
               "listbox"}
    nameless = [node["role"]["value"] for node in tree if not node["ignored"]
                and node["role"]["value"] in widgets and not node.get("name", {}).get("value")]
    assert nameless == []
    assert page.js("document.documentElement.lang") == "en"
