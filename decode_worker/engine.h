/* What the engine thread of a decode worker does: each step advances the running sequences by one
 * token as one batch, and beside them, by some tokens, the prompts that run here (scheduler.h).
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
    uint32_t n_running; /* contexts that took part in the last step and are not done */
    uint32_t n_paused;  /* sequences that wait for credit; of a full step, at least so many */
};

struct dc_engine_options {
    const struct dc_draft_model *draft; /* NULL: there is none */
    int max_batch;
    int colocated_chunk; /* prompt tokens in a step beside running sequences */
};

/* The service's pool is open. */
enum baton_err dc_engine_start(struct baton_service *service,
                               const struct dc_engine_options *options, struct dc_engine **engine,
                               struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the thread; contexts that still run are forgotten. */
void dc_engine_stop(struct dc_engine *engine);

/* A context PREFILLING or RUNNING. The service's thread hands it back when the engine is done with
 * it: canceled, over, stopped, or with its prompt complete. */
void dc_engine_submit(struct dc_engine *engine, struct dc_context *context);

struct dc_engine_stats dc_engine_stats(const struct dc_engine *engine);

#endif
