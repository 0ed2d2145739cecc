"""GET /workers' advice under real loads: which role is short, and by how much."""
import json
import math
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import BIN, Fleet

SECONDS = 3


def load(fleet, n_clients, n_prompt, n_new, seconds=SECONDS):
    """Each client asks again as soon as it was answered. Requests answered."""
    end = time.monotonic() + seconds

    def client(i):
        n = 0
        while time.monotonic() < end:
            fleet.generate(prompt=[5 + (7 * j + 131 * i + n) % 2000 for j in range(n_prompt)], max_new_tokens=n_new,
                           temperature=0, ignore_eos=True, cache_prompt=False)
            n += 1
        return n
    with ThreadPoolExecutor(n_clients) as pool:
        return sum(pool.map(client, range(n_clients)))


def advice(fleet):
    return fleet.request("GET", "/workers")[1]["advice"]


def test_a_fleet_that_has_seen_nothing_has_no_advice():
    with Fleet() as fleet:
        found = advice(fleet)
        assert found["short"] == "unknown" and found["balanced_ratio"] is None
        assert found["prefill"] == {"workers": 1, "utilisation": None, "best_tokens_per_s": None}
        assert found["observed"] == {"requests_per_s": None, "prompt_tokens": None, "output_tokens": None}
        assert found["least_workers"] == {"prefill": None, "decode": None}
        fleet.generate(prompt=[5] * 20, max_new_tokens=4)
        assert advice(fleet)["short"] == "unknown"  # one request is no workload
        assert math.isnan(fleet.metrics()['baton_role_utilisation_ratio{role="prefill"}'])


@pytest.mark.parametrize("short,n_clients,n_prompt,n_new", (("prefill", 6, 480, 2), ("decode", 16, 16, 200)))
def test_the_role_that_the_load_fills_is_short(short, n_clients, n_prompt, n_new):
    other = {"prefill": "decode", "decode": "prefill"}[short]
    with Fleet(decode_args=["--max-batch", 8]) as fleet:
        n, rounds, found, begin = 0, 0, None, time.monotonic()
        while rounds < 4 and (not found or found["short"] != short):  # a busy machine takes its time
            n += load(fleet, n_clients, n_prompt, n_new)
            rounds += 1
            found, metrics = advice(fleet), fleet.metrics()
        assert found["short"] == short, found
        assert found[short]["utilisation"] > 0.8 > 0.5 > found[other]["utilisation"]
        assert found["least_workers"][short] >= 2 and found["least_workers"][other] == 1
        assert (found["balanced_ratio"] > 1) == (short == "prefill")
        assert found["observed"]["prompt_tokens"] == n_prompt and found["observed"]["output_tokens"] == n_new
        assert found["observed"]["requests_per_s"] == pytest.approx(n / (time.monotonic() - begin), rel=0.6)
        assert metrics[f'baton_role_utilisation_ratio{{role="{short}"}}'] > 0.8
        assert metrics[f'baton_role_least_workers{{role="{short}"}}'] >= 2


def test_a_client_alone_leaves_room_in_both_roles():
    with Fleet() as fleet:
        load(fleet, 1, 64, 48)
        found = advice(fleet)
        assert found["short"] == "none" and found["least_workers"] == {"prefill": 1, "decode": 1}, found


def test_prompts_found_in_the_cache_are_no_work():
    with Fleet() as fleet:
        for _ in range(20):
            fleet.generate(prompt=[5 + i for i in range(400)], max_new_tokens=4)
        assert advice(fleet)["observed"]["prompt_tokens"] < 400 / 4


def test_the_planner_says_of_a_running_fleet_what_its_gateway_says():
    with Fleet(decode_args=["--max-batch", 8]) as fleet:
        url = f"http://127.0.0.1:{fleet.port}"
        refused = subprocess.run([BIN / "baton-plan", "advise", "--url", url], capture_output=True, text=True)
        assert refused.returncode == 1 and "seen too little" in refused.stderr
        load(fleet, 6, 480, 4)
        said = json.loads(subprocess.run([BIN / "baton-plan", "advise", "--url", url, "--json"], check=True,
                                         capture_output=True, text=True).stdout)
        found = advice(fleet)
        assert said["asked"]["short"] == found["short"] == "prefill"
        for role in "prefill", "decode":
            assert said["asked"][role] == 1 and said["least"][role] == found["least_workers"][role]
            assert said["asked"][f"{role}_utilisation"] == pytest.approx(found[role]["utilisation"], rel=0.1)
        assert said["balanced_ratio"] == pytest.approx(found["balanced_ratio"], rel=0.1)
        assert said["workload"]["prompt_tokens"] == 480
        # A load that this fleet can do, by the same costs: no role is short, and there are estimates.
        easy = json.loads(subprocess.run([BIN / "baton-plan", "advise", "--url", url, "--json", "--rate", "0.5",
                                          "--prompt-tokens", "64", "--output-tokens", "16"], check=True,
                                         capture_output=True, text=True).stdout)["asked"]
        assert easy["short"] == "none" and 0 < easy["ttft_s"] < 5 and 0 < easy["itl_s"] < easy["ttft_s"]
