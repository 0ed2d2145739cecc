#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/fim.h"
#include "engine/tokenizer/tokens.h"

enum { FIRST_ADDED = 200, N_VOCAB = 206, PLENTY = 1 << 20 };

static const int64_t unnamed[BATON_N_FIM_TOKENS] = {-1, -1, -1, -1, -1, -1};

/* A tokenizer of one token for each ASCII character, and the added tokens of a model. */
struct model {
    struct baton_tokenizer_tables *tables;
    struct baton_tokenizer *tokenizer;
    struct baton_fim fim;
};

static void put_characters(struct baton_buf *json)
{
    for (int c = '!'; c <= '~'; c++)
        baton_buf_printf(json, c == '"' || c == '\\' ? "\"\\%c\":%d," : "\"%c\":%d,", c, c);
    baton_buf_puts(json,
                   "\"\u0120\":32,\"\u010a\":10,\"\u00e2\":128,\"\u013a\":129,\"\u00ba\":130");
}

/* names: texts of the added tokens, divided by spaces. */
static struct model make(const char *names, const int64_t *named)
{
    struct model model = {.tables = NULL};
    struct baton_buf json;
    struct baton_why why = {""};
    baton_buf_init(&json, 1 << 16);
    baton_buf_puts(&json, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                          "\"use_regex\":true},\"added_tokens\":[");
    int id = FIRST_ADDED;
    for (const char *name = names; *name; name += strcspn(name, " "), name += *name == ' ')
        baton_buf_printf(&json,
                         "%s{\"id\":%d,\"content\":\"%.*s\",\"special\":false,\"normalized\":false,"
                         "\"lstrip\":false,\"rstrip\":false,\"single_word\":false}",
                         id == FIRST_ADDED ? "" : ",", id, (int)strcspn(name, " "), name),
            id++;
    baton_buf_puts(&json, "],\"model\":{\"type\":\"BPE\",\"vocab\":{");
    put_characters(&json);
    baton_buf_puts(&json, "},\"merges\":[]}}");
    if (baton_tokenizer_tables_parse("tokenizer.json", json.data, json.len, &model.tables, &why) ||
        baton_tokenizer_create(model.tables, &model.tokenizer, &why))
        fail_msg("%s", why.text);
    baton_fim_find(model.tables, named, N_VOCAB, &model.fim);
    baton_buf_fini(&json);
    return model;
}

static void drop(struct model *model)
{
    baton_tokenizer_close(model->tokenizer);
    baton_tokenizer_tables_free(model->tables);
}

static struct baton_fim_text text(const char *bytes)
{
    return (struct baton_fim_text){bytes, strlen(bytes)};
}

/* Returns the prompt with its tokens, without spaces, for free(). */
static char *prompt_of(const struct model *model, const struct baton_fim_parts *parts,
                       const struct baton_fim_limits *limits, bool *was_cut, size_t *n_tokens)
{
    struct baton_tokens tokens = {0};
    struct baton_buf all;
    baton_buf_init(&all, PLENTY);
    assert_ok(
        baton_fim_encode(model->tokenizer, &model->fim, parts, limits, &tokens, was_cut, NULL));
    for (size_t i = 0; i < tokens.n; i++) {
        size_t n;
        const char *bytes = baton_tokenizer_bytes(model->tokenizer, tokens.ids[i], &n);
        baton_buf_append(&all, bytes, n);
    }
    char *copy = strdup(baton_buf_text(&all));
    *n_tokens = tokens.n;
    baton_tokens_fini(&tokens);
    baton_buf_fini(&all);
    return copy;
}

static void assert_prompt(const struct model *model, const struct baton_fim_parts *parts,
                          size_t batch, size_t files, const char *expected)
{
    bool was_cut;
    size_t n;
    const struct baton_fim_limits limits = {.max_tokens = PLENTY, .batch = batch, .files = files};
    char *prompt = prompt_of(model, parts, &limits, &was_cut, &n);
    assert_string_equal(prompt, expected);
    free(prompt);
}

TEST(each_family_has_its_own_order)
{
    static const char *const rows[][2] = {
        {"<|fim_prefix|> <|fim_suffix|> <|fim_middle|>", "<|fim_prefix|>ab<|fim_suffix|>cd"
                                                         "<|fim_middle|>"},
        {"<fim_prefix> <fim_suffix> <fim_middle>", "<fim_prefix>ab<fim_suffix>cd<fim_middle>"},
        {"<｜fim▁begin｜> <｜fim▁hole｜> <｜fim▁end｜>",
         "<｜fim▁begin｜>ab<｜fim▁hole｜>cd<｜fim▁end｜>"},
        {"▁<PRE> ▁<SUF> ▁<MID>", "▁<PRE>ab▁<SUF>cd▁<MID>"},
        {"[INST] [SUFFIX] [PREFIX] [MIDDLE]", "[SUFFIX]cd[PREFIX]ab"},
        {"<[fim-prefix]> <[fim-suffix]> <[fim-middle]>",
         "<[fim-suffix]>cd<[fim-prefix]>ab<[fim-middle]>"},
        {"<|code_prefix|> <|code_suffix|> <|code_middle|>",
         "<|code_prefix|>ab<|code_suffix|>cd<|code_middle|>"},
    };
    const struct baton_fim_parts parts = {.prefix = text("ab"), .suffix = text("cd")};
    for (size_t i = 0; i < BATON_N_OF(rows); i++) {
        struct model model = make(rows[i][0], unnamed);
        struct baton_why why;
        assert_false(baton_fim_lacks(&model.fim, &why));
        assert_prompt(&model, &parts, 0, 0, rows[i][1]);
        drop(&model);
    }
}

TEST(keys_of_a_file_count_before_texts)
{
    const int64_t named[] = {FIRST_ADDED, FIRST_ADDED + 1, FIRST_ADDED + 2, -1, -1, -1};
    struct model model = make("<x> <y> <z> [PREFIX] [SUFFIX]", named);
    const struct baton_fim_parts parts = {.prefix = text("ab"), .suffix = text("cd")};
    assert_prompt(&model, &parts, 0, 0, "<x>ab<y>cd<z>");
    drop(&model);
}

TEST(a_model_that_lacks_a_token_says_which)
{
    struct model model = make("<fim_prefix> <fim_middle>", unnamed);
    struct baton_why why = {""};
    assert_true(baton_fim_lacks(&model.fim, &why));
    assert_string_equal(why.text, "Infill is not supported by this model: prefix token is missing. "
                                  "suffix token is missing. middle token is missing.");
    drop(&model);
    /* So is one that the tokenizer has and the model's vocabulary has not. */
    model = make("<a> <b> <c> <d> <fim_suffix> <fim_middle> <fim_prefix>", unnamed);
    assert_true(baton_fim_lacks(&model.fim, &why));
    assert_string_equal(why.text, "Infill is not supported by this model: prefix token is "
                                  "missing.");
    drop(&model);
}

TEST(text_that_spells_a_token_stays_text)
{
    static const char spelled[] = "<|fim_middle|>";
    struct model model = make("<|fim_prefix|> <|fim_suffix|> <|fim_middle|> <|file_sep|>", unnamed);
    const struct baton_fim_parts parts = {.prefix = text(spelled), .suffix = text(spelled)};
    const struct baton_fim_limits limits = {.max_tokens = PLENTY};
    bool was_cut;
    size_t n;
    free(prompt_of(&model, &parts, &limits, &was_cut, &n));
    assert_int_equal(n, 3 + 2 * strlen(spelled));
    assert_false(was_cut);
    drop(&model);
}

TEST(files_stand_first_and_the_first_ones_give_way)
{
    struct model model = make("<|fim_prefix|> <|fim_suffix|> <|fim_middle|> <|repo_name|> "
                              "<|file_sep|>",
                              unnamed);
    const struct baton_fim_file files[] = {{text("a"), text("one\n")}, {text("b"), text("two\n")}};
    const struct baton_fim_parts parts = {
        .prefix = text("p"), .suffix = text("s"), .files = files, .n_files = 2, .has_repo = true};
#define HEAD "<|repo_name|>myproject\n"
#define TAIL "<|file_sep|>filename\n<|fim_prefix|>p<|fim_suffix|>s<|fim_middle|>"
    enum { N_HEADS = 11 + 10, N_FILE = 3 + 4 }; /* tokens */
    assert_prompt(&model, &parts, 64, PLENTY, HEAD "<|file_sep|>a\none\n<|file_sep|>b\ntwo\n" TAIL);
    assert_prompt(&model, &parts, 64, N_HEADS + N_FILE, HEAD "<|file_sep|>b\ntwo\n" TAIL);
    assert_prompt(&model, &parts, 64, N_HEADS + N_FILE - 2, HEAD "<|file_sep|>b\no\n" TAIL);
    assert_prompt(&model, &parts, 64, N_HEADS, HEAD TAIL);
    assert_prompt(&model, &parts, 64, N_HEADS - 1, "<|fim_prefix|>p<|fim_suffix|>s<|fim_middle|>");
    drop(&model);
}

TEST(a_long_prefix_keeps_its_end_and_a_long_suffix_its_beginning)
{
    struct model model = make("<fim_prefix> <fim_suffix> <fim_middle>", unnamed);
    char prefix[4001], suffix[4001];
    for (size_t i = 0; i < sizeof prefix; i++) {
        prefix[i] = (char)('a' + i / 20 % 26);
        suffix[i] = (char)('A' + i / 20 % 26);
    }
    prefix[4000] = suffix[4000] = 0;
    const struct baton_fim_limits limits = {.max_tokens = 256, .batch = 256};
    bool was_cut;
    size_t begin = 0;
    /* A longer prefix mostly begins where the shorter one began. */
    for (size_t n_more = 0; n_more < 3; n_more++) {
        size_t n;
        struct baton_fim_parts parts = {.prefix = {prefix, 401 + n_more}, .suffix = {suffix, 4000}};
        char *prompt = prompt_of(&model, &parts, &limits, &was_cut, &n);
        char *end = strstr(prompt, "<fim_suffix>");
        size_t n_kept = (size_t)(end - prompt) - strlen("<fim_prefix>");
        assert_true(was_cut && n <= limits.batch && n_kept > 180 && n_kept <= 192);
        assert_memory_equal(end - n_kept, prefix + 401 + n_more - n_kept, n_kept);
        assert_memory_equal(end + strlen("<fim_suffix>"), suffix, 61);
        assert_true(!begin || 401 + n_more - n_kept == begin);
        begin = 401 + n_more - n_kept;
        free(prompt);
    }
    drop(&model);
}

/* Returns what the ids between two others decode to, for free(). */
static char *between(const struct baton_tokenizer *tokenizer, const struct baton_tokens *tokens,
                     uint32_t first, uint32_t last)
{
    struct baton_buf text;
    bool is_inside = false;
    baton_buf_init(&text, PLENTY);
    for (size_t i = 0; i < tokens->n && tokens->ids[i] != last; i++) {
        size_t n;
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens->ids[i], &n);
        if (is_inside)
            baton_buf_append(&text, bytes, n);
        is_inside |= tokens->ids[i] == first;
    }
    char *copy = strdup(baton_buf_text(&text));
    baton_buf_fini(&text);
    return copy;
}

TEST(a_bare_suffix_has_no_space_that_the_tokenizer_puts_before_a_text)
{
    enum { PREFIX = 300, SUFFIX, MIDDLE };
    static const struct baton_fim_limits limits = {.max_tokens = PLENTY};
    static const char *const suffixes[] = {"bar()", " bar", "\n}", "", "\u263a"};
    struct baton_tokenizer *tokenizer = NULL;
    assert_ok(baton_tokenizer_open("tests/fixtures/tokenizers/llama2", &tokenizer, NULL));
    for (size_t i = 0; i < BATON_N_OF(suffixes); i++) {
        const struct baton_fim fim = {
            .ids = {PREFIX, SUFFIX, MIDDLE, BATON_NO_TOKEN, BATON_NO_TOKEN, BATON_NO_TOKEN},
            .bare_suffix = true};
        const struct baton_fim_parts parts = {.prefix = text("a"), .suffix = text(suffixes[i])};
        struct baton_tokens tokens = {0};
        bool was_cut;
        assert_ok(baton_fim_encode(tokenizer, &fim, &parts, &limits, &tokens, &was_cut, NULL));
        char *suffix = between(tokenizer, &tokens, SUFFIX, MIDDLE);
        assert_string_equal(suffix, suffixes[i]);
        free(suffix);
        baton_tokens_fini(&tokens);
    }
    baton_tokenizer_close(tokenizer);
}
