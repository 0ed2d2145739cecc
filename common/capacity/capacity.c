#include "common/capacity/capacity.h"

#include <math.h>

double baton_capacity_token_s(const struct baton_stage_cost *cost)
{
    double token_s = cost->base_s / fmax(cost->max_rows, 1) + cost->per_row_s;
    return token_s > 0 ? token_s : NAN;
}

/* Return the arriving work, in workers. */
static double prefill_work(const struct baton_fleet *fleet, const struct baton_workload *workload)
{
    return workload->rate_per_s * workload->prompt_tokens * baton_capacity_token_s(&fleet->prefill);
}

static double decode_work(const struct baton_fleet *fleet, const struct baton_workload *workload)
{
    double n_steps = fmax(workload->output_tokens - 1, 0);
    return workload->rate_per_s * n_steps * baton_capacity_token_s(&fleet->decode);
}

static enum baton_shortage shortage_of(double prefill, double decode)
{
    if (isnan(prefill) || isnan(decode))
        return BATON_SHORT_UNKNOWN;
    bool is_prefill = prefill >= BATON_SHORT_FROM, is_decode = decode >= BATON_SHORT_FROM;
    if (is_prefill && is_decode)
        return BATON_SHORT_BOTH;
    return is_prefill ? BATON_SHORT_PREFILL : is_decode ? BATON_SHORT_DECODE : BATON_SHORT_NONE;
}

static double per(double amount, double n)
{
    return n > 0 ? amount / n : NAN;
}

/* Returns the least number of workers that is not short. */
static double workers_for(double work)
{
    /* floor + 1, since exactly the threshold already counts as short. */
    return isnan(work) ? NAN : floor(work / BATON_SHORT_FROM) + 1;
}

struct baton_advice baton_capacity_advise(const struct baton_fleet *fleet,
                                          const struct baton_workload *workload)
{
    double prefill = prefill_work(fleet, workload), decode = decode_work(fleet, workload);
    struct baton_advice advice = {.prefill_utilisation = per(prefill, fleet->n_prefill),
                                  .decode_utilisation = per(decode, fleet->n_decode),
                                  .ratio = per(prefill, decode),
                                  .n_prefill = workers_for(prefill),
                                  .n_decode = workers_for(decode)};
    advice.shortage = shortage_of(advice.prefill_utilisation, advice.decode_utilisation);
    return advice;
}

const char *baton_shortage_name(enum baton_shortage shortage)
{
    static const char *const names[] = {"unknown", "none", "prefill", "decode", "both"};
    return names[shortage];
}
