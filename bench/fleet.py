"""A gateway and workers on this machine, for the figures of one bench; they end with the block."""
import contextlib
import json
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Fleet:
    """The programs in bin serve the model; what they write goes to files in directory."""

    def __init__(self, programs, model, directory, *gateway_words):
        self.bin, self.model, self.directory = Path(programs), model, Path(directory)
        self.processes, self.logs = [], []
        port, self.inbox = free_port(), f"tcp://127.0.0.1:{free_port()}"
        self.url = f"http://127.0.0.1:{port}"
        self.gateway = self.start("gateway", "--port", port, "--inbox", self.inbox, *gateway_words)

    def start(self, role, *words):
        self.logs.append(self.directory / f"{len(self.logs)}-{role}.log")
        with open(self.logs[-1], "w") as log:
            command = [self.bin / f"baton-{role}", "--model", self.model, *words]
            self.processes.append(subprocess.Popen(list(map(str, command)), stdout=log, stderr=log))
        return self.processes[-1]

    def start_worker(self, role, *words):
        self.start(role, "--gateway", self.inbox, *words)

    def wait(self, is_so):
        """Waits until is_so() holds; ends with the logs if a process ends before."""
        while True:
            if any(process.poll() is not None for process in self.processes):
                raise SystemExit("\n".join(log.read_text()[-2000:] for log in self.logs))
            with contextlib.suppress(OSError):
                if is_so():
                    return
            time.sleep(0.02)

    def wait_ready(self, n_workers):
        self.wait(lambda: sum(worker["state"] == "ready" for worker in self.workers()) == n_workers)

    def workers(self):
        with urllib.request.urlopen(f"{self.url}/workers", timeout=60) as answer:
            return json.load(answer)["workers"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait()
