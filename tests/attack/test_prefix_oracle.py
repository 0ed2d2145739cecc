"""A client asks for guessed beginnings of another client's prompt and reads `cached_tokens`."""
import random

import pytest
from fleet import Fleet

KEY, OTHER_KEY = "sk-alice-of-these-tests", "sk-bob-of-these-tests"


def guess(fleet, key, prompt, **more):
    body = dict(prompt=prompt, max_new_tokens=1, temperature=0, **more)
    return fleet.post("/generate", body, headers={"Authorization": f"Bearer {key}"})


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"{KEY}\n{OTHER_KEY}\n")
    path.chmod(0o600)
    return path


def test_cached_tokens_tell_nothing_of_another_key(keys):
    """Bound: 0 cached tokens for every guess, right or wrong; the owner finds the own prompt."""
    rng = random.Random(1)
    secrets = [[rng.randrange(2500) for _ in range(200)] for _ in range(6)]
    args = ["--api-keys", keys, "--prefix-cache-scope", "key"]
    with Fleet(key=KEY, gateway_args=args) as fleet:
        for i, secret in enumerate(secrets):  # one guess of each: what one asks for is one's own
            guess(fleet, KEY, secret)
            known = secret[:16 + 32 * i]
            assert guess(fleet, OTHER_KEY, [*known, 7])["cached_tokens"] == 0, len(known)
            assert guess(fleet, KEY, secret)["cached_tokens"] >= 176


def test_a_salt_hides_a_prompt_within_a_key(keys):
    """Bound: 0 cached tokens without the salt or with another one."""
    secret = list(range(7, 135))
    with Fleet(key=KEY, gateway_args=["--api-keys", keys]) as fleet:
        guess(fleet, KEY, secret, cache_salt="mine")
        for more in {}, {"cache_salt": "Mine"}, {"cache_salt": "mine "}:
            assert guess(fleet, OTHER_KEY, secret, **more)["cached_tokens"] == 0
        assert guess(fleet, KEY, secret, cache_salt="mine")["cached_tokens"] >= 112
