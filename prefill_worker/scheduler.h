/* The prefill scheduler: holds the prompts that the engine thread has, and chooses which of them
 * the next step computes and how many tokens of each. The rule is
 * common/policy/prefill_scheduler.h; this module gives it the candidates.
 *
 * Naive jobs, those that want the logprobs of their prompt and those of prompts that several
 * workers compute run alone in a step; the last of them when what they wait for has come.
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
    uint32_t n_turns; /* baton_priority_next's */
    struct pf_step step;
};

/* max_tokens: of a step; rounded down to whole KV blocks. */
void pf_scheduler_init(struct pf_scheduler *scheduler, int max_tokens);

/* At most PF_MAX_HELD at a time. */
void pf_scheduler_add(struct pf_scheduler *scheduler, struct pf_job *job);

/* A job that the engine is done with, or that was canceled, removed; NULL when there is none. */
struct pf_job *pf_scheduler_take_done(struct pf_scheduler *scheduler);

/* Held jobs whose first step has begun. */
int pf_scheduler_count_begun(const struct pf_scheduler *scheduler);

/* Fills scheduler->step; false when there is nothing to run. tokens_per_s is the rate of prefill,
 * by which waiting counts; 0: not known. */
bool pf_scheduler_fill(struct pf_scheduler *scheduler, int64_t now_ns, double tokens_per_s);

#endif
