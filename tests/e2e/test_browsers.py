"""What a web page of another origin can do to a gateway, tried by real browsers."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import chromium
import firefox
import pytest
from fleet import Fleet, wait_for

REBOUND = "rebind.example"  # resolves to our loopback address in these browsers
BODY = {"prompt": "Once upon a time", "max_new_tokens": 4}

# What a page may send without asking (no preflight), and what it must ask for.
ATTACKS = {
    "a drain": "fetch(URL + '/workers/decode-0/drain', {method: 'POST', mode: 'no-cors'})",
    "a drain that asks": "fetch(URL + '/workers/decode-0/drain', {method: 'POST'})",
    "a body without a type":
        "fetch(URL + '/generate', {method: 'POST', mode: 'no-cors', body: new Blob([BODY])})",
    "Ollama without a type":
        "fetch(URL + '/api/generate', {method: 'POST', mode: 'no-cors', body: new Blob([BODY])})",
    "text": "fetch(URL + '/generate', {method: 'POST', mode: 'no-cors', body: BODY})",
    "a form of fetch": "fetch(URL + '/generate', {method: 'POST', mode: 'no-cors',"
                       " body: new URLSearchParams({prompt: 'a'})})",
    "JSON": "fetch(URL + '/generate', {method: 'POST', body: BODY,"
            " headers: {'Content-Type': 'application/json'}})",
    "a deletion": "fetch(URL + '/v1/responses/resp-1', {method: 'DELETE'})",
    "a beacon": "navigator.sendBeacon(URL + '/generate', new Blob([BODY]))",
    "a form": "new Promise(done => { const frame = document.createElement('iframe');"
              " frame.name = 'frame'; document.body.append(frame);"
              " const form = document.createElement('form');"
              " form.action = URL + '/generate'; form.method = 'POST';"
              " form.enctype = 'text/plain'; form.target = 'frame';"
              " const field = document.createElement('input');"
              " field.name = BODY; form.append(field); document.body.append(form);"
              " frame.onload = () => done(); form.submit(); })",
}
READ = ["/workers", "/v1/models", "/metrics", "/debug/kv", "/events?seconds=1"]


class Site:
    """A web site at another port, or under another name. A context manager."""

    def __enter__(self):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>evil</title><body>")

            def log_message(self, *_):
                pass
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def fleet():
    with Fleet() as started:
        yield started


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(request):
    if request.param == "firefox" and not firefox.binary():
        pytest.skip("no firefox-esr: this system has none (deploy/packages.sh test)")
    started = (chromium.Browser(f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1")
               if request.param == "chromium" else firefox.Browser(REBOUND))
    with started:
        yield started


def attempt(page, url, script):
    """What the page sees of it: the kind of the answer, or of the exception."""
    return page.js(f"""(async () => {{ const URL = {json.dumps(url)};
        const BODY = {json.dumps(json.dumps(BODY))};
        try {{ const answer = await ({script});
               return answer && answer.type ? answer.type + ' ' + answer.status : 'sent'; }}
        catch (error) {{ return error.name; }} }})()""")


def n_answers(fleet):
    """Answers of the gateway with their codes, as it logs them."""
    return fleet.gateway.text().count("code=foreign_origin")


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", REBOUND])
def test_a_page_of_another_port_or_name_changes_nothing(fleet, browser, host, name):
    before = fleet.metrics()
    n_before = n_answers(fleet)
    with Site() as site:
        page = browser.page(f"http://{host}:{site.port}/")
        seen = attempt(page, f"http://127.0.0.1:{fleet.port}", ATTACKS[name])
        page.close()
    assert seen in ("opaque 0", "sent", "TypeError")
    if name not in ("JSON", "a deletion"):  # those stop at their preflight
        wait_for(lambda: n_answers(fleet) > n_before, "the attack to be refused")
    after = fleet.metrics()
    for outcome in "ok", "failed", "rejected":
        count = f'baton_requests_total{{outcome="{outcome}"}}'
        assert after[count] == before[count]
    assert fleet.worker("decode-0")["state"] == "ready"
    assert " ev=drain_asked " not in fleet.gateway.text()


def test_a_page_of_another_port_reads_nothing(fleet, browser):
    with Site() as site:
        page = browser.page(f"http://127.0.0.1:{site.port}/")
        for path in READ:
            assert attempt(page, f"http://127.0.0.1:{fleet.port}", f"fetch(URL + '{path}')") \
                == "TypeError"
        page.close()


def test_a_rebound_name_is_misdirected(fleet, browser):
    """The page is of the gateway's own port, so to the browser all of this is one origin."""
    url = f"http://{REBOUND}:{fleet.port}"
    page = browser.page(url + "/")
    for path in READ:
        assert attempt(page, url, f"fetch(URL + '{path}')") == "basic 421"
    for name in "a drain that asks", "JSON", "a deletion":
        assert attempt(page, url, ATTACKS[name]) == "basic 421"
    assert fleet.worker("decode-0")["state"] == "ready"
    page.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_our_own_page_is_served(fleet, browser, host):
    url = f"http://{host}:{fleet.port}"
    page = browser.page(url + "/")
    assert attempt(page, url, ATTACKS["JSON"]) == "basic 200"
    assert attempt(page, url, "fetch(URL + '/workers')") == "basic 200"
    assert attempt(page, url, ATTACKS["a deletion"]) == "basic 404"
    page.close()
