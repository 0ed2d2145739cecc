/* Lossless speculation of one sequence: tokens are guessed, and one step checks several.
 *
 * The step computes the logits after the next token and after each draft. Tokens are sampled from
 * them in order, by the draws that these positions have anyway, as long as each is what was
 * guessed: so the output is that without speculation, to the last bit, and a wrong draft costs its
 * row alone. What drafts left in the KV cache is written over.
 *
 * Drafts are looked up in the text, unless a grammar leaves no other, or a draft model makes them
 * (drafter.h). The draft model has a
 * KV cache of its own for the sequence, which lacks the whole text at first.
 *
 * Ownership: embedded in a context; owns the text that drafts come from, and the blocks of the
 * draft
 *            model's sequence. Zeroed it speculates not.
 * Threading: init and fini on the main thread, the rest is the engine thread's.
 * Errors:    init: NO_MEMORY.
 */
#ifndef BATON_DECODE_WORKER_SPECULATION_H
#define BATON_DECODE_WORKER_SPECULATION_H

#include "common/params/speculation.h"
#include "common/policy/draft_length.h"
#include "decode_worker/prompt_lookup.h"
#include "engine/grammar/set.h"
#include "engine/kv.h"
#include "proto/baton.pb-c.h"

enum {
    DC_N_AGREEMENTS = 3,         /* matches: the longer they agree, the better the odds */
    DC_FORCED = DC_N_AGREEMENTS, /* no match: a grammar leaves no other text */
    DC_N_ODDS,
    /* Tokens that a draft model lacks after drafts that were all right: the last of them, and the
     * one that came besides. */
    DC_USUAL_LAG = 2
};

struct dc_draft_model;

/* What a round of the draft model costs, and how often its drafts were right of late. Zeroed it is
 * not known. */
struct dc_draft_state {
    double base_s, row_s;
    double p;        /* of all sequences; 0: none was checked */
    int n_since_try; /* steps since one was made that was not worth its time */
};

struct dc_speculation {
    int max_tokens; /* drafts of a step; 0: it does not speculate */
    int min_tokens; /* so many even where they are not worth their rows */
    struct dc_prompt_lookup text;
    struct baton_draft_odds odds[DC_N_ODDS];

    /* with a draft model */
    bool has_model;
    int n_model_vocab;      /* ids that it knows */
    int n_model_positions;  /* that its sequence has room for */
    struct baton_seq draft; /* n_tokens: of the text, computed by it */
    bool tries;             /* a draft that is not worth its time */
    int n_waited, patience; /* steps without a draft; after so many one is tried */

    /* of the step at hand */
    uint32_t tokens[1 + BATON_MAX_DRAFTS]; /* its input: the text's last token, and drafts */
    int n_drafts, agreement;
    int n_fed; /* tokens of the text that the draft model computes first; 0: it has no part */
};

/* start: as checked; its prompt and output are there, for the text begins with them. draft: the
 * worker's draft model, or NULL. A start that asks for a draft model speculates not where there is
 * none, or no memory in its pool. */
enum baton_err dc_speculation_init(struct dc_speculation *speculation,
                                   const Baton__V1__DecodeStart *start,
                                   const struct dc_draft_model *draft) BATON_MUST_CHECK;
void dc_speculation_fini(struct dc_speculation *speculation);

/* Guesses up to n_most of the next tokens, those that are worth their row (draft_length.h), or
 * min_tokens if these are more. Fills tokens and n_drafts. matcher: of the sequence's grammar, or
 * NULL. */
void dc_speculation_draft(struct dc_speculation *speculation, struct baton_matcher *matcher,
                          double least, int n_most);

/* The same for a draft model, which is to make them: fills n_drafts and n_fed. cost: of a draft
 * (draft_length.h). *n_catch_up: tokens that sequences may catch up in this step. */
void dc_speculation_plan(struct dc_speculation *speculation, struct dc_draft_state *state,
                         double cost, int n_most, int *n_catch_up);

/* The draft model failed at its i-th draft: the sequence goes on without. */
void dc_speculation_give_up(struct dc_speculation *speculation, int i_draft);

/* The draft model's drafts count for those of other sequences. */
void dc_speculation_tell(const struct dc_speculation *speculation, struct dc_draft_state *state);

/* The step made tokens [n]: all but the last of them were guessed. */
void dc_speculation_note(struct dc_speculation *speculation, const uint32_t *tokens, int n);

#endif
