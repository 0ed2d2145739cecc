#include "tests/unit/engine/checkpoint/gguf_tokenizer_unit.h"

#include "engine/checkpoint/gguf/ids.h"

static enum baton_err apply(struct file *file, struct baton_model_config *config,
                            struct baton_why *why)
{
    struct baton_gguf gguf;
    size_t n;
    char *bytes = end_file(file, &n);
    assert_ok(baton_gguf_parse((const uint8_t *)bytes, n, &gguf, why));
    enum baton_err err = baton_gguf_ids_apply(&gguf, config, why);
    baton_gguf_fini(&gguf);
    free(bytes);
    return err;
}

static void assert_ends(const char *const *tokens, const int64_t *expected, int n)
{
    struct baton_model_config config = {.n_vocab = 64};
    struct baton_why why = {""};
    struct file file = begin_file("gpt2");
    put_texts(&file, KEY "tokens", tokens);
    put_id(&file, KEY "eos_token_id", 1);
    put_id(&file, KEY "eot_token_id", 0);
    assert_ok(apply(&file, &config, &why));
    assert_int_equal(config.bos_id, -1);
    assert_int_equal(config.n_eos, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(config.eos_ids[i], expected[i]);
}

TEST(a_generation_ends_with_named_tokens_and_with_those_known_by_their_texts)
{
    static const char *const tokens[] = {"<EOT>", "</s>", "a", "<|eot_id|>", "<|eom_id|>", NULL};
    static const char *const harmony[] = {"<|end|>", "<|return|>", "<|call|>", NULL};
    static const char *const no_call[] = {"<|end|>", "<|return|>", NULL};
    assert_ends(tokens, (const int64_t[]){1, 0, 3, 4}, 4);
    assert_ends(harmony, (const int64_t[]){1, 2}, 2);
    assert_ends(no_call, (const int64_t[]){1, 0}, 2);
}

TEST(a_token_beyond_the_models_vocabulary_ends_nothing)
{
    struct baton_model_config config = {.n_vocab = 4};
    struct baton_why why = {""};
    struct file file = byte_file("gpt-2");
    assert_int_equal(apply(&file, &config, &why), BATON_INVALID);
    assert_string_equal(why.text,
                        "tokenizer.ggml.tokens: token 4 ends a text, but the model has only 4 ids");
    file = begin_file("none"); /* without a vocabulary */
    put_id(&file, KEY "eos_token_id", 3);
    assert_ok(apply(&file, &config, &why));
    assert_int_equal(config.n_eos, 1);
    assert_int_equal(config.eos_ids[0], 3);
}

TEST(newer_keys_of_fill_in_the_middle_count_before_older_ones)
{
    static const char *const tokens[] = {"a", "b", "c", "d", "e", "f", NULL};
    struct baton_model_config config = {.n_vocab = 6};
    struct baton_why why = {""};
    struct file file = begin_file("gpt2");
    put_texts(&file, KEY "tokens", tokens);
    put_id(&file, KEY "prefix_token_id", 1);
    put_id(&file, KEY "fim_pre_token_id", 2);
    put_id(&file, KEY "suffix_token_id", 3);
    put_id(&file, KEY "fim_rep_token_id", 5);
    assert_ok(apply(&file, &config, &why));
    static const int64_t expected[] = {2, 3, -1, -1, 5, -1};
    for (int i = 0; i < BATON_N_FIM_TOKENS; i++)
        assert_int_equal(config.fim_ids[i], expected[i]);
    file = begin_file("gpt2");
    put_texts(&file, KEY "tokens", tokens);
    put_id(&file, KEY "fim_mid_token_id", 6);
    assert_int_equal(apply(&file, &config, &why), BATON_INVALID);
    assert_string_equal(why.text, "tokenizer.ggml.fim_mid_token_id: 6: must be in 0..5");
}

TEST(the_end_of_one_of_solar_opens_messages_ends_nothing)
{
    static const char *const solar[] = {"<|end|>", "<|flush|>", "<|calls|>", NULL};
    assert_ends(solar, (const int64_t[]){1, 2}, 2);
}
