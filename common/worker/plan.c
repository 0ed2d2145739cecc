#include "common/worker/plan.h"

void baton_plan_set(struct baton_plan *plan, const Baton__V1__Sampling *sampling)
{
    plan->sampling = (struct baton_sampling){.temperature = sampling->temperature,
                                             .top_k = sampling->top_k,
                                             .top_p = sampling->top_p,
                                             .seed = sampling->seed};
    plan->n_stop_ids = sampling->n_stop_token_ids;
    for (size_t i = 0; i < plan->n_stop_ids; i++)
        plan->stop_ids[i] = sampling->stop_token_ids[i];
}

bool baton_plan_is_stop(const struct baton_plan *plan, uint32_t token)
{
    for (size_t i = 0; i < plan->n_stop_ids; i++)
        if (plan->stop_ids[i] == token)
            return true;
    return false;
}
