#include "tests/unit/engine/unit.h"

#include "common/engine/kv/kv.h"

enum { N_BLOCKS = 10 };

static const struct baton_kv_layout layout = {
    .n_layers = 3, .n_kv_heads = 2, .head_dim = 3, .auto_dtype = "f32"};

static struct baton_kv *kv;

SETUP(set_up)
{
    return baton_kv_create(layout, "f32", N_BLOCKS, &kv, NULL);
}

TEARDOWN(tear_down)
{
    baton_kv_destroy(kv);
    return 0;
}

TEST(a_block_holds_k_and_v_of_sixteen_positions)
{
    /* For each of two heads K [3][16], V [16][3 rounded up to 16]. */
    const size_t n_elements = (size_t)2 * (3 * 16 + 16 * 16);
    struct baton_kv *half;
    assert_int_equal(baton_kv_create(layout, "f16", 4, &half, NULL), BATON_OK);
    assert_int_equal(baton_kv_block_bytes(kv), n_elements * 4);
    assert_int_equal(baton_kv_block_bytes(half), n_elements * 2);
    assert_int_equal(baton_kv_n_blocks(kv), N_BLOCKS);
    assert_int_equal(baton_kv_n_blocks(half), 4);
    baton_kv_destroy(half);
}

static void assert_dtype(struct baton_kv_layout of, const char *asked, const char *wanted)
{
    struct baton_kv *made;
    assert_int_equal(baton_kv_create(of, asked, 1, &made, NULL), BATON_OK);
    assert_string_equal(baton_kv_dtype(made), wanted);
    assert_int_equal(baton_kv_element(made), strcmp(wanted, "f16") ? BATON_KV_F32 : BATON_KV_F16);
    baton_kv_destroy(made);
}

TEST(elements_are_as_asked_or_as_the_layout_says)
{
    const char *const by_layout[] = {"f32", "f16"};
    for (int i = 0; i < 2; i++) {
        struct baton_kv_layout of = layout;
        of.auto_dtype = by_layout[i];
        assert_dtype(of, NULL, by_layout[i]);
        assert_dtype(of, "auto", by_layout[i]);
        assert_dtype(of, "f32", "f32");
        assert_dtype(of, "f16", "f16");
    }
}

TEST(an_unknown_dtype_is_refused_by_name)
{
    struct baton_kv *none = NULL;
    struct baton_why why;
    assert_int_equal(baton_kv_create(layout, "f8", 1, &none, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "\"f8\""));
    assert_null(none);
}

TEST(a_sequence_takes_whole_blocks_and_gives_them_back)
{
    struct baton_seq seq;
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

TEST(an_exhausted_pool_says_limit_and_takes_nothing)
{
    struct baton_seq first, second = {.n_tokens = 42};
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

TEST(senseless_sizes_are_refused)
{
    struct baton_seq seq;
    struct baton_kv *none = NULL;
    assert_int_equal(baton_seq_init(&seq, kv, 0), BATON_INVALID);
    assert_int_equal(baton_seq_init(&seq, kv, INT32_MAX), BATON_LIMIT);
    assert_int_equal(baton_kv_create(layout, NULL, 0, &none, NULL), BATON_INVALID);
    assert_null(none);
}

TEST(no_two_blocks_of_any_layer_share_memory)
{
    struct baton_seq seq;
    size_t n_bytes = baton_kv_block_bytes(kv);
    assert_int_equal(baton_seq_init(&seq, kv, N_BLOCKS * 16), BATON_OK);
    for (int layer = 0; layer < layout.n_layers; layer++)
        for (int i = 0; i < N_BLOCKS; i++)
            memset(baton_seq_block(&seq, layer, i), layer * N_BLOCKS + i, n_bytes);
    for (int layer = 0; layer < layout.n_layers; layer++)
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
        cmocka_unit_test(elements_are_as_asked_or_as_the_layout_says),
        cmocka_unit_test(an_unknown_dtype_is_refused_by_name),
        cmocka_unit_test(a_sequence_takes_whole_blocks_and_gives_them_back),
        cmocka_unit_test(an_exhausted_pool_says_limit_and_takes_nothing),
        cmocka_unit_test(senseless_sizes_are_refused),
        cmocka_unit_test(no_two_blocks_of_any_layer_share_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
