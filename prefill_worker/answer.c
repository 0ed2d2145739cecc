#include "prefill_worker/answer.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "worker/prompt.h"

void pf_answer_first(const struct pf_job *job, const struct baton_sampled_message *sampled,
                     const struct pf_first_times *times, bool stopped, bool is_cold)
{
    const struct baton_first_token first = {
        .queue_s = baton_seconds(job->begun_ns - job->received_ns),
        .compute_s = baton_seconds(times->computed_ns - job->begun_ns),
        .sample_s = baton_seconds(times->sampled_ns - times->sampling_ns),
        .n_cached_tokens = job->n_cached_tokens,
        .n_disk_tokens = job->n_disk_tokens,
        .n_stateless_tokens = job->n_stateless_tokens,
        .stopped = stopped,
        .cold = is_cold};
    Baton__V1__FirstToken message;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    baton_first_token_fill(&message, &first, sampled);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FIRST_TOKEN;
    envelope.first_token = &message;
    baton_origin_send_or_log(&job->origin, &envelope);
    baton_first_token_log(&first, &job->origin);
}

void pf_answer_progress(const struct pf_job *job)
{
    Baton__V1__PromptProgress progress = BATON__V1__PROMPT_PROGRESS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    progress.n_tokens = (uint32_t)job->seq.n_tokens;
    progress.cached_tokens = (uint32_t)job->n_cached_tokens;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_PROMPT_PROGRESS;
    envelope.prompt_progress = &progress;
    (void)!baton_origin_send(&job->origin, &envelope);
}

void pf_answer_embedding(const struct pf_job *job, const float *values, int n, int64_t computed_ns)
{
    Baton__V1__Embedding embedding = BATON__V1__EMBEDDING__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    embedding.values = (float *)(uintptr_t)values; /* packing only reads */
    embedding.n_values = (size_t)n;
    embedding.prefill_queue_s = baton_seconds(job->begun_ns - job->received_ns);
    embedding.prefill_compute_s = baton_seconds(computed_ns - job->begun_ns);
    embedding.cached_tokens = (uint32_t)job->n_cached_tokens;
    embedding.disk_tokens = (uint32_t)job->n_disk_tokens;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_EMBEDDING;
    envelope.embedding = &embedding;
    baton_origin_send_or_log(&job->origin, &envelope);
    baton_log(BATON_LOG_INFO, "embedding", BATON_ORIGIN(&job->origin),
              BATON_I("attempt", job->origin.attempt),
              BATON_S("pooling", baton_pooling_name(job->pooling)),
              BATON_I("tokens", job->n_prompt), BATON_I("cached_tokens", job->n_cached_tokens),
              BATON_F("queue_s", embedding.prefill_queue_s),
              BATON_F("compute_s", embedding.prefill_compute_s));
}

void pf_answer_token(const struct pf_job *job, const struct baton_sampled_message *sampled,
                     double step_s)
{
    struct baton_tokens_arrays arrays;
    Baton__V1__Tokens tokens = BATON__V1__TOKENS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    tokens.first_index = pf_job_n_output(job);
    baton_sampled_messages_into(&tokens, &arrays, sampled, 1);
    tokens.step_s = step_s;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_TOKENS;
    envelope.tokens = &tokens;
    baton_origin_send_or_log(&job->origin, &envelope);
}

void pf_answer_finished(const struct pf_job *job, bool stopped)
{
    Baton__V1__Finished finished = BATON__V1__FINISHED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    finished.reason =
        stopped ? BATON__V1__FINISHED__REASON__STOP_TOKEN : BATON__V1__FINISHED__REASON__LENGTH;
    finished.n_tokens = pf_job_n_output(job);
    finished.n_steps = (uint32_t)(job->n_tokens - job->n_prompt - 1);
    finished.decode_s = job->decode_s;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FINISHED;
    envelope.finished = &finished;
    baton_origin_send_or_log(&job->origin, &envelope);
    baton_log(BATON_LOG_INFO, "sequence", BATON_ORIGIN(&job->origin),
              BATON_I("attempt", job->origin.attempt), BATON_I("tokens", finished.n_steps),
              BATON_F("decode_s", job->decode_s));
}
