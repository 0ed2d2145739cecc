/* Passes of the engine over chunks of prompts: their progress layer by layer, and the first token
 * of every prompt that ends in one, chosen and sent in the order of the chunks.
 *
 * Ownership: passes own the engine, the sampler and the rows of logits; jobs are borrowed for a
 *            run.
 * Threading: create and destroy anywhere, all else on the engine thread.
 * Errors:    create: as the engine's. A pass that fails is answered for each of its jobs, which are
 *            canceled then.
 */
#ifndef BATON_PREFILL_PASSES_H
#define BATON_PREFILL_PASSES_H

#include "common/cores/cores.h"
#include "common/policy/prefill_scheduler.h"
#include "prefill_worker/job.h"

struct pf_passes;

struct pf_passes_options {
    const struct baton_model *model;
    struct baton_cores *cores;
    int max_rows;            /* of a pass */
    void (*wake)(void *arg); /* a layer is ready that can leave now */
    void *wake_arg;
};

enum baton_err pf_passes_create(const struct pf_passes_options *options, struct pf_passes **passes,
                                struct baton_why *why) BATON_MUST_CHECK;
void pf_passes_destroy(struct pf_passes *passes);

/* Lets the cores say where the engine computes; the engine thread's first call. */
void pf_passes_attach(struct pf_passes *passes);

/* Of one job, the next n_tokens of its prompt. One that has to be alone is the only share. A naive
 * job runs all its tokens, whatever n_tokens says. */
struct pf_pass_part {
    struct pf_job *job;
    int n_tokens;
};

/* Runs parts [n_parts <= BATON_PREFILL_MAX_CHUNKS]. Jobs that the engine is through with, or that
 * failed or were canceled, have `through` set. Returns the rows that ran. */
int pf_passes_run(struct pf_passes *passes, const struct pf_pass_part *parts, int n_parts);

#endif
