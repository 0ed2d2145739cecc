"""Containers of the project's own image, as a user starts them, on a port of their own."""
import http.client
import json
import os
import re
import subprocess
import time

from fleet import PATIENCE_S, ROOT, free_port, wait_for

IMAGE = "baton-tested"
FILE = ROOT / "deploy/docker-compose.yml"
PROMETHEUS = re.search(r"image: (prom/\S+)", FILE.read_text()).group(1)


def compose_program():
    has_plugin = subprocess.run(["docker", "compose", "version"],
                                capture_output=True).returncode == 0
    return ["docker", "compose"] if has_plugin else ["docker-compose"]


def docker(*arguments, check=True, **options):
    """The words of `docker ARGUMENTS`."""
    done = subprocess.run(["docker", *map(str, arguments)], capture_output=True, text=True,
                          **options)
    assert not check or done.returncode == 0, f"docker {arguments}: {done.stderr}{done.stdout}"
    return done.stdout.strip()


def ask(port, path, body=None, method=None, headers=None, patience_s=PATIENCE_S, host="127.0.0.1"):
    """(status, body) of one request."""
    connection = http.client.HTTPConnection(host, port, timeout=patience_s)
    connection.request(method or ("POST" if body is not None else "GET"), path,
                       body if body is None else json.dumps(body),
                       {**({"Content-Type": "application/json"} if body is not None else {}),
                        **(headers or {})})
    response = connection.getresponse()
    return response.status, response.read().decode()


def is_ready(port):
    try:
        return ask(port, "/ready")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


class Stack:
    """A compose project of its own. Leave it as a context: everything of it is removed."""

    def __init__(self, name, files=(FILE,), **settings):
        self.project, self.files = f"baton-{name}-{os.getpid()}", files
        self.port = free_port()
        self.settings = {"BATON_IMAGE": IMAGE, "BATON_PORT": str(self.port), **settings}
        self.program = compose_program()

    def compose(self, *arguments, check=True):
        files = [word for file in self.files for word in ("-f", str(file))]
        done = subprocess.run([*self.program, "-p", self.project, *files, *map(str, arguments)],
                              env={**os.environ, **self.settings}, capture_output=True, text=True)
        assert not check or done.returncode == 0, f"{arguments}: {done.stderr[-3000:]}"
        return done

    def scale(self, **n):
        """Starts what is missing, removes what is extra, and waits for just these workers."""
        self.compose("up", "-d", "--no-build",
                     *(word for role in n for word in ("--scale", f"{role}={n[role]}")),
                     *("gateway", "prefill", "decode"))
        wait_for(lambda: self.roles() == {**self.roles(), **n}, f"{n} of {self.project}")

    def workers(self):
        try:
            status, body = ask(self.port, "/workers")
        except (OSError, http.client.HTTPException):
            return []
        return json.loads(body)["workers"] if status == 200 else []

    def roles(self):
        """{role: how many are ready}"""
        ready = [worker["role"] for worker in self.workers() if worker["state"] == "ready"]
        return {role: ready.count(role) for role in ("prefill", "decode")}

    def containers(self, service):
        """Ids, the longest running last."""
        return self.compose("ps", "-q", service).stdout.split()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(self.compose("logs", "--no-color", "--tail", 40, check=False).stdout[-8000:])
        self.compose("down", "-v", "-t", 20, check=False)


def left_behind(project):
    """Containers, volumes and networks that carry the project's name."""
    return [line for what in (["ps", "-a"], ["volume", "ls"], ["network", "ls"])
            for line in docker(*what, "--format", "{{json .}}").splitlines()
            if re.search(re.escape(project), line)]


def seconds(function):
    """(what it returns, how long it took)"""
    start = time.monotonic()
    return function(), time.monotonic() - start
