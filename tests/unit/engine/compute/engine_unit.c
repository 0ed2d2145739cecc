#include "tests/unit/engine/compute/engine_unit.h"

#include <stdio.h>

#include "tests/support/kernel_sets.h"
#include "tests/support/random_gpt2.h"

/* Sizes that fill neither vectors nor tiles. */
const struct baton_gpt2_sizes sizes = {.n_layers = 3,
                                       .n_embd = 6 * 7,
                                       .n_heads = 6,
                                       .n_kv_heads = 6,
                                       .head_dim = 7,
                                       .n_ff = 61,
                                       .n_vocab = N_VOCAB,
                                       .n_context = CONTEXT};

/* The model, engine and pool of the current tests. */
static const struct baton_kernels *kernels;
static enum baton_dtype dtype;

struct baton_model *model;
struct baton_kv *kv;
struct baton_engine *engine;
uint32_t tokens[CONTEXT];
float logits[MAX_BATCH][N_VOCAB], expected[N_VOCAB];

SETUP(set_up)
{
    const struct baton_engine_options options = {.max_rows = MAX_PREFILL, .n_threads = 3};
    for (int i = 0; i < CONTEXT; i++)
        tokens[i] = (uint32_t)(baton_philox_uniform(2, (uint64_t)i) * N_VOCAB);
    const struct baton_model_options kept = {.dtype = baton_dtype_name(dtype),
                                             .kernels = kernel_sets_name(kernels)};
    assert_ok(random_gpt2(&sizes, 3, &kept, &model));
    kernel_sets_give(model, kernels);
    assert_ok(baton_kv_create(model, &(struct baton_kv_pool_options){.n_blocks = 200}, &kv, NULL));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
}

TEARDOWN(tear_down)
{
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
    baton_model_close(model);
}

void prefill(struct baton_seq *seq, const uint32_t *ids, int n, float *row)
{
    assert_ok(baton_engine_prefill(engine, seq, ids, n, NULL, NULL, row));
}

void compute_expected(void)
{
    struct baton_seq seq;
    assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
    prefill(&seq, tokens, N_TOKENS, expected);
    assert_int_equal(seq.n_tokens, N_TOKENS);
    baton_seq_fini(&seq);
}

void assert_same(const float *row, const float *other)
{
    if (kernels->layout == BATON_PANELS)
        assert_memory_equal(row, other, sizeof expected);
    for (int i = 0; i < N_VOCAB; i++)
        assert_true(fabsf(row[i] - other[i]) < 1e-5F);
}

void assert_same_logits(const float *row)
{
    assert_same(row, expected);
}

ALL_TESTS(set_up, tear_down)

int run_on_all_kernels(void)
{
    int n_failed = 0;
    for (int i = 0; (kernels = kernel_sets_at(i)); i++)
        for (int d = 0; d < BATON_F16; d++) {
            char name[64];
            dtype = (enum baton_dtype)d;
            (void)snprintf(name, sizeof name, "%s, %s", kernels->name, baton_dtype_name(dtype));
            if (kernels->dtypes[d].linear)
                n_failed += test_run(name);
        }
    return n_failed;
}
