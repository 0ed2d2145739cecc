#include "prefill_worker/scheduler.h"

#include <string.h>

#include "common/base/clock.h"

void pf_scheduler_init(struct pf_scheduler *scheduler, int max_tokens, bool whole)
{
    scheduler->n_held = 0;
    scheduler->n_turns = 0;
    scheduler->step.n_chunks = 0;
    scheduler->limits = (struct baton_prefill_limits){
        .max_tokens = max_tokens / BATON_KV_BLOCK_TOKENS * BATON_KV_BLOCK_TOKENS,
        .block_tokens = BATON_KV_BLOCK_TOKENS,
        .max_chunks = BATON_PREFILL_MAX_CHUNKS,
        .whole = whole};
}

void pf_scheduler_add(struct pf_scheduler *scheduler, struct pf_job *job)
{
    scheduler->held[scheduler->n_held++] = job;
}

struct pf_job *pf_scheduler_take_done(struct pf_scheduler *scheduler)
{
    for (int i = 0; i < scheduler->n_held; i++) {
        struct pf_job *job = scheduler->held[i];
        if (!job->done && !atomic_load(&job->canceled))
            continue;
        scheduler->n_held--;
        /* Keeps the order, because ties between prompts go by arrival. */
        memmove(scheduler->held + i, scheduler->held + i + 1,
                (size_t)(scheduler->n_held - i) * sizeof scheduler->held[0]);
        return job;
    }
    return NULL;
}

int pf_scheduler_count_begun(const struct pf_scheduler *scheduler)
{
    int n = 0;
    for (int i = 0; i < scheduler->n_held; i++)
        n += scheduler->held[i]->begun_ns != 0;
    return n;
}

/* Whether the job runs alone in a step: naive and scored prompts use engine calls for one sequence,
 * and a part's step may wait for other workers. */
static bool is_alone(const struct pf_job *job)
{
    return job->naive || job->prompt_logprobs || pf_parts_are_several(&job->parts);
}

/* The job's remaining tokens. A naive step runs all tokens so far again; it counts as one, so that
 * naive jobs take turns by their waits. A part counts its own share. */
static int count_remaining(const struct pf_job *job)
{
    int n = job->naive ? 1 : job->n_prompt - job->seq.n_tokens;
    if (!pf_parts_are_several(&job->parts))
        return n;
    int n_own = n / job->parts.stripes.n_parts, n_stripe = pf_parts_n_in_stripe(job);
    return n_own > n_stripe ? n_own : n_stripe;
}

/* Limits a part's step to one stripe, and others to where a state is saved. */
static int bound(const struct pf_job *job, int n_tokens)
{
    if (!pf_parts_are_several(&job->parts))
        return job->naive ? n_tokens : baton_seq_cut(&job->seq, n_tokens);
    int n_stripe = pf_parts_n_in_stripe(job);
    return n_tokens < n_stripe ? n_tokens : n_stripe;
}

bool pf_scheduler_fill(struct pf_scheduler *scheduler, int64_t now_ns, double tokens_per_s)
{
    struct baton_prefill_chunk chunks[BATON_PREFILL_MAX_CHUNKS];
    int n_of[BATON_N_PRIORITIES] = {0}, n_runnable = 0;
    for (int i = 0; i < scheduler->n_held; i++) {
        struct pf_job *job = scheduler->held[i];
        if (!pf_parts_may_run(job))
            continue;
        scheduler->runnable[n_runnable] = job;
        scheduler->candidates[n_runnable++] =
            (struct baton_prefill_candidate){.n_remaining = count_remaining(job),
                                             .waited_s = baton_seconds(now_ns - job->runnable_ns),
                                             .alone = is_alone(job),
                                             .priority = job->priority};
        n_of[job->priority]++;
    }
    scheduler->limits.tokens_per_s = tokens_per_s;
    scheduler->limits.first = baton_priority_next(
        scheduler->n_turns, n_of[BATON_PRIORITY_INTERACTIVE] > 0, n_of[BATON_PRIORITY_BATCH] > 0);
    int n = baton_prefill_schedule(scheduler->candidates, n_runnable, &scheduler->limits, chunks);
    for (int i = 0; i < n; i++)
        scheduler->step.chunks[i] = (struct pf_chunk){
            .job = scheduler->runnable[chunks[i].candidate],
            .n_tokens = bound(scheduler->runnable[chunks[i].candidate], chunks[i].n_tokens)};
    scheduler->step.n_chunks = n;
    if (n)
        baton_priority_take(&scheduler->n_turns, scheduler->step.chunks[0].job->priority,
                            n_of[BATON_PRIORITY_BATCH] > 0);
    if (n) /* jobs that run alone and the others take turns */
        scheduler->limits.others_turn = is_alone(scheduler->step.chunks[0].job);
    return n > 0;
}
