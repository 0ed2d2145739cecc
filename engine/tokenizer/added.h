/* A set of added tokens and their search in text: the leftmost first, and the longest of several at
 * one place; private to engine/tokenizer.
 *
 * Ownership: the struct is embedded; texts are borrowed and must outlive it.
 * Threading: filled by one thread, read-only after seal.
 * Errors:    add: NO_MEMORY.
 */
#ifndef BATON_ENGINE_TOKENIZER_ADDED_H
#define BATON_ENGINE_TOKENIZER_ADDED_H

#include "engine/tokenizer/text_set.h"

struct baton_added_token {
    const char *text; /* the text that is searched for */
    size_t n_bytes;   /* at least 1 */
    uint32_t id;
    bool special, lstrip, rstrip, single_word; /* as in tokenizer_tables.h */
};

struct baton_added {
    struct baton_added_token *tokens;
    size_t n_tokens, cap;
    struct baton_text_set texts; /* -> index of tokens */
    size_t left_steps;           /* of the searches; set by the caller for a call */
};

/* Frees the set, not the texts. */
void baton_added_fini(struct baton_added *added);
/* Adds one token, whose text is borrowed. Of equal texts the first one counts. */
enum baton_err baton_added_add(struct baton_added *added,
                               struct baton_added_token token) BATON_MUST_CHECK;

/* Call once, after the last add and before the first find. */
void baton_added_seal(struct baton_added *added);

/* Finds the first token at or after start in the n bytes at text and writes its position to *at;
 * NULL when there is none. */
const struct baton_added_token *baton_added_find(struct baton_added *added, const char *text,
                                                 size_t n, size_t start, size_t *at);

#endif
