/* The canary with a real engine: the same bits run for run, until a weight changes. */
#include "tests/support/test.h"

#include "engine/model/layers.h"
#include "tests/support/random_gpt2.h"
#include "worker/canary.h"

enum { N_LAYERS = 3, N_VOCAB = 41 };

static struct baton_model *model;
static struct baton_engine *engine;
static struct baton_canary *canary;

static void open_canary(int n_context)
{
    const struct baton_gpt2_sizes sizes = {SMALL_GPT2, .n_layers = N_LAYERS, .n_vocab = N_VOCAB,
                                           .n_context = n_context};
    const struct baton_engine_options options = {.max_rows = 16, .n_threads = 2};
    assert_ok(random_gpt2(&sizes, 1, NULL, &model));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    assert_ok(baton_canary_create(model, engine, "f32", &canary, NULL));
}

static void close_canary(void)
{
    baton_canary_destroy(canary);
    baton_engine_destroy(engine);
    baton_model_close(model);
}

/* A baton_layer_fn: goes on for as many layers as *arg says. */
static bool count_down(void *arg, int layer)
{
    (void)layer;
    return --*(int *)arg > 0;
}

static enum baton_err run(void)
{
    int n_layers = N_LAYERS + 1;
    return baton_canary_run(canary, count_down, &n_layers);
}

TEST(a_canary_has_the_same_bits_each_time)
{
    open_canary(32);
    for (int i = 0; i < 5; i++)
        assert_ok(run());
    close_canary();
}

TEST(a_context_may_be_shorter_than_a_canary)
{
    open_canary(1);
    assert_ok(run());
    assert_ok(run());
    close_canary();
}

TEST(a_weight_that_changes_is_noticed)
{
    open_canary(32);
    float *weight = &model->layers[1].mlp.norm.weight[5], whole = *weight;
    assert_ok(run());
    *weight = -whole;
    assert_int_equal(run(), BATON_CORRUPT);
    assert_int_equal(run(), BATON_CORRUPT);
    *weight = whole;
    assert_ok(run());
    close_canary();
}

TEST(a_canary_that_yields_has_no_result_and_may_run_again)
{
    open_canary(32);
    for (int i = 1; i <= N_LAYERS; i++) {
        int n_layers = i;
        assert_int_equal(baton_canary_run(canary, count_down, &n_layers), BATON_CANCELED);
        assert_int_equal(n_layers, 0);
        assert_ok(run());
    }
    close_canary();
}
