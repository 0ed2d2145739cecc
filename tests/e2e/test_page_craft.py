"""How the page is made: for every reader, width and colour; its links, forks and example."""
import json
import math
import shutil

import pytest
from chromium import Browser
from conftest import KEY
from fleet import BIN, MODEL, ROOT, Fleet
from npm import install
from test_page_chat import ANSWER, MARKDOWN, chunk, opened, say, settle, share, stub
from test_playground import level_of

FLEET = dict(gateway_args=["--chat-template", "chatml"])
OPTIONS = "#tokens [role=option]"
STORY = "Once upon a time"
# What is wider than the window scrolls, or is part of a picture.
INSIDE = ".bar, .lane, .band, .memory, pre, .table, .off-screen, label.quiet input"


@pytest.fixture(scope="module")
def plain():
    with Fleet() as started:
        yield started


@pytest.fixture(scope="module")
def axe():
    packages = install(ROOT / "tests/e2e/axe", BIN.parent / "axe") / "node_modules"
    return (packages / "axe-core/axe.min.js").read_text()


def overflow(page):
    return page.js("$$('body *').filter(e => e.getBoundingClientRect().right > innerWidth + 1"
                   f" && !e.closest('{INSIDE}')).map(e => e.outerHTML.slice(0, 120))")


def complete(page, **fields):
    for name, value in fields.items():
        page.set("#seed" if name == "seed" else f"#controls [data-field={name}]", value)
    page.click("#go")
    page.wait("$('#status').textContent.includes('ended by')", "the end")


def reproduce(page):
    page.wait("!$('#link').hidden", "the offer")
    page.click("#link-go")


def call_chunks():
    return [chunk(reasoning_content="Hm."), chunk(content=MARKDOWN), chunk(tool_calls=[
        {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]), chunk("stop")]


def states(page):
    """Brings a page with a chat through its states and yields the name of each."""
    yield "welcome"
    settle(page, seed=4, max_tokens=30)
    say(page)
    page.click(f"{ANSWER} .tok", 2)
    yield "answer"
    page.js(f"$$('{ANSWER} button').find(e => e.textContent === 'Tokens').click()")
    page.js(f"$('{ANSWER} .menu').open = true")
    yield "tokens, menu"
    page.js("$('#messages .question button').click()")
    yield "editor"
    stub(page, call_chunks())
    page.js("$('#new-chat').click()")  # a phone shows it only with the list
    say(page)
    yield "Markdown, reasoning, call"
    stub(page, ['{"error":{"message":"temperature: must be less","param":"temperature",'
                '"code":"out_of_range"}}'])
    page.js("$('#new-chat').click()")
    say(page, wait=False)
    page.wait("!$('#chat-error').hidden", "the error")
    yield "error"
    page.click("#settings-open")
    page.js("$$('#settings details').forEach(e => { e.open = true; })")
    yield "settings"
    page.js("$('#settings').close(), $('#model').click()")
    yield "model card"
    page.js("$('#card').close()")
    page.click("#tab-completion")
    complete(page, seed=4, max_new_tokens=20)
    yield "completion"
    page.set("#temperature", -1)
    page.click("#go")
    page.wait("!$('#error').hidden", "the error")
    yield "completion's error"
    page.click("#tab-fleet")
    yield "fleet"


RUN_AXE = """axe.run(document, {resultTypes: ["violations"]}).then(({violations}) =>
    violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 160) + " " +
      n.any.concat(n.all).map(c => c.message).join("; ")).slice(0, 3)]))"""


@pytest.mark.parametrize("scheme, width", [("light", 1440), ("dark", 1440), ("light", 390)])
def test_axe_finds_nothing_in_any_state(fleet, open_page, axe, scheme, width):
    page = opened(open_page, fleet, width=width, height=900, dark=scheme == "dark")
    page.js(axe + "; 0")
    for state in states(page):
        assert page.js(RUN_AXE) == [], state


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1440, 2560])
def test_nothing_is_wider_than_the_window_in_any_state(fleet, open_page, width):
    page = opened(open_page, fleet, width=width, height=800)
    for state in states(page):
        assert page.js("document.documentElement.scrollWidth") <= width, state
        assert overflow(page) == [], state


def test_on_a_phone_the_answer_is_seen_first(fleet, plain, open_page):
    page = opened(open_page, fleet, width=390, height=844)
    settle(page, seed=4, max_tokens=20)
    say(page)
    box = "$('{}').getBoundingClientRect()"
    answer = box.format(f"{ANSWER} .words.markdown")
    assert page.js(f"{answer}.bottom") < page.js(box.format("#composer") + ".top")
    assert page.js("getComputedStyle($('#why')).display") == "none"
    page.click(f"{ANSWER} .tok", 2)
    assert page.js(box.format("#why") + ".bottom") <= 844
    page.click("#why-close")
    assert page.js("getComputedStyle($('#why')).display") == "none"
    page = open_page(plain, width=390, height=844)
    complete(page, seed=4, max_new_tokens=20)
    assert page.js(box.format("#tokens") + ".top") < 844


def test_colours_follow_the_switch_and_the_choice_is_kept(fleet, open_page):
    page = opened(open_page, fleet)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.js(ground)
    page.click("#theme")
    assert (page.text("#theme"), page.js(ground)) == ("Light", light)
    page.click("#theme")
    assert page.text("#theme") == "Dark" and page.js(ground) != light
    page.call("Page.reload")
    page.wait("$('#theme')?.textContent == 'Dark'", "the choice")
    assert page.js(ground) != light
    page.click("#theme")
    assert page.js("localStorage.length") == 0


def test_views_are_changed_by_arrow_keys(fleet, open_page):
    page = opened(open_page, fleet)
    page.js("$('#tab-chat').focus()")
    for key, name in [("ArrowRight", "completion"), ("ArrowRight", "fleet"),
                      ("ArrowRight", "chat"), ("End", "fleet"), ("Home", "chat")]:
        page.key(key)
        assert page.js("document.activeElement.id") == f"tab-{name}"
        assert page.js("$$('[role=tabpanel]').filter(e => !e.hidden).map(e => e.id)") == [
            f"panel-{name}"]
    page.key("Tab")
    assert page.js("document.activeElement.id") == "model"


def test_an_example_plays_by_itself_unless_motion_is_unwelcome(plain):
    with Browser() as browser:
        page = browser.page("about:blank")
        page.call("Emulation.setEmulatedMedia", features=[])
        page.call("Page.navigate", url=f"http://127.0.0.1:{plain.port}/")
        page.wait("document.readyState == 'complete' && "
                  "$('#status')?.textContent.includes('ended by')", "the example's end")
        assert page.count(OPTIONS) == 80 and page.js("!$('#why-body').hidden")
        page.call("Page.reload")
        page.wait(f"$$('{OPTIONS}').length > 2", "the example")
        complete(page, prompt="The dog", max_new_tokens=5)  # which takes its place
        assert page.text("#tokens .prompt") == "The dog" and page.count(OPTIONS) == 5
        page.scheme("light")
        page.call("Page.reload")
        page.wait("document.readyState == 'complete' && !$('#model').hidden", "the page")
        assert page.count(OPTIONS) == 0
        assert page.complaints() == []


def test_a_completion_forks_at_exactly_the_tokens_before(plain, open_page):
    page = open_page(plain)
    complete(page, prompt=STORY, seed=11, max_new_tokens=12)
    steps = page.js(f"$$('{OPTIONS}').map(e => e.step)")
    page.click(OPTIONS, 5)
    other = next(c for c in steps[5]["candidates"] if c["token_id"] != steps[5]["token_id"])
    page.js(f"$('#candidates [data-token-id=\"{other['token_id']}\"] .fork').click()")
    page.wait(f"$$('{OPTIONS}').length == 18 && $('#status').textContent.includes('ended by')",
              "the fork")
    ids = [*plain.post("/tokenize", {"prompt": STORY})["tokens"],
           *[step["token_id"] for step in steps[:5]], other["token_id"]]
    truth = plain.generate(prompt=ids, seed=11, max_new_tokens=12, temperature=0.8, top_k=20,
                           top_p=0.95, explain=1)
    shown = page.js(f"$$('{OPTIONS}').map(e => e.step.token_id)")
    assert shown == ids[-6:] + [step["token_id"] for step in truth["steps"]]
    url = share(page, "Copy link", "#answer-tools")
    again = open_page(plain, address="#" + url.split("#")[1])
    reproduce(again)
    again.wait("!$('#verdict').hidden", "the verdict")
    assert again.text("#verdict") == "Reproduced: the same 12 tokens, bit for bit."
    assert again.text("#tokens .prompt") == truth["text"][:-len(truth["generated_text"])]


def test_a_prompt_is_coloured_by_how_likely_its_tokens_were(plain, open_page):
    page, prompt = open_page(plain), "Once upon a time a dog sang"
    complete(page, prompt=prompt, seed=5, max_new_tokens=6)
    page.js("$('#answer-tools button').click()")
    page.wait("$$('#tokens .prompt span').length", "the scores")
    scores = plain.post("/v1/completions", {"prompt": prompt, "max_tokens": 0,
                                            "prompt_logprobs": 0})["choices"][0]["prompt_logprobs"]
    shown = page.js("$$('#tokens .prompt span').map(e => [e.textContent, +e.dataset.level])")
    probs = [math.exp(next(iter(score.values()))["logprob"]) for score in scores[1:]]
    assert shown == [[next(iter(score.values()))["decoded_token"], level_of(prob)]
                     for score, prob in zip(scores[1:], probs, strict=True)]
    assert page.text("#tokens .prompt") == prompt and len({level for _, level in shown}) > 1


def test_a_link_of_other_weights_says_so_and_a_damaged_one_too(plain, open_page):
    page = open_page(plain)
    complete(page, prompt=STORY, seed=5, max_new_tokens=6)
    url = share(page, "Copy link", "#answer-tools")
    other = page.js(f"""(async () => {{
        const {{ decodeLink, encodeLink }} = await import("/web/permalink.js");
        const link = await decodeLink({json.dumps('#' + url.split('#')[1])});
        return encodeLink({{ ...link, digest: "f".repeat(64), sum: "0" }}); }})()""")
    again = open_page(plain, address=other)
    reproduce(again)
    again.wait("!$('#verdict').hidden", "the verdict")
    assert "with other weights (ffffffffffff, here " in again.text("#verdict")


@pytest.mark.parametrize("link, why", [
    ("%25%25", "cannot be read"), ({"kind": "none"}, "of another release"),
    ({"kind": "chat", "body": {"messages": []}}, "needs a chat template"),
    ({"kind": "completion", "body": {"prompt": "a", "stop_token_ids": 5}}, "not one of this page")])
def test_a_link_that_cannot_be_opened_is_told(plain, open_page, link, why):
    page = open_page(plain)
    address = f"#r={link}" if isinstance(link, str) else page.js(
        f"import('/web/permalink.js').then(({{encodeLink}}) => encodeLink({json.dumps(link)}))")
    page = open_page(plain, address=address)
    page.wait("!$('#link').hidden", "the message")
    assert why in page.text("#link-words") and page.js("$('#link-go').hidden")


def test_forced_colours_leave_bars_and_choices(fleet, open_page):
    page = opened(open_page, fleet)
    settle(page, seed=4, max_tokens=20)
    say(page)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
    style = "getComputedStyle($('{}'))"
    ground = page.js(style.format("body") + ".backgroundColor")
    assert page.js(style.format("#candidates .fill") + ".backgroundColor") != ground
    assert page.js(style.format(".entropy path") + ".fill") != ground
    for chosen in "#strip .stop:has(:checked)", "#candidates .chosen", "#tab-chat":
        assert page.js(style.format(chosen) + ".outlineStyle") == "solid", chosen


def test_a_key_opens_the_chat(keyed, open_page):
    page = open_page(keyed)
    page.wait("!$('#key-row').hidden", "the field for the key")
    page.js("$('#key').focus()")
    page.type(KEY)
    page.key("Enter")
    page.wait("!$('#panel-chat').hidden", "the chat")
    settle(page, max_tokens=5)
    say(page)


def test_one_of_several_models_is_taken_in_the_card(open_page, tmp_path):
    shutil.copytree(MODEL, tmp_path / "twin")
    weights = bytearray((tmp_path / "twin/model.safetensors").read_bytes())
    weights[2 << 20:3 << 20] = bytes(1 << 20)
    (tmp_path / "twin/model.safetensors").write_bytes(weights)
    both = {"tale": MODEL, "twin": tmp_path / "twin"}
    with Fleet(prefill=0, decode=0,
               gateway_args=["--more-models", f"twin={tmp_path / 'twin'}"]) as fleet:
        for name, path in both.items():
            for role in "prefill", "decode":
                fleet.start_worker(role, f"{name}-{role}", model=path)
                fleet.wait_worker(f"{name}-{role}")
        page = open_page(fleet)
        page.wait("!$('#model').hidden", "the model's name")
        asked = dict(prompt=STORY, seed=11, max_new_tokens=8)
        for name in both:
            page.click("#model")
            page.js(f"$('#model-pick').value = '{name}';"
                    "$('#model-pick').dispatchEvent(new Event('change'))")
            page.js("$('#card').close()")
            complete(page, **asked)
            truth = fleet.generate(**asked, model=name, temperature=0.8, top_k=20, top_p=0.95)
            assert page.text("#tokens") == truth["text"]
        url = share(page, "Copy link", "#answer-tools")
        again = open_page(fleet, address="#" + url.split("#")[1])
        reproduce(again)
        again.wait("!$('#verdict').hidden", "the verdict")
        assert again.text("#verdict").startswith("Reproduced") and "twin" in again.text("#model")


def test_text_from_right_to_left_turns_nothing_around_it(plain, open_page):
    page = open_page(plain)
    complete(page, prompt="\u202eOnce", max_new_tokens=4, seed=1)
    order = page.js(f"$$('{OPTIONS}').map(e => e.getBoundingClientRect().left)")
    assert order == sorted(order)
