#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include <stdio.h>

#include "engine/arch/arch.h"

static const char small[] = "{\"model_type\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12,"
                            "\"vocab_size\":50,\"n_positions\":32%s}";

/* The spec of a config.json, or the error. */
struct configured {
    const struct baton_arch *arch;
    struct baton_model_config config;
    struct baton_spec spec;
};

static enum baton_err parse_text(const char *text, struct configured *configured,
                                 struct baton_why *why)
{
    enum baton_err err = baton_model_config_parse(text, strlen(text), &configured->config, why);
    return err ? err
               : baton_arch_configure(&configured->config, 0, &configured->arch, &configured->spec,
                                      why);
}

static enum baton_err parse(const char *more, struct configured *configured, struct baton_why *why)
{
    char text[512];
    int n = snprintf(text, sizeof text, small, more);
    assert_in_range(n, 1, sizeof text - 1);
    return parse_text(text, configured, why);
}

TEST(gpt2_defaults_are_those_of_its_authors)
{
    struct configured configured;
    assert_ok(parse("", &configured, NULL));
    assert_int_equal(configured.spec.n_layers, 2);
    assert_int_equal(configured.spec.n_heads, 3);
    assert_int_equal(configured.spec.layers[0].n_kv_heads, 3);
    assert_int_equal(configured.spec.layers[0].head_dim, 4);
    assert_int_equal(configured.spec.layers[0].n_ff, 48);
    assert_int_equal(configured.spec.n_context, 32);
    assert_true(configured.spec.norm_epsilon == 1e-5F);
    assert_true(configured.config.tied_head);
}

TEST(given_fields_are_taken)
{
    struct configured configured;
    assert_ok(parse(",\"n_inner\":20,\"n_ctx\":16,\"layer_norm_epsilon\":0.001,"
                    "\"tie_word_embeddings\":false,\"activation_function\":\"gelu_new\","
                    "\"scale_attn_weights\":true,\"add_cross_attention\":false",
                    &configured, NULL));
    assert_int_equal(configured.spec.layers[0].n_ff, 20);
    assert_int_equal(configured.spec.n_context, 32); /* n_positions wins over the old name */
    assert_true(configured.spec.norm_epsilon == 0.001F);
    assert_false(configured.config.tied_head);
}

TEST(settings_that_are_not_computed_are_refused_by_name)
{
    const char *const refused[][2] = {
        {",\"activation_function\":\"mish\"", "activation_function"},
        {",\"activation_function\":\"quick_gelu\"", "activation_function"},
        {",\"activation_function\":3", "activation_function"},
        {",\"scale_attn_weights\":false", "scale_attn_weights"},
        {",\"scale_attn_by_inverse_layer_idx\":true", "scale_attn_by_inverse_layer_idx"},
        {",\"reorder_and_upcast_attn\":true", "reorder_and_upcast_attn"},
        {",\"add_cross_attention\":true", "add_cross_attention"},
        {",\"reorder_and_upcast_attn\":1", "reorder_and_upcast_attn"},
        {",\"layer_norm_epsilon\":0", "layer_norm_epsilon"},
        {",\"layer_norm_epsilon\":\"x\"", "layer_norm_epsilon"},
        {",\"n_inner\":0", "n_inner"},
        {",\"n_inner\":-4", "n_inner"},
        {",\"tie_word_embeddings\":\"yes\"", "tie_word_embeddings"},
    };
    for (size_t i = 0; i < BATON_N_OF(refused); i++) {
        struct configured configured = {0};
        struct baton_why why = {.text = ""};
        assert_int_equal(parse(refused[i][0], &configured, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, refused[i][1]));
        assert_null(configured.arch);
    }
}

TEST(configs_of_other_kinds_are_refused)
{
    const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"model_type\":7}",
        "{\"model_type\":\"t5\"}",
        "{\"model_type\":\"gpt2\"}",
        "{\"model_type\":\"gpt2\",\"n_layer\":2,\"n_head\":5,\"n_embd\":12,\"vocab_size\":50,"
        "\"n_positions\":32}",
        "{\"model_type\":\"gpt2\",\"n_layer\":99999,\"n_head\":3,\"n_embd\":12,\"vocab_size\":50,"
        "\"n_positions\":32}",
        "{\"model_type\":\"gpt2\",\"n_layer\":2.5,\"n_head\":3,\"n_embd\":12,\"vocab_size\":50,"
        "\"n_positions\":32}",
    };
    for (size_t i = 0; i < BATON_N_OF(texts); i++) {
        struct configured configured;
        struct baton_why why;
        assert_int_equal(parse_text(texts[i], &configured, &why), BATON_INVALID);
    }
}
