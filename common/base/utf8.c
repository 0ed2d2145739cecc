#include "common/base/utf8.h"

/* Returns the length by the first byte, and the range of the second byte, from table 3-7 of the
 * Unicode standard; later bytes are always 80..bf. Length 0 marks a byte that begins no
 * character. */
static int classify(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    if (first < 0xe0)
        return 2;
    if (first < 0xf0) {
        if (first == 0xe0)
            *low = 0xa0;
        if (first == 0xed)
            *high = 0x9f;
        return 3;
    }
    if (first == 0xf0)
        *low = 0x90;
    if (first == 0xf4)
        *high = 0x8f;
    return 4;
}

int baton_utf8_next(const char *p, size_t n, size_t *skip)
{
    const unsigned char *s = (const unsigned char *)p;
    unsigned char low, high;
    int length = classify(s[0], &low, &high);
    for (int i = 1; i < length; i++) {
        if ((size_t)i == n)
            return BATON_UTF8_INCOMPLETE;
        if (s[i] < low || s[i] > high) {
            if (skip)
                *skip = (size_t)i;
            return BATON_UTF8_BAD;
        }
        low = 0x80;
        high = 0xbf;
    }
    if (!length && skip)
        *skip = 1;
    return length;
}

bool baton_utf8_valid(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        int length = baton_utf8_next(p + i, n - i, NULL);
        if (length <= 0)
            return false;
        i += (size_t)length;
    }
    return true;
}

size_t baton_utf8_count(const char *text, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += !baton_utf8_continues(text[i]);
    return count;
}

size_t baton_utf8_before(const char *text, size_t at)
{
    do
        at--;
    while (at && baton_utf8_continues(text[at]));
    return at;
}

size_t baton_utf8_encode(uint32_t c, char text[4])
{
    if (c < 0x80) {
        text[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        text[i] = (char)(0x80 | (c & 0x3f));
    text[0] = (char)((0xf00u >> n) | c); /* as many ones as bytes, and a zero */
    return n;
}
