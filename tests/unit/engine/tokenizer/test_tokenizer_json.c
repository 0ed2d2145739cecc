#include "tests/support/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/detokenizer.h"

/* The parts of a small tokenizer.json, each to be replaced by a test; NULL leaves one out. */
struct parts {
    const char *model_extra; /* members of model before vocab */
    const char *vocab, *merges;
    const char *normalizer, *pre_tokenizer, *post_processor, *decoder, *added_tokens;
};

#define BYTE_LEVEL(prefix, regex)                                                                  \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":" prefix ",\"use_regex\":" regex "}"

static const struct parts small = {
    .model_extra = "\"type\":\"BPE\",\"dropout\":null,\"byte_fallback\":false,",
    .vocab = "{\"a\":0,\"b\":1,\"\u0120\":2,\"ab\":3,\"\u0120a\":4,\"!\":5,\"<\":6,\">\":7}",
    .merges = "[\"a b\",\"\u0120 a\"]",
    .pre_tokenizer = BYTE_LEVEL("false", "true"),
    .decoder = BYTE_LEVEL("true", "true"),
};

static void put_part(struct baton_buf *json, const char *name, const char *value)
{
    if (value)
        baton_buf_printf(json, "\"%s\":%s,", name, value);
}

static struct baton_tokenizer *parse(const struct parts *parts, enum baton_err expected,
                                     struct baton_why *why)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_tokenizer *tokenizer = NULL;
    struct baton_buf json;
    baton_buf_init(&json, 1 << 16);
    baton_buf_puts(&json, "{");
    put_part(&json, "normalizer", parts->normalizer);
    put_part(&json, "pre_tokenizer", parts->pre_tokenizer);
    put_part(&json, "post_processor", parts->post_processor);
    put_part(&json, "decoder", parts->decoder);
    put_part(&json, "added_tokens", parts->added_tokens);
    baton_buf_printf(&json, "\"model\":{%s\"vocab\":%s,\"merges\":%s}}", parts->model_extra,
                     parts->vocab, parts->merges);
    why->text[0] = 0;
    enum baton_err err =
        baton_tokenizer_tables_parse("x/tokenizer.json", json.data, json.len, &tables, why);
    if (!err)
        err = baton_tokenizer_create(tables, &tokenizer, why);
    baton_tokenizer_tables_free(tables);
    if (err != expected)
        print_error("%s\n%s\n", json.data, why->text);
    assert_int_equal(err, expected);
    baton_buf_fini(&json);
    return tokenizer;
}

static void refused(const struct parts *parts, const char *reason)
{
    struct baton_why why;
    baton_tokenizer_close(parse(parts, BATON_INVALID, &why));
    assert_int_equal(strncmp(why.text, "x/tokenizer.json: ", 18), 0);
    if (!strstr(why.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", why.text, reason);
}

/* The ids, separated by spaces. Frees them. */
static void assert_ids(struct baton_tokens *tokens, const char *expected)
{
    struct baton_buf ids;
    baton_buf_init(&ids, 1000);
    for (size_t i = 0; i < tokens->n; i++)
        baton_buf_printf(&ids, "%s%u", i ? " " : "", (unsigned)tokens->ids[i]);
    assert_string_equal(baton_buf_text(&ids), expected);
    baton_buf_fini(&ids);
    baton_tokens_fini(tokens);
}

static void encodes_to(const struct parts *parts, const char *text, bool parse_special,
                       const char *expected)
{
    struct baton_why why;
    struct baton_tokens tokens = {0};
    struct baton_tokenizer *tokenizer = parse(parts, BATON_OK, &why);
    assert_ok(
        baton_tokenizer_encode(tokenizer, text, strlen(text), parse_special, 100, &tokens, &why));
    assert_ids(&tokens, expected);
    baton_tokenizer_close(tokenizer);
}

TEST(a_small_file_is_read)
{
    encodes_to(&small, "ab a!b", true, "3 4 5 1");
}

TEST(merges_may_be_pairs)
{
    struct parts parts = small;
    parts.merges = "[[\"a\",\"b\"],[\"\u0120\",\"a\"]]";
    encodes_to(&parts, "ab a!b", true, "3 4 5 1");
}

TEST(a_model_without_a_type_is_bpe)
{
    struct parts parts = small;
    parts.model_extra = "";
    encodes_to(&parts, "ab", true, "3");
}

TEST(byte_level_may_be_in_a_sequence)
{
    struct parts parts = small;
    parts.pre_tokenizer =
        "{\"type\":\"Sequence\",\"pretokenizers\":[" BYTE_LEVEL("false", "true") "]}";
    parts.post_processor =
        "{\"type\":\"Sequence\",\"processors\":[" BYTE_LEVEL("true", "true") "]}";
    encodes_to(&parts, "ab a", true, "3 4");
}

TEST(a_prefix_space_is_added_where_none_is)
{
    struct parts parts = small;
    parts.pre_tokenizer = BYTE_LEVEL("true", "true");
    parts.added_tokens = "[{\"id\":9,\"content\":\"<>\",\"special\":true}]";
    encodes_to(&parts, "ab", true, "2 3");
    encodes_to(&parts, " ab", true, "2 3");
    encodes_to(&parts, "a<>b", true, "4 9 2 1");
    encodes_to(&parts, "", true, "");
}

TEST(without_the_pattern_merges_cross_words)
{
    struct parts parts = small;
    parts.vocab = "{\"a\":0,\"!\":1,\"a!\":2}";
    parts.merges = "[\"a !\"]";
    encodes_to(&parts, "a!", true, "0 1");
    parts.pre_tokenizer = BYTE_LEVEL("false", "false");
    encodes_to(&parts, "a!", true, "2");
}

TEST(added_tokens_match_by_kind)
{
    struct parts parts = small;
    parts.added_tokens = "[{\"id\":8,\"content\":\"<a>\",\"special\":true},"
                         "{\"id\":9,\"content\":\"b!\",\"special\":false},"
                         "{\"id\":10,\"content\":\"<a>!\",\"special\":false,\"normalized\":true}]";
    encodes_to(&parts, "b!<a>!", true, "9 8 5");
    encodes_to(&parts, "b!<a>!", false, "9 10");
    encodes_to(&parts, "<a>", false, "6 0 7");
}

static void encodes_spans_to(const struct parts *parts, const char *text, struct baton_span span,
                             const char *expected)
{
    struct baton_why why;
    struct baton_tokens tokens = {0};
    struct baton_tokenizer *tokenizer = parse(parts, BATON_OK, &why);
    assert_ok(
        baton_tokenizer_encode_spans(tokenizer, text, strlen(text), &span, 1, 100, &tokens, &why));
    assert_ids(&tokens, expected);
    baton_tokenizer_close(tokenizer);
}

TEST(the_longest_overlapping_special_token_within_a_span_counts)
{
    struct parts parts = small;
    parts.added_tokens = "[{\"id\":8,\"content\":\"<a\",\"special\":true},"
                         "{\"id\":9,\"content\":\"<a>\",\"special\":true},"
                         "{\"id\":10,\"content\":\"a>\",\"special\":true},"
                         "{\"id\":11,\"content\":\"b!\",\"special\":false}]";
    encodes_spans_to(&parts, "<a>", (struct baton_span){0, 3}, "9");
    encodes_spans_to(&parts, "<a>", (struct baton_span){0, 2}, "8 7");
    encodes_spans_to(&parts, "<a>", (struct baton_span){1, 3}, "6 10");
    encodes_spans_to(&parts, "<a>", (struct baton_span){0, 1}, "6 0 7");
    encodes_spans_to(&parts, "<a>b!", (struct baton_span){5, 5}, "6 0 7 11");
    encodes_spans_to(&parts, "<a>b!", (struct baton_span){0, 4}, "9 11");
}

TEST(gaps_between_ids_stay_empty)
{
    struct parts parts = small;
    struct baton_why why;
    size_t n;
    parts.added_tokens = "[{\"id\":20,\"content\":\"\u00e9 \",\"special\":true}]";
    struct baton_tokenizer *tokenizer = parse(&parts, BATON_OK, &why);
    assert_int_equal(baton_tokenizer_n_vocab(tokenizer), 21);
    assert_null(baton_tokenizer_bytes(tokenizer, 12, &n));
    assert_memory_equal(baton_tokenizer_bytes(tokenizer, 20, &n), "\u00e9 ", 3);
    assert_int_equal(n, 3);
    assert_true(baton_tokenizer_is_special(tokenizer, 20));
    baton_tokenizer_close(tokenizer);
}

TEST(a_missing_byte_is_refused_when_it_is_needed)
{
    struct baton_why why;
    struct baton_tokens tokens = {0};
    struct baton_tokenizer *tokenizer = parse(&small, BATON_OK, &why);
    assert_int_equal(baton_tokenizer_encode(tokenizer, "abc", 3, true, 9, &tokens, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "byte 0x63"));
    assert_int_equal(tokens.n, 0);
    baton_tokens_fini(&tokens);
    baton_tokenizer_close(tokenizer);
}

TEST(unsupported_parts_are_named)
{
#define REFUSED(part, value, reason)                                                               \
    do {                                                                                           \
        struct parts parts = small;                                                                \
        parts.part = (value);                                                                      \
        refused(&parts, reason);                                                                   \
    } while (0)
    REFUSED(model_extra, "\"type\":\"WordLevel\",", "model: WordLevel is not");
    REFUSED(model_extra, "\"dropout\":0.1,", "model: dropout is not");
    REFUSED(model_extra, "\"end_of_word_suffix\":\"</w>\",", "end_of_word_suffix is not");
    REFUSED(normalizer, "{\"type\":\"Rules\"}", "normalizer: Rules is not");
    REFUSED(normalizer, "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"ByteLevel\"}]}",
            "normalizer: ByteLevel is not");
    REFUSED(pre_tokenizer, "{\"type\":\"UnicodeScripts\"}", "UnicodeScripts is not");
    REFUSED(pre_tokenizer,
            "{\"type\":\"Sequence\",\"pretokenizers\":[" BYTE_LEVEL("false", "true") "," BYTE_LEVEL(
                "false", "true") "]}",
            "pre_tokenizer: ByteLevel twice is not");
    REFUSED(post_processor, "{\"type\":\"Rules\"}", "Rules is not");
    REFUSED(post_processor, "{\"type\":\"TemplateProcessing\",\"single\":[]}",
            "exactly one sequence");
    REFUSED(decoder, "{\"type\":\"CTC\"}", "decoder: CTC is not");
    REFUSED(
        decoder,
        "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"ByteFallback\"}]}",
        "decoder: only Strip is supported after Fuse");
    REFUSED(
        decoder,
        "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":"
        "\" \",\"start\":0,\"stop\":1}]}",
        "decoder: only one Strip");
    {
        struct parts parts = small;
        parts.pre_tokenizer = "null";
        parts.decoder = "null";
        refused(&parts, "decoder: a model without one is not");
    }
}

TEST(wrong_parts_are_named)
{
    REFUSED(vocab, "{}", "vocab: must be an object");
    REFUSED(vocab, "[]", "vocab: must be an object");
    REFUSED(vocab, "{\"a\":0,\"b\":0}", "id 0 has two tokens");
    REFUSED(vocab, "{\"a\":-1}", "\"a\" must be an integer");
    REFUSED(vocab, "{\"a\":9999999999}", "\"a\" must be an integer");
    REFUSED(vocab, "{\"a\":1.5}", "\"a\" must be an integer");
    REFUSED(vocab, "{\"a\":0,\"a\":1}", "duplicate");
    REFUSED(merges, "{}", "merges: must be an array");
    REFUSED(merges, "[\"a b\",\"ab\"]", "merges: number 2 must be two tokens");
    REFUSED(merges, "[\"a b c\"]", "merges: number 1 must be two tokens");
    REFUSED(merges, "[\"a x\"]", "merges: number 1 has a token");
    REFUSED(merges, "[\"b a\"]", "merges: number 1 has a token");
    REFUSED(merges, "[[\"a\"]]", "merges: number 1 must be a string or an array");
    REFUSED(merges, "[[\"a\",\"b\",\"b\"]]", "merges: number 1 must be a string or an array");
    REFUSED(merges, "[[\"a\\u0000\",\"b\"]]", "merges: number 1 has a token");
    REFUSED(merges, "[[\"\",\"b\"]]", "merges: number 1 must name two tokens");
    REFUSED(merges, "[\"a b\" \"a b\"]", "merges: number 2 must follow a comma");
    REFUSED(vocab, "{\"a\":0}x", "vocab: must hold");
    REFUSED(vocab, "{\"a\":00}", "\"a\" must be an integer");
    REFUSED(vocab, "{\"\\ud800\":0}", "vocab: must hold");
    REFUSED(vocab, "{\"\xff\":0}", "vocab: must hold");
    REFUSED(vocab, "{\"a\":0,}", "vocab: must hold");
    REFUSED(pre_tokenizer, "{\"type\":\"ByteLevel\"}", "add_prefix_space must be");
    REFUSED(pre_tokenizer, "{\"type\":\"Metaspace\",\"replacement\":\"ab\"}",
            "pre_tokenizer: replacement must be one character");
    REFUSED(decoder, "{\"type\":\"Metaspace\",\"replacement\":\"\"}",
            "decoder: replacement must be one character");
    REFUSED(added_tokens, "{}", "added_tokens: must be an array");
    REFUSED(added_tokens, "[{\"id\":9,\"content\":\"\"}]", "content must be");
    REFUSED(added_tokens, "[{\"id\":-9,\"content\":\"x\"}]", "id must be");
    REFUSED(added_tokens, "[{\"id\":9,\"content\":\"x\",\"special\":1}]", "must be true or false");
    REFUSED(added_tokens, "[{\"id\":9,\"content\":\"a\"}]", "another id in the vocabulary");
    REFUSED(added_tokens, "[{\"id\":0,\"content\":\"x\"}]",
            "id 0 has another text in the vocabulary");
    REFUSED(normalizer, "{\"type\":\"Prepend\"}", "normalizer: Prepend: prepend must be a string");
    REFUSED(normalizer, "{\"type\":\"Sequence\"}", "normalizer: normalizers must be an array");
    REFUSED(normalizer, "{\"type\":\"Strip\",\"strip_left\":1}",
            "strip_left must be true or false");
    REFUSED(normalizer, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}",
            "precompiled_charsmap: its sizes");
    REFUSED(normalizer, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!\"}",
            "must be base64");
    REFUSED(pre_tokenizer, "{\"type\":\"Split\",\"pattern\":\"x\"}", "pattern must be");
    REFUSED(pre_tokenizer, "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"}}", "PCRE2 error");
    REFUSED(pre_tokenizer, "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[^a&&[b]]\"}}",
            "a negated intersection is not");
    REFUSED(pre_tokenizer,
            "{\"type\":\"Split\",\"pattern\":{\"String\":\"x\"},\"behavior\":\"Gone\"}",
            "behavior must be Isolated");
    REFUSED(post_processor,
            "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}},"
            "{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{}}",
            "special_tokens must hold");
    REFUSED(post_processor,
            "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}},"
            "{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"x\":{\"ids\":[99]}}}",
            "post_processor: id 99 has no token");
}

/* Writes a chain of eight steps that each replace a by n times a. */
static void put_growth(struct baton_buf *json, const char *name, int n)
{
    baton_buf_printf(json, "{\"type\":\"Sequence\",\"%s\":[", name);
    for (int i = 0; i < 8; i++) {
        baton_buf_puts(json, i ? "," : "");
        baton_buf_puts(json, "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"");
        for (int k = 0; k < n; k++)
            baton_buf_putc(json, 'a');
        baton_buf_puts(json, "\"}");
    }
    baton_buf_puts(json, "]}");
}

/* 10^24 bytes each, without a bound. */
TEST(steps_that_make_texts_long_are_refused_at_the_start_or_for_a_text)
{
    struct baton_buf json;
    struct baton_why why;
    struct baton_tokens tokens = {0};
    struct parts parts = small;
    baton_buf_init(&json, 1 << 16);
    put_growth(&json, "decoders", 1000);
    parts.decoder = json.data;
    refused(&parts, "decoder: makes more than 16 times their text of tokens");
    baton_buf_reset(&json);
    put_growth(&json, "normalizers", 1000);
    parts = small;
    parts.normalizer = json.data;
    struct baton_tokenizer *tokenizer = parse(&parts, BATON_OK, &why);
    assert_int_equal(baton_tokenizer_encode(tokenizer, "a", 1, true, 9, &tokens, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "normalizer makes more than 16 times the text of it"));
    assert_int_equal(baton_tokenizer_encode(tokenizer, "b", 1, true, 9, &tokens, &why), BATON_OK);
    assert_ids(&tokens, "1");
    baton_tokenizer_close(tokenizer);
    /* An added token is normalised at the start. */
    parts.added_tokens = "[{\"id\":9,\"content\":\"<a>\",\"special\":false,\"normalized\":true}]";
    refused(&parts, "normalizer makes more than 16 times the text of it");
    baton_buf_reset(&json);
    put_growth(&json, "normalizers", 1025);
    parts = small;
    parts.normalizer = json.data;
    refused(&parts, "normalizer: Replace: content is longer than 1024 bytes");
#define FOUR "{\"type\":\"NFC\"},{\"type\":\"NFC\"},{\"type\":\"NFC\"},{\"type\":\"NFC\"}"
    parts.normalizer = "{\"type\":\"Sequence\",\"normalizers\":[" FOUR "," FOUR "," FOUR "," FOUR
                       ",{\"type\":\"NFC\"}]}";
    refused(&parts, "normalizer: a chain of more than 16 steps is not");
    baton_buf_fini(&json);
}

TEST(a_search_for_added_tokens_that_nearly_match_everywhere_is_given_up)
{
    enum { N = 300 << 10, LONG = 1024 };
    struct baton_why why;
    struct baton_tokens tokens = {0};
    struct parts parts = small;
    char added[LONG + 64], *text = malloc(N);
    assert_non_null(text);
    memset(text, 'a', N);
    for (size_t i = LONG - 1; i < N; i += LONG)
        text[i] = 'b';
    (void)snprintf(added, sizeof added, "[{\"id\":9,\"content\":\"%.*s\"}]", LONG - 1, text);
    added[strlen("[{\"id\":9,\"content\":\"") + LONG - 2] = '!';
    parts.added_tokens = added;
    struct baton_tokenizer *tokenizer = parse(&parts, BATON_OK, &why);
    assert_int_equal(baton_tokenizer_encode(tokenizer, text, N, true, N, &tokens, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "search for added tokens takes too many steps"));
    assert_ok(baton_tokenizer_encode(tokenizer, text, 1000, true, N, &tokens, &why));
    baton_tokens_fini(&tokens);
    baton_tokenizer_close(tokenizer);
    free(text);
}

/* ---- parts that BPE over characters needs ---- */

#define SPACE_MARK "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"_\"}"

static const struct parts characters = {
    .model_extra = "\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,",
    .vocab = "{\"<unk>\":0,\"<0x21>\":1,\"_\":2,\"a\":3,\"b\":4,\"_a\":5,\"é\":6,\"<s>\":7}",
    .merges = "[\"_ a\"]",
    .normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"_\"}"
                  "," SPACE_MARK "]}",
    .decoder =
        "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"_\"},"
        "\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":\"Strip\","
        "\"content\":\" \",\"start\":1,\"stop\":0}]}",
    .added_tokens = "[{\"id\":7,\"content\":\"<s>\",\"special\":true}]",
};

TEST(words_may_be_made_of_characters)
{
    struct parts parts = characters;
    encodes_to(&parts, "a bé", true, "5 2 4 6");
    encodes_to(&parts, "<s>a<s>", true, "7 5 7");
    parts.normalizer = NULL;
    encodes_to(&parts, "ab", true, "3 4");
}

TEST(unknown_characters_are_one_token_each_or_together)
{
    struct parts parts = characters;
    encodes_to(&parts, "axx!b", true, "5 0 4");
    parts.model_extra = "\"type\":\"BPE\",\"unk_token\":\"<unk>\",";
    encodes_to(&parts, "axxb", true, "5 0 0 4");
    parts.model_extra = "\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"byte_fallback\":true,";
    encodes_to(&parts, "a!xb", true, "5 1 0 4");
}

TEST(a_word_that_is_a_token_may_ignore_the_merges)
{
    struct parts parts = small;
    parts.vocab = "{\"a\":0,\"b\":1,\"ab\":2,\"aba\":3,\"!\":4}";
    parts.merges = "[\"a b\"]";
    encodes_to(&parts, "aba!", true, "2 0 4");
    parts.model_extra = "\"type\":\"BPE\",\"ignore_merges\":true,";
    encodes_to(&parts, "aba!", true, "3 4");
}

TEST(added_tokens_strip_white_space_and_match_single_words)
{
    struct parts parts = characters;
    parts.normalizer = SPACE_MARK;
    parts.added_tokens = "[{\"id\":7,\"content\":\"<s>\",\"special\":true,\"rstrip\":true},"
                         "{\"id\":9,\"content\":\"<l>\",\"special\":true,\"lstrip\":true},"
                         "{\"id\":10,\"content\":\"aa\",\"single_word\":true}]";
    encodes_to(&parts, "b<s> \n b", true, "4 7 4");
    encodes_to(&parts, "b \n<l> b", true, "4 9 2 4");
    encodes_to(&parts, "<s> <l>", true, "7 9");
    encodes_to(&parts, "aa baa aa", true, "10 2 4 3 3 2 10");
    parts.added_tokens = "[{\"id\":9,\"content\":\" \",\"rstrip\":true}]";
    encodes_to(&parts, "b \n  b", true, "4 9 9 9 4");
}

TEST(a_special_token_in_normalised_text_belongs_to_who_wrote_it)
{
    struct parts parts = characters;
    parts.normalizer = SPACE_MARK;
    parts.added_tokens = "[{\"id\":7,\"content\":\"<s>\",\"special\":true},"
                         "{\"id\":9,\"content\":\"b a\",\"special\":true,\"normalized\":true}]";
    encodes_to(&parts, " b a", true, "2 9");
    encodes_spans_to(&parts, "  b a", (struct baton_span){2, 5}, "2 2 9");
    encodes_spans_to(&parts, "  b a", (struct baton_span){1, 5}, "2 2 9");
    encodes_spans_to(&parts, "  b a", (struct baton_span){2, 4}, "2 2 4 5");
    encodes_spans_to(&parts, "  b a", (struct baton_span){3, 5}, "2 2 4 5");
}

TEST(a_text_decodes_without_the_space_that_was_put_before_it)
{
    static const uint32_t ids[] = {5, 2, 2, 4}, special[] = {7, 5}, bytes[] = {5, 1, 6};
    struct baton_why why;
    struct baton_buf text;
    struct baton_tokenizer *tokenizer = parse(&characters, BATON_OK, &why);
    baton_buf_init(&text, 100);
    baton_detokenize(tokenizer, ids, 4, true, &text);
    assert_string_equal(text.data, "a  b");
    baton_buf_reset(&text);
    baton_detokenize(tokenizer, special, 2, true, &text);
    assert_string_equal(text.data, "a");
    baton_buf_reset(&text);
    baton_detokenize(tokenizer, special, 2, false, &text);
    assert_string_equal(text.data, "<s> a");
    baton_buf_reset(&text);
    baton_detokenize(tokenizer, bytes, 3, false, &text);
    assert_string_equal(text.data, "a!é");
    baton_buf_fini(&text);
    baton_tokenizer_close(tokenizer);
}

#define TEMPLATE                                                                                   \
    "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},{"           \
    "\"Sequence\":{"                                                                               \
    "\"id\":\"A\"}},{\"SpecialToken\":{\"id\":\"e\"}}],\"special_tokens\":{\"<s>\":{\"ids\":[7]}," \
    "\"e\":{\"ids\":[0,7]}}}"

TEST(a_prompt_has_the_tokens_of_its_template)
{
    struct parts parts = characters;
    struct baton_why why;
    struct baton_tokens tokens = {0};
    parts.post_processor = TEMPLATE;
    encodes_to(&parts, "a", true, "5");
    struct baton_tokenizer *tokenizer = parse(&parts, BATON_OK, &why);
    assert_ok(baton_tokenizer_encode_prompt(tokenizer, "a", 1, 4, &tokens, &why));
    assert_int_equal(tokens.n, 4);
    assert_int_equal(tokens.ids[0], 7);
    assert_int_equal(tokens.ids[1], 5);
    assert_int_equal(tokens.ids[2], 0);
    assert_int_equal(tokens.ids[3], 7);
    assert_int_equal(baton_tokenizer_encode_prompt(tokenizer, "a", 1, 3, &tokens, &why),
                     BATON_LIMIT);
    assert_int_equal(baton_tokenizer_encode_prompt(tokenizer, "a", 1, 2, &tokens, &why),
                     BATON_LIMIT);
    assert_int_equal(tokens.n, 4);
    baton_tokens_fini(&tokens);
    baton_tokenizer_close(tokenizer);
}

TEST(a_directory_without_a_tokenizer_is_not_found)
{
    struct baton_tokenizer *tokenizer = NULL;
    struct baton_why why;
    assert_int_equal(baton_tokenizer_open("tests/unit", &tokenizer, &why), BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "tests/unit: has neither tokenizer.json nor vocab.json"));
    assert_null(tokenizer);
}

TEST_IN(make_scratch, remove_scratch, vocab_and_merges_are_read_from_two_files)
{
    struct baton_tokenizer *tokenizer = NULL;
    struct baton_tokens tokens = {0};
    struct baton_why why;
    write_scratch("vocab.json", "{\"a\":0,\"b\":1,\"ab\":2,\"abb\":3}");
    assert_int_equal(baton_tokenizer_open(scratch, &tokenizer, &why), BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "merges.txt"));
    write_scratch("merges.txt", "#version: 0.2\r\na b\r\n\nab b");
    assert_ok(baton_tokenizer_open(scratch, &tokenizer, &why));
    assert_ok(baton_tokenizer_encode(tokenizer, "abbab", 5, true, 9, &tokens, &why));
    assert_int_equal(tokens.n, 2);
    assert_int_equal(tokens.ids[0], 3);
    assert_int_equal(tokens.ids[1], 2);
    baton_tokens_fini(&tokens);
    baton_tokenizer_close(tokenizer);
    write_scratch("added_tokens.json", "{\"<x>\":4}");
    assert_int_equal(baton_tokenizer_open(scratch, &tokenizer, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "added_tokens.json"));
}
