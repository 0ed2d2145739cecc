/* A set of texts that is searched byte by byte; private to engine/tokenizer.
 *
 * The texts are sorted by their bytes, so the texts that begin with the bytes so far are one range,
 * which each further byte narrows by two binary searches.
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

/* Adds a text; a search finds the lowest value of equal texts. */
enum baton_err baton_text_set_add(struct baton_text_set *set,
                                  struct baton_text_entry entry) BATON_MUST_CHECK;

/* Call once, after the last add and before the first search. */
void baton_text_set_seal(struct baton_text_set *set);

/* The entries low .. high - 1, whose first depth bytes are equal. */
struct baton_text_range {
    size_t low, high, depth;
};

/* Finds the range of entries that begin with c; false when there is none. */
bool baton_text_set_begin(const struct baton_text_set *set, char c, struct baton_text_range *range);
/* Narrows the range to entries that continue with c; false when there is none. */
bool baton_text_set_narrow(const struct baton_text_set *set, char c,
                           struct baton_text_range *range);
/* Returns the entry that ends at the range's depth; NULL when there is none. */
const struct baton_text_entry *baton_text_set_complete(const struct baton_text_set *set,
                                                       const struct baton_text_range *range);

#endif
