#include "tests/support/test.h"

#include <string.h>

#include "decode_worker/prompt_lookup.h"

static struct dc_prompt_lookup lookup;

static void read_text(const char *text)
{
    assert_ok(dc_prompt_lookup_init(&lookup, 2000));
    for (; *text; text++)
        dc_prompt_lookup_add(&lookup, (uint32_t)*text);
}

/* Checks the guess of the text's continuation; "": there is none. */
static void assert_guess(const char *text, const char *expected, int n_agreed)
{
    uint32_t drafts[64];
    read_text(text);
    struct dc_lookup_match match = dc_prompt_lookup_find(&lookup);
    int n = (int)strlen(expected);
    assert_int_equal(match.n_agreed, n_agreed);
    dc_prompt_lookup_read(&lookup, match, drafts, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(drafts[i], expected[i]);
    dc_prompt_lookup_fini(&lookup);
}

TEST(what_followed_the_last_tokens_before_is_guessed)
{
    assert_guess("the cat sat; the c", "at sat; ", 5);
    assert_guess("abc", "", 0);
    assert_guess("", "", 0);
    assert_guess("a", "", 0);
    assert_guess("aXbX", "", 0); /* one token is too little */
}

TEST(the_place_that_agrees_for_longest_counts_and_the_latest_of_equals)
{
    assert_guess("12ab3 .. 9ab4 .. 2ab", "3 ", 3);
    assert_guess(".ab3 /ab4 -ab", "4 ", 2);
}

TEST(a_text_that_repeats_itself_goes_on_past_its_end)
{
    assert_guess("xyzxyzxy", "zxyzxyzxyz", 5);
    assert_guess("aaa", "aaaaaaaa", 2);
}

TEST(many_equal_pairs_are_not_all_looked_at)
{
    assert_ok(dc_prompt_lookup_init(&lookup, 2000));
    for (uint32_t i = 0; i < 600; i++) {
        dc_prompt_lookup_add(&lookup, 1);
        dc_prompt_lookup_add(&lookup, 2);
        dc_prompt_lookup_add(&lookup, 100 + i);
    }
    dc_prompt_lookup_add(&lookup, 1);
    dc_prompt_lookup_add(&lookup, 2);
    struct dc_lookup_match match = dc_prompt_lookup_find(&lookup);
    assert_int_equal(match.n_agreed, 2);
    assert_int_equal(lookup.tokens[match.next], 100 + 599);
    dc_prompt_lookup_fini(&lookup);
}
