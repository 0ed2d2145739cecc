#include "common/worker/plan.h"

#include <stdlib.h>

static struct baton_sampling sampling_of(const Baton__V1__Sampling *sampling)
{
    return (struct baton_sampling){
        .temperature = sampling->temperature,
        .top_k = sampling->top_k,
        .top_p = sampling->top_p,
        .min_p = sampling->min_p,
        .repetition_penalty = sampling->repetition_penalty > 0 ? sampling->repetition_penalty : 1,
        .presence_penalty = sampling->presence_penalty,
        .frequency_penalty = sampling->frequency_penalty,
        .seed = sampling->seed};
}

static enum baton_err copy_bias(struct baton_plan *plan, const Baton__V1__Sampling *sampling)
{
    size_t n = sampling->n_logit_bias;
    if (!n)
        return BATON_OK;
    plan->bias = calloc(n, sizeof *plan->bias);
    if (!plan->bias)
        return BATON_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        plan->bias[i] = (struct baton_logit_bias){.id = sampling->logit_bias[i]->token,
                                                  .bias = sampling->logit_bias[i]->bias};
    plan->sampling.bias = plan->bias;
    plan->sampling.n_bias = n;
    return BATON_OK;
}

enum baton_err baton_plan_init(struct baton_plan *plan, const Baton__V1__Sampling *sampling,
                               const uint32_t *prompt, size_t n_prompt, size_t max_new_tokens)
{
    struct baton_plan made = {.sampling = sampling_of(sampling),
                              .n_stop_ids = sampling->n_stop_token_ids,
                              .explain_candidates = (int)sampling->explain_candidates,
                              .logprobs = sampling->logprobs,
                              .top_logprobs = (int)sampling->top_logprobs};
    for (size_t i = 0; i < made.n_stop_ids; i++)
        made.stop_ids[i] = sampling->stop_token_ids[i];
    made.keeps_history = baton_sampling_needs_history(&made.sampling);
    enum baton_err err = copy_bias(&made, sampling);
    if (!err && made.keeps_history)
        err = baton_history_init(&made.history, n_prompt + max_new_tokens);
    if (err) {
        baton_plan_fini(&made);
        return err;
    }
    if (made.keeps_history)
        baton_history_add_prompt(&made.history, prompt, n_prompt);
    *plan = made;
    return BATON_OK;
}

void baton_plan_fini(struct baton_plan *plan)
{
    free(plan->bias);
    baton_history_fini(&plan->history);
    *plan = (struct baton_plan){0};
}

void baton_plan_note(struct baton_plan *plan, uint32_t token)
{
    if (plan->keeps_history)
        baton_history_add_output(&plan->history, token);
}

bool baton_plan_is_stop(const struct baton_plan *plan, uint32_t token)
{
    for (size_t i = 0; i < plan->n_stop_ids; i++)
        if (plan->stop_ids[i] == token)
            return true;
    return false;
}
