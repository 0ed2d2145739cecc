/* Plain characters: those that stand for themselves in a JSON string, so all but the quote, the
 * backslash and control characters.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_GRAMMAR_LANGUAGE_PLAIN_H
#define BATON_ENGINE_GRAMMAR_LANGUAGE_PLAIN_H

#include <stddef.h>
#include <stdint.h>

/* The byte ranges of one kind of plain characters, up to four; high is 0 behind the last. */
struct baton_plain_bytes {
    struct {
        uint8_t low, high;
    } bytes[4];
};

enum { BATON_N_PLAIN_KINDS = 11 };
/* All plain characters in UTF-8. */
extern const struct baton_plain_bytes baton_plain_kinds[BATON_N_PLAIN_KINDS];

/* The length of the plain character at text [n], in bytes; 0: there is none. */
size_t baton_plain_length(const uint8_t *text, size_t n);

#endif
