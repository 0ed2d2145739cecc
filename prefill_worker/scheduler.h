/* The prefill scheduler: holds the engine thread's prompts, and chooses which of them the next step
 * computes and how many tokens of each. The rule is common/policy/prefill_scheduler.h; this module
 * gives it the candidates.
 *
 * Naive jobs, jobs with prompt logprobs and parts of prompts run alone in a step; parts only when
 * the blocks that they need first have arrived.
 *
 * Ownership: jobs are borrowed from add until take_done.
 * Threading: engine thread.
 * Errors:    none; nothing is allocated.
 */
#ifndef BATON_PREFILL_WORKER_SCHEDULER_H
#define BATON_PREFILL_WORKER_SCHEDULER_H

#include "common/policy/prefill_scheduler.h"
#include "prefill_worker/job.h"

enum { PF_MAX_HELD = 1024 };

/* The next n_tokens of a job's prompt. A naive job runs all its tokens, whatever n_tokens says. */
struct pf_chunk {
    struct pf_job *job;
    int n_tokens;
};

struct pf_step {
    int n_chunks;
    struct pf_chunk chunks[BATON_PREFILL_MAX_CHUNKS];
};

struct pf_scheduler {
    struct pf_job *held[PF_MAX_HELD]; /* [n_held], in order of arrival */
    struct baton_prefill_candidate candidates[PF_MAX_HELD];
    struct pf_job *runnable[PF_MAX_HELD]; /* the candidates' jobs */
    int n_held;
    struct baton_prefill_limits limits;
    uint32_t n_turns; /* state of baton_priority_next */
    struct pf_step step;
};

/* max_tokens: of a step; rounded down to whole KV blocks. whole: prompts are not cut. */
void pf_scheduler_init(struct pf_scheduler *scheduler, int max_tokens, bool whole);

/* Adds a job; at most PF_MAX_HELD at a time. */
void pf_scheduler_add(struct pf_scheduler *scheduler, struct pf_job *job);

/* Removes a job that is done or canceled and returns it; NULL: none. */
struct pf_job *pf_scheduler_take_done(struct pf_scheduler *scheduler);

/* The number of held jobs whose first step has begun. */
int pf_scheduler_count_begun(const struct pf_scheduler *scheduler);

/* Fills scheduler->step; false if there is nothing to run. tokens_per_s is the rate of prefill,
 * which converts waits into tokens; 0: unknown. */
bool pf_scheduler_fill(struct pf_scheduler *scheduler, int64_t now_ns, double tokens_per_s);

#endif
