#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include "engine/kv/pool.h"

enum { N_BLOCKS = 10 };

/* The second layer is wider than the first, the third reads the first one's K and V. */
static const struct baton_spec spec = {.n_layers = 4,
                                       .layers = {{.n_kv_heads = 2, .head_dim = 3, .kv_from = 0},
                                                  {.n_kv_heads = 1, .head_dim = 40, .kv_from = 1},
                                                  {.n_kv_heads = 2, .head_dim = 3, .kv_from = 0},
                                                  {.n_kv_heads = 3, .head_dim = 3, .kv_from = 3}}};
static const struct baton_kv_layout layout = {.spec = &spec, .auto_dtype = "f32"};

static struct baton_kv *kv;

static enum baton_err make(struct baton_kv_layout of, const char *dtype, int n_blocks,
                           struct baton_kv **made, struct baton_why *why)
{
    const struct baton_kv_pool_options options = {.dtype = dtype, .n_blocks = n_blocks};
    return baton_kv_create_of(of, &options, made, why);
}

static enum baton_err measure(struct baton_kv_layout of, const char *dtype, size_t *bytes,
                              struct baton_why *why)
{
    const struct baton_kv_pool_options options = {.dtype = dtype};
    struct baton_kv_sizes sizes;
    enum baton_err err = baton_kv_measure_of(of, &options, &sizes, why);
    if (!err)
        *bytes = sizes.block_bytes;
    return err;
}

SETUP(set_up)
{
    assert_ok(make(layout, "f32", N_BLOCKS, &kv, NULL));
}

TEARDOWN(tear_down)
{
    baton_kv_destroy(kv);
}

TEST(a_block_holds_k_and_v_of_sixteen_positions)
{
    /* For each head K [D][16], V [16][D rounded up to 16]. */
    const size_t n_elements[] = {2 * (3 * 16 + 16 * 16), 40 * 16 + 16 * 48, 0,
                                 3 * (3 * 16 + 16 * 16)};
    size_t n_all = 0, all_bytes;
    struct baton_kv *half;
    assert_ok(make(layout, "f16", 4, &half, NULL));
    for (int layer = 0; layer < spec.n_layers; layer++) {
        assert_int_equal(baton_kv_block_bytes(kv, layer), n_elements[layer] * 4);
        assert_int_equal(baton_kv_block_bytes(half, layer), n_elements[layer] * 2);
        n_all += n_elements[layer];
    }
    assert_int_equal(baton_kv_all_block_bytes(kv), n_all * 4);
    assert_int_equal(baton_kv_all_block_bytes(half), n_all * 2);
    assert_ok(measure(layout, "f16", &all_bytes, NULL));
    assert_int_equal(all_bytes, n_all * 2);
    assert_ok(measure(layout, "q8", &all_bytes, NULL));
    /* K and V of D rounded up to 16, and sixteen scales of two bytes for each. */
    assert_int_equal(all_bytes, 5 * (2 * 16 * 16 + 64) + (2 * 48 * 16 + 64));
    assert_int_equal(baton_kv_n_blocks(kv), N_BLOCKS);
    assert_int_equal(baton_kv_n_blocks(half), 4);
    baton_kv_destroy(half);
}

TEST(a_layer_that_reads_anothers_k_and_v_holds_none)
{
    int n_held;
    const int *held = baton_kv_held_layers(kv, &n_held);
    const int expected[] = {0, 1, 3};
    assert_int_equal(baton_kv_n_layers(kv), 4);
    assert_int_equal(n_held, 3);
    assert_memory_equal(held, expected, sizeof expected);
    assert_ptr_equal(baton_kv_layer(kv, 2), baton_kv_layer(kv, 0));
    assert_ptr_not_equal(baton_kv_layer(kv, 1), baton_kv_layer(kv, 0));
}

static void assert_dtype(struct baton_kv_layout of, const char *asked, const char *wanted)
{
    struct baton_kv *made;
    assert_ok(make(of, asked, 1, &made, NULL));
    assert_string_equal(baton_kv_dtype(made), wanted);
    assert_int_equal(baton_kv_element(made), !strcmp(wanted, "q8")    ? BATON_KV_Q8
                                             : !strcmp(wanted, "f16") ? BATON_KV_F16
                                                                      : BATON_KV_F32);
    baton_kv_destroy(made);
}

TEST(the_dtype_is_the_options_or_the_layouts)
{
    const char *const by_layout[] = {"f32", "f16"};
    for (int i = 0; i < 2; i++) {
        struct baton_kv_layout of = layout;
        of.auto_dtype = by_layout[i];
        assert_dtype(of, NULL, by_layout[i]);
        assert_dtype(of, "auto", by_layout[i]);
        assert_dtype(of, "f32", "f32");
        assert_dtype(of, "f16", "f16");
        assert_dtype(of, "q8", "q8");
    }
}

TEST(an_unknown_dtype_is_refused_by_name)
{
    struct baton_kv *none = NULL;
    struct baton_why why;
    assert_int_equal(make(layout, "f8", 1, &none, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "\"f8\""));
    assert_null(none);
}

TEST(heads_whose_sums_could_overflow_are_refused_for_q8)
{
    struct baton_spec wide = {.n_layers = 1, .layers = {{.n_kv_heads = 1, .head_dim = 512}}};
    const struct baton_kv_layout of = {.spec = &wide, .auto_dtype = "f16"};
    size_t n_bytes;
    struct baton_why why;
    assert_ok(measure(of, "q8", &n_bytes, &why));
    wide.layers[0].head_dim = 513;
    assert_ok(measure(of, "f16", &n_bytes, &why));
    assert_int_equal(measure(of, "q8", &n_bytes, &why), BATON_INVALID);
    assert_string_equal(why.text, "kv-dtype: q8 is for heads of at most 512; layer 0 has 513");
}

TEST(a_sequence_takes_whole_blocks_and_gives_them_back)
{
    struct baton_seq seq;
    const int cases[][2] = {{1, 1}, {15, 1}, {16, 1}, {17, 2}, {160, 10}};
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        assert_ok(baton_seq_init(&seq, kv, cases[i][0]));
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
    assert_ok(baton_seq_init(&first, kv, 7 * 16));
    assert_int_equal(baton_seq_init(&second, kv, 4 * 16), BATON_LIMIT);
    assert_int_equal(second.n_tokens, 42);
    assert_int_equal(baton_kv_n_free(kv), 3);
    assert_ok(baton_seq_init(&second, kv, 3 * 16));
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
    assert_int_equal(make(layout, NULL, 0, &none, NULL), BATON_INVALID);
    assert_null(none);
}

TEST(no_two_blocks_of_any_layer_share_memory)
{
    struct baton_seq seq;
    int n_held;
    const int *held = baton_kv_held_layers(kv, &n_held);
    assert_ok(baton_seq_init(&seq, kv, N_BLOCKS * 16));
    for (int at = 0; at < n_held; at++)
        for (int i = 0; i < N_BLOCKS; i++)
            memset(baton_seq_block(&seq, held[at], i), at * N_BLOCKS + i,
                   baton_kv_block_bytes(kv, held[at]));
    for (int at = 0; at < n_held; at++)
        for (int i = 0; i < N_BLOCKS; i++) {
            const uint8_t *bytes = baton_seq_block(&seq, held[at], i);
            assert_int_equal(bytes[0], at * N_BLOCKS + i);
            assert_int_equal(bytes[baton_kv_block_bytes(kv, held[at]) - 1], at * N_BLOCKS + i);
        }
    baton_seq_fini(&seq);
}

ALL_TESTS(set_up, tear_down)
