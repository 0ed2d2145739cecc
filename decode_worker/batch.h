/* The engine thread: every running sequence advances by one token per step, as one batch.
 *
 * Sequences join and leave between steps. A sequence without credit (its client reads too slowly)
 * stays, and sits steps out.
 *
 * Ownership: contexts are borrowed from submit until take_done returns them.
 * Threading: submit, wake, take_done and stop from the main thread; stats from any.
 * Errors:    start: as the engine's creation. submit: AGAIN when the queue is full.
 */
#ifndef BATON_DECODE_BATCH_H
#define BATON_DECODE_BATCH_H

#include "decode_worker/context.h"

struct dc_batch;

struct dc_batch_stats {
    uint32_t n_running;
    double last_step_s;
};

struct dc_batch_options {
    const struct baton_model *model;
    int n_threads, max_batch;
    bool pin;                /* threads, each to a processor of its own */
    void (*wake)(void *arg); /* called when a context is done */
    void *wake_arg;
};

enum baton_err dc_batch_start(const struct dc_batch_options *options, struct dc_batch **batch,
                              struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the thread; what still runs is forgotten. */
void dc_batch_stop(struct dc_batch *batch);

enum baton_err dc_batch_submit(struct dc_batch *batch, struct dc_context *context) BATON_MUST_CHECK;

/* Something a running context waits for may have changed: credit, cancellation. */
void dc_batch_wake(struct dc_batch *batch);

/* A context the engine is through with; NULL when there is none. */
struct dc_context *dc_batch_take_done(struct dc_batch *batch);

struct dc_batch_stats dc_batch_stats(struct dc_batch *batch);

#endif
