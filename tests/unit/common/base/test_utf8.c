#include "tests/support/test.h"

#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"

static int next(const char *text, size_t *skip)
{
    return baton_utf8_next(text, strlen(text), skip);
}

TEST(each_length_is_recognised)
{
    assert_int_equal(next("a", NULL), 1);
    assert_int_equal(next("\xc3\xa9", NULL), 2);
    assert_int_equal(next("\xe2\x82\xac", NULL), 3);
    assert_int_equal(next("\xf0\x9f\xa6\x84", NULL), 4);
    assert_int_equal(next("\xf4\x8f\xbf\xbf", NULL), 4);
}

TEST(prefixes_are_incomplete_and_not_bad)
{
    assert_int_equal(next("\xc3", NULL), BATON_UTF8_INCOMPLETE);
    assert_int_equal(next("\xe2\x82", NULL), BATON_UTF8_INCOMPLETE);
    assert_int_equal(next("\xf0\x9f\xa6", NULL), BATON_UTF8_INCOMPLETE);
}

TEST(overlong_forms_surrogates_and_beyond_are_bad)
{
    static const struct {
        const char *text;
        size_t skip;
    } bad[] = {{"\x80", 1},
               {"\xc0\x80", 1},
               {"\xc1\xbf", 1},
               {"\xe0\x80\x80", 1},
               {"\xed\xa0\x80", 1},
               {"\xf5\x80", 1},
               {"\xf4\x90\x80\x80", 1},
               {"\xf0\x8f\xbf\xbf", 1},
               {"\xe2\x82z", 2},
               {"\xf0\x9f\xa6z", 3},
               {"\xff", 1}};
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        size_t skip = 0;
        assert_int_equal(next(bad[i].text, &skip), BATON_UTF8_BAD);
        assert_int_equal(skip, bad[i].skip);
    }
}

TEST(a_whole_text_is_valid_or_not)
{
    assert_true(baton_utf8_valid("", 0));
    assert_true(baton_utf8_valid("a\0\xc3\xa9", 4));
    assert_false(baton_utf8_valid("a\xc3", 2));
}

TEST(every_character_is_encoded_and_decoded_alike)
{
    for (uint32_t c = 0; c < 0x110000; c++) {
        char text[4];
        size_t n = baton_utf8_encode(c, text), length = 0;
        assert_int_equal(baton_utf8_at(text, &length), c);
        assert_int_equal(length, n);
        assert_int_equal(baton_utf8_decode(text, n), c);
        bool is_surrogate = c >= 0xd800 && c < 0xe000;
        assert_int_equal(baton_utf8_valid(text, n), !is_surrogate);
        assert_int_equal(baton_utf8_count(text, n), 1);
        assert_int_equal(baton_utf8_before(text, n), 0);
    }
}

TEST(the_character_before_a_place_is_found)
{
    const char *text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x84";
    assert_int_equal(baton_utf8_before(text, 10), 6);
    assert_int_equal(baton_utf8_before(text, 6), 3);
    assert_int_equal(baton_utf8_before(text, 3), 1);
    assert_int_equal(baton_utf8_before(text, 1), 0);
}
