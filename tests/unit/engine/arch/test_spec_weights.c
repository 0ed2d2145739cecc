#include "tests/support/test.h"

#include <math.h>

#include "engine/arch/spec_weights.h"

static void make_dense(struct baton_spec *spec)
{
    *spec = (struct baton_spec){
        .n_layers = 2, .n_embd = 10, .n_heads = 4, .n_vocab = 100, .mlp = BATON_MLP_GATED};
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i] =
            (struct baton_layer_spec){.n_kv_heads = 2, .head_dim = 3, .n_ff = 20, .kv_from = i};
}

TEST(a_dense_model_reads_all_its_weights_whatever_the_batch)
{
    static struct baton_spec spec;
    make_dense(&spec);
    double layer = 10 * (24 + 12) + 3 * 10 * 20, all = 2 * layer + 1000;
    assert_true(baton_spec_step_weights(&spec, 1) == all);
    assert_true(baton_spec_step_weights(&spec, 64) == all);
    spec.mlp = BATON_MLP_PLAIN;
    assert_true(baton_spec_ff_weights(&spec, 0, 1) == 2 * 10 * 20);
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
