"""The playground in docs/pictures: on a wide dark screen, on a light phone, and its fleet.

    tests/e2e/screenshots.py        after a build; pngquant, if there is one, makes them small
"""
import shutil
import subprocess

from chromium import Browser
from fleet import ROOT, SUSPICION, Clients, Fleet

PICTURES = ROOT / "docs/pictures"
OPTIONS = "#tokens [role=option]"
TELLING = f"$$('{OPTIONS}').findIndex(e => e.step.rank > 2 && e.step.entropy_bits > 2.5)"


def wait_for_workers(page):
    asked = ("performance.getEntriesByType('resource')"
             ".filter(e => e.name.endsWith('/workers')).length")
    page.wait(f"{asked} > {page.js(asked)} + 1", "the fleet to be asked twice more")


def shoot(page, name):
    path = PICTURES / name
    page.screenshot(path)
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--strip", "--output", path, "128", path],
                       check=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def generate(page):
    page.set("#seed", 7)
    for _ in range(2):  # the second time warm
        page.click("#go")
        page.wait("$('#status').textContent.includes('ended by')", "the end")
    page.click(OPTIONS, page.js(TELLING))


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
    with Fleet(decode=2) as fleet, Browser() as browser:
        page = browser.page(f"http://127.0.0.1:{fleet.port}/", 1440, 1000, dark=True)
        page.wait("$$('.worker').length == 3", "the fleet")
        generate(page)
        page.js("document.activeElement.blur()")
        wait_for_workers(page)
        shoot(page, "playground-dark.png")
        page.scheme("light")
        page.resize(360, 780, 2)
        page.js("$('#tokens').scrollIntoView()")
        wait_for_workers(page)
        shoot(page, "playground-phone.png")


main()
