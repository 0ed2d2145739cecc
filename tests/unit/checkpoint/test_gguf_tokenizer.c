#include <math.h>

#include "tests/support/gguf_bytes.h"
#include "tests/support/scratch.h"

#include "common/checkpoint/chat_template.h"
#include "common/checkpoint/gguf_chat_template.h"
#include "common/checkpoint/gguf_ids.h"
#include "common/checkpoint/gguf_tokenizer.h"

enum { MAX_BYTES = 16 << 20, MAX_ITEMS = 32 };

#define SPACE "\xe2\x96\x81"
#define KEY   "tokenizer.ggml."

/* The entries of a file without tensors. */
struct file {
    struct baton_buf entries;
    uint64_t n;
};

static struct file begin(const char *model)
{
    struct file file = {.n = 1};
    baton_buf_init(&file.entries, MAX_BYTES);
    put_gguf_string(&file.entries, KEY "model", model);
    return file;
}

static void put_text(struct file *file, const char *key, const char *text)
{
    put_gguf_string(&file->entries, key, text);
    file->n++;
}

static void put_id(struct file *file, const char *key, uint32_t id)
{
    put_gguf_u32(&file->entries, key, id);
    file->n++;
}

static void put_flag(struct file *file, const char *key, bool flag)
{
    put_gguf_entry(&file->entries, key, BATON_GGUF_BOOL, flag, 1);
    file->n++;
}

/* texts end with NULL. */
static void put_texts(struct file *file, const char *key, const char *const *texts)
{
    uint64_t n = 0;
    while (texts[n])
        n++;
    put_gguf_array(&file->entries, key, BATON_GGUF_TEXT, n);
    for (uint64_t i = 0; i < n; i++)
        put_gguf_text(&file->entries, texts[i]);
    file->n++;
}

/* Each digit of digits is a type. */
static void put_types(struct file *file, const char *digits)
{
    put_gguf_array(&file->entries, KEY "token_type", BATON_GGUF_I32, strlen(digits));
    for (; *digits; digits++)
        put_number(&file->entries, (uint64_t)(*digits - '0'), 4);
    file->n++;
}

static void put_scores(struct file *file, const float *scores, uint64_t n)
{
    put_gguf_array(&file->entries, KEY "scores", BATON_GGUF_F32, n);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &scores[i], sizeof bits);
        put_number(&file->entries, bits, 4);
    }
    file->n++;
}

/* The whole file, to be freed. */
static char *end(struct file *file, size_t *n)
{
    struct baton_buf whole;
    baton_buf_init(&whole, MAX_BYTES);
    put_gguf_head(&whole, 3, 0, file->n);
    baton_buf_append(&whole, file->entries.data, file->entries.len);
    put_gguf_data(&whole, 32, 0);
    assert_int_equal(baton_buf_err(&whole), BATON_OK);
    baton_buf_fini(&file->entries);
    *n = whole.len;
    return baton_buf_take(&whole);
}

static enum baton_err parse(char *bytes, size_t n, struct baton_tokenizer_tables **tables,
                            struct baton_why *why)
{
    struct baton_gguf gguf;
    struct baton_tokenizer_tables *read = calloc(1, sizeof *read);
    assert_non_null(read);
    read->unk_id = BATON_NO_TOKEN;
    (void)strcpy(read->file, "x.gguf");
    assert_int_equal(baton_gguf_parse((const uint8_t *)bytes, n, &gguf, why), BATON_OK);
    enum baton_err err = baton_gguf_tokenizer_read(&gguf, read, why);
    baton_gguf_fini(&gguf);
    if (err)
        baton_tokenizer_tables_free(read);
    else
        *tables = read;
    return err;
}

/* Nothing of the file is kept. */
static struct baton_tokenizer_tables *read_end(struct file *file)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_why why = {""};
    size_t n;
    char *bytes = end(file, &n);
    if (parse(bytes, n, &tables, &why))
        fail_msg("%s", why.text);
    free(bytes);
    return tables;
}

static void assert_refused(struct file *file, enum baton_err expected, const char *reason)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_why why = {""};
    size_t n;
    char *bytes = end(file, &n);
    assert_int_equal(parse(bytes, n, &tables, &why), expected);
    free(bytes);
    assert_string_equal(why.text, reason);
}

/* ---- byte-level BPE ---- */

static const char *const byte_tokens[] = {"a",
                                          "b",
                                          "ab",
                                          "<think>",
                                          "<|im_end|>",
                                          "[PAD5]",
                                          "[PAD",
                                          "\xc4\xa0",
                                          "<s>",
                                          "\xc4\xa0"
                                          "a",
                                          NULL};
static const char *const byte_merges[] = {"a b", "\xc4\xa0 a", NULL};

static struct file byte_file(const char *pre)
{
    struct file file = begin("gpt2");
    put_text(&file, KEY "pre", pre);
    put_texts(&file, KEY "tokens", byte_tokens);
    put_texts(&file, KEY "merges", byte_merges);
    put_types(&file, "1114151131");
    return file;
}

static void assert_added(const struct baton_added_row *row, const char *text, uint32_t id,
                         bool special)
{
    assert_string_equal(row->text, text);
    assert_int_equal(row->n_bytes, strlen(text));
    assert_int_equal(row->id, id);
    assert_int_equal(row->special, special);
    assert_false(row->normalized || row->lstrip || row->rstrip || row->single_word);
}

TEST(a_byte_level_tokenizer_has_its_tokens_merges_and_the_steps_of_its_name)
{
    struct file file = byte_file("qwen2");
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->model, BATON_TOKENIZER_BPE);
    assert_int_equal(tables->n_tokens, 10);
    assert_string_equal(tables->tokens[2].text, "ab");
    assert_null(tables->tokens[5].text);
    assert_string_equal(tables->tokens[6].text, "[PAD");
    assert_int_equal(tables->n_merges, 2);
    assert_int_equal(tables->merges[0].merged, 2);
    assert_int_equal(tables->merges[1].left, 7);
    assert_int_equal(tables->n_added, 3);
    assert_added(&tables->added[0], "<think>", 3, false);
    assert_added(&tables->added[1], "<|im_end|>", 4, true);
    assert_added(&tables->added[2], "<s>", 8, true);
    assert_int_equal(tables->steps.n_normalizer, 1);
    assert_int_equal(tables->steps.normalizer[0].kind, BATON_NORMALIZER_NFC);
    assert_int_equal(tables->steps.n_pretokenizer, 2);
    assert_int_equal(tables->steps.pretokenizer[1].kind, BATON_PRETOKENIZER_BYTE_LEVEL);
    assert_int_equal(tables->steps.n_first, 0);
    assert_false(tables->ignore_merges || tables->byte_fallback);
    assert_int_equal(tables->unk_id, BATON_NO_TOKEN);
    baton_tokenizer_tables_free(tables);
}

TEST(a_token_that_ends_a_text_is_special_whatever_its_type)
{
    struct file file = begin("gpt2");
    put_text(&file, KEY "pre", "gpt-2");
    put_texts(&file, KEY "tokens", byte_tokens);
    put_texts(&file, KEY "merges", byte_merges);
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->n_added, 1);
    assert_added(&tables->added[0], "<|im_end|>", 4, true);
    baton_tokenizer_tables_free(tables);
}

TEST(the_name_of_the_steps_says_whether_a_text_gets_a_first_token_unless_a_key_does)
{
    static const struct {
        const char *pre;
        int key; /* -1: none */
        int n_first;
    } cases[] = {{"llama-bpe", -1, 1}, {"llama-bpe", 0, 0}, {"qwen2", -1, 0},
                 {"qwen2", 1, 1},      {"tekken", -1, 1},   {"gpt-4o", -1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct file file = byte_file(cases[i].pre);
        put_id(&file, KEY "bos_token_id", 8);
        if (cases[i].key >= 0)
            put_flag(&file, KEY "add_bos_token", cases[i].key);
        struct baton_tokenizer_tables *tables = read_end(&file);
        assert_int_equal(tables->steps.n_first, cases[i].n_first);
        if (cases[i].n_first)
            assert_int_equal(tables->steps.first_ids[0], 8);
        assert_int_equal(tables->steps.n_last, 0);
        baton_tokenizer_tables_free(tables);
    }
}

TEST(steps_that_stand_behind_the_bytes_stay_there)
{
    struct file file = byte_file("falcon");
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->steps.n_pretokenizer, 5);
    assert_int_equal(tables->steps.pretokenizer[0].behavior, BATON_SPLIT_CONTIGUOUS);
    assert_int_equal(tables->steps.pretokenizer[2].kind, BATON_PRETOKENIZER_BYTE_LEVEL);
    assert_int_equal(tables->steps.pretokenizer[4].kind, BATON_PRETOKENIZER_SPLIT);
    baton_tokenizer_tables_free(tables);
}

/* ---- SentencePiece ---- */

static const char *const pieces[] = {"<unk>", "<s>", "</s>",    "<0x41>", SPACE, "a", "b",
                                     "ab",    "aa",  SPACE "a", "aab",    "  ",  NULL};
static const float scores[] = {0, 0, 0, 0, -9, -9, -9, -1, -3, -2, -1.5F, -1000};

static struct file piece_file(void)
{
    struct file file = begin("llama");
    put_texts(&file, KEY "tokens", pieces);
    put_types(&file, "233611111114");
    put_scores(&file, scores, 12);
    return file;
}

static void assert_merge(const struct baton_merge_row *row, uint32_t left, uint32_t right,
                         uint32_t merged)
{
    assert_int_equal(row->left, left);
    assert_int_equal(row->right, right);
    assert_int_equal(row->merged, merged);
}

TEST(pieces_and_scores_become_merges_in_the_order_of_the_scores)
{
    struct file file = piece_file();
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->n_merges, 6);
    assert_merge(&tables->merges[0], 4, 4, 11); /* user-defined: 0 */
    assert_merge(&tables->merges[1], 5, 6, 7);
    assert_merge(&tables->merges[2], 5, 7, 10); /* of one piece, the lower left id */
    assert_merge(&tables->merges[3], 8, 6, 10);
    assert_merge(&tables->merges[4], 4, 5, 9);
    assert_merge(&tables->merges[5], 5, 5, 8);
    assert_null(tables->scores);
    assert_true(tables->byte_fallback && tables->fuse_unk && !tables->ignore_merges);
    assert_int_equal(tables->unk_id, 0);
    baton_tokenizer_tables_free(tables);
}

TEST(gemmas_equal_scores_are_in_the_order_of_lengths)
{
    struct file file = piece_file();
    put_text(&file, "general.architecture", "gemma2");
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_merge(&tables->merges[2], 8, 6, 10);
    assert_merge(&tables->merges[3], 5, 7, 10);
    baton_tokenizer_tables_free(tables);
}

TEST(user_defined_spaces_are_pieces_again)
{
    struct file file = piece_file();
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_string_equal(tables->tokens[11].text, SPACE SPACE);
    assert_int_equal(tables->n_added, 4);
    assert_added(&tables->added[0], "<unk>", 0, true);
    assert_added(&tables->added[3], SPACE SPACE, 11, false);
    baton_tokenizer_tables_free(tables);
}

TEST(sentencepiece_has_a_space_and_a_token_first_unless_keys_say_otherwise)
{
    struct file file = piece_file();
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->steps.n_normalizer, 2);
    assert_int_equal(tables->steps.normalizer[0].kind, BATON_NORMALIZER_PREPEND);
    assert_int_equal(tables->steps.n_decoder, 4);
    assert_int_equal(tables->steps.n_first, 1);
    assert_int_equal(tables->steps.first_ids[0], 1); /* by custom */
    baton_tokenizer_tables_free(tables);
    file = piece_file();
    put_flag(&file, KEY "add_space_prefix", false);
    put_flag(&file, KEY "add_bos_token", false);
    put_flag(&file, KEY "add_eos_token", true);
    tables = read_end(&file);
    assert_int_equal(tables->steps.n_normalizer, 1);
    assert_int_equal(tables->steps.n_decoder, 3);
    assert_int_equal(tables->steps.n_first, 0);
    assert_int_equal(tables->steps.n_last, 1);
    assert_int_equal(tables->steps.last_ids[0], 2);
    baton_tokenizer_tables_free(tables);
}

TEST(phi_3s_special_tokens_take_the_spaces_behind_them)
{
    static const char *const tokens[] = {"<unk>", "<s>", "</s>", "<|end|>", "<|endoftext|>", NULL};
    static const float zeros[5];
    struct file file = begin("llama");
    put_text(&file, "general.architecture", "phi3");
    put_texts(&file, KEY "tokens", tokens);
    put_types(&file, "23433");
    put_scores(&file, zeros, 5);
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->n_added, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(tables->added[i].rstrip, i == 2 || i == 3);
    baton_tokenizer_tables_free(tables);
}

TEST(unigram_keeps_its_scores_and_its_map_of_characters)
{
    struct file file = begin("t5");
    put_texts(&file, KEY "tokens", pieces);
    put_types(&file, "233611111114");
    put_scores(&file, scores, 12);
    put_gguf_array(&file.entries, KEY "precompiled_charsmap", BATON_GGUF_U8, 4);
    baton_buf_puts(&file.entries, "abcd");
    file.n++;
    put_flag(&file, KEY "remove_extra_whitespaces", true);
    put_id(&file, KEY "unknown_token_id", 0);
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->model, BATON_TOKENIZER_UNIGRAM);
    assert_true(tables->scores[7] == -1 && tables->scores[11] == 0);
    assert_int_equal(tables->unk_id, 0);
    assert_int_equal(tables->steps.n_normalizer, 3);
    assert_int_equal(tables->steps.normalizer[0].kind, BATON_NORMALIZER_PRECOMPILED);
    assert_string_equal(tables->steps.normalizer[0].content.bytes, "YWJjZA==");
    assert_int_equal(tables->steps.n_first, 0);
    assert_int_equal(tables->steps.n_last, 1);
    assert_int_equal(tables->steps.last_ids[0], 1);
    baton_tokenizer_tables_free(tables);
}

/* ---- what is refused ---- */

TEST(models_and_steps_that_are_not_known_are_refused_by_name)
{
    struct file file = begin("bert");
    assert_refused(
        &file, BATON_INVALID,
        "x.gguf: tokenizer.ggml.model: \"bert\" is not supported, but gpt2, llama and t5");
    file = begin("no_vocab");
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
    file = begin("gpt2");
    put_text(&file, KEY "pre", "gpt-2");
    assert_refused(&file, BATON_INVALID, "x.gguf: tokenizer.ggml.tokens must be given");
    file = begin("gpt2");
    put_text(&file, KEY "pre", "gpt-2");
    put_texts(&file, KEY "tokens", byte_tokens);
    put_types(&file, "111");
    assert_refused(&file, BATON_INVALID,
                   "x.gguf: tokenizer.ggml.token_type must have as many items as "
                   "tokenizer.ggml.tokens");
    file = begin("gpt2");
    put_text(&file, KEY "pre", "gpt-2");
    put_texts(&file, KEY "tokens", byte_tokens);
    put_texts(&file, KEY "merges", absent);
    assert_refused(
        &file, BATON_INVALID,
        "x.gguf: merges: number 1 has a token or a result that is not in the vocabulary");
    file = begin("gpt2");
    put_text(&file, KEY "pre", "gpt-2");
    put_texts(&file, KEY "tokens", same);
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
    file = begin("gpt2");
    put_text(&file, KEY "pre", "gpt-2");
    put_texts(&file, KEY "tokens", wrong);
    assert_refused(&file, BATON_INVALID, "x.gguf: tokenizer.ggml.tokens: number 1 is not UTF-8");
    file = begin("llama");
    put_texts(&file, KEY "tokens", byte_merges);
    assert_refused(&file, BATON_INVALID, "x.gguf: tokenizer.ggml.scores must be given");
    file = begin("llama");
    put_texts(&file, KEY "tokens", byte_merges);
    put_scores(&file, nan, 2);
    assert_refused(&file, BATON_INVALID, "x.gguf: tokenizer.ggml.scores must hold finite numbers");
    file = begin("gpt2");
    put_text(&file, KEY "pre", "gpt-2");
    put_texts(&file, KEY "tokens", byte_merges);
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
    struct file file = begin("gpt2");
    put_text(&file, KEY "pre", "gpt-2");
    put_texts(&file, KEY "tokens", tokens);
    put_types(&file, "13");
    assert_refused(&file, BATON_LIMIT,
                   "x.gguf: tokenizer.ggml.tokens: number 1, an added token, has 1025 bytes, more "
                   "than 1024");
    file = begin("llama");
    put_texts(&file, KEY "tokens", two);
    put_scores(&file, zeros, 2);
    assert_refused(&file, BATON_LIMIT,
                   "x.gguf: tokenizer.ggml.tokens: number 1, a piece, has 257 bytes, more than "
                   "256");
}

/* ---- end tokens ---- */

static enum baton_err apply(struct file *file, struct baton_model_config *config,
                            struct baton_why *why)
{
    struct baton_gguf gguf;
    size_t n;
    char *bytes = end(file, &n);
    assert_int_equal(baton_gguf_parse((const uint8_t *)bytes, n, &gguf, why), BATON_OK);
    enum baton_err err = baton_gguf_ids_apply(&gguf, config, why);
    baton_gguf_fini(&gguf);
    free(bytes);
    return err;
}

static void assert_ends(const char *const *tokens, const int64_t *expected, int n)
{
    struct baton_model_config config = {.n_vocab = 64};
    struct baton_why why = {""};
    struct file file = begin("gpt2");
    put_texts(&file, KEY "tokens", tokens);
    put_id(&file, KEY "eos_token_id", 1);
    put_id(&file, KEY "eot_token_id", 0);
    assert_int_equal(apply(&file, &config, &why), BATON_OK);
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
                        "tokenizer.ggml.tokens: number 4 ends a text, but the model has only 4");
    file = begin("none"); /* without a vocabulary */
    put_id(&file, KEY "eos_token_id", 3);
    assert_int_equal(apply(&file, &config, &why), BATON_OK);
    assert_int_equal(config.n_eos, 1);
    assert_int_equal(config.eos_ids[0], 3);
}

/* ---- a file ---- */

static void write_file(struct file *file)
{
    size_t n;
    char *bytes = end(file, &n);
    FILE *out = fopen(in_scratch("model.gguf"), "w");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
    free(bytes);
}

TEST(templates_and_the_texts_of_tokens_are_in_the_file)
{
    struct baton_chat_template source = {0};
    struct baton_why why = {""};
    struct file file = byte_file("gpt-2");
    put_id(&file, KEY "bos_token_id", 8);
    put_id(&file, KEY "eos_token_id", 4);
    put_text(&file, "tokenizer.chat_template", "{{ bos_token }}");
    put_text(&file, "tokenizer.chat_template.tool_use", "{{ tools }}");
    write_file(&file);
    assert_int_equal(baton_chat_template_read(in_scratch("model.gguf"), &source, &why), BATON_OK);
    assert_string_equal(source.jinja, "{{ bos_token }}");
    assert_int_equal(source.n_jinja, 15);
    assert_string_equal(source.tools_jinja, "{{ tools }}");
    assert_string_equal(source.bos, "<s>");
    assert_string_equal(source.eos, "<|im_end|>");
    baton_chat_template_fini(&source);
    file = byte_file("gpt-2");
    put_id(&file, "tokenizer.chat_template", 1);
    write_file(&file);
    assert_int_equal(baton_chat_template_read(in_scratch("model.gguf"), &source, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "model.gguf: tokenizer.chat_template must be a text"));
    baton_chat_template_fini(&source);
}

/* Of 65,536 tokens. */
static void write_large(const char *pre)
{
    struct file file = begin("gpt2");
    char token[16];
    put_text(&file, KEY "pre", pre);
    put_texts(&file, KEY "merges", byte_merges);
    put_gguf_array(&file.entries, KEY "tokens", BATON_GGUF_TEXT, 65536);
    for (int i = 0; i < 65536; i++) {
        (void)snprintf(token, sizeof token, "t%d", i);
        put_gguf_text(&file.entries, i < 10 ? byte_tokens[i] : token);
    }
    file.n++;
    write_file(&file);
}

static struct baton_tokenizer_tables *recall(struct baton_why *why)
{
    static const char digest[BATON_SHA256_HEX] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct baton_cache_dirs dirs;
    struct baton_tokenizer_tables *tables = NULL;
    baton_cache_dirs_find(in_scratch("kept"), scratch, &dirs);
    assert_int_equal(dirs.n, 1);
    if (baton_tokenizer_tables_recall(in_scratch("model.gguf"), &dirs, digest, &tables, why))
        return NULL;
    return tables;
}

TEST(a_large_vocabulary_is_read_once)
{
    struct baton_why why = {""};
    write_large("gpt-2");
    struct baton_tokenizer_tables *first = recall(&why);
    assert_non_null(first);
    assert_null(first->kept.data);
    write_large("qwen2"); /* only the steps are read again */
    struct baton_tokenizer_tables *second = recall(&why);
    assert_non_null(second);
    assert_non_null(second->kept.data);
    assert_int_equal(second->n_tokens, 65536);
    assert_string_equal(second->tokens[65535].text, "t65535");
    assert_int_equal(second->n_merges, 2);
    assert_int_equal(second->steps.n_normalizer, 1);
    assert_string_equal(second->file, in_scratch("model.gguf"));
    baton_tokenizer_tables_free(first);
    baton_tokenizer_tables_free(second);
    write_large("rot13");
    assert_null(recall(&why));
    assert_non_null(strstr(why.text, "\"rot13\" is not supported"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_level_tokenizer_has_its_tokens_merges_and_the_steps_of_its_name),
        cmocka_unit_test(a_token_that_ends_a_text_is_special_whatever_its_type),
        cmocka_unit_test(
            the_name_of_the_steps_says_whether_a_text_gets_a_first_token_unless_a_key_does),
        cmocka_unit_test(steps_that_stand_behind_the_bytes_stay_there),
        cmocka_unit_test(pieces_and_scores_become_merges_in_the_order_of_the_scores),
        cmocka_unit_test(gemmas_equal_scores_are_in_the_order_of_lengths),
        cmocka_unit_test(user_defined_spaces_are_pieces_again),
        cmocka_unit_test(sentencepiece_has_a_space_and_a_token_first_unless_keys_say_otherwise),
        cmocka_unit_test(phi_3s_special_tokens_take_the_spaces_behind_them),
        cmocka_unit_test(unigram_keeps_its_scores_and_its_map_of_characters),
        cmocka_unit_test(models_and_steps_that_are_not_known_are_refused_by_name),
        cmocka_unit_test(a_list_that_does_not_fit_is_refused),
        cmocka_unit_test(values_of_the_wrong_kind_are_refused),
        cmocka_unit_test(tokens_of_absurd_length_are_refused),
        cmocka_unit_test(a_generation_ends_with_named_tokens_and_with_those_known_by_their_texts),
        cmocka_unit_test(a_token_beyond_the_models_vocabulary_ends_nothing),
        IN_SCRATCH(templates_and_the_texts_of_tokens_are_in_the_file),
        IN_SCRATCH(a_large_vocabulary_is_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
