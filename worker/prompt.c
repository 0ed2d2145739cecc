#include "worker/prompt.h"

#include "common/base/clock.h"
#include "common/base/log.h"

bool baton_prompt_is_valid(const uint32_t *tokens, size_t n, int64_t n_vocab)
{
    for (size_t i = 0; i < n; i++)
        if (tokens[i] >= n_vocab)
            return false;
    return true;
}

enum baton_err baton_prompt_sampling(const Baton__V1__PrefillRequest *request, size_t n_more,
                                     struct baton_grammar_set *grammars,
                                     struct baton_sampling_state *state)
{
    size_t n_output = request->n_output_tokens, n_prompt = request->n_tokens - n_output;
    enum baton_err err = baton_sampling_state_open(state, request->sampling, request->tokens,
                                                   n_prompt, n_output + n_more, grammars);
    if (!err)
        baton_sampling_state_accept_all(state, request->tokens + n_prompt, n_output);
    return err;
}

void baton_first_token_fill(Baton__V1__FirstToken *message, const struct baton_first_token *first,
                            const struct baton_sampled_message *sampled)
{
    baton__v1__first_token__init(message);
    message->token = sampled->token;
    message->decision = sampled->decision;
    message->logprobs = sampled->logprobs;
    message->prefill_queue_s = first->queue_s;
    message->prefill_compute_s = first->compute_s;
    message->sample_s = first->sample_s;
    message->cached_tokens = (uint32_t)first->n_cached_tokens;
    message->disk_tokens = (uint32_t)first->n_disk_tokens;
    message->stateless_tokens = (uint32_t)first->n_stateless_tokens;
    message->cold = first->cold;
    message->stopped = first->stopped;
    /* baton_process_age_s reads a file of /proc, so only a cold start pays for it. */
    message->process_age_s = first->cold ? baton_process_age_s() : 0;
}

void baton_first_token_log(const struct baton_first_token *first, const struct baton_origin *origin)
{
    baton_log(BATON_LOG_INFO, "prompt", BATON_ORIGIN(origin), BATON_I("attempt", origin->attempt),
              BATON_I("cached_tokens", first->n_cached_tokens),
              BATON_I("disk_tokens", first->n_disk_tokens),
              BATON_I("stateless_tokens", first->n_stateless_tokens),
              BATON_F("queue_s", first->queue_s), BATON_F("compute_s", first->compute_s),
              BATON_F("sample_s", first->sample_s));
    if (first->cold)
        baton_log(BATON_LOG_INFO, "cold_start", BATON_ORIGIN(origin),
                  BATON_F("process_start_to_first_token_s", baton_process_age_s()));
}
