/* What the engine thread of a prefill worker does: each step runs chunks of prompts (scheduler.h),
 * publishes their progress layer by layer, and samples and sends the first token, or sends the
 * embedding, of every prompt that ends in the step.
 *
 * New prompts join, and canceled ones leave, between steps.
 *
 * Ownership: jobs are borrowed from submit until take_done returns them.
 * Threading: start, submit, take_done and stop from the main thread; stats from any.
 * Errors:    start: as the engine's creation. submit: AGAIN when the queue is full. A step that
 *            fails is answered for each of its jobs, and the jobs are canceled.
 */
#ifndef BATON_PREFILL_WORKER_ENGINE_H
#define BATON_PREFILL_WORKER_ENGINE_H

#include "prefill_worker/job.h"
#include "worker/engine_thread.h"

struct pf_engine;

struct pf_engine_stats {
    struct baton_engine_stats steps;
    uint32_t n_queued, n_running; /* before and after a prompt's first step */
    uint32_t step_max_rows;
};

struct pf_engine_options {
    const struct baton_model *model;
    struct baton_cores *cores;
    int chunk;               /* tokens of a step; rounded down to whole KV blocks */
    double stall_s;          /* as the engine thread's */
    const char *kv_dtype;    /* the canary's */
    double canary_s;         /* between canaries; 0: there are none */
    void (*wake)(void *arg); /* called on the engine thread when there is progress */
    void *wake_arg;
};

enum baton_err pf_engine_start(const struct pf_engine_options *options, struct pf_engine **engine,
                               struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the step that runs; forgets the jobs that are still inside. */
void pf_engine_stop(struct pf_engine *engine);

enum baton_err pf_engine_submit(struct pf_engine *engine, struct pf_job *job) BATON_MUST_CHECK;

/* Looks again at what can run: blocks of a job in parts came, or it was canceled. */
void pf_engine_wake(struct pf_engine *engine);

/* A job that the engine is done with: finished, canceled, failed, or (naive) out of credit. NULL
 * when there is none. */
struct pf_job *pf_engine_take_done(struct pf_engine *engine);

/* As baton_engine_thread_look. */
void pf_engine_look(struct pf_engine *engine, int64_t now_ns);

struct pf_engine_stats pf_engine_stats(struct pf_engine *engine);

#endif
