"""baton-plan simulate, calibrated on a fleet that really runs, says about what that fleet does."""
import json
import subprocess

from fleet import BIN, SLOW, Fleet

LOAD = ["--prompt-tokens", "64", "--output-tokens", "16", "--concurrency", "2", "--requests", "40",
        "--seed", "5"]


def run(program, *argv):
    done = subprocess.run([str(BIN / program), *map(str, argv)], capture_output=True, text=True,
                          timeout=240 * SLOW)
    assert done.returncode == 0, done.stderr
    return done.stdout


def figures(*argv):
    return json.loads(run(*argv, "--json", "-"))["runs"][0]["figures"]


def test_costs_of_a_fleet_predict_it(tmp_path):
    costs = tmp_path / "costs.json"
    with Fleet() as fleet:
        url = f"http://127.0.0.1:{fleet.port}"
        run("baton-plan", "calibrate", "--url", url, "--model", fleet.model, "--cores", "pinned",
            "--context-tokens", 512, "--chunk", 64, "--max-batch", 8, "--out", costs)
        measured = figures("baton-load", "--url", url, "--quiet", *LOAD)
    found = json.loads(costs.read_text())
    assert found["layers"] == 4 and found["kv_token_bytes"] == 8192
    assert found["way"]["before_s"] > 0 and [entry["cores"] for entry in found["cores"]] == [1]
    predicted = figures("baton-plan", "simulate", "--calibration", costs, "--cores", "pinned",
                        *LOAD)
    assert predicted.keys() == measured.keys()
    assert predicted["requests"]["done"] == measured["requests"]["done"] == 40
    assert predicted["tokens"]["output"] == measured["tokens"]["output"] == 40 * 16
    assert predicted["times"].keys() == measured["times"].keys()
    # How close it comes is tools/plan/validate_simulator.py's to say, on an idle machine.
    for time in ("ttft", "e2el"):
        ratio = predicted["times"][time]["p50_s"] / measured["times"][time]["p50_s"]
        assert 0.1 < ratio < 10, (time, ratio)


def test_a_server_that_is_not_there_is_named():
    done = subprocess.run([str(BIN / "baton-plan"), "calibrate", "--url", "http://127.0.0.1:1"],
                          capture_output=True, text=True, timeout=60 * SLOW)
    assert (done.returncode in (1, 2)
            and "--url: 127.0.0.1:1: Connection refused" in done.stderr), done.stderr
