#include "tests/unit/engine/unit.h"

#include "common/engine/kv.h"

enum { N_BLOCKS = 10 };

static const struct baton_model_shape shape = {.n_layers = 3,
                                               .n_embd = 12,
                                               .n_heads = 4,
                                               .n_kv_heads = 2,
                                               .head_dim = 3,
                                               .n_ff = 5,
                                               .n_vocab = 7,
                                               .n_context = 500,
                                               .norm_epsilon = 1e-5F};

static struct baton_model *model;
static struct baton_kv *kv;

static int set_up(void **state)
{
    (void)state;
    return baton_model_random(&shape, 1, &model, NULL) ||
           baton_kv_create(model, N_BLOCKS, &kv, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    baton_kv_destroy(kv);
    baton_model_close(model);
    return 0;
}

static void a_block_holds_k_and_v_of_sixteen_positions(void **state)
{
    (void)state;
    assert_int_equal(baton_kv_block_bytes(kv), 2 * 2 * 16 * 3 * sizeof(float));
    assert_string_equal(baton_kv_dtype(kv), "f32");
    assert_int_equal(baton_kv_n_blocks(kv), N_BLOCKS);
}

static void a_sequence_takes_whole_blocks_and_gives_them_back(void **state)
{
    struct baton_seq seq;
    (void)state;
    const int cases[][2] = {{1, 1}, {15, 1}, {16, 1}, {17, 2}, {160, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(baton_seq_init(&seq, kv, cases[i][0]), BATON_OK);
        assert_int_equal(seq.n_blocks, cases[i][1]);
        assert_int_equal(seq.n_tokens, 0);
        assert_int_equal(baton_kv_n_free(kv), N_BLOCKS - cases[i][1]);
        baton_seq_fini(&seq);
        baton_seq_fini(&seq);
        assert_int_equal(baton_kv_n_free(kv), N_BLOCKS);
    }
}

static void an_exhausted_pool_says_limit_and_takes_nothing(void **state)
{
    struct baton_seq first, second = {.n_tokens = 42};
    (void)state;
    assert_int_equal(baton_seq_init(&first, kv, 7 * 16), BATON_OK);
    assert_int_equal(baton_seq_init(&second, kv, 4 * 16), BATON_LIMIT);
    assert_int_equal(second.n_tokens, 42);
    assert_int_equal(baton_kv_n_free(kv), 3);
    assert_int_equal(baton_seq_init(&second, kv, 3 * 16), BATON_OK);
    assert_int_equal(baton_kv_n_free(kv), 0);
    baton_seq_fini(&first);
    baton_seq_fini(&second);
    assert_int_equal(baton_kv_n_free(kv), N_BLOCKS);
}

static void senseless_sizes_are_refused(void **state)
{
    struct baton_seq seq;
    struct baton_kv *none = NULL;
    (void)state;
    assert_int_equal(baton_seq_init(&seq, kv, 0), BATON_INVALID);
    assert_int_equal(baton_seq_init(&seq, kv, INT32_MAX), BATON_LIMIT);
    assert_int_equal(baton_kv_create(model, 0, &none, NULL), BATON_INVALID);
    assert_null(none);
}

static void no_two_blocks_of_any_layer_share_memory(void **state)
{
    struct baton_seq seq;
    (void)state;
    size_t n_bytes = baton_kv_block_bytes(kv);
    assert_int_equal(baton_seq_init(&seq, kv, N_BLOCKS * 16), BATON_OK);
    for (int layer = 0; layer < shape.n_layers; layer++)
        for (int i = 0; i < N_BLOCKS; i++)
            memset(baton_seq_block(&seq, layer, i), layer * N_BLOCKS + i, n_bytes);
    for (int layer = 0; layer < shape.n_layers; layer++)
        for (int i = 0; i < N_BLOCKS; i++) {
            const uint8_t *bytes = baton_seq_block(&seq, layer, i);
            assert_int_equal(bytes[0], layer * N_BLOCKS + i);
            assert_int_equal(bytes[n_bytes - 1], layer * N_BLOCKS + i);
        }
    baton_seq_fini(&seq);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_holds_k_and_v_of_sixteen_positions),
        cmocka_unit_test(a_sequence_takes_whole_blocks_and_gives_them_back),
        cmocka_unit_test(an_exhausted_pool_says_limit_and_takes_nothing),
        cmocka_unit_test(senseless_sizes_are_refused),
        cmocka_unit_test(no_two_blocks_of_any_layer_share_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
