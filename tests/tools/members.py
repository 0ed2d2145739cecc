"""Simulated workers join a gateway, and it is ready with all of them."""
import json
import subprocess
import sys
import urllib.request

MEMBERS, GATEWAY, MODEL = sys.argv[1:4]
N = 60


def listening(log):
    """The gateway's own words once it listens."""
    for line in log:
        if " ev=listening " in line:
            return dict(word.split("=", 1) for word in line.split())
    sys.exit("the gateway ended before it listened")


gateway = subprocess.Popen([GATEWAY, "--model", MODEL, "--port", "0",
                            "--inbox", "tcp://127.0.0.1:0", "--log-level", "info",
                            "--silence-s", "3600"],
                           stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True)
said = listening(gateway.stdout)
members = subprocess.Popen([MEMBERS, said["inbox"], MODEL, str(N), "0.25", "512", "250", "0"],
                           stdout=subprocess.PIPE, text=True)
try:
    assert any(line.startswith(f"{N} joined after ") for line in members.stdout), "not all joined"
    with urllib.request.urlopen(f"http://127.0.0.1:{said['port']}/workers") as answer:
        states = [worker["state"] for worker in json.load(answer)["workers"]]
    assert len(states) == N and set(states) <= {"ready", "joining"}, states
finally:
    members.kill()
    gateway.kill()
