/* The engine thread: runs prompts in the order given, samples the first token and sends it at once.
 *
 * Ownership: jobs are borrowed from submit until take_done returns them.
 * Threading: submit, take_done and stop from the main thread; stats from any.
 * Errors:    start: as the engine's creation. submit: AGAIN when the queue is full.
 */
#ifndef BATON_PREFILL_SCHEDULE_H
#define BATON_PREFILL_SCHEDULE_H

#include "prefill_worker/job.h"

struct pf_schedule;

struct pf_schedule_stats {
    uint32_t n_queued, n_running;
    double last_pass_s;
};

struct pf_schedule_options {
    const struct baton_model *model;
    int n_threads;
    bool pin;                /* each to a processor of its own */
    void (*wake)(void *arg); /* on the engine thread: a layer is ready, or a job is done */
    void *wake_arg;
};

enum baton_err pf_schedule_start(const struct pf_schedule_options *options,
                                 struct pf_schedule **schedule,
                                 struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the thread; jobs still queued are simply forgotten. */
void pf_schedule_stop(struct pf_schedule *schedule);

enum baton_err pf_schedule_submit(struct pf_schedule *schedule,
                                  struct pf_job *job) BATON_MUST_CHECK;

/* A job the engine is through with: finished, canceled, failed, or (naive) out of credit. NULL when
 * there is none. */
struct pf_job *pf_schedule_take_done(struct pf_schedule *schedule);

struct pf_schedule_stats pf_schedule_stats(struct pf_schedule *schedule);

#endif
