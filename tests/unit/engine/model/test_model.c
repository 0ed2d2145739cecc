#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include "engine/model/model.h"
#include "tests/support/random_gpt2.h"
#include "tests/support/tensor_files.h"

TEST_IN(make_scratch, remove_scratch, a_directory_without_weights_is_not_found)
{
    struct baton_model *model = NULL;
    assert_int_equal(baton_model_open(scratch, NULL, &model, NULL), BATON_NOT_FOUND);
    assert_int_equal(baton_model_open("/nonexistent", NULL, &model, NULL), BATON_NOT_FOUND);
}

TEST_IN(make_scratch, remove_scratch,
        a_config_larger_than_its_weights_is_refused_before_memory_is_allocated)
{
    struct baton_model *model = NULL;
    struct baton_why why;
    write_tensors("model.safetensors",
                  "{\"m\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}");
    write_scratch("config.json",
                  "{\"model_type\":\"gpt2\",\"n_layer\":1024,\"n_head\":1,\"n_embd\":32768,"
                  "\"vocab_size\":16777216,\"n_positions\":16777216}");
    assert_int_equal(baton_model_open(scratch, NULL, &model, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "tensor transformer.wte.weight is missing"));
}

TEST(a_random_model_keeps_its_spec)
{
    struct baton_gpt2_sizes sizes = {.n_layers = 1,
                                     .n_embd = 6,
                                     .n_heads = 2,
                                     .n_kv_heads = 2,
                                     .head_dim = 3,
                                     .n_ff = 5,
                                     .n_vocab = 7,
                                     .n_context = 8};
    struct baton_model *model;
    assert_ok(random_gpt2(&sizes, 1, NULL, &model));
    assert_int_equal(baton_model_info(model)->n_vocab, 7);
    assert_int_equal(baton_model_spec(model)->layers[0].n_ff, 5);
    assert_string_equal(baton_model_info(model)->dtype, "f32");
    assert_string_equal(baton_model_info(model)->main_dtype, "f32");
    /* The embedding as head: a panel of 16 outputs holds 7, 64 bytes an input. */
    struct baton_model_bytes bytes = baton_model_bytes(model);
    assert_true(bytes.head == 6 * 64);
    /* qkv has 18 outputs, two panels; attention's output, up and down have one each. */
    assert_true(bytes.layers == (2 * 6 + 6 + 6 + 5) * 64);
    assert_true(bytes.experts == 0);
    baton_model_close(model);
}

TEST(a_spec_that_no_config_could_have_is_refused)
{
    const struct baton_gpt2_sizes good = {.n_layers = 1,
                                          .n_embd = 6,
                                          .n_heads = 4,
                                          .n_kv_heads = 2,
                                          .head_dim = 3,
                                          .n_ff = 5,
                                          .n_vocab = 7,
                                          .n_context = 8};
    struct baton_gpt2_sizes sizes = good;
    struct baton_spec spec;
    struct baton_model *model = NULL;
    sizes.n_kv_heads = 3; /* does not divide the heads */
    assert_int_equal(random_gpt2(&sizes, 1, NULL, &model), BATON_INVALID);
    sizes = good;
    sizes.n_heads = sizes.head_dim = 1 << 12; /* each is allowed, the product is not */
    assert_int_equal(random_gpt2(&sizes, 1, NULL, &model), BATON_INVALID);
    baton_gpt2_spec(&good, &spec);
    spec.norm_epsilon = 0;
    assert_int_equal(baton_model_random(&spec, 1, NULL, &model, NULL), BATON_INVALID);
    assert_null(model);
}

TEST(kv_is_by_default_as_wide_as_the_weights_deserve)
{
    static const struct baton_gpt2_sizes sizes = {.n_layers = 3,
                                                  .n_embd = 12,
                                                  .n_heads = 4,
                                                  .n_kv_heads = 2,
                                                  .head_dim = 3,
                                                  .n_ff = 5,
                                                  .n_vocab = 7,
                                                  .n_context = 50};
    static const char *const kv_dtypes[][2] = {{"f32", "f32"}, {"bf16", "f16"}, {"q8", "f16"}};
    for (size_t i = 0; i < BATON_N_OF(kv_dtypes); i++) {
        const struct baton_model_options options = {.dtype = kv_dtypes[i][0]};
        struct baton_model *model;
        assert_ok(random_gpt2(&sizes, 1, &options, &model));
        const struct baton_kv_pool_options options_of_pool = {.n_blocks = 1};
        struct baton_kv *kv = NULL;
        assert_ok(baton_kv_create(model, &options_of_pool, &kv, NULL));
        assert_string_equal(baton_kv_dtype(kv), kv_dtypes[i][1]);
        assert_int_equal(baton_kv_n_layers(kv), 3);
        enum baton_kv_dtype element = i ? BATON_KV_F16 : BATON_KV_F32;
        assert_int_equal(baton_kv_block_bytes(kv, 2), 2 * baton_kv_head_bytes(element, 3, 0));
        baton_kv_destroy(kv);
        baton_model_close(model);
    }
}
