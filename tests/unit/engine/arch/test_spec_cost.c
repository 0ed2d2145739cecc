#include "tests/support/test.h"

#include <math.h>

#include "engine/arch/spec_cost.h"

static void make_dense(struct baton_spec *spec)
{
    *spec = (struct baton_spec){
        .n_layers = 2, .n_embd = 10, .n_heads = 4, .n_vocab = 100, .mlp = BATON_MLP_GATED};
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i] =
            (struct baton_layer_spec){.n_kv_heads = 2, .head_dim = 3, .n_ff = 20, .kv_from = i};
}

/* The weights that a step of n_rows rows reads. */
static double step_weights(const struct baton_spec *spec, double n_rows)
{
    double n = baton_spec_head_weights(spec);
    for (int i = 0; i < spec->n_layers; i++)
        n += baton_spec_attention_weights(spec, i) + baton_spec_ff_weights(spec, i, n_rows);
    return n;
}

TEST(a_dense_model_reads_all_its_weights_whatever_the_batch)
{
    static struct baton_spec spec;
    make_dense(&spec);
    double layer = 10 * (24 + 12) + 3 * 10 * 20, all = 2 * layer + 1000;
    assert_true(step_weights(&spec, 1) == all);
    assert_true(step_weights(&spec, 64) == all);
    spec.mlp = BATON_MLP_PLAIN;
    assert_true(baton_spec_ff_weights(&spec, 0, 1) == 2 * 10 * 20);
}

TEST(a_layer_with_latents_counts_all_its_matrices_and_keeps_a_row_once)
{
    static struct baton_spec spec;
    make_dense(&spec);
    spec.latent = (struct baton_latent_spec){
        .n_q_rank = 6, .n_rank = 8, .n_plain = 3, .n_turned = 2, .n_values = 5};
    for (int i = 0; i < spec.n_layers; i++) {
        spec.layers[i].n_kv_heads = 1;
        spec.layers[i].head_dim = 10;
        spec.layers[i].n_latent = 8;
    }
    double in = 10 * (6 + 8 + 2), queries = 6 * 4 * (3 + 2), heads = 4 * 8 * (3 + 5);
    assert_true(baton_spec_attention_weights(&spec, 0) == in + queries + heads + 4 * 5 * 10);
    assert_true(baton_spec_kv_elements(&spec) == 2 * 10);
}

TEST(one_row_reads_the_experts_it_chooses_and_many_rows_nearly_all)
{
    const struct baton_moe_spec moe = {.n_experts = 128, .n_chosen = 8};
    assert_true(fabs(baton_spec_distinct_experts(&moe, 1) - 8) < 1e-9);
    assert_true(fabs(baton_spec_distinct_experts(&moe, 16) - 82.4) < 0.1);
    assert_true(baton_spec_distinct_experts(&moe, 512) > 127.99);
}

TEST(a_mixture_counts_router_shared_expert_and_dense_layers)
{
    static struct baton_spec spec;
    make_dense(&spec);
    spec.layers[1].is_moe = true;
    spec.moe = (struct baton_moe_spec){
        .n_experts = 4, .n_chosen = 2, .n_ff = 5, .n_ff_shared = 7, .has_shared_gate = true};
    assert_true(baton_spec_ff_weights(&spec, 0, 1) == 3 * 10 * 20);
    double wanted = 5 * 10 + 3 * 10 * 7 + 2 * 3 * 10 * 5;
    assert_true(fabs(baton_spec_ff_weights(&spec, 1, 1) - wanted) < 1e-9);
}

TEST(a_chunk_of_a_mixture_gives_its_experts_the_rows_of_a_dense_chunk)
{
    static struct baton_spec spec;
    make_dense(&spec);
    assert_int_equal(baton_spec_chunk(&spec), 128);
    spec.moe = (struct baton_moe_spec){.n_experts = 8, .n_chosen = 2};
    assert_int_equal(baton_spec_chunk(&spec), 512);
    spec.moe = (struct baton_moe_spec){.n_experts = 128, .n_chosen = 8};
    assert_int_equal(baton_spec_chunk(&spec), 1024);
}

/* Row by row. */
static double sum_of_rows(int window, int n_past, int n_rows)
{
    double sum = 0;
    for (int i = 0; i < n_rows; i++)
        sum += baton_spec_seen(window, n_past + i + 1);
    return sum;
}

TEST(a_row_attends_to_earlier_positions_in_its_window)
{
    assert_true(baton_spec_seen(0, 1000) == 1000);
    assert_true(baton_spec_seen(16, 15) == 15);
    assert_true(baton_spec_seen(16, 17) == 16);
}

TEST(rows_see_the_sum_of_each)
{
    const int windows[] = {0, 1, 7, 64}, pasts[] = {0, 1, 6, 7, 8, 100}, rows[] = {1, 2, 7, 50};
    for (int w = 0; w < 4; w++)
        for (int p = 0; p < 6; p++)
            for (int r = 0; r < 4; r++)
                assert_true(fabs(baton_spec_seen_by_rows(windows[w], pasts[p], rows[r]) -
                                 sum_of_rows(windows[w], pasts[p], rows[r])) < 1e-9);
}

TEST(layers_sum_and_those_that_read_others_hold_nothing)
{
    struct baton_spec spec = {.n_layers = 4, .n_heads = 4};
    for (int i = 0; i < 4; i++)
        spec.layers[i] = (struct baton_layer_spec){
            .n_kv_heads = 2, .head_dim = 8, .kv_from = i, .window = i == 3 ? 0 : 512};
    spec.layers[2].kv_from = 1;
    assert_true(baton_spec_kv_elements(&spec) == 3 * 2 * 16);
    assert_int_equal(baton_spec_window(&spec), 512);
    assert_true(baton_spec_windowed_share(&spec) == 0.75);
    for (int i = 0; i < 4; i++)
        spec.layers[i].window = 0;
    assert_int_equal(baton_spec_window(&spec), 0);
    assert_true(baton_spec_windowed_share(&spec) == 0);
}
