"""The playground in docs/pictures: on a wide dark screen and on a light phone.

    tests/e2e/screenshots.py        after a build; pngquant, if there is one, makes them small
"""
import shutil
import subprocess

from chromium import Browser
from fleet import ROOT, Fleet

PICTURES = ROOT / "docs/pictures"
OPTIONS = "#tokens [role=option]"
TELLING = f"$$('{OPTIONS}').findIndex(e => e.step.rank > 2 && e.step.entropy_bits > 2.5)"


def shoot(page, name):
    asked = ("performance.getEntriesByType('resource')"
             ".filter(e => e.name.endsWith('/workers')).length")
    page.wait(f"{asked} > {page.js(asked)} + 1", "the fleet to be asked twice more")
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


def main():
    with Fleet(decode=2) as fleet, Browser() as browser:
        page = browser.page(f"http://127.0.0.1:{fleet.port}/", 1440, 1000, dark=True)
        page.wait("$$('.worker').length == 3", "the fleet")
        generate(page)
        page.js("document.activeElement.blur()")
        shoot(page, "playground-dark.png")
        page.scheme("light")
        page.resize(360, 780, 2)
        page.js("$('#tokens').scrollIntoView()")
        shoot(page, "playground-phone.png")


main()
