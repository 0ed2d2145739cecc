/* The baton: a prompt's KV cache on its way to the decode worker that the gateway named.
 *
 * Pieces of it (pieces.h) leave in chunks of whole blocks, as far as the receiver's credit reaches:
 * each layer as soon as the engine is through with it, or, for prompts that do not overlap, all of
 * them once the prompt is computed. One link per decode worker life; a link that goes down takes
 * its transfers with it.
 *
 * Ownership: jobs are borrowed; peers and their links belong to the hand-off.
 * Threading: main thread.
 * Errors:    a transfer that breaks is reported to the gateway as Failed CONTEXT_LOST, and is over.
 */
#ifndef BATON_PREFILL_HANDOFF_H
#define BATON_PREFILL_HANDOFF_H

#include "common/policy/overlap.h"
#include "prefill_worker/job.h"

struct pf_handoff;

struct pf_handoff_options {
    uint64_t epoch;
    const char *reply_url; /* this worker's inbox as others reach it */
    int n_layers;
    enum baton_overlap overlap;
    void (*wake)(void *arg);
    void *wake_arg;
};

struct pf_handoff *pf_handoff_create(const struct pf_handoff_options *options);
void pf_handoff_destroy(struct pf_handoff *handoff);

/* Makes sure there is a link to the job's decode worker; the job has its blocks. */
enum baton_err pf_handoff_prepare(struct pf_handoff *handoff, struct pf_job *job,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Sends what is ready of one job. True when the transfer is over: complete, broken or canceled. */
bool pf_handoff_pump(struct pf_handoff *handoff, struct pf_job *job);

/* A KvAck arrived; jobs are those that may be meant. */
void pf_handoff_ack(struct pf_handoff *handoff, const struct pf_job_list *jobs,
                    const struct baton_message *message, int64_t now_ns);

/* Forgets peers whose link is down and that no job uses. */
void pf_handoff_tidy(struct pf_handoff *handoff);

/* The job lets go of its peer. */
void pf_handoff_release(struct pf_job *job);

#endif
