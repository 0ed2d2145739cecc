#include "tests/support/scratch.h"

#include "common/checkpoint/model_config.h"

static enum baton_err parse(const char *text, struct baton_model_config *config,
                            struct baton_why *why)
{
    return baton_model_config_parse(text, strlen(text), config, why);
}

TEST(absent_keys_are_neutral)
{
    struct baton_model_config config;
    assert_int_equal(parse("{}", &config, NULL), BATON_OK);
    assert_string_equal(config.model_type, "");
    assert_string_equal(config.activation, "");
    assert_int_equal(config.n_layers + config.n_embd + config.n_heads + config.n_ff, 0);
    assert_int_equal(config.n_vocab + config.n_context + config.n_eos, 0);
    assert_int_equal(config.bos_id, -1);
    assert_true(config.norm_epsilon == 0);
    assert_true(config.tied_head && config.scales_scores);
    assert_false(config.scales_by_layer || config.upcasts_scores || config.cross_attends);
}

TEST(null_is_as_good_as_absent)
{
    struct baton_model_config config;
    assert_int_equal(parse("{\"n_inner\":null,\"tie_word_embeddings\":null,\"model_type\":null,"
                           "\"layer_norm_epsilon\":null,\"n_positions\":null,\"n_ctx\":9}",
                           &config, NULL),
                     BATON_OK);
    assert_int_equal(config.n_ff, 0);
    assert_true(config.tied_head);
    assert_int_equal(config.n_context, 9);
}

TEST(of_several_names_the_first_that_is_present_counts)
{
    struct baton_model_config config;
    assert_int_equal(
        parse("{\"max_position_embeddings\":3,\"n_ctx\":2,\"n_positions\":1}", &config, NULL),
        BATON_OK);
    assert_int_equal(config.n_context, 1);
    assert_int_equal(parse("{\"max_position_embeddings\":3}", &config, NULL), BATON_OK);
    assert_int_equal(config.n_context, 3);
}

TEST(a_value_of_the_wrong_kind_or_size_is_refused_by_its_key)
{
    const char *const refused[][2] = {
        {"{\"n_layer\":0}", "n_layer: must be a whole number in 1..1024"},
        {"{\"n_layer\":1025}", "n_layer: must be a whole number in 1..1024"},
        {"{\"n_layer\":2.0}", "n_layer: must be a whole number in 1..1024"},
        {"{\"n_head\":\"3\"}", "n_head: must be a whole number"},
        {"{\"vocab_size\":16777217}", "vocab_size: must be a whole number in 1..16777216"},
        {"{\"n_ctx\":[1]}", "n_ctx: must be a whole number in 1..16777216"},
        {"{\"layer_norm_epsilon\":1}", "layer_norm_epsilon: must be between 0 and 1"},
        {"{\"tie_word_embeddings\":0}", "tie_word_embeddings: must be true or false"},
        {"{\"model_type\":3}", "model_type: must be given as text"},
        {"[]", "must hold one JSON object"},
        {"{", "line 1"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct baton_model_config config = {.n_layers = 77};
        struct baton_why why = {.text = ""};
        assert_int_equal(parse(refused[i][0], &config, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, refused[i][1]));
        assert_int_equal(config.n_layers, 77);
    }
}

TEST(a_size_that_is_required_is_asked_for_by_its_key)
{
    struct baton_model_config config;
    struct baton_why why;
    assert_int_equal(parse("{\"n_layer\":5}", &config, NULL), BATON_OK);
    assert_int_equal(baton_model_config_require(&config, &config.n_layers, &why), BATON_OK);
    assert_int_equal(baton_model_config_require(&config, &config.n_context, &why), BATON_INVALID);
    assert_string_equal(why.text, "n_positions: must be a whole number in 1..16777216");
}

TEST(eos_ids_of_both_files_are_united_within_the_vocabulary)
{
    const char generation[] = "{\"eos_token_id\":[2,9,10,3,2]}";
    struct baton_model_config config;
    assert_int_equal(
        parse("{\"vocab_size\":10,\"eos_token_id\":3,\"bos_token_id\":10}", &config, NULL),
        BATON_OK);
    assert_int_equal(config.bos_id, -1);
    assert_int_equal(
        baton_model_config_parse_generation(generation, sizeof generation - 1, &config, NULL),
        BATON_OK);
    assert_int_equal(config.n_eos, 3);
    assert_int_equal(config.eos_ids[0], 3);
    assert_int_equal(config.eos_ids[1], 2);
    assert_int_equal(config.eos_ids[2], 9);
}

TEST(eos_ids_beyond_the_capacity_are_left_out)
{
    struct baton_model_config config;
    assert_int_equal(
        parse("{\"vocab_size\":99,\"eos_token_id\":[0,1,2,3,4,5,6,7,8,9]}", &config, NULL),
        BATON_OK);
    assert_int_equal(config.n_eos, BATON_MODEL_MAX_EOS);
}

TEST(the_files_of_a_model_are_named_in_errors)
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
    assert_int_equal(baton_model_config_read(scratch, &config, source, &why), BATON_OK);
    assert_string_equal(source, in_scratch("config.json"));
    assert_int_equal(config.n_eos, 1);
    write_scratch("generation_config.json", "{\"eos_token_id\":[2]}");
    assert_int_equal(baton_model_config_read(scratch, &config, source, &why), BATON_OK);
    assert_int_equal(config.n_eos, 2);
    write_scratch("generation_config.json", "7");
    assert_int_equal(baton_model_config_read(scratch, &config, source, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "/generation_config.json: must hold one JSON object"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_keys_are_neutral),
        cmocka_unit_test(null_is_as_good_as_absent),
        cmocka_unit_test(of_several_names_the_first_that_is_present_counts),
        cmocka_unit_test(a_value_of_the_wrong_kind_or_size_is_refused_by_its_key),
        cmocka_unit_test(a_size_that_is_required_is_asked_for_by_its_key),
        cmocka_unit_test(eos_ids_of_both_files_are_united_within_the_vocabulary),
        cmocka_unit_test(eos_ids_beyond_the_capacity_are_left_out),
        IN_SCRATCH(the_files_of_a_model_are_named_in_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
