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
#include "prefill_worker/parts_receiver.h"
#include "prefill_worker/service.h"
#include "worker/kv/report.h"

struct pf_service {
    struct baton_host *host;
    struct baton_kv *kv;
    struct baton_prefix_cache prefix_cache;
    struct baton_kv_disk *disk; /* NULL: there is none */
    struct pf_engine *engine;
    struct baton_kv_sender *sender;
    struct pf_parts_owner parts;
    struct baton_kv_receiver *receiver; /* of other workers' parts of prompts; NULL: none */
    struct pf_job_list jobs;            /* in order of arrival */
    struct baton_request_table requests;
    uint32_t n_jobs_max; /* most that were here at once */
    struct baton_kv_report kv_report;
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
