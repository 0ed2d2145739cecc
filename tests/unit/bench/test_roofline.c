/* The operations and bytes of passes and steps, for models whose layers differ. */
#include <math.h>
#include <string.h>

#include "tests/support/test.h"

#include "bench/roofline.h"
#include "engine/arch/spec_cost.h"

enum { C = 8, H = 4, D = 4, V = 10 };

enum { WEIGHT_BYTES = 2, N_EXPERTS = 8 };

/* Layers of two bytes a weight, and a head of three. */
static struct bench_sizes sizes_of(const struct baton_spec *spec)
{
    struct bench_sizes sizes = {.kv_element_bytes = 2, .weights = {.head = 3 * C * V}};
    for (int i = 0; i < spec->n_layers; i++) {
        double mlp = WEIGHT_BYTES * 2 * C * 16, router = WEIGHT_BYTES * N_EXPERTS * C;
        sizes.weights.layers += WEIGHT_BYTES * baton_spec_attention_weights(spec, i);
        sizes.weights.layers += spec->layers[i].is_moe ? router : mlp;
        sizes.weights.experts += spec->layers[i].is_moe ? N_EXPERTS * mlp : 0;
    }
    return sizes;
}

/* Two layers: the first with a window of 4 positions and one KV head, the second with two. */
static struct baton_spec two_layers(void)
{
    struct baton_spec spec = {.n_layers = 2, .n_embd = C, .n_heads = H, .n_vocab = V};
    spec.layers[0] =
        (struct baton_layer_spec){.n_kv_heads = 1, .head_dim = D, .n_ff = 16, .window = 4};
    spec.layers[1] =
        (struct baton_layer_spec){.n_kv_heads = 2, .head_dim = D, .n_ff = 16, .kv_from = 1};
    return spec;
}

static void assert_same(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-9 * fabs(b));
}

TEST(a_step_reads_what_the_windows_leave)
{
    struct baton_spec spec = two_layers();
    struct bench_sizes sizes = sizes_of(&spec);
    struct bench_work work = bench_decode_work(&spec, &sizes, 9, 3);
    /* Ten positions: the first layer sees 4 of one KV head, the second all of two. */
    assert_same(work.attention.bytes, 3 * (4 * 2 * D * 2 + 10 * 2 * 2 * D * 2));
    assert_same(work.attention.flops, 3 * (4 + 10) * 4.0 * H * D);
    double attention = C * (H * D + 2 * D + H * D) + C * (H * D + 4 * D + H * D);
    double mlps = 2 * (2 * C * 16);
    assert_same(work.matrices.bytes, 2 * (attention + mlps));
    assert_same(work.matrices.flops, 3 * 2 * (attention + mlps));
    assert_same(work.head.bytes, 3 * C * V);
}

TEST(a_prompts_rows_grow_until_the_window_is_full)
{
    struct baton_spec spec = two_layers();
    struct bench_sizes sizes = sizes_of(&spec);
    struct bench_work work = bench_prefill_work(&spec, &sizes, 0, 6);
    double seen_by_first = 1 + 2 + 3 + 4 + 4 + 4, seen_by_last_row = 6;
    assert_same(work.attention.flops, (seen_by_first + seen_by_last_row) * 4.0 * H * D);
}

TEST(a_layer_that_reads_anothers_k_and_v_writes_none)
{
    struct baton_spec spec = two_layers();
    struct bench_sizes sizes = sizes_of(&spec);
    spec.layers[0].window = 0;
    double own = bench_prefill_work(&spec, &sizes, 0, 6).attention.bytes;
    spec.layers[1].kv_from = 0; /* of one head, and not written */
    assert_same(own, 2 * 6 * (1 + 2) * 2 * D * 2);
    assert_same(bench_prefill_work(&spec, &sizes, 0, 6).attention.bytes, (2 + 1) * 6 * 2 * D * 2);
}

TEST(a_state_is_read_and_written_once_by_a_step_and_by_a_prompt)
{
    struct baton_spec spec = two_layers();
    spec.layers[1].mixer = BATON_MIXER_DELTA;
    spec.state = (struct baton_state_spec){
        .n_taps = 4, .n_key_heads = 1, .n_heads = 2, .n_keys = 8, .n_values = 16};
    struct bench_sizes sizes = sizes_of(&spec);
    struct bench_work step = bench_decode_work(&spec, &sizes, 9, 3);
    double window = 3 * (4 * 2 * D * 2), state = 2 * 8 * 16 * 4;
    assert_same(step.attention.bytes, window + 3 * 2 * state);
    assert_same(step.attention.flops, 3 * 4 * 4.0 * H * D + 3 * 7 * 2 * 8 * 16);
    struct bench_work pass = bench_prefill_work(&spec, &sizes, 0, 7);
    spec.layers[1].mixer = BATON_MIXER_ATTENTION;
    struct bench_work without = bench_prefill_work(&spec, &sizes, 0, 7);
    double kv = 7 * 2 * 2 * D * 2; /* of the second layer, written and read by the last row */
    assert_same(pass.attention.bytes - 2 * state, without.attention.bytes - 2 * kv);
}

TEST(of_a_mixtures_experts_those_are_read_that_rows_choose)
{
    struct baton_spec spec = two_layers();
    spec.moe = (struct baton_moe_spec){.n_experts = N_EXPERTS, .n_chosen = 2, .n_ff = 16};
    spec.layers[0].is_moe = spec.layers[1].is_moe = true;
    struct bench_sizes sizes = sizes_of(&spec);
    double one = bench_decode_work(&spec, &sizes, 9, 1).matrices.bytes;
    double many = bench_decode_work(&spec, &sizes, 9, 1000).matrices.bytes;
    double expert = 2 * (2 * C * 16) * WEIGHT_BYTES; /* in both layers */
    assert_same(many - one, (N_EXPERTS - 2) * expert);
    /* Each row computes with two, whatever the batch. */
    assert_same(bench_decode_work(&spec, &sizes, 9, 1000).matrices.flops,
                1000 * bench_decode_work(&spec, &sizes, 9, 1).matrices.flops);
}
