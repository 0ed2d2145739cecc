/* The options of `baton-plan simulate`: as given, and as checked.
 *
 * Ownership: texts of sim_options belong to the config; a command owns the trace that it read,
 *            until sim_command_fini.
 * Threading: read-only once made.
 * Errors:    INVALID names the option and its range or form; those of reading files.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_OPTIONS_H
#define BATON_TOOLS_PLAN_SIMULATE_OPTIONS_H

#include "tools/plan/simulate/simulation.h"
#include "tools/support/cli.h"

/* The options as given; the table in options.c describes each. */
struct sim_options {
    const char *calibration, *layouts, *cores;
    int64_t worker_cores, host_cores;
    const char *concurrency, *prompt_tokens, *output_tokens, *trace, *slo;
    double rate, trace_speed, trace_scale;
    int64_t requests, max_in_flight, max_total_tokens, seed;
    int64_t chunk, max_batch, context_tokens, kv_tokens;
    const char *prefill_policy, *decode_policy, *overlap;
    int64_t max_queued, max_queued_tokens, gateways;
    double gateway_token_us, network_gbps, network_latency_us;
    const char *json, *csv;
};

extern const struct baton_option sim_option_table[];
extern const size_t sim_n_options;

/* The runs to make: every layout under every load (several concurrencies, or one other load). */
struct sim_command {
    const struct sim_options *options;
    struct sim_settings settings; /* of the first load */
    struct sim_layouts layouts;
    struct cli_list concurrency; /* n is 0 for an open loop */
    struct ld_trace trace;
};

/* Reads files and checks that the options fit together. options must outlive the command. */
enum baton_err sim_command_init(struct sim_command *command, const struct sim_options *options,
                                struct baton_why *why) BATON_MUST_CHECK;
void sim_command_fini(struct sim_command *command);

#endif
