/* What the engine thread of a decode worker does: each step advances the running sequences by one
 * token as one batch, and beside them, by some tokens, the prompts that run here (scheduler.h).
 *
 * Sequences join and leave between steps.
 *
 * Ownership: contexts are borrowed from submit until take_done returns them.
 * Threading: start, submit, wake, take_done and stop from the main thread; stats from any thread.
 * Errors:    start: as the engine's creation.
 */
#ifndef BATON_DECODE_WORKER_ENGINE_H
#define BATON_DECODE_WORKER_ENGINE_H

#include "decode_worker/context.h"
#include "worker/engine_thread.h"

struct dc_engine;

struct dc_engine_stats {
    struct baton_engine_stats steps;
    uint32_t n_running; /* contexts that took part in the last step and are not done */
    uint32_t n_paused;  /* sequences that wait for credit; of a full step, at least so many */
    uint32_t step_max_rows;
};

struct dc_engine_options {
    const struct baton_model *model;
    const struct dc_draft_model *draft; /* NULL: there is none */
    struct baton_cores *cores;
    int max_batch;
    int colocated_chunk;     /* prompt tokens in a step beside running sequences */
    int max_contexts;        /* that are here at a time */
    double stall_s;          /* as the engine thread's */
    const char *kv_dtype;    /* the canary's */
    double canary_s;         /* between canaries; 0: there are none */
    void (*wake)(void *arg); /* called when contexts are done */
    void *wake_arg;
};

enum baton_err dc_engine_start(const struct dc_engine_options *options, struct dc_engine **engine,
                               struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the thread; contexts that still run are forgotten. */
void dc_engine_stop(struct dc_engine *engine);

/* A context PREFILLING or RUNNING. */
void dc_engine_submit(struct dc_engine *engine, struct dc_context *context);

/* Something a context that is here waits for may have changed: credit, cancellation. */
void dc_engine_wake(struct dc_engine *engine);

/* A context that the engine is done with: canceled, over, stopped, or with its prompt complete.
 * NULL when there is none. */
struct dc_context *dc_engine_take_done(struct dc_engine *engine);

/* As baton_engine_thread_look. */
void dc_engine_look(struct dc_engine *engine, int64_t now_ns);

struct dc_engine_stats dc_engine_stats(struct dc_engine *engine);

#endif
