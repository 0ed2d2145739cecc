/* What the service (service.c) and the steps of its jobs (job_steps.c) know of each other;
 * service.h is what others use.
 *
 * Ownership: as in service.h. A job that was freed is in no list any more.
 * Threading: main thread.
 * Errors:    none; what a job cannot get is told to its origin.
 */
#ifndef BATON_PREFILL_WORKER_JOB_STEPS_H
#define BATON_PREFILL_WORKER_JOB_STEPS_H

#include "prefill_worker/engine.h"
#include "prefill_worker/service.h"

struct pf_service {
    struct baton_service base;  /* first; its requests are jobs, its receiver gets other workers'
                                   parts of prompts */
    struct baton_kv_disk *disk; /* NULL: there is none */
    struct pf_engine *engine;
};

/* Blocks of the job that are computed in all layers. */
int pf_service_count_complete(const struct pf_service *service, struct pf_job *job);

/* Does what one job needs next. Frees the job when nothing is left to do. *pool_full: a job before
 * it waits for blocks, or this one does now. */
void pf_service_step_job(struct pf_service *service, struct pf_job *job, int64_t now_ns,
                         bool *pool_full);

/* The job is not RUNNING or LOADING, or the threads that borrow it have ended. */
void pf_service_free_job(struct pf_service *service, struct pf_job *job);

#endif
