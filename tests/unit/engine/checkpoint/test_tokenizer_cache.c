#include "tests/support/scratch.h"

#include "common/base/os/file.h"
#include "engine/checkpoint/tokenizer_cache.h"

#define JSON                                                                                       \
    "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"decoder\":null,"     \
    "\"added_tokens\":[{\"id\":9,\"content\":\"<s>\",\"special\":true,\"rstrip\":true},"           \
    "{\"id\":3,\"content\":\"c\",\"normalized\":true}],"                                           \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"b\",\"ignore_merges\":true,"                      \
    "\"vocab\":{\"b\":1,\"ab\":4,\"a\":0,\"c\":3},\"merges\":[[\"a\",\"b\"]]}"
#define UNIGRAM                                                                                    \
    "{\"decoder\":{\"type\":\"Fuse\"},\"model\":{\"type\":\"Unigram\",\"unk_id\":1,"               \
    "\"vocab\":[[\"a\",-1.5],[\"?\",0],[\"b\",-2e1]]}}"

enum { MAX_BYTES = 1 << 16, PADDING_BYTES = 4 << 20 };

static const char digest[BATON_SHA256_HEX] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static struct baton_tokenizer_tables *parse(const char *json)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_why why;
    if (baton_tokenizer_tables_parse("x", json, strlen(json), &tables, &why))
        fail_msg("%s", why.text);
    return tables;
}

static void assert_same_rows(const struct baton_tokenizer_tables *a,
                             const struct baton_tokenizer_tables *b)
{
    assert_int_equal(a->n_tokens, b->n_tokens);
    for (size_t id = 0; id < a->n_tokens; id++) {
        assert_int_equal(!a->tokens[id].text, !b->tokens[id].text);
        if (a->tokens[id].text)
            assert_string_equal(a->tokens[id].text, b->tokens[id].text);
        assert_int_equal(a->tokens[id].n_bytes, b->tokens[id].n_bytes);
    }
    assert_int_equal(a->n_added, b->n_added);
    for (size_t i = 0; i < a->n_added; i++) {
        assert_string_equal(a->added[i].text, b->added[i].text);
        assert_int_equal(a->added[i].id, b->added[i].id);
        assert_int_equal(a->added[i].special, b->added[i].special);
        assert_int_equal(a->added[i].rstrip, b->added[i].rstrip);
        assert_int_equal(a->added[i].normalized, b->added[i].normalized);
    }
}

static void assert_same(const struct baton_tokenizer_tables *a,
                        const struct baton_tokenizer_tables *b)
{
    assert_same_rows(a, b);
    assert_int_equal(a->model, b->model);
    assert_int_equal(a->unk_id, b->unk_id);
    assert_int_equal(a->ignore_merges, b->ignore_merges);
    assert_int_equal(a->n_merges, b->n_merges);
    if (a->n_merges)
        assert_memory_equal(a->merges, b->merges, a->n_merges * sizeof *a->merges);
    if (a->scores)
        assert_memory_equal(a->scores, b->scores, a->n_tokens * sizeof *a->scores);
    assert_int_equal(a->n_steps_json, b->n_steps_json);
    assert_memory_equal(a->steps_json, b->steps_json, a->n_steps_json);
}

static enum baton_err parse_form(const char *bytes, size_t n, const char *of,
                                 struct baton_tokenizer_tables **tables)
{
    struct baton_why why = {""};
    struct baton_tokenizer_tables *read = calloc(1, sizeof *read);
    assert_non_null(read);
    enum baton_err err = baton_tokenizer_cache_parse(bytes, n, of, read, &why);
    if (err || !tables)
        baton_tokenizer_tables_free(read);
    else
        *tables = read;
    return err;
}

TEST_ALONE(cached_tables_equal_the_parsed_ones)
{
    static const char *const texts[] = {JSON "}", UNIGRAM};
    for (size_t i = 0; i < 2; i++) {
        struct baton_tokenizer_tables *tables = parse(texts[i]), *back = NULL;
        struct baton_buf form;
        baton_buf_init(&form, MAX_BYTES);
        baton_tokenizer_cache_write(tables, digest, &form);
        assert_ok(baton_buf_err(&form));
        assert_ok(parse_form(form.data, form.len, digest, &back));
        assert_same(tables, back);
        baton_tokenizer_tables_free(tables);
        baton_tokenizer_tables_free(back);
        baton_buf_fini(&form);
    }
}

TEST_ALONE(a_changed_byte_and_a_missing_end_are_noticed)
{
    struct baton_tokenizer_tables *tables = parse(JSON "}");
    struct baton_buf form;
    baton_buf_init(&form, MAX_BYTES);
    baton_tokenizer_cache_write(tables, digest, &form);
    for (size_t i = 0; i < form.len; i++) {
        form.data[i] ^= 1;
        assert_int_equal(parse_form(form.data, form.len, digest, NULL), BATON_CORRUPT);
        form.data[i] ^= 1;
        assert_int_equal(parse_form(form.data, i, digest, NULL), BATON_CORRUPT);
    }
    assert_int_equal(parse_form(form.data, form.len,
                                "fedcba9876543210fedcba9876543210fedcba98765432"
                                "10fedcba9876543210",
                                NULL),
                     BATON_CORRUPT);
    baton_tokenizer_tables_free(tables);
    baton_buf_fini(&form);
}

/* A tokenizer.json that is large enough to be kept. */
static void write_large(const char *tail)
{
    char *text = malloc(PADDING_BYTES + 4096);
    assert_non_null(text);
    int n = snprintf(text, 4096, "%s", JSON);
    memset(text + n, ' ', PADDING_BYTES);
    (void)snprintf(text + n + PADDING_BYTES, 16, "%s", tail);
    write_scratch("tokenizer.json", text);
    free(text);
}

static struct baton_tokenizer_tables *recall(void)
{
    struct baton_cache_dirs dirs;
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_why why = {""};
    baton_cache_dirs_find(in_scratch("kept"), scratch, &dirs);
    assert_int_equal(dirs.n, 1);
    if (baton_tokenizer_tables_recall(scratch, &dirs, digest, &tables, &why))
        return NULL;
    return tables;
}

TEST(a_large_file_is_parsed_once)
{
    write_large("}");
    struct baton_tokenizer_tables *first = recall();
    assert_non_null(first);
    assert_null(first->kept.data);
    write_large("x"); /* no JSON: parsing it again would fail */
    struct baton_tokenizer_tables *second = recall();
    assert_non_null(second);
    assert_non_null(second->kept.data);
    assert_same(first, second);
    assert_string_equal(second->file, in_scratch("tokenizer.json"));
    assert_int_equal(second->steps.n_pretokenizer, 2);
    baton_tokenizer_tables_free(first);
    baton_tokenizer_tables_free(second);
    write_scratch("kept/0123456789abcdef.tokenizer", "no such file");
    assert_null(recall());
}

TEST(some_classes_take_a_prompts_bos_and_eos_from_the_config)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_why why;
    write_scratch("tokenizer.json", JSON "}");
    write_scratch(
        "tokenizer_config.json",
        "{\"tokenizer_class\":\"LlamaTokenizerFast\",\"add_bos_token\":true,"
        "\"bos_token\":{\"content\":\"<s>\"},\"eos_token\":\"ab\",\"add_eos_token\":true}");
    assert_ok(baton_tokenizer_tables_read(scratch, &tables, &why));
    assert_int_equal(tables->steps.n_first, 1);
    assert_int_equal(tables->steps.first_ids[0], 9);
    assert_int_equal(tables->steps.n_last, 1);
    assert_int_equal(tables->steps.last_ids[0], 4);
    baton_tokenizer_tables_free(tables);
    write_scratch("tokenizer_config.json",
                  "{\"tokenizer_class\":\"Qwen2Tokenizer\",\"add_bos_token\":true,"
                  "\"bos_token\":\"<s>\"}");
    assert_ok(baton_tokenizer_tables_read(scratch, &tables, &why));
    assert_int_equal(tables->steps.n_first, 0);
    baton_tokenizer_tables_free(tables);
}

EACH_TEST(make_scratch, remove_scratch)
