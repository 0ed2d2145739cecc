/* A set of texts to be followed byte by byte; private to engine/tokenizer.
 *
 * The texts are sorted by their bytes, so the texts that begin with the bytes seen so far are one
 * range, which each further byte narrows by two binary searches.
 *
 * Ownership: the struct is embedded; texts are borrowed and must outlive it.
 * Threading: filled by one thread, read-only after seal.
 * Errors:    add: NO_MEMORY.
 */
#ifndef BATON_ENGINE_TOKENIZER_TEXT_SET_H
#define BATON_ENGINE_TOKENIZER_TEXT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct baton_text_entry {
    const char *text;
    size_t n_bytes; /* at least 1 */
    uint32_t value;
};

struct baton_text_set {
    struct baton_text_entry *entries;
    size_t n, cap;
    size_t begins[257]; /* entries whose first byte is c: begins[c] .. begins[c + 1] - 1 */
};

/* Frees the set, not the texts. */
void baton_text_set_fini(struct baton_text_set *set);

/* Adds a text; of equal ones the lowest value is found. */
enum baton_err baton_text_set_add(struct baton_text_set *set,
                                  struct baton_text_entry entry) BATON_MUST_CHECK;

/* Call once, after the last add and before the first search. */
void baton_text_set_seal(struct baton_text_set *set);

/* The entries low .. high - 1, which agree in their first depth bytes. */
struct baton_text_range {
    size_t low, high, depth;
};

/* The range of the entries that begin with c; false when there is none. */
bool baton_text_set_begin(const struct baton_text_set *set, char c, struct baton_text_range *range);
/* Narrows it to those that go on with c; false when there is none. */
bool baton_text_set_narrow(const struct baton_text_set *set, char c,
                           struct baton_text_range *range);
/* The entry that has no more bytes than the range's depth; NULL when there is none. */
const struct baton_text_entry *baton_text_set_complete(const struct baton_text_set *set,
                                                       const struct baton_text_range *range);

#endif
