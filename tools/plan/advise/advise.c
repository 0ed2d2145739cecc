/* baton-plan advise: predicts the layout that a workload needs and its clients' waits, by
 * common/capacity from the costs of a running fleet or from given costs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/capacity/queueing.h"
#include "tools/plan/advise/fleet_at.h"
#include "tools/plan/plan.h"

enum { OUTPUT_MAX_BYTES = 1 << 16 };

struct options {
    const char *url, *api_key;
    double rate, prompt_tokens, output_tokens, prompt_cv;
    int64_t n_prefill, n_decode, kv_tokens;
    double prefill_base_ms, prefill_row_ms, decode_base_ms, decode_row_ms;
    int64_t prefill_rows, decode_rows;
    bool json;
};

#define TOKENS(field, name, help) BATON_ROW_REAL(struct options, field, name, "0", 0, 1e6, "", help)
#define COUNT(field, name, max, help)                                                              \
    BATON_ROW_INT(struct options, field, name, "0", 0, max, "", help)
#define MS(field, name, help) BATON_ROW_REAL(struct options, field, name, "0", 0, 1e6, "ms", help)

static const struct baton_option table[] = {
    BATON_ROW_TEXT(struct options, url, "url", NULL,
                   "URL of a running server, for its costs, layout and observed load"),
    BATON_ROW_TEXT(struct options, api_key, "api-key", NULL,
                   "API key, sent as Authorization: Bearer KEY"),
    BATON_ROW_REAL(struct options, rate, "rate", "0", 0, 1e9, "requests/s",
                   "arrival rate; 0 = as observed"),
    TOKENS(prompt_tokens, "prompt-tokens", "mean prompt length; 0 = as observed"),
    TOKENS(output_tokens, "output-tokens", "mean output length; 0 = as observed"),
    BATON_ROW_REAL(struct options, prompt_cv, "prompt-cv", "0", 0, 100, "",
                   "coefficient of variation of prompt lengths: standard deviation / mean"),
    COUNT(n_prefill, "prefill", 1000000, "prefill workers; 0 = as many as there are, else 1"),
    COUNT(n_decode, "decode", 1000000, "decode workers; 0 = as many as there are, else 1"),
    MS(prefill_base_ms, "prefill-base", "fixed time of a prefill step; 0 = as measured"),
    MS(prefill_row_ms, "prefill-row", "time of a prefill step per prompt token; 0 = as measured"),
    COUNT(prefill_rows, "prefill-rows", 1 << 20,
          "most prompt tokens per prefill step; 0 = the server's, else 128"),
    MS(decode_base_ms, "decode-base", "fixed time of a decode step; 0 = as measured"),
    MS(decode_row_ms, "decode-row", "time of a decode step per sequence; 0 = as measured"),
    COUNT(decode_rows, "decode-rows", 1 << 20,
          "most sequences per decode step; 0 = the server's, else 64"),
    COUNT(kv_tokens, "kv-tokens", 1LL << 40,
          "KV cache of a decode worker in tokens; 0 = the server's, else unlimited"),
    BATON_ROW_BOOL(struct options, json, "json", "false", "one JSON object instead of text"),
};

/* A layout and its predicted figures. */
struct outlook {
    struct baton_fleet fleet;
    struct baton_advice advice;
    struct baton_estimate estimate;
};

struct report {
    struct baton_workload workload;
    struct outlook asked, least; /* least: the smallest layout in which no role is short */
};

/* ---- the input ---- */

static double given(double option, double otherwise)
{
    return option > 0 ? option : otherwise;
}

static struct baton_stage_cost cost_of(double base_ms, double row_ms, double rows,
                                       const struct baton_stage_cost *there)
{
    bool is_given = base_ms > 0 || row_ms > 0;
    return (struct baton_stage_cost){.base_s = is_given ? base_ms / 1e3 : there->base_s,
                                     .per_row_s = is_given ? row_ms / 1e3 : there->per_row_s,
                                     .max_rows = given(rows, there->max_rows)};
}

static enum baton_err read_workload(const struct options *options, const struct plan_fleet_at *at,
                                    struct baton_workload *workload, struct baton_why *why)
{
    *workload = (struct baton_workload){
        .rate_per_s = given(options->rate, at->observed.rate_per_s),
        .prompt_tokens = given(options->prompt_tokens, at->observed.prompt_tokens),
        .output_tokens = given(options->output_tokens, at->observed.output_tokens),
        .prompt_cv = options->prompt_cv};
    const char *missing = !(workload->rate_per_s > 0)      ? "--rate"
                          : !(workload->prompt_tokens > 0) ? "--prompt-tokens"
                          : !(workload->output_tokens > 0) ? "--output-tokens"
                                                           : NULL;
    if (missing)
        return baton_fail(why, BATON_INVALID, "%s: must be given%s", missing,
                          options->url ? ": the server has seen too little" : " (or --url)");
    return BATON_OK;
}

static enum baton_err read_fleet(const struct options *options, const struct plan_fleet_at *at,
                                 const struct baton_workload *workload, struct baton_fleet *fleet,
                                 struct baton_why *why)
{
    const struct baton_fleet *there = &at->fleet;
    double kv_tokens = given((double)options->kv_tokens, at->kv_tokens);
    *fleet =
        (struct baton_fleet){.prefill = cost_of(options->prefill_base_ms, options->prefill_row_ms,
                                                (double)options->prefill_rows, &there->prefill),
                             .decode = cost_of(options->decode_base_ms, options->decode_row_ms,
                                               (double)options->decode_rows, &there->decode),
                             .n_prefill = given((double)options->n_prefill, there->n_prefill),
                             .n_decode = given((double)options->n_decode, there->n_decode)};
    if (kv_tokens > 0) {
        /* Each sequence counts with its full length: its blocks are reserved for all of it. */
        double n_most = kv_tokens / (workload->prompt_tokens + workload->output_tokens);
        fleet->decode.max_rows = fmax(fmin(fleet->decode.max_rows, floor(n_most)), 1);
    }
    if (at->n_sequences > 0)
        fleet->decode.max_rows = fmax(fmin(fleet->decode.max_rows, floor(at->n_sequences)), 1);
    const char *missing = isnan(baton_capacity_token_s(&fleet->prefill))  ? "prefill"
                          : isnan(baton_capacity_token_s(&fleet->decode)) ? "decode"
                                                                          : NULL;
    if (missing)
        return baton_fail(
            why, BATON_INVALID, "--%s-base and --%s-row: must be given%s", missing, missing,
            options->url ? ": the workers have not measured them yet" : " (or --url)");
    return BATON_OK;
}

static struct outlook predict(const struct baton_fleet *fleet,
                              const struct baton_workload *workload)
{
    return (struct outlook){.fleet = *fleet,
                            .advice = baton_capacity_advise(fleet, workload),
                            .estimate = baton_queueing_estimate(fleet, workload)};
}

/* ---- the output ---- */

static void print_cost(const char *role, const char *row, const struct baton_stage_cost *cost)
{
    (void)printf("%-8s %.3g ms + %.4g ms a %s, at most %.0f of them: %.0f tokens/s at best\n", role,
                 1e3 * cost->base_s, 1e3 * cost->per_row_s, row, cost->max_rows,
                 1 / baton_capacity_token_s(cost));
}

/* Prints "-" where there is no steady state. */
static void print_ms(double seconds)
{
    if (isnan(seconds))
        (void)printf(" %9s", "-");
    else
        (void)printf(" %9.2f", 1e3 * seconds);
}

static void print_layout(const struct outlook *outlook)
{
    char name[64];
    const struct baton_estimate *estimate = &outlook->estimate;
    (void)snprintf(name, sizeof name, "%.0fP%.0fD", outlook->fleet.n_prefill,
                   outlook->fleet.n_decode);
    (void)printf("%-10s %8.1f%% %8.1f%% %8s", name, 100 * outlook->advice.prefill_utilisation,
                 100 * outlook->advice.decode_utilisation,
                 baton_shortage_name(outlook->advice.shortage));
    print_ms(estimate->wait_s);
    print_ms(estimate->ttft_s);
    print_ms(estimate->ttft_p99_s);
    print_ms(estimate->itl_s);
    print_ms(estimate->itl_p99_s);
    (void)printf("\n");
}

static bool is_other_layout(const struct report *report)
{
    return report->asked.fleet.n_prefill != report->least.fleet.n_prefill ||
           report->asked.fleet.n_decode != report->least.fleet.n_decode;
}

static enum baton_err print_text(const struct report *report)
{
    const struct baton_workload *workload = &report->workload;
    const struct baton_fleet *fleet = &report->asked.fleet;
    (void)printf("workload %.4g requests/s of %.4g prompt and %.4g output tokens\n",
                 workload->rate_per_s, workload->prompt_tokens, workload->output_tokens);
    print_cost("prefill", "token", &fleet->prefill);
    print_cost("decode", "sequence", &fleet->decode);
    (void)printf("\n%-10s %9s %9s %8s %9s %9s %9s %9s %9s\n", "layout", "prefill", "decode",
                 "short", "wait ms", "TTFT ms", "p99", "ITL ms", "p99");
    print_layout(&report->asked);
    if (is_other_layout(report))
        print_layout(&report->least);
    if (!isnan(report->asked.advice.ratio))
        (void)printf("\nbalanced: %.3g prefill workers per decode worker\n",
                     report->asked.advice.ratio);
    (void)printf("least layout without a short role: %.0fP%.0fD\n", report->least.fleet.n_prefill,
                 report->least.fleet.n_decode);
    return fflush(stdout) ? BATON_IO : BATON_OK;
}

static void put_cost(struct baton_json_out *out, const char *role,
                     const struct baton_stage_cost *cost)
{
    baton_json_open(out, role, '{');
    baton_json_put_real(out, "base_s", cost->base_s);
    baton_json_put_real(out, "per_row_s", cost->per_row_s);
    baton_json_put_real(out, "max_rows", cost->max_rows);
    baton_json_put_real(out, "best_tokens_per_s", 1 / baton_capacity_token_s(cost));
    baton_json_close(out, '}');
}

static void put_layout(struct baton_json_out *out, const char *key, const struct outlook *outlook)
{
    const struct baton_estimate *estimate = &outlook->estimate;
    baton_json_open(out, key, '{');
    baton_json_put_real(out, "prefill", outlook->fleet.n_prefill);
    baton_json_put_real(out, "decode", outlook->fleet.n_decode);
    baton_json_put_string(out, "short", baton_shortage_name(outlook->advice.shortage));
    baton_json_put_real(out, "prefill_utilisation", outlook->advice.prefill_utilisation);
    baton_json_put_real(out, "decode_utilisation", outlook->advice.decode_utilisation);
    baton_json_put_real(out, "wait_s", estimate->wait_s);
    baton_json_put_real(out, "ttft_s", estimate->ttft_s);
    baton_json_put_real(out, "ttft_p99_s", estimate->ttft_p99_s);
    baton_json_put_real(out, "sequences", estimate->sequences);
    baton_json_put_real(out, "itl_s", estimate->itl_s);
    baton_json_put_real(out, "itl_p99_s", estimate->itl_p99_s);
    baton_json_close(out, '}');
}

static enum baton_err print_json(const struct report *report)
{
    struct baton_buf buf;
    baton_buf_init(&buf, OUTPUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '{');
    baton_json_open(&out, "workload", '{');
    baton_json_put_real(&out, "requests_per_s", report->workload.rate_per_s);
    baton_json_put_real(&out, "prompt_tokens", report->workload.prompt_tokens);
    baton_json_put_real(&out, "prompt_cv", report->workload.prompt_cv);
    baton_json_put_real(&out, "output_tokens", report->workload.output_tokens);
    baton_json_close(&out, '}');
    baton_json_open(&out, "costs", '{');
    put_cost(&out, "prefill", &report->asked.fleet.prefill);
    put_cost(&out, "decode", &report->asked.fleet.decode);
    baton_json_close(&out, '}');
    baton_json_put_real(&out, "balanced_ratio", report->asked.advice.ratio);
    put_layout(&out, "asked", &report->asked);
    put_layout(&out, "least", &report->least);
    baton_json_close(&out, '}');
    return cli_print(&buf);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct plan_fleet_at at = {
        .fleet = {.prefill.max_rows = 128, .decode.max_rows = 64, .n_prefill = 1, .n_decode = 1},
        .observed = {NAN, NAN, NAN, NAN}};
    struct baton_fleet fleet;
    struct report report;
    enum baton_err err =
        options->url ? plan_fleet_get(options->url, options->api_key, &at, why) : BATON_OK;
    if (!err)
        err = read_workload(options, &at, &report.workload, why);
    if (!err)
        err = read_fleet(options, &at, &report.workload, &fleet, why);
    if (err)
        return err;
    report.asked = predict(&fleet, &report.workload);
    /* The advised layout depends on the load alone, so it is predicted in a second pass. */
    fleet.n_prefill = report.asked.advice.n_prefill;
    fleet.n_decode = report.asked.advice.n_decode;
    report.least = predict(&fleet, &report.workload);
    return options->json ? print_json(&report) : print_text(&report);
}

enum baton_err plan_advise(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-plan advise",
                                  .env_prefix = "BATON_PLAN",
                                  .summary = "the layout a workload needs, and its waits",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
