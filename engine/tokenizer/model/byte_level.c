#include "engine/tokenizer/model/byte_level.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/utf8.h"

/* The bytes without a character of their own form three runs: 00..20, 7f..a0 and ad. Their
 * characters follow U+0100 in that order. */
enum {
    SHIFTED = 0x100,
    FIRST_RUN = 0x21,
    SECOND_RUN = 0x22,
    N_SHIFTED = FIRST_RUN + SECOND_RUN + 1
};

static bool stands_for_itself(unsigned c)
{
    return (c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xff && c != 0xad);
}

static unsigned code_point_of(uint8_t byte)
{
    if (stands_for_itself(byte))
        return byte;
    if (byte <= 0x20)
        return SHIFTED + byte;
    if (byte <= 0xa0)
        return SHIFTED + FIRST_RUN + (byte - 0x7fu);
    return SHIFTED + FIRST_RUN + SECOND_RUN;
}

/* Returns the byte whose character is c, or -1. */
static int byte_of(unsigned c)
{
    if (c < SHIFTED)
        return stands_for_itself(c) ? (int)c : -1;
    unsigned i = c - SHIFTED;
    if (i >= N_SHIFTED)
        return -1;
    if (i < FIRST_RUN)
        return (int)i;
    return i < FIRST_RUN + SECOND_RUN ? (int)(0x7f + i - FIRST_RUN) : 0xad;
}

size_t baton_byte_level_encode(uint8_t byte, char text[BATON_BYTE_LEVEL_MAX + 1])
{
    char character[4];
    size_t n = baton_utf8_encode(code_point_of(byte), character); /* two bytes at most */
    memcpy(text, character, n);
    text[n] = 0;
    return n;
}

/* Returns the byte of the first character in the n >= 1 bytes at s and writes the character's
 * length; -1 when it is not in the alphabet. */
static int next_byte(const unsigned char *s, size_t n, size_t *length)
{
    *length = 1;
    if (s[0] < 0x80)
        return byte_of(s[0]);
    if (s[0] >= 0xe0 || n < 2)
        return -1;
    *length = 2;
    return byte_of((s[0] & 0x1fu) << 6 | (s[1] & 0x3fu));
}

static bool is_of_alphabet(const unsigned char *s, size_t n)
{
    for (size_t i = 0, length; i < n; i += length)
        if (next_byte(s + i, n - i, &length) < 0)
            return false;
    return true;
}

size_t baton_byte_level_decode(const char *text, size_t n, char *out)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t written = 0;
    if (!is_of_alphabet(s, n)) {
        memmove(out, text, n);
        return n;
    }
    for (size_t i = 0, length; i < n; i += length)
        out[written++] = (char)next_byte(s + i, n - i, &length);
    return written;
}
