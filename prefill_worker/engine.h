/* The engine thread of a prefill worker: each step runs chunks of prompts (scheduler.h), publishes
 * their progress layer by layer, and samples and sends the first token, or sends the embedding, of
 * every prompt that ends in the step.
 *
 * New prompts join, and canceled ones leave, between steps.
 *
 * Ownership: jobs are borrowed from submit until the service's thread hands them back.
 * Threading: start, submit and stop from the main thread; n_begun from any.
 * Errors:    start: as the engine's creation. submit: AGAIN if the queue is full. If a step fails,
 *            each of its jobs answers Failed and is canceled.
 */
#ifndef BATON_PREFILL_WORKER_ENGINE_H
#define BATON_PREFILL_WORKER_ENGINE_H

#include "prefill_worker/job.h"
#include "worker/service.h"

struct pf_engine;

/* chunk: tokens of a step, rounded down to whole KV blocks. The service's pool is open. */
enum baton_err pf_engine_start(struct baton_service *service, int chunk, struct pf_engine **engine,
                               struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the current step; forgets the jobs that were not handed back. */
void pf_engine_stop(struct pf_engine *engine);

/* The service's thread hands the job back when it is finished, canceled, failed, or (naive) out of
 * credit. */
enum baton_err pf_engine_submit(struct pf_engine *engine, struct pf_job *job) BATON_MUST_CHECK;

/* The number of submitted jobs whose first step has begun. */
int pf_engine_n_begun(const struct pf_engine *engine);

#endif
