/* The engine thread of a decode worker: each step advances the running sequences by one token as
 * one batch, and beside them colocated prompts by some tokens (scheduler.h).
 *
 * Sequences join and leave between steps.
 *
 * Ownership: contexts are borrowed from submit until the service's thread hands them back.
 * Threading: start, submit and stop from the main thread; stats from any thread.
 * Errors:    start: as the engine's creation.
 */
#ifndef BATON_DECODE_WORKER_ENGINE_H
#define BATON_DECODE_WORKER_ENGINE_H

#include "decode_worker/context.h"
#include "worker/service.h"

struct dc_engine;

struct dc_engine_stats {
    uint32_t n_running; /* contexts in the last step that are not done */
    uint32_t n_paused;  /* sequences that wait for credit; a lower bound if the step was full */
};

struct dc_engine_options {
    const struct dc_draft_model *draft; /* NULL: none */
    int max_batch;
    int colocated_chunk; /* prompt tokens in a step beside running sequences */
};

/* Precondition: the service's pool is open. */
enum baton_err dc_engine_start(struct baton_service *service,
                               const struct dc_engine_options *options, struct dc_engine **engine,
                               struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the thread; forgets contexts that still run. */
void dc_engine_stop(struct dc_engine *engine);

/* Submits a context that is PREFILLING or RUNNING. The service's thread hands it back when it is
 * canceled, over, stopped, or its prompt is complete. */
void dc_engine_submit(struct dc_engine *engine, struct dc_context *context);

struct dc_engine_stats dc_engine_stats(const struct dc_engine *engine);

#endif
