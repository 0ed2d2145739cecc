/* The options of `baton-load`: as given, and as checked.
 *
 * Ownership: texts of ld_options belong to the config; the command owns the files that it read,
 *            until ld_command_fini.
 * Threading: read-only once made.
 * Errors:    INVALID names the option and its range or form; those of reading files.
 */
#ifndef BATON_TOOLS_LOAD_OPTIONS_H
#define BATON_TOOLS_LOAD_OPTIONS_H

#include "tools/load/http/server_url.h"
#include "tools/load/load.h"
#include "tools/load/workload/slo.h"
#include "tools/support/cli.h"

/* The options as given; the table in options.c describes each. */
struct ld_options {
    const char *url, *api, *model, *api_key, *extra;
    const char *concurrency, *duration;
    double rate, timeout_s, drain_s;
    int64_t max_in_flight, requests, warmup, retry;
    const char *prompt_tokens, *output_tokens, *vocab, *prompt_file, *trace;
    int64_t shared_prefix_tokens, prefixes, max_total_tokens, seed;
    double prefix_reuse, trace_speed, trace_scale, temperature;
    double cancel_rate, slow_rate;
    int64_t slow_bytes_per_s;
    bool ignore_eos, timeline, no_keepalive, realtime, quiet;
    const char *slo, *json, *csv, *itl_csv;
    int64_t streams;
    const char *intrude_prompt_tokens, *intrude_output_tokens, *intrude_every;
    double baseline_s;
};

extern const struct baton_option ld_option_table[];
extern const size_t ld_n_options;

/* A checked command line. */
struct ld_command {
    const struct ld_options *options;
    struct baton_http_url url;
    struct ld_api_options api;
    struct ld_workload workload; /* of the requests, or of the readers */
    struct ld_lengths intruder_prompt, intruder_output;
    double intrude_every_s;
    struct cli_list concurrency; /* n is 0 for an open loop */
    double duration_s;           /* 0: none */
    int64_t n_requests;          /* 0: no bound */
    struct ld_slo slo;
    uint64_t seed;
    char *extra;
    struct ld_texts texts;
    struct ld_trace trace;
};

/* Reads files and checks that the options fit together. options must outlive the command. */
enum baton_err ld_command_init(struct ld_command *command, const struct ld_options *options,
                               struct baton_why *why) BATON_MUST_CHECK;
void ld_command_fini(struct ld_command *command);

static inline bool ld_command_intrudes(const struct ld_command *command)
{
    return command->options->streams > 0;
}

/* Writes a member for each option, with the seed that was used. */
void ld_options_put(const struct ld_command *command, struct baton_json_out *out);

#endif
