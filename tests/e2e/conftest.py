"""Fleets that several files share, and the reasons of skips for the summary of tests/run."""
import os

import pytest
from chromium import Browser
from fleet import Fleet

KEY, OTHER_KEY = "sk-a-key-of-these-tests", "sk-another-key-of-these-tests"
# The prompt shows as JSON what the template was given.
SHOW = ("{{ messages | tojson }}|{{ tools | tojson }}|{{ enable_thinking | default('unsaid') }}|"
        "{{ reasoning_effort | default('unsaid') }}|{{ add_generation_prompt | tojson }}")

# Names Hermes' format and shows the tools, and opens reasoning where the request asks for it.
TEMPLATE = (
    "{% if tools %}{{ tools | tojson }} <tool_call>{\"name\": , \"arguments\": }</tool_call>"
    "{% endif %}{% for message in messages %}"
    "{{ message.content or message.tool_calls | tojson }}\n{% endfor %}"
    "{% if enable_thinking %}<think>\n{% endif %}")
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


def written(text):
    """The fields that make a request's answer this text."""
    return {"response_format": {"type": "structural_tag",
                                "format": {"type": "const_string", "value": text}}}


def pytest_runtest_logreport(report):
    file = os.environ.get("BATON_SKIPPED_FILE")
    if file and report.skipped and not hasattr(report, "wasxfail"):
        with open(file, "a") as out:
            out.write(f"{report.nodeid}: {report.longrepr[2].removeprefix('Skipped: ')}\n")


@pytest.fixture(scope="module")
def fleet(request):
    """One fleet for all tests of a file, as its FLEET describes it. In the end nothing runs."""
    with Fleet(**getattr(request.module, "FLEET", {})) as started:
        yield started
        started.wait_all_free()


@pytest.fixture(scope="module")
def browser():
    with Browser() as started:
        yield started


@pytest.fixture
def open_page(browser):
    """Opens a fleet's page; at the end no page may have complained or asked another host."""
    pages = []

    def opened(fleet, address="", **options):
        url = f"http://127.0.0.1:{fleet.port}/{address}"
        pages.append((browser.page(url, **options), fleet.port))
        return pages[-1][0]
    yield opened
    for page, port in pages:
        assert [said for said in page.complaints() if "401" not in said and "400" not in said] == []
        assert [url for url in page.requested() if not url.startswith(
            (f"http://127.0.0.1:{port}/", f"blob:http://127.0.0.1:{port}/"))] == []
        page.close()


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """A fleet that chats with those who have KEY or OTHER_KEY."""
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"{KEY}\n{OTHER_KEY}\n")
    keys.chmod(0o600)
    with Fleet(key=KEY, gateway_args=["--api-keys", keys, "--chat-template", "chatml"]) as started:
        yield started
        started.wait_all_free()


@pytest.fixture(scope="module")
def calling(tmp_path_factory):
    """A fleet whose chat template has tools, called in Hermes' format."""
    template = tmp_path_factory.mktemp("template") / "tools.jinja"
    template.write_text(TEMPLATE)
    with Fleet(gateway_args=["--chat-template", template]) as started:
        yield started
        started.wait_all_free()


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A fleet whose chat template shows what it is given."""
    template = tmp_path_factory.mktemp("template") / "show.jinja"
    template.write_text(SHOW)
    with Fleet(gateway_args=["--chat-template", template]) as started:
        yield started
