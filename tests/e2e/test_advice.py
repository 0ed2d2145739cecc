"""GET /workers' advice under real loads: which role is short, and by how much."""
import math
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import Fleet

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
        n = load(fleet, n_clients, n_prompt, n_new)
        found, metrics = advice(fleet), fleet.metrics()
        assert found["short"] == short, found
        assert found[short]["utilisation"] > 0.8 > 0.5 > found[other]["utilisation"]
        assert found["least_workers"][short] >= 2 and found["least_workers"][other] == 1
        assert (found["balanced_ratio"] > 1) == (short == "prefill")
        assert found["observed"]["prompt_tokens"] == n_prompt and found["observed"]["output_tokens"] == n_new
        assert found["observed"]["requests_per_s"] == pytest.approx(n / SECONDS, rel=0.5)
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
