#include "tests/unit/engine/checkpoint/gguf_tokenizer_unit.h"

#include <math.h>

static void assert_refused(struct file *file, enum baton_err expected, const char *reason)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_why why = {""};
    assert_int_equal(read_tables(file, &tables, &why), expected);
    assert_string_equal(why.text, reason);
}

TEST(models_and_steps_that_are_not_known_are_refused_by_name)
{
    struct file file = begin_file("rwkv");
    assert_refused(&file, BATON_INVALID,
                   "x.gguf: tokenizer.ggml.model: \"rwkv\" is not supported (supported: gpt2, "
                   "llama, t5, gemma4, bert)");
    file = begin_file("no_vocab");
    assert_refused(&file, BATON_NOT_FOUND, "x.gguf: the file holds no tokenizer");
    file = byte_file("rot13");
    assert_refused(&file, BATON_INVALID, "x.gguf: tokenizer.ggml.pre: \"rot13\" is not supported");
}

TEST(a_list_that_does_not_fit_is_refused)
{
    static const char *const absent[] = {"a c", NULL}, *const same[] = {"a", "b", "a", NULL};
    struct file file = byte_file("gpt-2");
    put_id(&file, KEY "bos_token_id", 10);
    assert_refused(&file, BATON_INVALID,
                   "x.gguf: tokenizer.ggml.bos_token_id: 10: must be in 0..9");
    file = begin_file("gpt2");
    put_text(&file, KEY "pre", "gpt-2");
    assert_refused(&file, BATON_INVALID, "x.gguf: tokenizer.ggml.tokens must be given");
    file = begin_byte_file("gpt-2", byte_tokens);
    put_types(&file, "111");
    assert_refused(&file, BATON_INVALID,
                   "x.gguf: tokenizer.ggml.token_type must have as many items as "
                   "tokenizer.ggml.tokens");
    file = begin_byte_file("gpt-2", byte_tokens);
    put_texts(&file, KEY "merges", absent);
    assert_refused(
        &file, BATON_INVALID,
        "x.gguf: merges: number 1 has a token or a result that is not in the vocabulary");
    file = begin_byte_file("gpt-2", same);
    put_texts(&file, KEY "merges", byte_merges);
    assert_refused(&file, BATON_INVALID, "x.gguf: vocab: duplicate token \"a\"");
}

TEST(values_of_the_wrong_kind_are_refused)
{
    static const char *const wrong[] = {"a", "\xff", NULL};
    static const float nan[] = {0, NAN};
    struct file file = byte_file("gpt-2");
    put_id(&file, KEY "add_bos_token", 1);
    assert_refused(&file, BATON_INVALID,
                   "x.gguf: tokenizer.ggml.add_bos_token must be true or false");
    file = begin_byte_file("gpt-2", wrong);
    assert_refused(&file, BATON_INVALID, "x.gguf: tokenizer.ggml.tokens: number 1 is not UTF-8");
    file = begin_file("llama");
    put_texts(&file, KEY "tokens", byte_merges);
    assert_refused(&file, BATON_INVALID, "x.gguf: tokenizer.ggml.scores must be given");
    file = begin_file("llama");
    put_texts(&file, KEY "tokens", byte_merges);
    put_scores(&file, nan, 2);
    assert_refused(&file, BATON_INVALID, "x.gguf: tokenizer.ggml.scores must hold finite numbers");
    file = begin_byte_file("gpt-2", byte_merges);
    put_types(&file, "17");
    assert_refused(&file, BATON_INVALID,
                   "x.gguf: tokenizer.ggml.token_type must hold whole numbers in 0..6");
}

TEST(tokens_of_absurd_length_are_refused)
{
    static char long_token[1026], long_piece[258];
    static const char *const tokens[] = {"a", long_token, NULL}, *const two[] = {"a", long_piece,
                                                                                 NULL};
    static const float zeros[2];
    memset(long_token, 'a', sizeof long_token - 1);
    memset(long_piece, 'a', sizeof long_piece - 1);
    struct file file = begin_byte_file("gpt-2", tokens);
    put_types(&file, "13");
    assert_refused(&file, BATON_LIMIT,
                   "x.gguf: tokenizer.ggml.tokens: number 1, an added token, has 1025 bytes, more "
                   "than 1024");
    file = begin_file("llama");
    put_texts(&file, KEY "tokens", two);
    put_scores(&file, zeros, 2);
    assert_refused(&file, BATON_LIMIT,
                   "x.gguf: tokenizer.ggml.tokens: number 1, a piece, has 257 bytes, more than "
                   "256");
}
