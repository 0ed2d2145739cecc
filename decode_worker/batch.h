/* The engine thread: steps, each of which advances the running sequences by one token as one batch,
 * and beside them the prompts that are run here by some tokens (scheduler.h).
 *
 * Sequences join and leave between steps.
 *
 * Ownership: contexts are borrowed from submit until take_done returns them.
 * Threading: submit, wake, take_done and stop from the main thread; stats from any.
 * Errors:    start: as the engine's creation.
 */
#ifndef BATON_DECODE_BATCH_H
#define BATON_DECODE_BATCH_H

#include "common/cores/cores.h"
#include "decode_worker/context.h"

struct dc_batch;

struct dc_batch_stats {
    uint32_t n_running; /* contexts that took part in the last step and are not done */
    uint32_t n_paused;  /* sequences that wait for credit; of a full step, at least so many */
    double last_step_s;
    double busy_s;                  /* spent in steps, since the start */
    double tokens_per_s;            /* made while it works; 0: not known yet */
    double step_base_s, step_row_s; /* as Status tells them */
    uint32_t step_max_rows;
};

struct dc_batch_options {
    const struct baton_model *model;
    struct baton_cores *cores;
    int max_batch;
    int colocated_chunk;     /* prompt tokens in a step beside running sequences */
    int max_contexts;        /* that are here at a time */
    void (*wake)(void *arg); /* called when contexts are done */
    void *wake_arg;
};

enum baton_err dc_batch_start(const struct dc_batch_options *options, struct dc_batch **batch,
                              struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the thread; what still runs is forgotten. */
void dc_batch_stop(struct dc_batch *batch);

/* A context PREFILLING or RUNNING. */
void dc_batch_submit(struct dc_batch *batch, struct dc_context *context);

/* Something a context that is here waits for may have changed: credit, cancellation. */
void dc_batch_wake(struct dc_batch *batch);

/* A context the engine is through with: canceled, over, or with its prompt complete. NULL when
 * there is none. */
struct dc_context *dc_batch_take_done(struct dc_batch *batch);

struct dc_batch_stats dc_batch_stats(struct dc_batch *batch);

#endif
