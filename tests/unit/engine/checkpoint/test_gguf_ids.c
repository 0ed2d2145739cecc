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
