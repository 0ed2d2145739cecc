/* Lossless speculation of one sequence: tokens are guessed, and one step checks several.
 *
 * The step computes the logits after the next token and after each draft. Tokens are sampled from
 * them in order, by the draws that these positions have anyway, as long as each is what was
 * guessed: so the output is that without speculation, to the last bit, and a wrong draft costs its
 * row alone. What drafts left in the KV cache is written over.
 *
 * Ownership: embedded in a context; owns the text that drafts are looked up in. Zeroed it
 *            speculates not.
 * Threading: set once on the main thread, then the engine thread's.
 * Errors:    init: NO_MEMORY.
 */
#ifndef BATON_DECODE_SPECULATION_H
#define BATON_DECODE_SPECULATION_H

#include "common/policy/draft_length.h"
#include "common/sampling/speculation.h"
#include "decode_worker/prompt_lookup.h"
#include "proto/baton.pb-c.h"

enum { DC_N_AGREEMENTS = 3 }; /* matches: the longer they agree, the better the odds */

struct dc_speculation {
    int max_tokens; /* drafts of a step; 0: it does not speculate */
    int min_tokens; /* so many even where they are not worth their rows */
    struct dc_prompt_lookup text;
    struct baton_draft_odds odds[DC_N_AGREEMENTS];

    /* of the step at hand */
    uint32_t tokens[1 + BATON_MAX_DRAFTS]; /* its input: the text's last token, and drafts */
    int n_drafts, agreement;
};

/* start: as checked; its prompt and output are there, for the text begins with them. */
enum baton_err dc_speculation_init(struct dc_speculation *speculation,
                                   const Baton__V1__DecodeStart *start) BATON_MUST_CHECK;
void dc_speculation_fini(struct dc_speculation *speculation);

/* Guesses up to n_most of the next tokens, those that are worth their row (draft_length.h), or
 * min_tokens if these are more. Fills tokens and n_drafts. */
void dc_speculation_draft(struct dc_speculation *speculation, double least, int n_most);

/* The step made tokens [n]: all but the last of them were guessed. */
void dc_speculation_note(struct dc_speculation *speculation, const uint32_t *tokens, int n);

#endif
