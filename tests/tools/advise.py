"""`baton-plan advise` for given costs: figures that can be checked by hand, and what it refuses."""
import http.server
import json
import math
import subprocess
import sys
import threading

PLAN = sys.argv[1]
# At best a prefill worker does 1000 prompt tokens a second, a decode worker 1000 output tokens.
COSTS = ["--prefill-base", "64", "--prefill-row", "0.5", "--prefill-rows", "128",
         "--decode-base", "8", "--decode-row", "0.5", "--decode-rows", "16"]


def run(*options):
    return subprocess.run([PLAN, "advise", *map(str, options)], capture_output=True, text=True)


def advise(rate, prompt, output, *more):
    done = run(*COSTS, "--rate", rate, "--prompt-tokens", prompt, "--output-tokens", output, *more,
               "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_close(value, expected):
    return math.isclose(value, expected, rel_tol=1e-6)


answer = advise(4, 500, 951)
assert is_close(answer["costs"]["prefill"]["best_tokens_per_s"], 1000)
assert is_close(answer["costs"]["decode"]["best_tokens_per_s"], 1000)
assert is_close(answer["balanced_ratio"], 2 / 3.8)
asked, least = answer["asked"], answer["least"]
assert (asked["prefill"], asked["decode"], asked["short"]) == (1, 1, "both")
assert is_close(asked["prefill_utilisation"], 2) and is_close(asked["decode_utilisation"], 3.8)
assert asked["ttft_s"] is None and asked["itl_s"] is None  # no steady state
assert (least["prefill"], least["decode"], least["short"]) == (3, 5, "none")
assert 0 < least["wait_s"] < least["ttft_s"] < least["ttft_p99_s"]
assert least["itl_s"] < least["itl_p99_s"]

assert advise(2, 450, 2)["asked"]["short"] == "prefill"
assert advise(2, 10, 901)["asked"]["short"] == "decode"
assert advise(2, 450, 2, "--prefill", 2)["asked"]["short"] == "none"

idle = advise(0.0001, 100, 11)["asked"]
assert is_close(round(idle["ttft_s"], 4), 0.114) and is_close(round(idle["itl_s"], 4), 0.0085)
varied, fixed = (advise(5, 100, 2, "--prompt-cv", cv)["asked"]["wait_s"] for cv in (1, 0))
assert is_close(varied, 2 * fixed)

# KV for two contexts: steps of two.
tight = advise(1, 100, 60, "--kv-tokens", 320)
assert is_close(tight["costs"]["decode"]["best_tokens_per_s"], 2 / 0.009)

text = run(*COSTS, "--rate", 4, "--prompt-tokens", 500, "--output-tokens", 951).stdout
for part in "1P1D", "3P5D", "balanced: 0.526 prefill workers", "1000 tokens/s at best":
    assert part in text, text

for options, part in (([], "--rate"), (["--rate", 1], "--prompt-tokens"),
                      (["--rate", 1, "--prompt-tokens", 5], "--output-tokens"),
                      (["--rate", 1, "--prompt-tokens", 5, "--output-tokens", 5], "--prefill-base"),
                      (["--rate", -1], "rate"), (["--rate", "fast"], "rate"),
                      (["--decode", 1.5], "decode"), (["--url", "ftp://x"], "--url"),
                      (["--url", "http://127.0.0.1:1"], "--url"), (["--speed", 1], "speed")):
    refused = run(*options)
    assert (refused.returncode in (1, 2) and part in refused.stderr
            and not refused.stdout), (options, refused)


class Stranger(http.server.BaseHTTPRequestHandler):
    """Answers /workers with what its path says."""
    answers = {"/none/workers": (404, b"{}"), "/html/workers": (200, b"<html>"),
               "/other/workers": (200, b'{"data":[]}')}

    def do_GET(self):
        status, body = self.answers[self.path]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for path, part in (("none", "404"), ("html", "JSON"), ("other", "no workers")):
        refused = run("--url", f"http://127.0.0.1:{server.server_port}/{path}", "--rate", 1)
        assert refused.returncode in (1, 2) and part in refused.stderr, refused
    server.shutdown()
