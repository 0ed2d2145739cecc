#include "tests/unit/engine/unit.h"

#include "engine/model/layers.h"
#include "tests/support/random_gpt2.h"

/* A layer's matrices are [8 D][C], [C][4 D], [F][C] and [C][F]; its last 2 D rows are values. */
static struct baton_model *model_of(int n_embd, int head_dim, int n_ff)
{
    const struct baton_gpt2_sizes sizes = {.n_layers = 1,
                                           .n_embd = n_embd,
                                           .n_heads = 4,
                                           .n_kv_heads = 2,
                                           .head_dim = head_dim,
                                           .n_ff = n_ff,
                                           .n_vocab = 50,
                                           .n_context = 8};
    const struct baton_model_options options = {.dtype = "q4"};
    struct baton_model *model = NULL;
    assert_ok(random_gpt2(&sizes, 1, &options, &model));
    assert_string_equal(baton_model_info(model)->dtype, "q4");
    return model;
}

/* Its one layer's matrix. */
static const struct baton_matrix *matrix_of(const struct baton_model *model,
                                            enum baton_array_kind kind)
{
    struct baton_array array = baton_array_of(baton_model_spec(model), kind, 0);
    return baton_model_matrix_in(model, &array);
}

static void assert_dtype(const struct baton_model *model, enum baton_array_kind kind,
                         enum baton_dtype dtype)
{
    const struct baton_matrix *matrix = matrix_of(model, kind);
    assert_int_equal(matrix->n_parts, 1);
    assert_int_equal(matrix->parts[0].dtype, dtype);
}

TEST(each_matrix_has_the_format_of_its_slot)
{
    struct baton_model *model = model_of(256, 64, 512);
    const struct baton_matrix *qkv = matrix_of(model, BATON_ARRAY_QKV);
    assert_int_equal(qkv->n_parts, 2);
    assert_int_equal(qkv->parts[0].dtype, BATON_Q4_K);
    assert_int_equal(qkv->parts[0].n_out, 6 * 64);
    assert_int_equal(qkv->parts[1].dtype, BATON_Q6_K);
    assert_int_equal(qkv->parts[1].n_out, 2 * 64);
    assert_dtype(model, BATON_ARRAY_TOKEN_EMBEDDING, BATON_Q6_K);
    assert_dtype(model, BATON_ARRAY_OUT, BATON_Q5_K);
    assert_dtype(model, BATON_ARRAY_UP, BATON_Q4_K);
    assert_dtype(model, BATON_ARRAY_DOWN, BATON_Q5_K);
    baton_model_close(model);
}

TEST(rows_that_padding_would_make_larger_have_blocks_of_32)
{
    struct baton_model *model = model_of(64, 16, 576);
    assert_dtype(model, BATON_ARRAY_TOKEN_EMBEDDING, BATON_Q8_0);
    assert_dtype(model, BATON_ARRAY_OUT, BATON_Q5_1);
    assert_dtype(model, BATON_ARRAY_UP, BATON_Q5_1);
    assert_dtype(model, BATON_ARRAY_DOWN, BATON_Q5_1);
    baton_model_close(model);
    model = model_of(64, 16, 960);
    assert_dtype(model, BATON_ARRAY_DOWN, BATON_Q5_K);
    baton_model_close(model);
}

TEST(values_that_begin_within_a_panel_share_their_format_with_queries_and_keys)
{
    struct baton_model *model = model_of(256, 4, 512); /* 24 rows before the values' */
    assert_dtype(model, BATON_ARRAY_QKV, BATON_Q4_K);
    baton_model_close(model);
}

TEST(kernels_without_panels_refuse_q4)
{
    const struct baton_gpt2_sizes sizes = {.n_layers = 1, SMALL_GPT2, .n_vocab = 8, .n_context = 8};
    const struct baton_model_options options = {.dtype = "q4", .kernels = "openblas"};
    struct baton_model *model = NULL;
    assert_int_equal(random_gpt2(&sizes, 1, &options, &model), BATON_INVALID);
}
