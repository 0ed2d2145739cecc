#include "prefill_worker/answer.h"

#include "common/base/clock.h"
#include "common/base/log.h"

static void log_first(const struct pf_job *job, const Baton__V1__FirstToken *first)
{
    baton_origin_log_stage(&job->origin, BATON_STAGE_prefill_queue, first->prefill_queue_s);
    baton_origin_log_stage(&job->origin, BATON_STAGE_prefill_compute, first->prefill_compute_s);
    baton_origin_log_stage(&job->origin, BATON_STAGE_first_token, first->sample_s);
    if (first->cold)
        baton_log(BATON_LOG_INFO, "cold_start", BATON_X("req", job->origin.request_id),
                  BATON_F("process_start_to_first_token_s", first->process_age_s));
}

void pf_answer_first(const struct pf_job *job, const struct baton_sampled_token *sampled,
                     const struct pf_first_times *times, bool stopped, bool is_cold)
{
    Baton__V1__FirstToken first = BATON__V1__FIRST_TOKEN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    first.token = sampled->token;
    first.decision = sampled->decision;
    first.logprobs = sampled->logprobs;
    first.prefill_queue_s = baton_seconds(job->begun_ns - job->received_ns);
    first.prefill_compute_s = baton_seconds(times->computed_ns - job->begun_ns);
    first.sample_s = baton_seconds(times->sampled_ns - times->sampling_ns);
    first.cached_tokens = (uint32_t)job->n_cached_tokens;
    first.cold = is_cold;
    first.stopped = stopped;
    first.process_age_s = baton_process_age_s();
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FIRST_TOKEN;
    envelope.first_token = &first;
    baton_origin_tell(&job->origin, &envelope);
    log_first(job, &first);
}

void pf_answer_token(const struct pf_job *job, struct baton_sampled_token *sampled, double step_s)
{
    Baton__V1__Tokens tokens = BATON__V1__TOKENS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    tokens.first_index = (uint64_t)(job->n_tokens - job->n_prompt);
    baton_sampled_token_into_tokens(sampled, &tokens);
    tokens.step_s = step_s;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_TOKENS;
    envelope.tokens = &tokens;
    baton_origin_tell(&job->origin, &envelope);
}

void pf_answer_finished(const struct pf_job *job, bool stopped)
{
    Baton__V1__Finished finished = BATON__V1__FINISHED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    finished.reason =
        stopped ? BATON__V1__FINISHED__REASON__STOP_TOKEN : BATON__V1__FINISHED__REASON__LENGTH;
    finished.n_tokens = (uint64_t)(job->n_tokens - job->n_prompt);
    finished.n_steps = (uint32_t)finished.n_tokens - 1;
    finished.decode_s = job->decode_s;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FINISHED;
    envelope.finished = &finished;
    baton_origin_tell(&job->origin, &envelope);
    baton_origin_log_stage(&job->origin, BATON_STAGE_decode, job->decode_s);
}
