#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "engine/checkpoint/hf/steps_file.h"
#include "engine/tokenizer/normalize/normalize.h"

/* Normalises text by the steps written as JSON; the normalizer must outlive the view. */
static struct baton_text_view normalize(struct baton_normalizer **normalizer, const char *json,
                                        const char *text, bool keeps_origins)
{
    struct baton_tokenizer_steps steps = {.n_normalizer = 0};
    struct baton_json *parsed = NULL;
    struct baton_why why = {""};
    const struct baton_steps_reader reader = {
        .file = "x", .part = "normalizer", .steps = &steps, .why = &why};
    struct baton_text_view all = {.bytes = text, .n = strlen(text)}, made = {.n = 0};
    enum baton_err err = baton_json_parse(json, strlen(json), &parsed, &why);
    if (!err)
        err = baton_steps_read_normalizer(&reader, parsed);
    if (!err)
        err = baton_normalizer_create(&steps, normalizer, &why);
    baton_json_free(parsed);
    if (!err)
        err = baton_normalizer_run(*normalizer, &all, keeps_origins, &made, &why);
    if (err)
        fail_msg("%s: %s", json, why.text);
    return made;
}

/* With and without origins, which must not change the text. */
static void becomes(const char *json, const char *text, const char *expected)
{
    for (int keeps = 0; keeps < 2; keeps++) {
        struct baton_normalizer *normalizer = NULL;
        struct baton_text_view made = normalize(&normalizer, json, text, keeps);
        if (made.n != strlen(expected) || memcmp(made.bytes, expected, made.n) != 0)
            fail_msg("%s: \"%s\" became \"%.*s\", not \"%s\"", json, text, (int)made.n, made.bytes,
                     expected);
        baton_normalizer_destroy(normalizer);
    }
}

TEST(the_four_forms_of_unicode_join_and_split_characters)
{
    becomes("{\"type\":\"NFC\"}", "e\u0301 a\u0323\u0307 A\u030a", "é ạ̇ Å");
    becomes("{\"type\":\"NFC\"}", "\u1112\u1161\u11ab \uac00\u11a8", "한 각");
    becomes("{\"type\":\"NFC\"}", "\u212b\u2126", "\u00c5\u03a9");
    becomes("{\"type\":\"NFC\"}", "\u0438\u0306\u304b\u3099", "\u0439\u304c");
    becomes("{\"type\":\"NFC\"}", "q\u0307\u0323", "q\u0323\u0307");
    becomes("{\"type\":\"NFD\"}", "é\u1e69", "e\u0301s\u0323\u0307");
    becomes("{\"type\":\"NFKC\"}", "ﬁ①Ａ\u3000", "fi1A ");
    becomes("{\"type\":\"NFKD\"}", "ﬁé", "fie\u0301");
    becomes("{\"type\":\"NFC\"}", "plain 語 й", "plain 語 й");
}

TEST(a_text_in_the_form_is_not_copied)
{
    static const char text[] = "plain é 語";
    struct baton_normalizer *normalizer = NULL;
    assert_ptr_equal(normalize(&normalizer, "{\"type\":\"NFC\"}", text, false).bytes, text);
    baton_normalizer_destroy(normalizer);
    assert_ptr_equal(normalize(&normalizer, "null", text, false).bytes, text);
    assert_null(normalizer);
}

TEST(other_steps_normalize_as_their_names_say)
{
    becomes("{\"type\":\"Lowercase\"}", "ÀBC\u0130", "àbci\u0307");
    becomes("{\"type\":\"StripAccents\"}", "e\u0301a", "ea");
    becomes("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}", "\u3000 a b\n", "a b");
    becomes("{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true}", " a ", " a");
    becomes("{\"type\":\"Strip\"}", " \n", "");
    becomes("{\"type\":\"Nmt\"}", "a\x01\tb\u200b\ufeff", "a b  ");
    becomes("{\"type\":\"Prepend\",\"prepend\":\"_\"}", "a", "_a");
    becomes("{\"type\":\"Prepend\",\"prepend\":\"_\"}", "", "");
    becomes("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"-\"}",
            "a  b c   ", "a-b c-");
    becomes("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(?=b)\"},\"content\":\"-\"}", "abb",
            "a-b-b");
    becomes("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\" \"},"
            "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"▁\"}]}",
            "a b", "▁a▁b");
}

/* é -> e, ① -> 1, ﬁ -> fi, and e with U+0301 -> E. */
#define CHARSMAP                                                                                   \
    "vAMAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHAACAgQUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAACsBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAABlBAAAAAAAAAAAAAAAAAAAAAAAAAAAAACpBQAAAAAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AACRBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAADMBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAACAwwQAAIEJAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAKAFAAACAACAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4gQAAAAAAAAAAAAA"     \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADvBAAAZQAxAGZpAEUA"

TEST(a_character_map_replaces_characters_and_short_graphemes)
{
    static const char json[] =
        "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"" CHARSMAP "\"}";
    becomes(json, "café", "cafe");
    becomes(json, "①ﬁ!", "1fi!");
    becomes(json, "e\u0301 x\u0301", "E x\u0301");
}

/* A text of n bytes of the pattern. */
static char *repeat(const char *pattern, size_t n)
{
    char *text = malloc(n + 1);
    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        text[i] = pattern[i % strlen(pattern)];
    text[n] = 0;
    return text;
}

static struct baton_normalizer *open_steps(const char *json)
{
    struct baton_normalizer *normalizer = NULL;
    (void)normalize(&normalizer, json, "", false);
    assert_non_null(normalizer);
    return normalizer;
}

static enum baton_err run(struct baton_normalizer *normalizer, const char *text, size_t n,
                          struct baton_text_view *made, struct baton_why *why)
{
    const struct baton_text_view all = {.bytes = text, .n = n};
    return baton_normalizer_run(normalizer, &all, false, made, why);
}

#define GROW                                                                                       \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaaaaaaaaaaaaaa\"}"

TEST(a_text_becomes_16_times_as_long_and_64_kib_longer_at_most)
{
    static const char many[] = "{\"type\":\"Sequence\",\"normalizers\":[" GROW "," GROW "," GROW
                               "," GROW "," GROW "," GROW "," GROW "," GROW "]}";
    struct baton_text_view made;
    struct baton_why why = {""};
    struct baton_normalizer *normalizer = open_steps(many);
    assert_int_equal(run(normalizer, "a", 1, &made, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "normalizer makes more than 16 times the text"));
    baton_normalizer_destroy(normalizer);
    /* 20 times as long: within 64 KiB more up to 16 KiB of text. */
    normalizer = open_steps(GROW);
    char *text = repeat("a", 20000);
    assert_ok(run(normalizer, text, 16384, &made, &why));
    assert_int_equal(made.n, 20 * 16384);
    baton_normalizer_begin(normalizer);
    assert_int_equal(run(normalizer, text, 16385, &made, &why), BATON_INVALID);
    /* All texts of a call share the 64 KiB. */
    baton_normalizer_begin(normalizer);
    for (int i = 0; i < 16384; i++)
        assert_ok(run(normalizer, "a", 1, &made, &why));
    assert_int_equal(run(normalizer, "a", 1, &made, &why), BATON_INVALID);
    baton_normalizer_destroy(normalizer);
    free(text);
}

/* The longest character of all, with its spaces as SentencePiece writes them: 13 times as long. */
TEST(the_most_that_published_steps_make_of_a_text_is_allowed)
{
    enum { N = 600000 };
    struct baton_text_view made;
    struct baton_why why = {""};
    struct baton_normalizer *normalizer =
        open_steps("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},{\"type\":"
                   "\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"▁\"}]}");
    char *text = repeat("\ufdfa", N);
    assert_ok(run(normalizer, text, N, &made, &why));
    assert_int_equal(made.n, N / 3 * 39);
    baton_normalizer_destroy(normalizer);
    free(text);
}

/* Characters that compose, decompose, move or stay, in any order. */
TEST(the_forms_of_random_texts_are_utf8procs)
{
    static const char *const characters[] = {
        "a",      "e",      "\u0301", "\u0323", "\u0307",     "\u0345", "\u0327",
        "\u0308", "\u0344", "\u1112", "\u1161", "\u11ab",     "\uac00", "\u11a8",
        "\u212b", "\ufb01", "\ufdfa", "\u0958", "\U0001d15e", "\u3099", "\u304b",
        "\u0f73", "\u0f71", "\u05b0", "\u4e00", " "};
    static const struct {
        const char *json;
        unsigned options;
    } forms[] = {{"{\"type\":\"NFC\"}", UTF8PROC_COMPOSE},
                 {"{\"type\":\"NFD\"}", UTF8PROC_DECOMPOSE},
                 {"{\"type\":\"NFKC\"}", UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                 {"{\"type\":\"NFKD\"}", UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
    unsigned seed = 7;
    for (int round = 0; round < 4000; round++) {
        char text[256] = "";
        for (int n = rand_r(&seed) % 40; n >= 0; n--)
            (void)strcat(text, characters[rand_r(&seed) % BATON_N_OF(characters)]);
        utf8proc_uint8_t *expected = NULL;
        assert_true(utf8proc_map((const utf8proc_uint8_t *)text, 0, &expected,
                                 (utf8proc_option_t)(UTF8PROC_NULLTERM | UTF8PROC_STABLE |
                                                     forms[round % 4].options)) >= 0);
        becomes(forms[round % 4].json, text, (const char *)expected);
        free(expected);
    }
}

/* Exchanging neighbours would take minutes. */
TEST(marks_are_put_in_order_in_time_in_proportion_to_the_text)
{
    enum { N = 1 << 20 };
    struct baton_text_view made;
    struct baton_why why = {""};
    struct baton_normalizer *normalizer = open_steps("{\"type\":\"NFD\"}");
    char *text = repeat("\u0307\u0323", N); /* classes 230 and 220 */
    assert_ok(run(normalizer, text, N, &made, &why));
    assert_int_equal(made.n, N);
    for (size_t i = 0; i < N; i += 2)
        assert_memory_equal(made.bytes + i, i < N / 2 ? "\u0323" : "\u0307", 2);
    baton_normalizer_destroy(normalizer);
    free(text);
}

TEST(origins_say_where_each_byte_came_from)
{
    static const uint32_t expected[] = {0, 0, 1, 4, 5};
    struct baton_normalizer *normalizer = NULL;
    struct baton_text_view made = normalize(
        &normalizer,
        "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"_\"},"
        "{\"type\":\"NFC\"}]}",
        "ae\u0301bc", true);
    /* _ a é(2 bytes) b c */
    assert_int_equal(made.n, 6);
    assert_int_equal(made.origins[0], expected[0]);
    assert_int_equal(made.origins[1], expected[1]);
    assert_int_equal(made.origins[2], expected[2]);
    assert_int_equal(made.origins[4], expected[3]);
    assert_int_equal(made.origins[5], expected[4]);
    baton_normalizer_destroy(normalizer);
}
