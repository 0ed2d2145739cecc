"""The page's chat in real browsers: what it sends, shows and keeps."""
import json

import firefox
import pytest
from conftest import TOOLS
from fleet import ROOT, wait_for

FLEET = dict(gateway_args=["--chat-template", "chatml"])
SOURCE = ROOT / "gateway/web"
ASKED = "Tell me a story of a fox."
ANSWER = "#messages .answer:last-child"
OVER = f"$('{ANSWER} .tools button') !== null && !$('#send').hidden"
STEPS = ("$$('{0} .tok').map(e => e.step).filter((s, i, all) => all.indexOf(s) === i)"
         ".map(s => [s.token_id, s.text])").format(ANSWER)

# Answers of our own: every request for a chat gets the next list of chunks, a moment apart.
STUB = """(() => { const real = window.fetch; window.bodies = []; window.answers = %s;
  window.fetch = async (path, options) => {
    if (!String(path).endsWith("v1/chat/completions")) return real(path, options);
    window.bodies.push(JSON.parse(options.body));
    const chunks = window.answers.shift(), text = new TextEncoder();
    return new Response(new ReadableStream({ async start(to) {
      options.signal.addEventListener("abort", () => to.error(options.signal.reason));
      for (const chunk of [...chunks, "[DONE]"]) {
        if (options.signal.aborted) return;
        const data = typeof chunk === "string" ? chunk : JSON.stringify(chunk);
        to.enqueue(text.encode(`data: ${data}\\n\\n`));
        if (window.pace) await new Promise((next) => setTimeout(next, window.pace));
      }
      to.close(); } })); }; })()"""


def chunk(reason=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def stub(page, *answers):
    page.js(STUB % json.dumps(answers))


def opened(open_page, fleet, **options):
    page = open_page(fleet, **options)
    page.wait("!$('#panel-chat').hidden && $('#tab-chat').ariaSelected == 'true'", "the chat")
    return page


def say(page, text=ASKED, wait=True):
    page.js("$('#message').focus()")
    page.type(text)
    page.key("Enter")
    if wait:
        page.wait(OVER, "the answer")


def settle(page, **fields):
    page.click("#settings-open")
    for name, value in fields.items():
        field = "[data-seed]" if name == "seed" else f"[data-field={name}]"
        page.set(f"#settings-form {field}", value)
    page.js("$('#settings').close()")


def act(page, name, where=ANSWER):
    page.js(f"$$('{where} button').find(e => e.textContent === '{name}').click()")


def answer(page):
    return page.text(f"{ANSWER} .words.markdown")


def test_chat_comes_first_where_there_is_a_template_and_answers_by_it(fleet, open_page):
    page = opened(open_page, fleet)
    settle(page, seed=9, max_tokens=40, system="Be brief.")
    say(page)
    body = {"messages": [{"role": "system", "content": "Be brief."},
                         {"role": "user", "content": ASKED}], "temperature": 0.8, "top_p": 0.95,
            "top_k": 20, "max_tokens": 40, "seed": 9, "explain": 2}
    truth = fleet.post("/v1/chat/completions", body)
    assert answer(page) == truth["choices"][0]["message"]["content"].strip("\n")
    steps = [[s["token_id"], s["text"]] for s in truth["choices"][0]["steps"]]
    shown = page.js(STEPS)
    assert all(step in steps for step in shown) and len(shown) > 30
    stats = page.text(f"{ANSWER} .stats")
    total = truth["usage"]["total_tokens"]
    for part in "first token after", f"{total} of 512 tokens of context", "tokens/s", "seed 9":
        assert part in stats
    page.click(f"{ANSWER} .tok", 5)
    assert page.text("#why-reason") == page.js(f"$$('{ANSWER} .tok')[5].step.reason")
    assert page.count("#candidates li") > 20
    act(page, "Tokens")
    assert page.count(f"{ANSWER} .tokens [role=option]") == truth["usage"]["completion_tokens"]


def test_the_most_surprising_token_is_open_when_an_answer_ends(fleet, open_page):
    page = opened(open_page, fleet)
    settle(page, seed=9)
    say(page)
    least = page.js(f"Math.min(...$$('{ANSWER} .tok').map(e => e.step.prob))")
    assert page.js(f"$('{ANSWER} .tok.selected').step.prob") == least
    assert page.js("!$('#why-body').hidden && document.activeElement.id") == "message"
    path = page.js(f"$('{ANSWER} .entropy path').getAttribute('d')")
    assert path.count("L") > 10


def test_answers_and_questions_have_versions(fleet, open_page):
    page = opened(open_page, fleet)
    settle(page, max_tokens=12, temperature=2)  # so that no answer comes twice
    say(page, "One")
    first = answer(page)
    act(page, "Regenerate")
    page.wait(f"$('{ANSWER} .versions') !== null", "a second version")
    page.wait(OVER, "its end")
    second = answer(page)
    assert first != second and page.text(f"{ANSWER} .versions span") == "2 / 2"
    page.click(f"{ANSWER} [aria-label='Earlier version']")
    assert answer(page) == first
    say(page, "Two")
    page.click("#messages .question:first-child button")  # Edit
    page.set("#messages .editor textarea", "Three")
    page.key("Enter")
    page.wait("$('.question .versions') && " + OVER, "the other branch")
    assert page.js("$$('.question .words').map(e => e.textContent)") == ["Three"]
    page.click(".question [aria-label='Earlier version']")
    assert page.js("$$('.question .words').map(e => e.textContent)") == ["One", "Two"]


def test_an_answer_goes_on_and_forks_where_its_reader_says(fleet, open_page):
    page = opened(open_page, fleet)
    settle(page, max_tokens=10, seed=3)
    say(page)
    first = answer(page)
    act(page, "Continue")
    page.wait(f"$('{ANSWER} .words.markdown').textContent.length > {len(first)} && {OVER}", "more")
    assert answer(page).startswith(first) and page.count(f"{ANSWER} .versions") == 0
    page.click(f"{ANSWER} .tok", 4)
    step = page.js(f"$$('{ANSWER} .tok')[4].step")
    other = next(c for c in step["candidates"]
                 if c["token_id"] != step["token_id"] and c["text"].strip())
    page.js(f"$('#candidates [data-token-id=\"{other['token_id']}\"] .fork').click()")
    page.wait(f"$('{ANSWER} .versions') && {OVER}", "the fork")
    assert other["text"] in page.text(f"{ANSWER} .forked") or \
        page.text(f"{ANSWER} .forked") == other["text"].strip()


def test_stop_keeps_what_came(fleet, open_page):
    page = opened(open_page, fleet)
    stub(page, [chunk(content=f"word{i} ") for i in range(4000)])
    page.js("window.pace = 5")
    say(page, wait=False)
    page.wait(f"$('{ANSWER} .words.markdown')?.textContent.includes('word5')", "words")
    page.key("Escape")
    page.wait(OVER, "the stop")
    assert "Stopped by you" in page.text(f"{ANSWER} .stats") and "word5 " in answer(page)


def test_an_answer_that_its_reader_leaves_ends_in_its_own_chat(fleet, open_page):
    page = opened(open_page, fleet)
    stub(page, [chunk(content=f"word{i} ") for i in range(4000)],
         [chunk(content="Other."), chunk("stop")])
    page.js("window.pace = 5")
    say(page, "Leave me", wait=False)
    page.wait(f"$('{ANSWER} .words.markdown')?.textContent.includes('word5')", "words")
    page.click("#new-chat")
    page.wait("!$('#send').hidden", "the stop")
    assert page.count(".message") == 0
    say(page, "Stay")
    assert answer(page) == "Other." and page.count(".question") == 1
    page.click(".chat-title", 1)
    page.wait(f"$('{ANSWER} .words.markdown')?.textContent.includes('word5')", "the chat that was")
    assert "Stopped by you" in page.text(f"{ANSWER} .stats") and page.count(".question") == 1


MARKDOWN = """# Title

A *word* and **two** <img src=x onerror=alert(1)> [safe](https://a.example) [bad](javascript:x)

- one
- two
  1. three

| a | b |
|---|--:|
| 1 | 2 |

```js
let a = "<b>";
```
"""


def test_markdown_becomes_elements_and_never_markup(fleet, open_page):
    page = opened(open_page, fleet)
    pieces = [MARKDOWN[i:i + 7] for i in range(0, len(MARKDOWN), 7)]
    stub(page, [chunk(content=piece) for piece in pieces] + [chunk("stop")])
    say(page)
    inside = f"{ANSWER} .markdown "
    for selector, n in {"h3": 1, "em": 1, "strong": 1, "img": 0, "a": 1, "ul > li": 2,
                        "ol > li": 1, "table td": 2, "pre code": 1, "script": 0, "b": 0}.items():
        assert page.count(inside + selector) == n, selector
    assert page.text(inside + "pre") == 'let a = "<b>";'
    assert page.js(f"$('{inside} a').rel") == "noopener noreferrer nofollow"
    page.js("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.click(inside + ".code button")
    assert page.js("window.copied") == 'let a = "<b>";'


def test_reasoning_is_folded_and_told_by_its_time(fleet, open_page):
    page = opened(open_page, fleet)
    stub(page, [chunk(reasoning_content="Let me "), chunk(reasoning_content="think."),
                chunk(content="Yes."), chunk("stop")], [chunk(content="More.")])
    say(page)
    assert page.text(f"{ANSWER} .reasoning summary").startswith("Thought for ")
    assert page.text(f"{ANSWER} .reasoning .words") == "Let me think."
    assert not page.js(f"$('{ANSWER} .reasoning').open") and answer(page) == "Yes."
    say(page, "And?")
    sent = page.js("window.bodies[1].messages[1]")
    assert sent == {"role": "assistant", "content": "Yes.", "reasoning_content": "Let me think."}


def test_a_call_is_a_card_that_the_reader_answers(fleet, open_page):
    page = opened(open_page, fleet)
    call = {"index": 0, "id": "c1", "type": "function",
            "function": {"name": "weather", "arguments": ""}}
    stub(page, [chunk(tool_calls=[call]),
                chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"city":"Oslo"}'}}]),
                chunk("tool_calls")], [chunk(content="Rain."), chunk("stop")])
    settle(page, tools=json.dumps(TOOLS))
    say(page)
    assert page.text(".call h3 code") == "weather"
    assert page.text(".call pre") == '{\n  "city": "Oslo"\n}'
    page.set(".call textarea", "wet")
    act(page, "Send result")
    page.wait(f"$('{ANSWER} .words.markdown').textContent == 'Rain.' && {OVER}", "the answer")
    first, second = page.js("window.bodies")
    assert first["tools"] == TOOLS
    assert second["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "name": "weather",
                                      "content": "wet"}
    assert second["messages"][-2]["tool_calls"][0]["function"]["arguments"] == '{"city":"Oslo"}'
    assert page.text(".call .result") == "wet" and page.count(".call textarea") == 0


def test_a_schema_holds_the_answer_and_the_held_tokens_are_marked(fleet, open_page):
    page = opened(open_page, fleet)
    page.click("#settings-open")
    page.js("$$('#settings details').forEach(e => { e.open = true; })")
    page.set("#chat-json_schema", "{")
    assert page.text("#chat-json_schema-said") != ""
    page.click("[data-example=json_schema]")
    assert page.text("#chat-json_schema-said") == ""
    page.js("$('#settings').close()")
    say(page)
    assert set(json.loads(answer(page))) == {"answer", "confidence"}
    assert page.count(f"{ANSWER} .tok.held") > 5
    page.click(f"{ANSWER} .tok.held")
    assert "The schema ruled out" in page.text("#why-notes")


def test_chats_are_kept_found_named_and_deleted_in_this_browser(fleet, open_page, tmp_path):
    page = opened(open_page, fleet)
    settle(page, max_tokens=8, temperature=0.3, seed=9)
    say(page, "About apples")
    apples = answer(page)
    page.click("#new-chat")
    assert page.count(".message") == 0
    assert page.js("$('#chat-temperature').value") == "0.8"  # each chat has its own
    say(page, "About pears")
    page.call("Page.reload")
    page.wait("$$('.chat-title').length >= 2", "the chats")
    page.set("#history-search", "about APPLES")
    assert page.js("$$('.chat-title').map(e => e.textContent)") == ["About apples"]
    page.click(".chat-title")
    page.wait(f"$$('{ANSWER} .tok').length", "the tokens")
    assert answer(page) == apples and page.js("$('#chat-temperature').value") == "0.3"
    page.click("#chats summary")
    act(page, "Rename", "#chats")
    page.js("$('#chats input').value = 'Fruit'")
    page.key("Enter")
    page.set("#history-search", "fruit")
    page.wait("$('.chat-title')?.textContent == 'Fruit'", "the new name")
    chat = page.js("""new Promise((done) => { indexedDB.open("baton").onsuccess = ({ target }) =>
        target.result.transaction("chats").objectStore("chats").getAll().onsuccess = (got) =>
          done(got.target.result.find((chat) => chat.title === "Fruit")); })""")
    page.click("#chats summary")
    act(page, "Delete", "#chats")
    assert page.count(".chat-title") == 0
    file = tmp_path / "chats.json"
    file.write_text(json.dumps({"baton_chats": [chat]}))
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=root, selector="#import-chats")["nodeId"]
    page.call("DOM.setFileInputFiles", files=[str(file)], nodeId=node)
    page.wait("$('.chat-title')?.textContent == 'Fruit'", "the import")
    page.click(".chat-title")
    assert answer(page) == apples
    file.write_text("no chats")
    page.call("DOM.setFileInputFiles", files=[str(file)], nodeId=node)
    page.wait("$('#history-said').textContent.includes('cannot be imported')", "the refusal")


def test_text_files_go_with_a_message_and_others_are_refused(fleet, open_page, tmp_path):
    page = opened(open_page, fleet)
    stub(page, [chunk(content="Read."), chunk("stop")])
    (tmp_path / "note.txt").write_text("ein Löwe")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=root, selector="#attach")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=node,
              files=[str(tmp_path / "note.txt"), str(tmp_path / "picture.png")])
    page.wait("$('#composer-said').textContent.includes('picture.png')", "the refusal")
    assert page.js("$$('#files li').map(e => e.firstChild.textContent)") == ["note.txt"]
    say(page, "Sum up")
    assert page.js("window.bodies[0].messages[0].content") == \
        "note.txt:\n```\nein Löwe\n```\n\nSum up"


def test_an_error_is_told_in_the_pages_words_and_may_be_tried_again(fleet, open_page):
    page = opened(open_page, fleet)
    settle(page, max_tokens=8, temperature=-1)
    say(page, wait=False)
    page.wait("!$('#chat-error').hidden", "the error")
    assert "Temperature (temperature): must be" in page.text("#chat-error span")
    act(page, "Settings", "#chat-error")
    assert page.js("document.activeElement.id") == "chat-temperature"
    page.set("#chat-temperature", "1")
    page.js("$('#settings').close()")
    act(page, "Try again", "#chat-error")
    page.wait(OVER, "the answer")
    assert page.js("$('#chat-error').hidden") and page.count(".question") == 1


def share(page, what, where=ANSWER):
    page.js("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.js("window.copied = null")
    act(page, what, where)
    return page.wait("window.copied", "the copy")


def test_a_permalink_reproduces_or_says_why_not(fleet, open_page):
    page = opened(open_page, fleet)
    settle(page, max_tokens=12, system="Be kind.", seed=5)
    say(page)
    text, url = answer(page), share(page, "Copy link")
    for change in False, True:
        again = opened(open_page, fleet, address="#" + url.split("#")[1])
        again.wait("!$('#link').hidden", "the offer")
        assert again.count(".answer") == 0  # nothing is asked before its reader says so
        if change:
            again.js("window.fetch = (real => (path, options) => real(path, options && options.body"
                     " ? {...options, body: options.body.replace('Be kind.', 'A dog ran. A dog.')}"
                     " : options))(window.fetch)")
        again.key("Enter")
        again.wait(OVER, "the answer")
        if change:
            assert "Not the same answer: " in again.text(f"{ANSWER} .stats")
        else:
            assert "Reproduced: the same " in again.text(f"{ANSWER} .stats")
        assert (answer(again) == text) != change


def test_a_request_as_code_gets_the_same_answer(fleet, open_page):
    page = opened(open_page, fleet)
    settle(page, max_tokens=6)
    say(page)
    curl = share(page, "Copy as curl")
    body = json.loads(curl.split("-d '")[1].rsplit("'", 1)[0])
    del body["stream"], body["stream_options"]
    got = fleet.post("/v1/chat/completions", body)
    assert got["choices"][0]["message"]["content"].strip() == answer(page).strip()
    for language in "JavaScript", "Python":
        assert str(body["seed"]) in share(page, f"Copy as {language}")


def test_one_layout_a_frame_while_a_thousand_tokens_a_second_arrive(fleet, open_page):
    page = opened(open_page, fleet)
    page.call("Performance.enable")
    stub(page, [chunk(content=f"word{i} ") for i in range(600)] + [chunk("stop")])
    page.js("window.pace = 1; window.frames_seen = 0;"
            "(function count() { window.frames_seen++; requestAnimationFrame(count); })()")

    def layouts():
        metrics = page.call("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "LayoutCount")
    before, frames = layouts(), page.js("window.frames_seen")
    say(page)
    frames = page.js("window.frames_seen") - frames
    assert layouts() - before <= 1.5 * frames + 20 and frames > 10
    assert answer(page).endswith("word599 ") or answer(page).endswith("word599")


def test_firefox_chats_too(fleet):
    if not firefox.binary():
        pytest.skip("no firefox-esr: this system has none (deploy/packages.sh test)")
    with firefox.Browser() as started:
        page = started.page(f"http://127.0.0.1:{fleet.port}/")
        ask = "document.querySelector"
        wait_for(lambda: page.js(f"{ask}('#panel-chat').hidden === false"), "the chat")
        page.js(f"""({ask}('#message').value = 'A story', {ask}('#chat-seed').value = '5',
                     {ask}('#composer').requestSubmit())""")
        wait_for(lambda: page.js(f"{ask}('.answer .tok.selected') !== null"), "the answer")
        assert page.js("document.querySelectorAll('.answer .tok').length") > 3
        assert page.js(f"getComputedStyle({ask}('main')).display") == "grid"
        page.close()
