/* One decision about one UTF-8 sequence (RFC 3629: no surrogates, no overlong forms, at most
 * U+10FFFF).
 *
 * Ownership: nothing.
 * Threading: pure functions.
 * Errors:    reported in the result.
 */
#ifndef BATON_COMMON_BASE_UTF8_H
#define BATON_COMMON_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

enum { BATON_UTF8_BAD = 0, BATON_UTF8_INCOMPLETE = -1 };

/* Looks at the n >= 1 bytes at p. Returns the length 1..4 of the valid character that starts there,
 * BATON_UTF8_INCOMPLETE when all n bytes are a proper prefix of one, BATON_UTF8_BAD when p[0]
 * cannot start a valid character. On BAD, *skip (may be NULL) is how many bytes one U+FFFD stands
 * for (the maximal subpart, Unicode 15 section 3.9). */
int baton_utf8_next(const char *p, size_t n, size_t *skip);

bool baton_utf8_valid(const char *p, size_t n);

/* Characters in n bytes of valid UTF-8. */
size_t baton_utf8_count(const char *text, size_t n);

#endif
