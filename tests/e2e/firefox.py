"""Drives a real headless Firefox by Marionette, its protocol of JSON over a socket."""
import json
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from fleet import LONG_S, SLOW, free_port, wait_for

NAMES = "firefox-esr", "firefox"


def binary():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One Firefox with a profile of its own, in which the names are loopback addresses. A context
    manager."""

    def __init__(self, *local_names):
        self.local_names = local_names

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="baton-firefox-",
                                                   ignore_cleanup_errors=True)
        port = free_port()
        prefs = {"marionette.port": port, "network.dns.localDomains": ",".join(self.local_names),
                 "devtools.jsonview.enabled": False,  # its viewer is a page of another origin
                 "browser.shell.checkDefaultBrowser": False, "network.proxy.type": 0,
                 "datareporting.policy.dataSubmissionEnabled": False, "app.update.enabled": False}
        (Path(self.profile.name) / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in prefs.items()))
        self.popen = subprocess.Popen(
            [binary(), "--headless", "--marionette", "--no-remote", "--profile", self.profile.name],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.last_id = 0
        self.sock = wait_for(lambda: self.connect(port), "Firefox to listen")
        self.receive()  # it says hello
        self.call("WebDriver:NewSession", acceptInsecureCerts=True)
        return self

    @staticmethod
    def connect(port):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=LONG_S)
        except OSError:
            return None

    def __exit__(self, *_):
        try:
            self.call("Marionette:Quit")
            self.popen.wait(10 * SLOW)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.popen.kill()
            self.popen.wait()
        self.sock.close()
        self.profile.cleanup()

    def receive(self):
        """LENGTH:JSON"""
        length = b""
        while not length.endswith(b":"):
            piece = self.sock.recv(1)
            assert piece, "Firefox has left"
            length += piece
        data = b""
        while len(data) < int(length[:-1]):
            data += self.sock.recv(int(length[:-1]) - len(data))
        return json.loads(data)

    def call(self, method, **params):
        self.last_id += 1
        data = json.dumps([0, self.last_id, method, params]).encode()
        self.sock.sendall(b"%d:%s" % (len(data), data))
        _, answered, error, result = self.receive()
        assert answered == self.last_id and not error, f"{method}: {error}"
        return result

    def page(self, url):
        return Page(self, url)


class Page:
    """The browser's tab. Scripts are expressions, promises awaited."""

    def __init__(self, browser, url):
        self.browser = browser
        browser.call("WebDriver:Navigate", url=url)

    def js(self, expression):
        script = f"const done = arguments[0]; Promise.resolve({expression}).then(done);"
        return self.browser.call("WebDriver:ExecuteAsyncScript", script=script, args=[],
                                 sandbox=None)["value"]

    def close(self):
        self.browser.call("WebDriver:Navigate", url="about:blank")
