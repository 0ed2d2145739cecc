#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "common/base/json.h"
#include "engine/checkpoint/hf/steps_file.h"
#include "engine/tokenizer/split/pretokenize.h"

#define GPT2 "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"

static enum baton_err put_word(void *arg, const char *bytes, size_t n)
{
    struct baton_buf *words = arg;
    assert_true(n > 0);
    if (words->len)
        baton_buf_putc(words, '|');
    baton_buf_append(words, bytes, n);
    return BATON_OK;
}

static struct baton_pretokenizer *open_steps(const char *json, bool want_jit,
                                             struct baton_json **parsed)
{
    struct baton_tokenizer_steps steps = {.n_normalizer = 0};
    struct baton_pretokenizer *pretokenizer = NULL;
    struct baton_why why = {""};
    const struct baton_steps_reader reader = {
        .file = "x", .part = "pre_tokenizer", .steps = &steps, .why = &why};
    enum baton_err err = baton_json_parse(json, strlen(json), parsed, &why);
    if (!err)
        err = baton_steps_read_pretokenizer(&reader, *parsed);
    if (!err)
        err = baton_pretokenizer_create(&steps, want_jit, &pretokenizer, &why);
    if (err)
        fail_msg("%s: %s", json, why.text);
    return pretokenizer;
}

/* Cuts text by the steps, with either matcher, into words that are written with | between. */
static void cut(const char *json, const char *text, size_t n, bool want_jit,
                struct baton_buf *words)
{
    struct baton_json *parsed = NULL;
    struct baton_pretokenizer *pretokenizer = open_steps(json, want_jit, &parsed);
    struct baton_why why;
    const struct baton_word_sink sink = {.word = put_word, .arg = words, .why = &why};
    baton_buf_init(words, (size_t)1 << 28);
    assert_ok(baton_pretokenizer_run(pretokenizer, text, n, true, &sink));
    baton_pretokenizer_destroy(pretokenizer);
    baton_json_free(parsed);
}

static void steps_cut_into(const char *json, const char *text, const char *expected)
{
    for (int jit = 0; jit < 2; jit++) {
        struct baton_buf words;
        cut(json, text, strlen(text), jit, &words);
        assert_string_equal(baton_buf_text(&words), expected);
        baton_buf_fini(&words);
    }
}

static void cuts_into(const char *text, const char *expected)
{
    steps_cut_into(GPT2, text, expected);
}

TEST(words_take_the_space_before_them)
{
    cuts_into("Once upon a time", "Once| upon| a| time");
    cuts_into("in 2026, no. 7", "in| 2026|,| no|.| 7");
    cuts_into("a1b", "a|1|b");
}

TEST(english_contractions_are_words)
{
    cuts_into("I'll, we've, 's", "I|'ll|,| we|'ve|,| '|s");
    cuts_into("don't I'LL", "don|'t| I|'|LL");
}

TEST(a_run_of_spaces_leaves_its_last_one_to_the_word)
{
    cuts_into("a   b", "a|  | b");
    cuts_into("a\n\nb", "a|\n|\n|b");
    cuts_into("a   ", "a|   ");
    cuts_into("a \t\n", "a| \t\n");
}

TEST(letters_and_numbers_are_unicodes)
{
    cuts_into("Führer нещо", "Führer| нещо");
    cuts_into("x½² 三", "x|½²| 三");
    cuts_into("🦙.cpp", "🦙.|cpp");
    cuts_into("e\u0301a", "e|\u0301|a");
}

TEST(space_is_unicodes_white_space)
{
    cuts_into("a\u00a0\u3000b", "a|\u00a0|\u3000|b");
    cuts_into("a\xc2\x85\u2028"
              "b",
              "a|\xc2\x85|\u2028|b");
    cuts_into("a\x0b\x0c\x1f", "a|\x0b|\x0c|\x1f");
    cuts_into("!\u180e!\u200b!", "!\u180e!\u200b!"); /* neither is White_Space */
}

TEST(a_zero_byte_is_a_character_like_others)
{
    struct baton_buf words;
    cut(GPT2, "\0\0a", 3, true, &words);
    assert_int_equal(words.len, 4);
    assert_memory_equal(words.data, "\0\0|a", 4);
    baton_buf_fini(&words);
}

TEST(runs_of_a_million_characters_are_one_word_for_both_matchers)
{
    static const char *const units[] = {"a", " ", "\n", "7", "=", "é", "語", "\u3000", "🦙"};
    for (size_t u = 0; u < BATON_N_OF(units); u++) {
        size_t unit = strlen(units[u]), n = 1000000 * unit;
        char *text = malloc(n);
        assert_non_null(text);
        for (size_t i = 0; i < n; i++)
            text[i] = units[u][i % unit];
        for (int jit = 0; jit < 2; jit++) {
            struct baton_buf words;
            cut(GPT2, text, n, jit, &words);
            assert_int_equal(words.len, n); /* no | in it */
            baton_buf_fini(&words);
        }
        free(text);
    }
}

#define SPLIT(pattern, behavior, invert)                                                           \
    "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior "\",\"invert\":" invert \
    "}"

TEST(a_split_treats_its_matches_as_it_says)
{
#define DASH "{\"String\":\"-\"}"
    steps_cut_into(SPLIT(DASH, "Isolated", "false"), "-a--b-", "-|a|-|-|b|-");
    steps_cut_into(SPLIT(DASH, "Removed", "false"), "-a--b-", "a|b");
    steps_cut_into(SPLIT(DASH, "Contiguous", "false"), "-a--b-", "-|a|--|b|-");
    steps_cut_into(SPLIT(DASH, "MergedWithPrevious", "false"), "-a--b-", "-|a-|-|b-");
    steps_cut_into(SPLIT(DASH, "MergedWithNext", "false"), "-a--b-", "-a|-|-b|-");
    steps_cut_into(SPLIT(DASH, "Removed", "true"), "-a--b-", "-|-|-|-");
    steps_cut_into(SPLIT(DASH, "MergedWithNext", "true"), "-a--b-", "-|a-|-|b-");
}

#define REGEX(text) "{\"Regex\":\"" text "\"}"

TEST(an_empty_match_splits_and_is_not_a_piece)
{
    steps_cut_into(SPLIT(REGEX("(?=b)"), "Isolated", "false"), "abab", "a|ba|b");
    steps_cut_into(SPLIT(REGEX("x*"), "Isolated", "false"), "axxb", "a|xx|b");
    steps_cut_into(SPLIT(REGEX("^"), "Isolated", "false"), "a\nb", "a\n|b");
}

TEST(splitters_without_a_pattern_know_their_characters)
{
    steps_cut_into("{\"type\":\"Digits\",\"individual_digits\":true}", "a12½b", "a|1|2|½|b");
    steps_cut_into("{\"type\":\"Digits\",\"individual_digits\":false}", "a12½b", "a|12½|b");
    steps_cut_into("{\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"}", "a$!b¿c",
                   "a|$!|b|¿|c");
    steps_cut_into("{\"type\":\"Punctuation\"}", "a$!b", "a|$|!|b");
    steps_cut_into("{\"type\":\"Whitespace\"}", "a_1 b!? é\u00a0x", "a_1|b|!?|é|x");
    steps_cut_into("{\"type\":\"WhitespaceSplit\"}", " a!  b\n", "a!|b");
    steps_cut_into("{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"x\"}", "axbxx", "a|b");
}

#define METASPACE(scheme, split)                                                                   \
    "{\"type\":\"Metaspace\",\"replacement\":\"▁\",\"prepend_scheme\":\"" scheme                   \
    "\",\"split\":" split "}"

TEST(metaspace_marks_the_words_and_may_begin_with_one)
{
    steps_cut_into(METASPACE("always", "true"), "a b", "▁a|▁b");
    steps_cut_into(METASPACE("always", "false"), "a b", "▁a▁b");
    steps_cut_into(METASPACE("never", "true"), "a  b", "a|▁|▁b");
    steps_cut_into(METASPACE("first", "true"), " a", "▁a");
    steps_cut_into("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}",
                   "a b", "a|_b");
    steps_cut_into("{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT(
                       DASH, "Removed", "false") "," METASPACE("first", "true") "]}",
                   "a-b", "▁a|b");
}

TEST(a_step_behind_byte_level_sees_its_alphabet)
{
    /* The second byte of é is 0xa9 and stands as U+00A9, a symbol and no digit; that of
     * ò is 0xb2, which stands as U+00B2, a digit. */
    steps_cut_into("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\","
                   "\"add_prefix_space\":false,\"use_regex\":false},{\"type\":\"Digits\"}]}",
                   "é1ò", "é|1|\xc3|\xb2");
}

#define MARK(c) "{\"type\":\"Metaspace\",\"replacement\":\"" c "\",\"split\":false}"
#define EACH    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\".\"},\"behavior\":\"Isolated\"}"

/* Each pair of steps puts a character before every character. */
TEST(pieces_become_16_times_as_long_and_64_kib_longer_at_most)
{
    static const char json[] =
        "{\"type\":\"Sequence\",\"pretokenizers\":[" EACH
        "," MARK("1") "," EACH "," MARK("2") "," EACH "," MARK("3") "," EACH "," MARK(
            "4") "," EACH "," MARK("5") "," EACH "," MARK("6") "]}";
    char text[4000];
    struct baton_why why = {""};
    struct baton_json *parsed = NULL;
    struct baton_buf words;
    struct baton_pretokenizer *pretokenizer = open_steps(json, true, &parsed);
    const struct baton_word_sink sink = {.word = put_word, .arg = &words, .why = &why};
    memset(text, 'a', sizeof text);
    baton_buf_init(&words, 1 << 20);
    assert_ok(baton_pretokenizer_run(pretokenizer, text, 1000, true, &sink));
    baton_pretokenizer_begin(pretokenizer);
    assert_int_equal(baton_pretokenizer_run(pretokenizer, text, sizeof text, true, &sink),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "pre-tokenizer makes more than 16 times the text"));
    baton_buf_fini(&words);
    baton_pretokenizer_destroy(pretokenizer);
    baton_json_free(parsed);
}

TEST(a_pattern_that_backtracks_without_end_is_refused)
{
    char text[4000];
    struct baton_why why = {""};
    struct baton_json *parsed = NULL;
    struct baton_buf words;
    memset(text, 'a', sizeof text);
    for (int jit = 0; jit < 2; jit++) {
        struct baton_pretokenizer *pretokenizer =
            open_steps(SPLIT(REGEX("(?:a+)+[bc]"), "Isolated", "false"), jit, &parsed);
        const struct baton_word_sink sink = {.word = put_word, .arg = &words, .why = &why};
        baton_buf_init(&words, 10000);
        assert_int_equal(baton_pretokenizer_run(pretokenizer, text, sizeof text, true, &sink),
                         BATON_INVALID);
        assert_non_null(strstr(why.text, "too many steps"));
        baton_buf_fini(&words);
        baton_pretokenizer_destroy(pretokenizer);
        baton_json_free(parsed);
    }
}

TEST(patterns_match_like_onigurumas)
{
#define CUT(pattern, text, expected)                                                               \
    steps_cut_into(SPLIT(REGEX(pattern), "Isolated", "false"), text, expected)
    CUT("[^\\\\s]+", "a\u180e b", "a\u180e| |b");
    CUT("[\\\\S]+", "a\u180e b", "a\u180e| |b");
    CUT("\\\\w+", "é\u0301‿x!", "é\u0301‿x|!");
    CUT("\\\\h+", "xbeef1g", "x|beef1|g");
    CUT("\\\\d{1,3}+", "a12345b", "a|12345|b");
    CUT("(?:ab){2}+", "ababababx", "abababab|x");
    CUT("[a-c&&[^b]]+", "abcax", "a|b|ca|x");
    CUT("[a[bc]]+", "xabcx", "x|abc|x");
    CUT("\\\\p{Han}+", "a語b", "a|語|b");
    CUT("\\\\w+", "a²b½c①d", "a²b½c|①|d");
    CUT("\\\\b", "é\u0301 ab!", "é\u0301| |ab|!");
    CUT("(?i:'s)", "it'ſ", "it|'ſ");
    CUT("a{,2}b", "xaab", "x|aab");
    CUT("a{x", "ba{x", "b|a{x");
}
