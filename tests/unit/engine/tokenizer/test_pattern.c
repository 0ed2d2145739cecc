#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

#include "common/base/array.h"
#include "engine/tokenizer/split/pattern.h"

enum { LONG_BYTES = 1 << 19, MAX_MATCHES = 256, WHOLE = 1 << 20 };

#define WORDS                                                                                      \
    "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"          \
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static struct baton_pattern *open_pattern(const char *text, bool jit, size_t window)
{
    const struct baton_step_pattern source = {.text = {text, strlen(text)}, .is_regex = true};
    struct baton_pattern *pattern = NULL;
    struct baton_why why = {""};
    if (baton_pattern_create(&source, jit, window, &pattern, &why))
        fail_msg("%s: %s", text, why.text);
    return pattern;
}

static size_t find_all(struct baton_pattern *pattern, const char *text,
                       struct baton_match found[MAX_MATCHES])
{
    struct baton_match match = {.found = false};
    struct baton_why why = {""};
    for (size_t n = 0; n < MAX_MATCHES; n++) {
        if (baton_pattern_next(pattern, text, strlen(text), &match, &why))
            fail_msg("%s", why.text);
        found[n] = match;
        if (!match.found)
            return n;
    }
    fail_msg("more than %d matches", MAX_MATCHES);
    return 0;
}

TEST(matches_do_not_depend_on_the_length_of_a_search)
{
    static const char *const patterns[] = {WORDS,     "\\d{1,3}(?=(?:\\d{3})*\\b)",
                                           "\\s+$",   "$",
                                           "^.",      "\\b\\w",
                                           "x*",      "(?<=a)b*",
                                           "(?!b)a?", "(a|ab)(c|bcd)(d*)",
                                           ".*?!",    "\\G\\w",
                                           "a\\Kb"};
    static const char *const texts[] = {
        "", "abcd abcdd, it's 12345678 words!\r\n  \n   and\tmore   ",
        "aaaaaaaaaaaaaaaaaaaaaaaaaab", "1234567 12 345678901  \n\n  x",
        "\u00e9\u0301\u4e2d\u6587 \U0001f600! na\u00efve"};
    struct baton_match whole[MAX_MATCHES], parts[MAX_MATCHES];
    for (size_t i = 0; i < BATON_N_OF(patterns); i++)
        for (int jit = 0; jit < 2; jit++) {
            struct baton_pattern *in_one = open_pattern(patterns[i], jit, WHOLE);
            for (size_t window = 1; window < 20; window++) {
                struct baton_pattern *pattern = open_pattern(patterns[i], jit, window);
                for (size_t k = 0; k < BATON_N_OF(texts); k++) {
                    size_t n = find_all(in_one, texts[k], whole);
                    assert_int_equal(find_all(pattern, texts[k], parts), n);
                    for (size_t m = 0; m < n; m++)
                        if (parts[m].start != whole[m].start || parts[m].end != whole[m].end)
                            fail_msg("%s in \"%s\", window %zu", patterns[i], texts[k], window);
                }
                baton_pattern_destroy(pattern);
            }
            baton_pattern_destroy(in_one);
        }
}

static enum baton_err count(const char *regex, const char *text, size_t *n, struct baton_why *why)
{
    struct baton_pattern *pattern = open_pattern(regex, true, 1024);
    struct baton_match match = {.found = false};
    enum baton_err err;
    *n = 0;
    do {
        err = baton_pattern_next(pattern, text, LONG_BYTES, &match, why);
        *n += !err && match.found;
    } while (!err && match.found);
    baton_pattern_destroy(pattern);
    return err;
}

TEST(a_pattern_that_reads_the_rest_of_a_text_at_every_word_is_refused)
{
    static const char *const hostile[] = {"\\p{L}(?=.*x)", "[ab]*[cd]", "a*?b", "(?:a+)+b"};
    char *text = malloc(LONG_BYTES);
    struct baton_why why = {""};
    size_t n;
    assert_non_null(text);
    memset(text, 'a', LONG_BYTES);
    for (size_t i = 0; i < BATON_N_OF(hostile); i++) {
        assert_int_equal(count(hostile[i], text, &n, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "too many steps"));
    }
    assert_ok(count("\\p{L}+", text, &n, &why));
    assert_int_equal(n, 1);
    for (size_t i = 0; i < LONG_BYTES; i += 5000)
        text[i] = ' ';
    assert_ok(count(" ?\\p{L}+", text, &n, &why));
    assert_int_equal(n, LONG_BYTES / 5000 + 1);
    free(text);
}
