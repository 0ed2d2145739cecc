/* Lossless speculation of one sequence: drafts are guessed, and one step verifies several.
 *
 * The step computes the logits after the next token and after each draft. Tokens are sampled from
 * them in order, with the random draws that these positions have anyway, as long as each equals its
 * draft. So the output is the same as without speculation, to the last bit, and a wrong draft only
 * costs its row. Its K and V are overwritten later.
 *
 * Drafts are forced by a grammar, or else looked up in the text; or a draft model makes them
 * (drafter.h). The draft model has a KV cache of its own for the sequence, which is empty at first.
 *
 * Ownership: embedded in a context; owns the text that drafts come from, and the blocks of the
 *            draft model's sequence. Zeroed it does not speculate.
 * Threading: init and fini on the main thread, the rest on the engine thread.
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
    DC_N_AGREEMENTS = 3,         /* classes of matches: the longer, the better the odds */
    DC_FORCED = DC_N_AGREEMENTS, /* the class of drafts that a grammar forces */
    DC_N_ODDS,
    /* Tokens that a draft model lacks after all drafts were correct: the last draft, which is never
     * its input, and the token after it. One whose layers keep a state returns to the state before
     * the drafts, and lacks all of them, as does the model's own head: it has not seen their hidden
     * states. */
    DC_USUAL_LAG = 2,
    DC_MOST_LAG = 1 + BATON_MAX_DRAFTS
};

struct dc_draft_model;

/* The cost of a round of the draft model, and its recent accuracy. Zeroed: unknown. */
struct dc_draft_state {
    double base_s, row_s;
    double p;        /* share of correct drafts, all sequences; 0: none was verified */
    int n_since_try; /* steps since the last try of a draft that was not worth its time */
};

struct dc_speculation {
    int max_tokens; /* most drafts of a step; 0: it does not speculate */
    int min_tokens; /* least drafts of a step, even if they are not worth their rows */
    struct dc_prompt_lookup text;
    struct baton_draft_odds odds[DC_N_ODDS];

    /* with a draft model */
    bool has_model;
    int n_model_vocab;      /* the size of its vocabulary */
    int n_model_positions;  /* the capacity of its sequence */
    struct baton_seq draft; /* n_tokens: tokens of the text that it has computed */
    bool tries;             /* it tries a draft that does not seem worth its time */
    int n_waited, patience; /* steps without a draft; the number after which one is tried */
    int usual_lag;          /* dc_draft_model_lag */

    /* With the model's own head, whose sequence has the positions that it was given, not those of
     * the text. Pairs are final hidden states and the tokens after them, the text's last ones. */
    float *hidden; /* owned array: [DC_MOST_LAG][n_embd] of pairs; NULL: there is no head */
    int n_embd, n_pairs;
    int n_given; /* positions of its sequence that hold pairs */

    /* of the current step */
    uint32_t tokens[1 + BATON_MAX_DRAFTS]; /* its input: the text's last token, and drafts */
    int n_drafts, agreement;
    int n_fed; /* tokens of the text that the draft model computes first; 0: it is not used */
};

/* start: checked, with prompt and output, with which the text begins. draft: the worker's draft
 * model, or NULL. If start wants a draft model and there is none, or its pool is full, the sequence
 * does not speculate. */
enum baton_err dc_speculation_init(struct dc_speculation *speculation,
                                   const Baton__V1__DecodeStart *start,
                                   const struct dc_draft_model *draft) BATON_MUST_CHECK;
void dc_speculation_fini(struct dc_speculation *speculation);

/* Guesses up to n_most of the next tokens: as many as are worth their rows (draft_length.h), but at
 * least min_tokens. Fills tokens and n_drafts. matcher: of the sequence's grammar, or NULL. */
void dc_speculation_draft(struct dc_speculation *speculation, struct baton_matcher *matcher,
                          double least, int n_most);

/* Plans the drafts that a draft model will make: fills n_drafts and n_fed. cost: of a draft
 * (draft_length.h). *n_catch_up: tokens by which sequences may still catch up in this step. */
void dc_speculation_plan(struct dc_speculation *speculation, struct dc_draft_state *state,
                         double cost, int n_most, int *n_catch_up);

/* The text's tokens that the draft model computes first: [n_fed]. */
const uint32_t *dc_speculation_fed(const struct dc_speculation *speculation);

/* The draft model failed at its i-th draft: the sequence continues without drafts. */
void dc_speculation_give_up(struct dc_speculation *speculation, int i_draft);

/* Adds the sequence's accuracy to the worker's estimate, with which other sequences begin. */
void dc_speculation_share_odds(const struct dc_speculation *speculation,
                               struct dc_draft_state *state);

/* The step generated tokens [n], all of which except the last were drafts. hidden: [n][C] the final
 * hidden states that they were sampled from; for the model's own head. */
void dc_speculation_note(struct dc_speculation *speculation, const uint32_t *tokens, int n,
                         const float *hidden);

#endif
