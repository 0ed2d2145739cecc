/* The decode scheduler: who takes part in the next step. Running sequences, one token each, and
 * beside them some tokens of prompts that run here.
 *
 * Of the sequences that may step, the max_batch that came first do, so none is overtaken for ever.
 * A sequence without credit (its client reads too slowly), or whose link was full, keeps its rank,
 * but its slot goes to the next one until it may step again. Prompts take turns in order of
 * arrival, at most chunk tokens a step beside sequences, so that those do not stall.
 *
 * Ownership: contexts are borrowed from add until remove.
 * Threading: engine thread.
 * Errors:    init: NO_MEMORY. A step allocates nothing.
 */
#ifndef BATON_DECODE_SCHEDULER_H
#define BATON_DECODE_SCHEDULER_H

#include "common/engine/compute/engine.h"
#include "decode_worker/context.h"

enum {
    DC_MAX_PROMPTS = 8,   /* in one step */
    DC_ALONE_TOKENS = 256 /* of prompts in one step when no sequence waits for it */
};

/* The chunks of a step: sequences first, then prompts. Only the last prompt may have more to come,
 * so row r of the logits is that of chunk r. */
struct dc_step {
    int n_chunks, n_sequences, n_rows; /* rows: chunks that want logits */
    struct dc_context **contexts;      /* [max_batch + DC_MAX_PROMPTS] */
    struct baton_chunk *chunks;        /* the same */
};

BATON_LIST(dc_scheduler_list, struct dc_context, in_scheduler)

struct dc_scheduler {
    struct dc_scheduler_list sequences, prompts; /* in order of arrival */
    int max_batch, chunk;
    int n_paused; /* sequences without credit that were passed over, when last filled */
    struct dc_step step;
};

enum baton_err dc_scheduler_init(struct dc_scheduler *scheduler, int max_batch,
                                 int chunk) BATON_MUST_CHECK;
void dc_scheduler_fini(struct dc_scheduler *scheduler);

/* Rows that a step may have: what its engine must be made for. */
int dc_scheduler_max_rows(int max_batch, int chunk);

/* context is PREFILLING or RUNNING. */
void dc_scheduler_add(struct dc_scheduler *scheduler, struct dc_context *context);
void dc_scheduler_remove(struct dc_scheduler *scheduler, struct dc_context *context);

/* A canceled context, removed; NULL when there is none (any more). */
struct dc_context *dc_scheduler_take_canceled(struct dc_scheduler *scheduler);

/* Fills scheduler->step. Returns when to look again because a link was full, if the step is empty
 * for that reason only; else 0. */
int64_t dc_scheduler_fill(struct dc_scheduler *scheduler, int64_t now_ns);

#endif
