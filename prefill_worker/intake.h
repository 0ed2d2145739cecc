/* Makes a job from a PrefillRequest.
 *
 * Ownership: the caller destroys the job.
 * Threading: main thread.
 * Errors:    answers a request that cannot be served with Failed, which names the field.
 */
#ifndef BATON_PREFILL_WORKER_INTAKE_H
#define BATON_PREFILL_WORKER_INTAKE_H

#include "engine/checkpoint/facts.h"
#include "prefill_worker/job.h"

/* The facts that a request is checked against, and the parts that its job uses. */
struct pf_intake {
    const struct baton_model_facts *facts;
    int n_embd; /* C */
    const struct baton_prefix_cache *cache;
    struct baton_grammar_set *grammars;
    struct baton_adapters *adapters;
};

/* The job for the gateway's PrefillRequest, WAITING; NULL if the request was rejected. */
struct pf_job *pf_intake_job(const struct pf_intake *intake, struct baton_link *gateway,
                             const baton_envelope *envelope);

#endif
