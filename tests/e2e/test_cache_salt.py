"""Prompts share KV blocks with prompts of the same salt, and of the same key if so wanted."""
import pytest
from fleet import Fleet

PROMPT = dict(prompt=[7, 8] * 40, max_new_tokens=4, temperature=0)
KEY, OTHER_KEY = "alpha-key-0001", "beta-key-00022"


def cached(fleet, key=None, **body):
    """(tokens found in the prefix cache, the text) of this prompt."""
    headers = {"Authorization": f"Bearer {key}"} if key else None
    answer = fleet.post("/generate", {**PROMPT, **body}, headers=headers)
    return answer["cached_tokens"] > 0, answer["generated_text"]


@pytest.mark.parametrize("arguments", [[], ["--colocated-prefill-tokens", 4096]], ids=str)
def test_a_salt_shares_with_itself_alone(arguments):
    """Whichever of the two workers runs the prompt."""
    with Fleet(gateway_args=arguments) as fleet:
        is_cached, text = cached(fleet)
        assert not is_cached
        for salt in {}, {"cache_salt": "a"}, {"cache_salt": "b" * 1000}:
            if salt:
                assert cached(fleet, **salt) == (False, text)
            answers = [cached(fleet, **salt) for _ in range(6)]
            assert answers[-1] == (True, text) and {said for _, said in answers} == {text}
        for worker in fleet.workers.values():
            assert " ev=foreign_block_hashes " not in worker.text()


def test_a_salt_is_a_text():
    with Fleet(prefill=0, decode=0) as alone:
        for salt, code in ("", "invalid_value"), (3, "invalid_type"):
            for path, body in ("/generate", PROMPT), ("/v1/embeddings", {"input": "a"}):
                error = alone.post(path, {**body, "cache_salt": salt}, 400)["error"]
                assert (error["code"], error["param"]) == (code, "cache_salt")


@pytest.mark.parametrize("scope", ["fleet", "key"])
def test_keys_share_if_the_scope_is_the_fleet(tmp_path, scope):
    keys = tmp_path / "keys"
    keys.write_text(f"{KEY}\n{OTHER_KEY}\n")
    arguments = ["--api-keys", keys, "--prefix-cache-scope", scope]
    with Fleet(key=KEY, gateway_args=arguments) as fleet:
        assert not cached(fleet, KEY)[0] and cached(fleet, KEY)[0]
        assert cached(fleet, OTHER_KEY)[0] == (scope == "fleet")
        assert cached(fleet, OTHER_KEY)[0]
        assert not cached(fleet, KEY, cache_salt="a")[0] and cached(fleet, KEY, cache_salt="a")[0]
        assert cached(fleet, OTHER_KEY, cache_salt="a")[0] == (scope == "fleet")
