"""Drives a real headless Chromium over the DevTools protocol on two pipes, without a library."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from fleet import LONG_S, SLOW

NAMES = "chromium", "chromium-browser", "google-chrome"
# key: (code, virtual key code, text)
KEYS = {"Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""),
        " ": ("Space", 32, " "), "End": ("End", 35, ""), "Home": ("Home", 36, ""),
        "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowUp": ("ArrowUp", 38, ""),
        "ArrowRight": ("ArrowRight", 39, ""), "ArrowDown": ("ArrowDown", 40, "")}
CONTROL, SHIFT = 2, 8  # modifiers
CLICKS = 3  # at one element


class Browser:
    """One Chromium with a profile of its own and further arguments. A context manager."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __enter__(self):
        binary = next(filter(None, map(shutil.which, NAMES)), None)
        assert binary, f"none of {', '.join(NAMES)} is installed (deploy/packages.sh test)"
        self.profile = tempfile.TemporaryDirectory(prefix="baton-chromium-",
                                                   ignore_cleanup_errors=True)
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()
        # Chromium reads commands from 3 and writes answers to 4. Root has no sandbox to give away.
        self.popen = subprocess.Popen(
            ["bash", "-c", f'exec 3<&{to_read} 4>&{to_write}; exec "$@"', "chromium", binary,
             "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking", "--disable-component-update", "--no-proxy-server",
             f"--user-data-dir={self.profile.name}", *self.arguments, "about:blank"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.events, self.last_id = b"", [], 0
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.popen.wait(10 * SLOW)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.popen.kill()
            self.popen.wait()
        os.close(self.read_end)
        os.close(self.write_end)
        self.profile.cleanup()

    def call(self, method, params=None, session=None):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + LONG_S
        while True:
            answer = self.receive(end - time.monotonic(), method)
            if answer.get("id") == self.last_id:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def receive(self, seconds, what):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(seconds, 0))
            piece = os.read(self.read_end, 1 << 20) if ready else b""
            assert piece, f"Chromium gave no answer to {what}"
            self.buffer += piece
        raw, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(raw)

    def page(self, url, width=1280, height=900, dark=False):
        return Page(self, url, width, height, dark)


class Page:
    """A tab. Selectors are CSS; scripts are expressions, promises awaited.

    As in the DevTools' console, $(selector) is the first element and $$(selector) all of them."""

    def __init__(self, browser, url, width, height, dark):
        self.browser = browser
        self.target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = browser.call("Target.attachToTarget", {"targetId": self.target, "flatten": True})
        self.session = attached["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.scheme("dark" if dark else "light")
        self.call("Page.navigate", url=url)
        self.wait("document.readyState == 'complete'", "the page to be loaded")

    def call(self, method, **params):
        return self.browser.call(method, params, self.session)

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=width < 600)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name},
                            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def js(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True, includeCommandLineAPI=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression, what):
        end = time.monotonic() + LONG_S
        while time.monotonic() < end:
            value = self.js(expression)
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(
            f"waited for {what}; the page says: {self.js('document.body.innerText')[:3000]}")

    def text(self, selector):
        return self.js(f"$({json.dumps(selector)}).textContent")

    def count(self, selector):
        return self.js(f"$$({json.dumps(selector)}).length")

    def set(self, selector, value):
        """Types or slides as a reader does, in one go."""
        self.js(f"""(e => {{ e.value = {json.dumps(str(value))};
            e.dispatchEvent(new Event('input', {{bubbles: true}}));
            }})($({json.dumps(selector)}))""")

    def click(self, selector, index=0):
        """With the mouse, where the element's first line is, once there is such an element.

        Where the page has moved it meanwhile, as it does when its model comes to be known, the
        mouse hits something else: then it is tried again, unless the element takes no clicks."""
        element = f"$$({json.dumps(selector)})[{index}]"
        self.wait(f"$$({json.dumps(selector)}).length > {index}", f"{selector} {index}")
        for _ in range(CLICKS):
            x, y = self.js(f"""(e => {{ e.scrollIntoView({{block: 'center'}});
                window.isHit = false;
                e.addEventListener('click', () => {{ window.isHit = true; }},
                                   {{capture: true, once: true}});
                const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2];
                }})({element})""")
            for kind in "mousePressed", "mouseReleased":
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                          clickCount=1)
            if self.js("window.isHit ?? true"):  # without a value it has left the page
                return

    def key(self, name, modifiers=0):
        code, number, text = KEYS[name]
        common = {"key": name, "code": code, "windowsVirtualKeyCode": number,
                  "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text,
                  **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png",
                         captureBeyondViewport=False)["data"]
        path.write_bytes(base64.b64decode(data))

    def complaints(self):
        """Exceptions, refused loads and policy violations so far, as Chromium words them."""
        said = []
        for event in self.browser.events:
            is_ours = event.get("sessionId") == self.session
            if is_ours and event["method"] == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                said.append(details.get("exception", {}).get("description") or details["text"])
            elif event.get("sessionId") == self.session and event["method"] == "Log.entryAdded":
                said.append(event["params"]["entry"]["text"])
        return said

    def requested(self):
        """The addresses of everything the page has asked for."""
        return [event["params"]["request"]["url"] for event in self.browser.events
                if event.get("sessionId") == self.session
                and event["method"] == "Network.requestWillBeSent"]
