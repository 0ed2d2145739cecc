#include "gateway/observe/advice.h"

#include <math.h>

#include "common/obs/prom.h"

/* The mean cost of the role's READY workers that report one. Adds all READY ones to *n_ready. */
static struct baton_stage_cost cost_of(const struct gw_fleet *fleet, Baton__V1__Role role,
                                       double *n_ready)
{
    struct baton_stage_cost sum = {0};
    double n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        const Baton__V1__Status *status = &worker->status;
        bool is_ready = worker->role == role && worker->state == GW_WORKER_READY;
        *n_ready += is_ready;
        if (!is_ready || !(status->step_base_s + status->step_row_s > 0))
            continue;
        sum.base_s += status->step_base_s;
        sum.per_row_s += status->step_row_s;
        sum.max_rows += status->step_max_rows;
        n++;
    }
    return n > 0 ? (struct baton_stage_cost){sum.base_s / n, sum.per_row_s / n, sum.max_rows / n}
                 : sum;
}

static double kv_tokens(const struct gw_fleet *fleet)
{
    double n_blocks = 0, n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == BATON__V1__ROLE__ROLE_DECODE && worker->state == GW_WORKER_READY) {
            n_blocks += worker->status.kv_blocks_total;
            n++;
        }
    return n > 0 ? n_blocks / n * fleet->terms.kv_block_tokens : 0;
}

/* The sequences for which the states of a decode worker suffice; HUGE_VAL: its layers keep none. */
static double sequences_of_states(const struct gw_fleet *fleet)
{
    double n_states = 0, n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == BATON__V1__ROLE__ROLE_DECODE && worker->state == GW_WORKER_READY) {
            n_states += worker->status.kv_states_total;
            n++;
        }
    return n_states > 0 ? n_states / n / 2 : HUGE_VAL; /* each sets two aside */
}

struct gw_advice gw_advice_now(const struct gw_fleet *fleet, const struct gw_arrivals *arrivals,
                               int64_t now_ns)
{
    struct gw_arrivals_mean mean = {NAN, NAN, NAN, NAN};
    struct gw_advice now = {0};
    now.fleet.prefill = cost_of(fleet, BATON__V1__ROLE__ROLE_PREFILL, &now.fleet.n_prefill);
    now.fleet.decode = cost_of(fleet, BATON__V1__ROLE__ROLE_DECODE, &now.fleet.n_decode);
    if (gw_arrivals_mean(arrivals, now_ns, &mean)) /* a step has no more sequences than KV holds */
        now.fleet.decode.max_rows =
            fmax(fmin(now.fleet.decode.max_rows,
                      fmin(kv_tokens(fleet) / mean.context_tokens, sequences_of_states(fleet))),
                 1);
    now.observed = (struct baton_workload){.rate_per_s = mean.rate_per_s,
                                           .prompt_tokens = mean.prefill_tokens,
                                           .output_tokens = mean.output_tokens};
    now.advice = baton_capacity_advise(&now.fleet, &now.observed);
    return now;
}

static void put_role(struct baton_json_out *out, const char *role, double n_workers,
                     double utilisation, const struct baton_stage_cost *cost)
{
    baton_json_open(out, role, '{');
    baton_json_put_uint(out, "workers", (uint64_t)n_workers);
    baton_json_put_real(out, "utilisation", utilisation);
    baton_json_put_real(out, "best_tokens_per_s", 1 / baton_capacity_token_s(cost));
    baton_json_close(out, '}');
}

static void put_observed(struct baton_json_out *out, const struct baton_workload *observed)
{
    baton_json_open(out, "observed", '{');
    baton_json_put_real(out, "requests_per_s", observed->rate_per_s);
    baton_json_put_real(out, "prompt_tokens", observed->prompt_tokens);
    baton_json_put_real(out, "output_tokens", observed->output_tokens);
    baton_json_close(out, '}');
}

void gw_advice_put(struct baton_json_out *out, const struct gw_advice *now)
{
    const struct baton_advice *advice = &now->advice;
    baton_json_open(out, "advice", '{');
    baton_json_put_string(out, "short", baton_shortage_name(advice->shortage));
    put_role(out, "prefill", now->fleet.n_prefill, advice->prefill_utilisation,
             &now->fleet.prefill);
    put_role(out, "decode", now->fleet.n_decode, advice->decode_utilisation, &now->fleet.decode);
    baton_json_put_real(out, "balanced_ratio", advice->ratio);
    baton_json_open(out, "least_workers", '{');
    baton_json_put_real(out, "prefill", advice->n_prefill);
    baton_json_put_real(out, "decode", advice->n_decode);
    baton_json_close(out, '}');
    put_observed(out, &now->observed);
    baton_json_close(out, '}');
}

static void write_roles(struct baton_buf *out, const char *name, const char *help, double prefill,
                        double decode)
{
    baton_prom_family(out, name, "gauge", help);
    baton_prom_sample(out, name, prefill, "role", "prefill", NULL);
    baton_prom_sample(out, name, decode, "role", "decode", NULL);
}

void gw_advice_write(const struct gw_advice *now, struct baton_buf *out)
{
    write_roles(out, "baton_role_utilisation_ratio",
                "Work that arrived lately by what the ready workers can do; NaN: not known.",
                now->advice.prefill_utilisation, now->advice.decode_utilisation);
    write_roles(out, "baton_role_least_workers",
                "Workers that would carry this load without being short; NaN: not known.",
                now->advice.n_prefill, now->advice.n_decode);
}
