#include "common/base/array.h"
#include "tests/support/scratch.h"

#include "engine/checkpoint/config/model_config.h"

static enum baton_err parse(const char *text, struct baton_model_config *config,
                            struct baton_why *why)
{
    return baton_model_config_parse(text, strlen(text), config, why);
}

TEST(absent_keys_are_neutral)
{
    struct baton_model_config config;
    assert_ok(parse("{}", &config, NULL));
    assert_string_equal(config.model_type, "");
    assert_string_equal(config.activation_function, "");
    assert_int_equal(config.n_layers + config.n_embd + config.n_heads + config.n_ff, 0);
    assert_int_equal(config.n_vocab + config.n_context + config.n_eos, 0);
    assert_int_equal(config.bos_id, -1);
    assert_true(config.layer_norm_epsilon == 0);
    assert_true(config.tied_head && config.scales_scores);
    assert_true(config.features == 0);
    assert_memory_equal(&config, &baton_model_config_unsaid, sizeof config);
}

TEST(null_is_as_good_as_absent)
{
    struct baton_model_config config;
    assert_ok(parse("{\"n_inner\":null,\"tie_word_embeddings\":null,\"model_type\":null,"
                    "\"layer_norm_epsilon\":null,\"n_positions\":null,\"n_ctx\":9}",
                    &config, NULL));
    assert_int_equal(config.n_ff, 0);
    assert_true(config.tied_head);
    assert_int_equal(config.n_context, 9);
}

TEST(the_first_present_of_several_names_counts)
{
    struct baton_model_config config;
    assert_ok(
        parse("{\"max_position_embeddings\":3,\"n_ctx\":2,\"n_positions\":1}", &config, NULL));
    assert_int_equal(config.n_context, 1);
    assert_ok(parse("{\"max_position_embeddings\":3}", &config, NULL));
    assert_int_equal(config.n_context, 3);
}

TEST(a_value_of_the_wrong_kind_or_size_is_refused_by_its_key)
{
    const char *const refused[][2] = {
        {"{\"n_layer\":0}", "n_layer: must be a whole number in 1..1024, not 0"},
        {"{\"num_layers\":1025}", "num_layers: must be a whole number in 1..1024, not 1025"},
        {"{\"n_layer\":2.0}", "n_layer: must be a whole number in 1..1024, not 2"},
        {"{\"n_head\":\"3\"}", "n_head: must be a whole number in 1..131072, not \"3\""},
        {"{\"vocab_size\":16777217}", "vocab_size: must be a whole number in 1..16777216"},
        {"{\"n_ctx\":[1]}", "n_ctx: must be a whole number in 1..16777216"},
        {"{\"layer_norm_epsilon\":1}", "layer_norm_epsilon: must be a number in 1e-12..0.1, not 1"},
        {"{\"tie_word_embeddings\":0}", "tie_word_embeddings: must be true or false, not 0"},
        {"{\"model_type\":3}", "model_type: must be given as text, not 3"},
        {"{\"rope_theta\":1}", "rope_theta: must be a number in 1..1e+12, not 1"},
        {"{\"rope_scaling\":7}", "rope_scaling: must be an object, not 7"},
        {"{\"rope_scaling\":{\"factor\":0.5}}",
         "rope_scaling.factor: must be a number in 1..1e+06, not 0.5"},
        {"{\"rope_scaling\":{\"mrope_section\":[1]}}",
         "rope_scaling.mrope_section: must be a list of 3 or 4 numbers"},
        {"{\"rope_scaling\":{\"long_factor\":[1,0]}}",
         "rope_scaling.long_factor: must be a list of numbers in 1e-09..1e+06, not 0"},
        {"{\"rope_scaling\":{\"short_factor\":[]}}",
         "rope_scaling.short_factor: must be a list of 1 to 256 numbers, not array"},
        {"{\"rope_parameters\":{\"full_attention\":{},\"chunked_attention\":{}}}",
         "rope_parameters.chunked_attention: not supported"},
        {"{\"rope_parameters\":{\"full_attention\":{\"factor\":\"x\"}}}",
         "rope_parameters.full_attention.factor: must be a number"},
        {"{\"num_hidden_layers\":2,\"layer_types\":[\"full_attention\"]}",
         "layer_types: must have an entry for each of 2 layers, not 1"},
        {"{\"num_hidden_layers\":1,\"layer_types\":[\"chunked_attention\"]}",
         "layer_types: must be full_attention or sliding_attention, not \"chunked_attention\""},
        {"{\"num_hidden_layers\":1,\"layer_types\":\"full_attention\"}",
         "layer_types: must be a list"},
        {"{\"num_layers\":4,\"attention_types\":[[[\"global\",\"local\"],3]]}",
         "attention_types: must have an entry for each of 4 layers, not 5"},
        {"{\"num_layers\":4,\"attention_types\":[[\"global\",2]]}", "attention_types: must be"},
        {"{\"num_hidden_layers\":2,\"no_rope_layers\":[1,2]}",
         "no_rope_layers: must be a list of 0 and 1, not 2"},
        {"{\"num_hidden_layers\":2,\"no_rope_layers\":[1]}",
         "no_rope_layers: must have an entry for each of 2 layers, not 1"},
        {"{\"num_hidden_layers\":2,\"mlp_only_layers\":[2]}",
         "mlp_only_layers: must be a list of layers' numbers, not 2"},
        {"{\"text_config\":{\"hidden_size\":0}}",
         "text_config.hidden_size: must be a whole number in 1..32768, not 0"},
        {"[]", "must hold one JSON object"},
        {"{", "line 1"},
    };
    for (size_t i = 0; i < BATON_N_OF(refused); i++) {
        struct baton_model_config config = {.n_layers = 77};
        struct baton_why why = {.text = ""};
        assert_int_equal(parse(refused[i][0], &config, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, refused[i][1]));
        assert_int_equal(config.n_layers, 77);
    }
}

TEST(a_missing_size_is_named_by_its_key)
{
    struct baton_model_config config;
    struct baton_why why;
    assert_ok(parse("{\"n_layer\":5}", &config, NULL));
    assert_ok(baton_model_config_require(&config, &config.n_layers, &why));
    assert_int_equal(baton_model_config_require(&config, &config.n_context, &why), BATON_INVALID);
    assert_string_equal(why.text, "n_positions (n_ctx, max_position_embeddings): must be given, a "
                                  "whole number in 1..16777216");
}

TEST(eos_ids_of_both_files_are_united_within_the_vocabulary)
{
    const char generation[] = "{\"eos_token_id\":[2,9,10,3,2]}";
    struct baton_model_config config;
    assert_ok(parse("{\"vocab_size\":10,\"eos_token_id\":3,\"bos_token_id\":10}", &config, NULL));
    assert_int_equal(config.bos_id, -1);
    assert_ok(
        baton_model_config_parse_generation(generation, sizeof generation - 1, &config, NULL));
    assert_int_equal(config.n_eos, 3);
    assert_int_equal(config.eos_ids[0], 3);
    assert_int_equal(config.eos_ids[1], 2);
    assert_int_equal(config.eos_ids[2], 9);
}

TEST(more_eos_ids_than_the_maximum_are_refused)
{
    static const char most[] =
        "{\"vocab_size\":99,\"eos_token_id\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}";
    static const char generation[] = "{\"eos_token_id\":[3,15,16]}";
    struct baton_model_config config;
    struct baton_why why = {""};
    assert_ok(parse(most, &config, NULL));
    assert_int_equal(config.n_eos, 16);
    assert_int_equal(
        baton_model_config_parse_generation(generation, sizeof generation - 1, &config, &why),
        BATON_LIMIT);
    assert_string_equal(why.text, "eos_token_id: more than 16 ids");
    assert_int_equal(config.n_eos, 16);
}

/* ---- defaults ---- */

static struct baton_model_config config_of(const char *text)
{
    struct baton_model_config config;
    struct baton_why why = {.text = ""};
    if (parse(text, &config, &why))
        fail_msg("%s", why.text);
    return config;
}

TEST(absent_keys_have_their_model_types_defaults)
{
    struct baton_model_config config = config_of("{\"model_type\":\"mistral\"}");
    assert_int_equal(config.n_kv_heads, 8);
    assert_int_equal(config.sliding_window, 4096);
    assert_true(config.rms_norm_eps == 1e-6 && config.rope.theta == 10000);
    assert_false(config.tied_head);
    assert_int_equal(config.n_layers, 0);
    config = config_of("{\"model_type\":\"gpt_oss\"}");
    assert_string_equal(config.rope.type, "yarn");
    assert_false(config.rope.truncate);
    assert_int_equal(config.rope.original_context, 4096);
}

TEST(null_takes_a_default_back)
{
    struct baton_model_config config =
        config_of("{\"model_type\":\"mistral\",\"sliding_window\":null}");
    assert_int_equal(config.sliding_window, 0);
    assert_false(config.features & BATON_FEATURE(SLIDING_WINDOW));
    config = config_of("{\"model_type\":\"gemma2\",\"attn_logit_softcapping\":null}");
    assert_true(config.score_cap == 0 && config.logit_cap == 30);
    config = config_of("{\"model_type\":\"gpt_oss\",\"rope_scaling\":null}");
    assert_string_equal(config.rope.type, "");
    assert_true(config.rope.theta == 150000);
    assert_false(config.features & BATON_FEATURE(ROPE_SCALING));
}

/* ---- rotary embeddings, layers ---- */

TEST(rope_parameters_hold_theta_and_the_rotated_share_too)
{
    struct baton_model_config config =
        config_of("{\"model_type\":\"llama\",\"rope_theta\":7,\"partial_rotary_factor\":0.5,"
                  "\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":4,\"rope_theta\":5}}");
    assert_string_equal(config.rope.type, "linear");
    assert_true(config.rope.theta == 5 && config.rope.factor == 4);
    assert_true(config.rope.partial_rotary_factor == 0.5);
    config = config_of("{\"rope_theta\":7,\"rope_parameters\":{\"rope_type\":\"default\"}}");
    assert_true(config.rope.theta == 7 && config.features == 0);
}

TEST(rope_parameters_may_differ_by_the_layers_type)
{
    struct baton_model_config config =
        config_of("{\"model_type\":\"gemma3_text\",\"rope_parameters\":{\"full_attention\":{"
                  "\"rope_type\":\"linear\",\"factor\":8,\"rope_theta\":1000001},"
                  "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":10001}}}");
    assert_true(config.rope.theta == 1000001 && config.rope.factor == 8);
    assert_true(config.local_rope.theta == 10001);
    assert_string_equal(config.local_rope.type, "default");
}

TEST(factors_of_pairs_are_lists)
{
    struct baton_model_config config =
        config_of("{\"rope_scaling\":{\"type\":\"su\",\"short_factor\":[1,1.5],"
                  "\"long_factor\":[2,2.5,3]},\"original_max_position_embeddings\":16}");
    assert_int_equal(config.rope.n_short, 2);
    assert_int_equal(config.rope.n_long, 3);
    assert_true(config.rope.short_factor[1] == 1.5 && config.rope.long_factor[2] == 3);
    assert_int_equal(config.original_context, 16);
}

TEST(kinds_of_layers_are_read_layer_by_layer)
{
    struct baton_model_config config =
        config_of("{\"num_hidden_layers\":3,\"layer_types\":[\"full_attention\","
                  "\"sliding_attention\",\"full_attention\"],\"no_rope_layers\":[1,0,1],"
                  "\"mlp_only_layers\":[0,2]}");
    assert_int_equal(config.n_layer_types, 3);
    assert_int_equal(config.layer_types[1], BATON_LAYER_SLIDING);
    assert_int_equal(config.layer_types[2], BATON_LAYER_FULL);
    assert_int_equal(config.n_no_rope, 3);
    assert_true(config.no_rope[1] && !config.no_rope[2]);
    assert_true(config.is_dense[0] && !config.is_dense[1] && config.is_dense[2]);
    assert_true(config.features == (BATON_FEATURE(LAYER_TYPES) | BATON_FEATURE(NO_ROPE_LAYERS) |
                                    BATON_FEATURE(DENSE_LAYERS)));
}

TEST(gpt_neos_kinds_of_layers_are_repeated)
{
    struct baton_model_config config =
        config_of("{\"model_type\":\"gpt_neo\",\"num_layers\":4,\"num_heads\":2,"
                  "\"attention_types\":[[[\"global\",\"local\"],2]]}");
    assert_int_equal(config.n_layer_types, 4);
    assert_int_equal(config.layer_types[0], BATON_LAYER_FULL);
    assert_int_equal(config.layer_types[3], BATON_LAYER_SLIDING);
    assert_int_equal(config.sliding_window, 256);
}

/* ---- wrappers ---- */

TEST(a_wrappers_language_model_is_read)
{
    struct baton_model_config config =
        config_of("{\"model_type\":\"gemma3\",\"eos_token_id\":[1,106],\"text_config\":{"
                  "\"model_type\":\"gemma3_text\",\"hidden_size\":2560,\"num_hidden_layers\":34,"
                  "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"}},"
                  "\"vision_config\":{\"hidden_size\":1152}}");
    assert_string_equal(config.wrapper, "gemma3");
    assert_string_equal(config.model_type, "gemma3_text");
    assert_int_equal(config.n_embd, 2560);
    assert_int_equal(config.n_layers, 34);
    assert_int_equal(config.n_vocab, 262208);
    assert_int_equal(config.n_heads, 8);
    assert_int_equal(config.n_eos, 2);
    assert_true(config.rope.factor == 8);
}

TEST(keys_that_a_text_config_lacks_are_read_from_its_wrapper)
{
    struct baton_model_config config =
        config_of("{\"model_type\":\"mistral3\",\"tie_word_embeddings\":true,"
                  "\"quantization_config\":{\"quant_method\":\"fp8\"},"
                  "\"text_config\":{\"vocab_size\":9,\"eos_token_id\":2,\"bos_token_id\":1}}");
    assert_string_equal(config.model_type, "mistral");
    assert_string_equal(config.quantization, "fp8");
    assert_true(config.tied_head);
    assert_int_equal(config.eos_ids[0], 2);
    assert_int_equal(config.bos_id, 1);
}

/* ---- features ---- */

TEST(a_choice_is_named_with_its_value)
{
    struct baton_model_config config =
        config_of("{\"alibi\":true,\"clip_qkv\":8,\"num_local_experts\":4,\"mlp_type\":\"gated\","
                  "\"quantization_config\":{\"quant_method\":\"bnb\"},\"logit_scale\":1}");
    char text[BATON_FEATURE_TEXT_BYTES];
    assert_true(config.features ==
                (BATON_FEATURE(ALIBI) | BATON_FEATURE(CLIP_QKV) | BATON_FEATURE(EXPERTS) |
                 BATON_FEATURE(MLP_TYPE) | BATON_FEATURE(QUANTIZATION)));
    assert_string_equal(baton_model_config_feature(&config, BATON_FEATURE_ALIBI, text),
                        "alibi: true");
    assert_string_equal(baton_model_config_feature(&config, BATON_FEATURE_CLIP_QKV, text),
                        "clip_qkv: 8");
    assert_string_equal(baton_model_config_feature(&config, BATON_FEATURE_EXPERTS, text),
                        "num_experts (num_local_experts, n_routed_experts): 4");
    assert_string_equal(baton_model_config_feature(&config, BATON_FEATURE_MLP_TYPE, text),
                        "mlp_type: \"gated\"");
    assert_string_equal(baton_model_config_feature(&config, BATON_FEATURE_QUANTIZATION, text),
                        "quantization_config: \"bnb\"");
}

TEST(a_window_that_is_switched_off_is_no_feature)
{
    struct baton_model_config config =
        config_of("{\"sliding_window\":9,\"use_sliding_window\":false}");
    assert_true(config.features == 0);
    assert_true(config_of("{\"sliding_window\":9}").features == BATON_FEATURE(SLIDING_WINDOW));
}

/* ---- generation_config.json ---- */

TEST(the_authors_sampling_is_reported)
{
    const char generation[] = "{\"do_sample\":true,\"temperature\":0.6,\"top_k\":20,"
                              "\"top_p\":0.95,\"repetition_penalty\":null}";
    const char *const wrong[] = {"{\"top_p\":2}", "{\"do_sample\":1}", "{\"temperature\":-1}"};
    struct baton_model_config config = config_of("{}");
    assert_int_equal(config.sampling.do_sample, -1);
    assert_ok(
        baton_model_config_parse_generation(generation, sizeof generation - 1, &config, NULL));
    assert_int_equal(config.sampling.do_sample, 1);
    assert_int_equal(config.sampling.top_k, 20);
    assert_true(config.sampling.temperature == 0.6 && config.sampling.top_p == 0.95);
    assert_true(config.sampling.repetition_penalty == -1);
    for (size_t i = 0; i < BATON_N_OF(wrong); i++)
        assert_int_equal(
            baton_model_config_parse_generation(wrong[i], strlen(wrong[i]), &config, NULL),
            BATON_INVALID);
    assert_true(config.sampling.top_p == 0.95);
}

TEST_IN(make_scratch, remove_scratch, the_files_of_a_model_are_named_in_errors)
{
    struct baton_model_config config;
    struct baton_why why;
    char source[PATH_MAX] = "";
    assert_int_equal(baton_model_config_read(scratch, &config, source, &why), BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "/config.json"));
    write_scratch("config.json", "{\"n_layer\":-1}");
    assert_int_equal(baton_model_config_read(scratch, &config, source, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "/config.json: n_layer"));
    assert_string_equal(source, "");
    write_scratch("config.json", "{\"vocab_size\":4,\"eos_token_id\":1}");
    assert_ok(baton_model_config_read(scratch, &config, source, &why));
    assert_string_equal(source, in_scratch("config.json"));
    assert_int_equal(config.n_eos, 1);
    write_scratch("generation_config.json", "{\"eos_token_id\":[2]}");
    assert_ok(baton_model_config_read(scratch, &config, source, &why));
    assert_int_equal(config.n_eos, 2);
    write_scratch("generation_config.json", "7");
    assert_int_equal(baton_model_config_read(scratch, &config, source, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "/generation_config.json: must hold one JSON object"));
}
