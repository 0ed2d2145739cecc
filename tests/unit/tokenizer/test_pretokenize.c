#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/tokenizer/pretokenize.h"

static struct baton_pretokenizer *jit, *interpreted;

SETUP(set_up)
{
    return baton_pretokenizer_create(true, &jit, NULL) ||
           baton_pretokenizer_create(false, &interpreted, NULL);
}

TEARDOWN(tear_down)
{
    baton_pretokenizer_destroy(jit);
    baton_pretokenizer_destroy(interpreted);
    return 0;
}

/* Cuts text by both matchers and compares with expected, the words separated by |. */
static void cuts_into(const char *text, const char *expected)
{
    char cut[200];
    size_t n = strlen(text), written = 0;
    for (size_t start = 0, end, other; start < n; start = end) {
        assert_int_equal(baton_pretokenizer_next(jit, text, n, start, &end, NULL), BATON_OK);
        assert_int_equal(baton_pretokenizer_next(interpreted, text, n, start, &other, NULL),
                         BATON_OK);
        assert_int_equal(end, other);
        assert_true(end > start && end <= n);
        if (start)
            cut[written++] = '|';
        memcpy(cut + written, text + start, end - start);
        written += end - start;
    }
    cut[written] = 0;
    assert_string_equal(cut, expected);
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
    size_t end;
    assert_int_equal(baton_pretokenizer_next(jit, "\0\0a", 3, 0, &end, NULL), BATON_OK);
    assert_int_equal(end, 2);
}

TEST(runs_of_a_million_characters_are_one_word_for_both_matchers)
{
    static const char *const units[] = {"a", " ", "\n", "7", "=", "é", "語", "\u3000", "🦙"};
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        size_t unit = strlen(units[u]), n = 1000000 * unit, end, other;
        char *text = malloc(n);
        assert_non_null(text);
        for (size_t i = 0; i < n; i++)
            text[i] = units[u][i % unit];
        assert_int_equal(baton_pretokenizer_next(jit, text, n, 0, &end, NULL), BATON_OK);
        assert_int_equal(baton_pretokenizer_next(interpreted, text, n, 0, &other, NULL), BATON_OK);
        assert_int_equal(end, n);
        assert_int_equal(other, n);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_take_the_space_before_them),
        cmocka_unit_test(english_contractions_are_words),
        cmocka_unit_test(a_run_of_spaces_leaves_its_last_one_to_the_word),
        cmocka_unit_test(letters_and_numbers_are_unicodes),
        cmocka_unit_test(space_is_unicodes_white_space),
        cmocka_unit_test(a_zero_byte_is_a_character_like_others),
        cmocka_unit_test(runs_of_a_million_characters_are_one_word_for_both_matchers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
