"""The page in docs/pictures: a chat (wide and dark, on a light phone), a completion, the fleet.

    tests/e2e/screenshots.py        after a build; pngquant, if there is one, makes them small
"""
import shutil
import subprocess
import tempfile
from pathlib import Path

from chromium import Browser
from fleet import ROOT, SUSPICION, Clients, Fleet

PICTURES = ROOT / "docs/pictures"
# The embedded model tells stories: a template that shows it the words alone lets it go on with one.
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"
BEGINNING = "Once upon a time there was a little fox who had a lantern."
ANSWER = "#messages .answer"


def shoot(page, name):
    path = PICTURES / name
    page.screenshot(path)
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--strip", "--output", path, "128", path],
                       check=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def converse(page):
    page.wait("!$('#panel-chat').hidden", "the chat")
    page.set("#settings-form [data-seed]", 7)
    page.set("#chat-max_tokens", 160)
    page.set("#message", BEGINNING)
    page.click("#send")
    page.wait(f"$('{ANSWER} .tools button') !== null", "the answer")
    page.js("document.activeElement.blur()")


def complete(page):
    page.click("#tab-completion")
    page.set("#seed", 7)
    for _ in range(2):  # the second time warm
        page.click("#go")
        page.wait("$('#status').textContent.includes('ended by')", "the end")
    page.js("document.activeElement.blur()")


def live():
    """The fleet at work, a moment after a worker was killed."""
    body = dict(max_new_tokens=150, temperature=0.8, ignore_eos=True, cache_prompt=False)
    with Fleet(prefill=2, decode=3, gateway_args=SUSPICION) as fleet, Browser() as browser:
        page = browser.page(f"http://127.0.0.1:{fleet.port}/", 1440, 1030, dark=True)
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark"},
            {"name": "prefers-reduced-motion", "value": "no-preference"}])
        page.click("#tab-fleet")
        with Clients(5, lambda i: fleet.generate(prompt=[5 + i] * 300, **body)):
            rates = "$$('#fleet-live .box .ticks').map(e => e.getAttribute('d').split('M').length)"
            page.wait(f"Math.min(...{rates}) > 12", "some seconds of tokens")
            fleet.workers["decode-1"].kill()
            page.wait("$('#fleet-lines').textContent.includes('continued by')", "a migration")
            page.js("document.activeElement.blur()")
            page.wait("$$('.flying.handoff').filter(e => e.getAttribute('opacity') === '1').length"
                      " > 8", "contexts on their way")
            shoot(page, "fleet-live.png")


def main():
    live()
    template = Path(tempfile.mkdtemp()) / "words.jinja"
    template.write_text(TEMPLATE)
    with Fleet(decode=2, gateway_args=["--chat-template", template]) as fleet, Browser() as browser:
        page = browser.page(f"http://127.0.0.1:{fleet.port}/", 1440, 1000, dark=True)
        converse(page)
        shoot(page, "playground-dark.png")
        page.scheme("light")
        complete(page)
        shoot(page, "playground-completion.png")
        page.click("#tab-chat")
        page.resize(390, 844, 2)
        shoot(page, "playground-phone.png")


main()
