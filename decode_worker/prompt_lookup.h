/* Prompt lookup: the end of a text stood somewhere before, so what followed there may follow again
 * (Saxena, "Prompt Lookup Decoding", 2023).
 *
 * Of the earlier places where the last two tokens stand, the one counts that agrees with the end
 * for longest, the latest of equals. A text that repeats itself is continued past its end.
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
    uint32_t *earlier; /* [n] of the pair that ends here: where its kind ended before, plus one */
    uint32_t *latest;  /* [n_kinds] the same, where it ended last; a kind is a hash */
    size_t n, n_max, n_kinds;
};

/* For a text of at most n_max tokens. */
enum baton_err dc_prompt_lookup_init(struct dc_prompt_lookup *lookup,
                                     size_t n_max) BATON_MUST_CHECK;
void dc_prompt_lookup_fini(struct dc_prompt_lookup *lookup);

void dc_prompt_lookup_add(struct dc_prompt_lookup *lookup, uint32_t token);

/* Where to go on reading as if the text's end were there. */
struct dc_lookup_match {
    size_t next;  /* the index of the token that followed */
    int n_agreed; /* tokens before it that the text's end has too; 0: there is no such place */
};

struct dc_lookup_match dc_prompt_lookup_find(const struct dc_prompt_lookup *lookup);

/* What followed there: drafts [n]. */
void dc_prompt_lookup_read(const struct dc_prompt_lookup *lookup, struct dc_lookup_match match,
                           uint32_t *drafts, int n);

#endif
