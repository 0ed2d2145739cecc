"""`baton-bench estimate` gives figures that can be checked by hand."""
import json
import math
import subprocess
import sys

BENCH = sys.argv[1]
ASKED = ["--params", "7e9", "--prompt", "512", "--new", "128", "--weight-bytes", "2",
         "--flops", "312e12", "--bandwidth", "2e12"]


def estimate(*options):
    return subprocess.run([BENCH, "estimate", *options], check=True, capture_output=True,
                          text=True).stdout


def is_close(value, expected):
    return math.isclose(value, expected, rel_tol=1e-6)


for figure in "7.168e12 FLOPs", "1.792e12 FLOPs", " 23 ms", " 7 ms a token", "compute", "memory":
    assert figure in estimate(*ASKED), figure

answer = json.loads(estimate(*ASKED, "--json"))
assert is_close(answer["prefill_flops"], 7.168e12) and is_close(answer["decode_flops"], 1.792e12)
assert is_close(answer["prefill_s"], 7.168e12 / 312e12) and answer["prefill_bound"] == "compute"
assert is_close(answer["token_s"], 14e9 / 2e12) and answer["decode_bound"] == "memory"
assert is_close(answer["total_s"], answer["prefill_s"] + 128 * answer["token_s"])

short = json.loads(estimate(*ASKED, "--prompt", "16", "--json"))
assert short["prefill_bound"] == "memory" and is_close(short["prefill_s"], short["token_s"])

refused = subprocess.run([BENCH, "estimate", "--params", "0"], capture_output=True, text=True)
assert refused.returncode != 0 and "params" in refused.stderr
