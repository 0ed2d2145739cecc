#include "prefill_worker/job.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"

#define TO(state) (1u << PF_##state)

/* The edges of the drawing in job.h. */
static const unsigned edges[PF_N_STATES] = {
    [PF_WAITING] = TO(LOADING) | TO(RUNNING),
    [PF_LOADING] = TO(WAITING),
    [PF_RUNNING] = TO(PAUSED) | TO(SENDING),
    [PF_PAUSED] = TO(WAITING),
};

void pf_job_set_state(struct pf_job *job, enum pf_state state)
{
    static const char *const names[] = {"waiting", "loading", "running", "paused", "sending"};
    int64_t now_ns = baton_now_ns();
    bool is_edge = edges[job->state] & 1u << state;
    baton_log(is_edge ? BATON_LOG_DEBUG : BATON_LOG_ERROR,
              is_edge ? "job_state" : "impossible_edge", BATON_ORIGIN(&job->origin),
              BATON_S("from", names[job->state]), BATON_S("to", names[state]),
              BATON_F("after_s", baton_seconds(now_ns - job->state_ns)));
    if (!is_edge)
        abort();
    job->state = state;
    job->state_ns = now_ns;
}

Baton__V1__KvReason pf_job_kv_reason(const struct pf_job *job)
{
    switch (job->state) {
    case PF_WAITING:
    case PF_LOADING:
        return BATON__V1__KV_REASON__KV_RESERVED;
    case PF_SENDING:
        return BATON__V1__KV_REASON__KV_SENDING;
    default:
        return BATON__V1__KV_REASON__KV_RUNNING;
    }
}

struct pf_job *pf_job_create(void)
{
    struct pf_job *job = calloc(1, sizeof *job);
    if (job)
        job->state_ns = job->received_ns = baton_now_ns();
    return job;
}

void pf_job_destroy(struct pf_job *job)
{
    if (!job)
        return;
    baton_kv_send_close(&job->send);
    pf_parts_fini(&job->parts);
    baton_seq_fini(&job->seq);
    baton_adapter_hold_release(&job->adapters);
    baton_sampling_state_fini(&job->sampling);
    baton_origin_fini(&job->origin);
    baton_prefix_fini(&job->prefix);
    free(job->pooled);
    free(job->tokens);
    free(job);
}
