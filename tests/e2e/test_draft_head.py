"""The model's own head (MTP) drafts what its arithmetic says, and changes no answer."""
import json
import shutil
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

import programs
import pytest
from fleet import BIN, ROOT, Fleet
from kinds import essence
from test_migration import with_context

sys.path.append(str(ROOT / "bench"))
import draft_pair  # noqa: E402

FIXTURES = ROOT / "tests/fixtures/hybrids"
WIDTH, EPSILON = 48, 1e-6
DRAFTS = {"mode": "draft_model", "max_tokens": 6, "min_tokens": 3}
ONE = {"mode": "draft_model", "max_tokens": 1, "min_tokens": 1}
HEAD = ["--kv-tokens", 4096, "--draft-model", "mtp"]
OUTER = "model.language_model."
ATTENTION = OUTER + "layers.3."


def floats(tensor):
    dtype, shape, data = tensor
    assert dtype == "BF16"
    return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]


def as_f32(shape, values):
    return "F32", shape, struct.pack(f"<{len(values)}f", *values)


def from_half(half):
    """The head's first matrix: it passes the norm of the embedding (0) or of the state (1) on."""
    return as_f32([WIDTH, 2 * WIDTH], [float(column == row + half * WIDTH) for row in range(WIDTH)
                                       for column in range(2 * WIDTH)])


def zeros(tensor):
    n = 1
    for size in tensor[1]:
        n *= size
    return as_f32(tensor[1], [0.0] * n)


def with_head(tmp_path, first=None, is_idle=False):
    """The fixture with a layer for its head, that of its layer with attention."""
    model = with_context("../hybrids/qwen35", 1024, tmp_path)
    tensors = draft_pair.read(model / "model.safetensors")
    for name in [name for name in tensors if name.startswith(ATTENTION)]:
        idle = is_idle and name.endswith(("o_proj.weight", "down_proj.weight"))
        tensors["mtp.layers.0." + name[len(ATTENTION):]] = (zeros(tensors[name]) if idle
                                                            else tensors[name])
    if first:
        tensors["mtp.fc.weight"] = first
        for name in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"):
            tensors[f"mtp.{name}.weight"] = zeros(tensors[f"mtp.{name}.weight"])
    draft_pair.write(model / "model.safetensors", tensors)
    return model


def normed(row):
    scale = (sum(x * x for x in row) / len(row) + EPSILON) ** -0.5
    return [x * scale for x in row]


def alone(model, out):
    """The head as a model of its own, which reads the norms of embeddings."""
    tensors = draft_pair.read(model / "model.safetensors")
    table = tensors[OUTER + "embed_tokens.weight"]
    values = floats(table)
    rows = [x for i in range(0, len(values), WIDTH) for x in normed(values[i:i + WIDTH])]
    shutil.copytree(model, out, ignore=shutil.ignore_patterns("*.safetensors"))
    made = {OUTER + "embed_tokens.weight": as_f32(table[1], rows), "lm_head.weight": table,
            OUTER + "norm.weight": tensors["mtp.norm.weight"]}
    made.update({OUTER + name[len("mtp."):]: tensor for name, tensor in tensors.items()
                 if name.startswith("mtp.layers.0.")})
    draft_pair.write(out / "model.safetensors", made)
    config = json.loads((out / "config.json").read_text())
    config["text_config"].update(num_hidden_layers=1, layer_types=["full_attention"],
                                 tie_word_embeddings=False)
    config["tie_word_embeddings"] = False
    (out / "config.json").write_text(json.dumps(config))
    return out


def drafted(fleet, **more):
    """The output's tokens, and those that were drafted in their places."""
    answer = fleet.generate(prompt=[7, 9, 4, 7], max_new_tokens=24, temperature=0, explain=1,
                            ignore_eos=True, speculation=ONE, **more)
    return ([step["token_id"] for step in answer["steps"]],
            [step["draft"] and step["draft"]["token_id"] for step in answer["steps"]])


def test_a_head_that_passes_the_state_on_repeats_each_token(tmp_path):
    """The final hidden state before a token says that token again."""
    with Fleet(model=with_head(tmp_path, from_half(1), is_idle=True), decode_args=HEAD) as fleet:
        assert fleet.worker("decode-0")["draft_model"] == "mtp"
        tokens, drafts = drafted(fleet)
        guesses = [(draft, tokens[i - 1]) for i, draft in enumerate(drafts) if draft is not None]
        assert len(guesses) > 10 and all(draft == before for draft, before in guesses), guesses


def test_the_heads_layer_attends_to_all_tokens_that_it_was_given(tmp_path):
    """Its drafts are the tokens of a model of the same layer, from the second token on."""
    model = with_head(tmp_path, from_half(0))
    with Fleet(model=model, decode_args=HEAD) as fleet:
        tokens, drafts = drafted(fleet)
    with Fleet(model=alone(model, tmp_path / "alone")) as fleet:
        guesses = [i for i, draft in enumerate(drafts) if draft is not None]
        assert len(guesses) > 8
        for i in guesses[::3]:
            answer = fleet.generate(prompt=tokens[1:i], max_new_tokens=1, temperature=0, explain=1)
            assert answer["steps"][0]["token_id"] == drafts[i], i


def test_a_head_changes_no_answer_also_after_a_death(tmp_path):
    asked = [dict(prompt=[7, 9, 4 + i, 7, 9], max_new_tokens=80, seed=i, temperature=i % 3 / 2,
                  ignore_eos=True, explain=2, logit_bias={str(9 + i): 3}) for i in range(8)]
    kinds = [DRAFTS, {**DRAFTS, "min_tokens": 0}, {"mode": "prompt_lookup", "min_tokens": 2},
             {"mode": "none"}]
    drafts = [{**body, "speculation": kinds[i % 4]} for i, body in enumerate(asked)]
    with Fleet(model=with_head(tmp_path), decode=2, decode_args=HEAD) as two:
        expected = [essence(two.generate(**body)) for body in asked]
        with ThreadPoolExecutor(8) as pool:
            whole = list(pool.map(lambda body: two.generate(**body), drafts))
            assert [essence(answer) for answer in whole] == expected
            told = whole[0]["speculation"]
            assert told["drafted_tokens"] > told["accepted_tokens"] > 0
            pending = two.pause_at_work(
                "decode-0", lambda: [pool.submit(two.generate, **body) for body in drafts],
                lambda: two.open("DECODING") == two.open() > 0)
            two.workers["decode-0"].kill()
            assert [essence(future.result()) for future in pending] == expected
        two.wait_all_free()


@pytest.mark.parametrize("name, reason", [("qwen35", "mtp.layers.0.input_layernorm.weight is"),
                                          ("lfm2", "have no head that drafts")])
def test_a_model_without_a_head_is_refused_by_name(name, reason):
    told = programs.refusal("baton-decode", "--gateway", "tcp://127.0.0.1:1", "--model",
                            FIXTURES / name, "--draft-model", "mtp")
    assert "draft-model: mtp: " in told and reason in told


@pytest.mark.parametrize("shape", ["tiny-qwen3_5_text", "tiny-qwen3_5_moe_text"])
def test_the_last_block_of_a_file_is_the_head(shape, tmp_path):
    model = tmp_path / "model.gguf"
    programs.run(BIN / "baton-bench", "make-model", "--shape", shape, "--gguf", "Q8_0",
                 "--draft-head", "--out", model)
    with Fleet(model=model, decode_args=HEAD) as fleet:
        body = dict(prompt=[7, 9, 4, 7], max_new_tokens=40, temperature=0, ignore_eos=True, seed=1,
                    explain=1)
        plain = fleet.generate(**body, speculation={"mode": "none"})
        answer = fleet.generate(**body, speculation=DRAFTS)
        assert essence(answer) == essence(plain)
        assert answer["speculation"]["drafted_tokens"] > 20
