/* UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF): the check of text from
 * outside, and characters of text that was checked. Classes of characters are utf8proc's.
 *
 * Ownership: nothing.
 * Threading: pure functions.
 * Errors:    reported in the result.
 */
#ifndef BATON_COMMON_BASE_UTF8_H
#define BATON_COMMON_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATON_UTF8_BAD = 0, BATON_UTF8_INCOMPLETE = -1 };

/* Looks at the n >= 1 bytes at p. Returns the length 1..4 of the valid character that starts there,
 * BATON_UTF8_INCOMPLETE when all n bytes are a proper prefix of one, BATON_UTF8_BAD when p[0]
 * cannot start a valid character. On BAD, *skip (may be NULL) is how many bytes one U+FFFD stands
 * for (the maximal subpart, Unicode 15 section 3.9). */
int baton_utf8_next(const char *p, size_t n, size_t *skip);

bool baton_utf8_valid(const char *p, size_t n);

/* ---- valid text ---- */

/* Whether the byte is not a character's first. */
static inline bool baton_utf8_continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The code point of the valid character that the length bytes at p are. */
static inline uint32_t baton_utf8_decode(const char *p, size_t length)
{
    uint32_t c = (unsigned char)p[0] & (length == 1 ? 0x7fu : 0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3fu);
    return c;
}

/* The character that begins at text, of at least one byte; *n (may be NULL) is its length. */
static inline uint32_t baton_utf8_at(const char *text, size_t *n)
{
    unsigned char first = (unsigned char)text[0];
    size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (n)
        *n = length;
    return baton_utf8_decode(text, length);
}

/* Returns the first byte of the character that ends before `at` (> 0). */
size_t baton_utf8_before(const char *text, size_t at);

/* Counts the characters of n bytes. */
size_t baton_utf8_count(const char *text, size_t n);

/* Writes the code point c, which is below 0x110000; returns its length. */
size_t baton_utf8_encode(uint32_t c, char text[4]);

#endif
