#include "tests/support/test.h"

#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/tokenizer/model/byte_level.h"

TEST(every_byte_has_its_own_printable_character)
{
    char all[256][BATON_BYTE_LEVEL_MAX + 1];
    for (unsigned byte = 0; byte < 256; byte++) {
        size_t n = baton_byte_level_encode((uint8_t)byte, all[byte]);
        assert_int_equal(n, strlen(all[byte]));
        assert_int_equal(baton_utf8_next(all[byte], n, NULL), n);
        assert_true((unsigned char)all[byte][0] > ' ');
        for (unsigned other = 0; other < byte; other++)
            assert_string_not_equal(all[other], all[byte]);
    }
}

TEST(the_well_known_characters_are_where_gpt2_has_them)
{
    static const struct {
        uint8_t byte;
        const char *text;
    } known[] = {{' ', "\u0120"},  {'\n', "\u010a"}, {0x00, "\u0100"}, {'a', "a"},      {'~', "~"},
                 {0x7f, "\u0121"}, {0xa0, "\u0142"}, {0xad, "\u0143"}, {0xff, "\u00ff"}};
    for (size_t i = 0; i < BATON_N_OF(known); i++) {
        char text[BATON_BYTE_LEVEL_MAX + 1];
        (void)baton_byte_level_encode(known[i].byte, text);
        assert_string_equal(text, known[i].text);
    }
}

TEST(decoding_undoes_encoding)
{
    char text[2 * 256 + 1], out[sizeof text];
    size_t n = 0;
    for (unsigned byte = 0; byte < 256; byte++)
        n += baton_byte_level_encode((uint8_t)byte, text + n);
    assert_int_equal(baton_byte_level_decode(text, n, out), 256);
    for (unsigned byte = 0; byte < 256; byte++)
        assert_int_equal((uint8_t)out[byte], byte);
}

TEST(text_outside_the_alphabet_is_kept_unchanged)
{
    static const char *const texts[] = {"a b", "\u0144", "\u00ad", "a\u2581b", "\U0001f999"};
    for (size_t i = 0; i < BATON_N_OF(texts); i++) {
        char out[16];
        size_t n = strlen(texts[i]);
        assert_int_equal(baton_byte_level_decode(texts[i], n, out), n);
        assert_memory_equal(out, texts[i], n);
    }
}
