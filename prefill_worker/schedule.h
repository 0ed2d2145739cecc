/* The engine thread: runs the prompts it was given pass by pass; what a pass runs is the rule of
 * common/policy/prefill_scheduler.h. New ones join, and canceled ones leave, between passes.
 *
 * Ownership: jobs are borrowed from submit until take_done returns them.
 * Threading: submit, take_done and stop from the main thread; stats from any.
 * Errors:    start: as the engine's creation. submit: AGAIN when the queue is full.
 */
#ifndef BATON_PREFILL_SCHEDULE_H
#define BATON_PREFILL_SCHEDULE_H

#include "common/cores/cores.h"
#include "prefill_worker/job.h"

struct pf_schedule;

struct pf_schedule_stats {
    uint32_t n_queued, n_running; /* before and after a prompt's first pass */
    double last_pass_s;
    double busy_s;                  /* spent in passes, since the start */
    double tokens_per_s;            /* while computing, over the last passes; 0: none yet */
    double step_base_s, step_row_s; /* as Status tells them */
    uint32_t step_max_rows;
};

struct pf_schedule_options {
    const struct baton_model *model;
    struct baton_cores *cores;
    int chunk;               /* rows of a pass; rounded down to whole KV blocks */
    void (*wake)(void *arg); /* on the engine thread: progress was made */
    void *wake_arg;
};

enum baton_err pf_schedule_start(const struct pf_schedule_options *options,
                                 struct pf_schedule **schedule,
                                 struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the thread, which lets go of canceled jobs; those still queued are simply forgotten. */
void pf_schedule_stop(struct pf_schedule *schedule);

enum baton_err pf_schedule_submit(struct pf_schedule *schedule,
                                  struct pf_job *job) BATON_MUST_CHECK;

/* A job the engine is through with: finished, canceled, failed, or (naive) out of credit. NULL when
 * there is none. */
struct pf_job *pf_schedule_take_done(struct pf_schedule *schedule);

struct pf_schedule_stats pf_schedule_stats(struct pf_schedule *schedule);

#endif
