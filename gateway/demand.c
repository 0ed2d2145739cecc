#include "gateway/demand.h"

#include <math.h>

#include "common/base/clock.h"

/* Fewer requests than that, faded ones counting in part, are no workload. */
enum { MIN_REQUESTS = 6 };

static const double memory_s = 30;

static double kept_after(int64_t ns)
{
    return exp(-baton_seconds(ns) / memory_s);
}

static void fade(struct gw_demand *demand, int64_t now_ns)
{
    if (!demand->since_ns)
        demand->since_ns = demand->seen_ns = now_ns;
    double kept = kept_after(now_ns - demand->seen_ns);
    demand->seen_ns = now_ns;
    demand->n_arrived *= kept;
    demand->n_prompts *= kept;
    demand->n_finished *= kept;
    demand->prefill_tokens *= kept;
    demand->output_tokens *= kept;
    demand->context_tokens *= kept;
}

void gw_demand_arrived(struct gw_demand *demand, int64_t now_ns)
{
    fade(demand, now_ns);
    demand->n_arrived++;
}

void gw_demand_prompt(struct gw_demand *demand, double n_tokens, int64_t now_ns)
{
    fade(demand, now_ns);
    demand->n_prompts++;
    demand->prefill_tokens += n_tokens;
}

void gw_demand_finished(struct gw_demand *demand, double n_output, double n_context, int64_t now_ns)
{
    fade(demand, now_ns);
    demand->n_finished++;
    demand->output_tokens += n_output;
    demand->context_tokens += n_context;
}

bool gw_demand_mean(const struct gw_demand *demand, int64_t now_ns, struct gw_demand_mean *mean)
{
    struct gw_demand now = *demand;
    fade(&now, now_ns);
    double remembered_s = memory_s * (1 - kept_after(now_ns - now.since_ns));
    if (now.n_prompts < MIN_REQUESTS || now.n_finished < MIN_REQUESTS || !(remembered_s > 0))
        return false;
    *mean = (struct gw_demand_mean){.rate_per_s = now.n_arrived / remembered_s,
                                    .prefill_tokens = now.prefill_tokens / now.n_prompts,
                                    .output_tokens = now.output_tokens / now.n_finished,
                                    .context_tokens = now.context_tokens / now.n_finished};
    return true;
}
