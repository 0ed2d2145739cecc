"""`baton-bench attention` prints the fields counted by hand, and refuses what it cannot run."""
import json
import subprocess
import sys

BENCH = sys.argv[1]
H, G, D = 4, 2, 8


def run(*options):
    return subprocess.run([BENCH, "attention", "--heads", str(H), "--kv-heads", str(G),
                           "--head-dim", str(D), "--positions", "32,100", "--rows", "40",
                           "--batch", "1,3", *options], capture_output=True, text=True)


def attended(line, window=1 << 20):
    n, last = line["batch"], line["prompt"]
    return sum(min(last - (i if line["phase"].startswith("prefill") else 0), window)
               for i in range(n))


done = run("--json", "--threads", "2")
assert done.returncode == 0, done.stderr
lines = json.loads(done.stdout)
assert [(line["phase"], line["prompt"], line["batch"]) for line in lines] == [
    (phase, p, n) for p, rows in ((32, 32), (100, 40))
    for phase, n in (("decode's part", 1), ("decode's part", 3), ("prefill's part", rows))]
for line in lines:
    assert line["flops"] == 4 * H * D * attended(line), line
    assert line["seconds"] > 0 and line["bytes"] > 0 and line["fraction"] > 0
    assert (line["dtype"], line["threads"]) == ("f16", 2)

done = run("--json", "--window", "24")
assert done.returncode == 0, done.stderr
for line in json.loads(done.stdout):
    n, prefills = line["batch"], line["phase"].startswith("prefill")
    assert line["flops"] == 4 * H * D * attended(line, 24), line
    assert line["bytes"] == (min(line["prompt"], 24 + n - 1) if prefills
                             else n * 24) * line["kv_token_bytes"], line

table = run()
assert table.returncode == 0 and table.stdout.count("decode's part") == 4
for options, reason in ((["--kv-heads", "3"], "--kv-heads"), (["--positions", "0"], "--positions"),
                        (["--kv-dtype", "f8"], "kv-dtype")):
    refused = run(*options)
    assert refused.returncode in (1, 2) and reason in refused.stderr, (options, refused.stderr)
