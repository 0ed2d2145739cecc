/* The internal interface of the service (service.c) and the steps of its jobs (job_steps.c); others
 * use service.h.
 *
 * Ownership: as in service.h. A freed job is in no list.
 * Threading: main thread.
 * Errors:    none; a job's failure goes to its origin.
 */
#ifndef BATON_PREFILL_WORKER_JOB_STEPS_H
#define BATON_PREFILL_WORKER_JOB_STEPS_H

#include "prefill_worker/engine.h"
#include "prefill_worker/service.h"

struct pf_service {
    struct baton_service base;  /* first; its requests are jobs, its receiver gets other workers'
                                   parts of prompts */
    struct baton_kv_disk *disk; /* NULL: none */
    struct pf_engine *engine;
};

/* The number of the job's blocks that are computed in all layers. */
int pf_service_count_complete(const struct pf_service *service, struct pf_job *job);

/* Does the next step of one job. Frees a job that is over. *pool_full: an earlier job waits for
 * blocks, or now this one. */
void pf_service_step_job(struct pf_service *service, struct pf_job *job, int64_t now_ns,
                         bool *pool_full);

/* Frees a job that no other thread has: not RUNNING or LOADING, or those threads have ended. */
void pf_service_free_job(struct pf_service *service, struct pf_job *job);

#endif
