/* Prompt lookup: if the end of a text occurred before, the tokens that followed it there may follow
 * again (Saxena, "Prompt Lookup Decoding", 2023).
 *
 * Of the earlier occurrences of the last two tokens, the one with the longest match is used, and
 * the latest of several. A text that repeats itself is continued past its end.
 *
 * Ownership: owns its copy of the text and its index, 12 to 16 bytes a token, sized at init.
 * Threading: one owner at a time.
 * Errors:    init: NO_MEMORY. The rest cannot fail; the text never outgrows n_max.
 */
#ifndef BATON_DECODE_WORKER_PROMPT_LOOKUP_H
#define BATON_DECODE_WORKER_PROMPT_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct dc_prompt_lookup {
    uint32_t *tokens;  /* [n] the text */
    uint32_t *earlier; /* [n] for the pair that ends here: the end of the previous pair of its kind,
                          plus one */
    uint32_t *latest;  /* [n_kinds] for each kind, a hash: the end of its last pair, plus one */
    size_t n, n_max, n_kinds;
};

/* Reserves memory for a text of at most n_max tokens. */
enum baton_err dc_prompt_lookup_init(struct dc_prompt_lookup *lookup,
                                     size_t n_max) BATON_MUST_CHECK;
void dc_prompt_lookup_fini(struct dc_prompt_lookup *lookup);

void dc_prompt_lookup_add(struct dc_prompt_lookup *lookup, uint32_t token);

/* An earlier occurrence of the text's end. */
struct dc_lookup_match {
    size_t next;  /* the index of the token that followed it */
    int n_agreed; /* the length of the match; 0: there is none */
};

struct dc_lookup_match dc_prompt_lookup_find(const struct dc_prompt_lookup *lookup);

/* Copies the tokens that followed there to drafts [n]. */
void dc_prompt_lookup_read(const struct dc_prompt_lookup *lookup, struct dc_lookup_match match,
                           uint32_t *drafts, int n);

#endif
