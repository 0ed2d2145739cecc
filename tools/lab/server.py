"""A running fleet as its gateway shows it."""
import http.client
import json
import os
import urllib.error
import urllib.request

from lab.errors import LabError
from lab.layouts import Layout

LOCAL = ("tcp://127.0.0.1:", "tcp://[::1]:")


class Server:
    """BATON_LOAD_API_KEY is the key, as for baton-load."""

    def __init__(self, url):
        self.url = url
        key = os.environ.get("BATON_LOAD_API_KEY")
        self.headers = {"Content-Type": "application/json",
                        **({"Authorization": f"Bearer {key}"} if key else {})}

    def request(self, path, body=None, timeout_s=120):
        """The parsed answer; raises LabError with the server's own words."""
        request = urllib.request.Request(self.url + path,
                                         json.dumps(body).encode() if body else None, self.headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            said = error.read(300).decode(errors="replace")
            raise LabError(f"{self.url}{path}: {error.code} {said}") from None
        except (OSError, http.client.HTTPException) as error:
            raise LabError(f"{self.url}{path}: {getattr(error, 'reason', error)}") from None

    def generate(self, **body):
        return self.request("/generate", body)

    def workers(self):
        return [each for each in self.request("/workers")["workers"] if each["state"] == "ready"]

    def layout(self):
        roles = [worker["role"] for worker in self.workers()]
        if "decode" not in roles:
            raise LabError(f"--url {self.url}: no decode worker is ready there")
        return Layout(roles.count("prefill"), roles.count("decode"))

    def fingerprint(self):
        """The model's fingerprint, which all workers of a fleet share."""
        return next((worker["fingerprint"] for worker in self.workers()), "unknown")

    def pids_by_role(self):
        """The process ids of workers on this machine; empty for others, and without an operator's
        key where one is needed."""
        pids = {}
        for worker in self.workers():
            if not worker.get("address", "").startswith(LOCAL):
                return {}
            pids.setdefault(worker["role"], []).append(worker["pid"])
        return pids
