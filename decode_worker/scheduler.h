/* The decode scheduler chooses the contexts of the next step: running sequences with one token
 * each, and beside them some tokens of colocated prompts.
 *
 * Of the sequences that may step, the max_batch that arrived first do, so none starves: interactive
 * ones before batch ones, which have an eighth of the slots (common/policy/priority.h). A sequence
 * without credit (its client reads too slowly) or with a full link keeps its rank, but its slot
 * goes to the next one until it may step again. Prompts run in order of arrival, of each class.
 * Beside sequences they get at most chunk tokens of a step, which bounds the delay of the
 * sequences' tokens.
 *
 * Sequences that speculate bring drafts to be checked, as many as are worth their rows.
 *
 * Ownership: contexts are borrowed from add until remove.
 * Threading: engine thread.
 * Errors:    init: NO_MEMORY. A step allocates nothing.
 */
#ifndef BATON_DECODE_WORKER_SCHEDULER_H
#define BATON_DECODE_WORKER_SCHEDULER_H

#include "decode_worker/context.h"
#include "engine/engine.h"

enum {
    DC_MAX_PROMPTS = 8,    /* prompts in one step */
    DC_ALONE_TOKENS = 256, /* prompt tokens in a step without sequences */
    DC_STEP_DRAFTS = 64,   /* drafts in a step, all sequences together */
    /* Tokens of text per step by which a draft model catches up with sequences: with one alone,
     * which only delays itself; and beside others. */
    DC_CATCH_UP_ALONE = 256,
    DC_CATCH_UP = 64
};

/* The chunks of a step: sequences first, then prompts. A sequence wants logits of all its rows, a
 * prompt of its last one. Only the last prompt may be incomplete, and then wants none. */
struct dc_step {
    int n_chunks, n_sequences;
    int n_logits;                 /* rows of logits of all chunks */
    struct dc_context **contexts; /* [max_batch + DC_MAX_PROMPTS] */
    struct baton_chunk *chunks;   /* [max_batch + DC_MAX_PROMPTS] */
    int *first_logits; /* [max_batch + DC_MAX_PROMPTS]: each chunk's first row of logits */
};

BATON_LIST(dc_scheduler_list, struct dc_context, in_scheduler)

struct dc_scheduler {
    struct dc_scheduler_list sequences[BATON_N_PRIORITIES]; /* in order of arrival */
    struct dc_scheduler_list prompts[BATON_N_PRIORITIES];
    int max_batch, chunk;
    uint64_t n_steps;        /* steps filled so far */
    uint32_t n_prompt_turns; /* state of baton_priority_next */
    int n_paused;            /* sequences without credit that the last fill skipped */
    double base_s, row_s;    /* the cost of a step (draft_length.h); 0: unknown */
    struct dc_draft_state draft;
    struct dc_step step;
};

enum baton_err dc_scheduler_init(struct dc_scheduler *scheduler, int max_batch,
                                 int chunk) BATON_MUST_CHECK;
void dc_scheduler_fini(struct dc_scheduler *scheduler);

/* The most rows of one sequence in a step. chunk: as for init. */
int dc_scheduler_max_sequence_rows(int chunk);

/* The most rows of a step, and of its logits, for which its engine must be created. */
int dc_scheduler_max_rows(int max_batch, int chunk);
int dc_scheduler_max_logits(int max_batch);

/* The most rows of sequences with drafts in a step. */
int dc_scheduler_max_trial_rows(int max_batch);

/* Adds a context that is PREFILLING or RUNNING. */
void dc_scheduler_add(struct dc_scheduler *scheduler, struct dc_context *context);
void dc_scheduler_remove(struct dc_scheduler *scheduler, struct dc_context *context);

/* Removes a context that is canceled, or stops to be handed over, and returns it; NULL: none. */
struct dc_context *dc_scheduler_take_leaver(struct dc_scheduler *scheduler);

/* Fills scheduler->step. If the step is empty only because links were full, returns when to try
 * again; else 0. */
int64_t dc_scheduler_fill(struct dc_scheduler *scheduler, int64_t now_ns);

#endif
