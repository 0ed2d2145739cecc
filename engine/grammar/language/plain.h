/* Plain characters: the characters that need no escape in a JSON string, which are all but the
 * quote, the backslash and control characters.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_GRAMMAR_LANGUAGE_PLAIN_H
#define BATON_ENGINE_GRAMMAR_LANGUAGE_PLAIN_H

#include <stddef.h>
#include <stdint.h>

/* The byte ranges of one kind of plain characters, up to four; high is 0 after the last. */
struct baton_plain_bytes {
    struct {
        uint8_t low, high;
    } bytes[4];
};

enum { BATON_N_PLAIN_KINDS = 11 };
/* The kinds of all plain characters in UTF-8. */
extern const struct baton_plain_bytes baton_plain_kinds[BATON_N_PLAIN_KINDS];

/* Returns the length in bytes of the plain character at text [n]; 0 when there is none. */
size_t baton_plain_length(const uint8_t *text, size_t n);

#endif
