/* A set of characters, as sorted ranges of code points that neither touch nor overlap.
 *
 * Ownership: plain data.
 * Threading: pure.
 * Errors:    a range that does not fit marks the set full, and is left out.
 */
#ifndef BATON_ENGINE_GRAMMAR_LANGUAGE_CHARS_H
#define BATON_ENGINE_GRAMMAR_LANGUAGE_CHARS_H

#include <stdbool.h>
#include <stdint.h>

enum { BATON_CHARS_MAX_RANGES = 256, BATON_LAST_CHAR = 0x10ffff };

struct baton_chars {
    uint32_t n;
    bool full;
    struct baton_char_range {
        uint32_t low, high;
    } ranges[BATON_CHARS_MAX_RANGES];
};

/* Adds or removes low <= c <= high <= BATON_LAST_CHAR. */
void baton_chars_add(struct baton_chars *chars, uint32_t low, uint32_t high);
void baton_chars_remove(struct baton_chars *chars, uint32_t low, uint32_t high);
void baton_chars_add_all(struct baton_chars *chars, const struct baton_chars *others);
/* Replaces the set by all other characters. */
void baton_chars_negate(struct baton_chars *chars);
bool baton_chars_has(const struct baton_chars *chars, uint32_t c);

#endif
