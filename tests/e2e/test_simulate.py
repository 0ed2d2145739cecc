"""baton-plan simulate, calibrated on a fleet that really runs, says about what that fleet does."""
import json
import subprocess

from fleet import BIN, LONG_S, Fleet

LOAD = ["--prompt-tokens", "64", "--output-tokens", "16", "--concurrency", "2", "--requests", "40",
        "--seed", "5"]


def run(program, *argv):
    done = subprocess.run([str(BIN / program), *map(str, argv)], capture_output=True, text=True,
                          timeout=LONG_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def figures(*argv):
    return json.loads(run(*argv, "--json", "-"))["runs"][0]["figures"]


def measured_and_predicted(fleet, costs):
    """The figures of a load, and those that the costs measured just before predict for it."""
    url = f"http://127.0.0.1:{fleet.port}"
    run("baton-plan", "calibrate", "--url", url, "--model", fleet.model, "--cores", "pinned",
        "--context-tokens", 512, "--chunk", 64, "--max-batch", 8, "--out", costs)
    measured = figures("baton-load", "--url", url, "--quiet", *LOAD)
    return measured, figures("baton-plan", "simulate", "--calibration", costs, "--cores", "pinned",
                             *LOAD)


def is_near(measured, predicted):
    """How close it comes is tools/plan/validate_simulator.py's to say, on an idle machine."""
    return all(0.1 < predicted["times"][time]["p50_s"] / measured["times"][time]["p50_s"] < 10
               for time in ("ttft", "e2el"))


def test_costs_of_a_fleet_predict_it(tmp_path):
    costs = tmp_path / "costs.json"
    with Fleet() as fleet:
        for _ in range(4):  # the machine may be far busier in one of the two than in the other
            measured, predicted = measured_and_predicted(fleet, costs)
            found = json.loads(costs.read_text())
            assert found["layers"] == 4 and found["kv_token_bytes"] == 8192
            assert found["way"]["before_s"] > 0
            assert [entry["cores"] for entry in found["cores"]] == [1]
            assert predicted.keys() == measured.keys()
            assert predicted["requests"]["done"] == measured["requests"]["done"] == 40
            assert predicted["tokens"]["output"] == measured["tokens"]["output"] == 40 * 16
            assert predicted["times"].keys() == measured["times"].keys()
            if is_near(measured, predicted):
                return
        assert is_near(measured, predicted), (predicted["times"], measured["times"])


def test_a_server_that_is_not_there_is_named():
    done = subprocess.run([str(BIN / "baton-plan"), "calibrate", "--url", "http://127.0.0.1:1"],
                          capture_output=True, text=True, timeout=LONG_S)
    assert (done.returncode in (1, 2)
            and "--url: 127.0.0.1:1: Connection refused" in done.stderr), done.stderr
