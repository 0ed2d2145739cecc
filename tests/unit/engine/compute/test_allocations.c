/* A decode step allocates nothing: every allocation of this program is counted. */
#include <pthread.h>

#include "tests/unit/engine/unit.h"

#include "engine/engine.h"
#include "tests/support/allocations.h"
#include "tests/support/random_gpt2.h"

static const struct baton_gpt2_sizes sizes = {.n_layers = 2,
                                              .n_embd = 64,
                                              .n_heads = 4,
                                              .n_kv_heads = 4,
                                              .head_dim = 16,
                                              .n_ff = 128,
                                              .n_vocab = 300,
                                              .n_context = 1100};

enum { BATCH = 3, N_STEPS = 1000 };

static void meet(void *arg, int item, int worker)
{
    (void)item;
    (void)worker;
    (void)pthread_barrier_wait(arg);
}

/* A thread may allocate while it starts, which a sanitizer makes it do. No item ends before each
 * thread has one. */
static void wait_for_threads(struct baton_engine *engine, int n_threads)
{
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, (unsigned)n_threads), 0);
    baton_engine_share(engine, n_threads, meet, &barrier);
    assert_int_equal(pthread_barrier_destroy(&barrier), 0);
}

static void assert_steps_allocate_nothing(const char *dtype, int n_threads)
{
    const struct baton_model_options model_options = {.dtype = dtype};
    const struct baton_engine_options options = {.max_rows = 32, .n_threads = n_threads};
    struct baton_model *model;
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct baton_seq seqs[BATCH], *batch[BATCH];
    uint32_t tokens[BATCH] = {0};
    float *logits = random_floats((size_t)BATCH * 300, 1);
    assert_ok(random_gpt2(&sizes, 1, &model_options, &model));
    assert_ok(
        baton_kv_create(model, &(struct baton_kv_pool_options){.n_blocks = BATCH * 70}, &kv, NULL));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    for (int b = 0; b < BATCH; b++) {
        assert_ok(baton_seq_init(&seqs[b], kv, 1100));
        batch[b] = &seqs[b];
    }
    wait_for_threads(engine, n_threads);
    long before = allocations_count();
    assert_true(before > 0);
    for (int step = 0; step < N_STEPS; step++) {
        if (baton_engine_decode(engine, batch, tokens, BATCH, logits))
            fail();
        tokens[0] = (uint32_t)(step % 300);
    }
    assert_int_equal(allocations_count(), before);
    for (int b = 0; b < BATCH; b++)
        baton_seq_fini(&seqs[b]);
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
    baton_model_close(model);
    free(logits);
}

TEST(a_thousand_decode_steps_allocate_nothing)
{
    const char *const dtypes[] = {"f32", "bf16", "q8"};
    for (int i = 0; i < 3; i++)
        for (int n_threads = 1; n_threads <= 2; n_threads++)
            assert_steps_allocate_nothing(dtypes[i], n_threads);
}

ALL_TESTS(allocations_start, NULL)
