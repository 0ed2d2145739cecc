/* The options of `baton-bench serve`: as they were given, and what they mean.
 *
 * Ownership: texts of sv_options belong to the config; a plan of the command owns what it read
 * (files), until sv_command_fini.
 * Threading: read-only once made.
 * Errors:    INVALID names the option and its range or form; those of reading files.
 */
#ifndef BATON_BENCH_SERVE_OPTIONS_H
#define BATON_BENCH_SERVE_OPTIONS_H

#include "bench/bench.h"
#include "bench/serve/load.h"
#include "bench/serve/slo.h"
#include "bench/serve/url.h"

/* As given; the table in options.c says what each is. */
struct sv_options {
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

extern const struct baton_option sv_option_table[];
extern const size_t sv_n_options;

/* What is to be done. */
struct sv_command {
    const struct sv_options *options;
    struct sv_url url;
    struct sv_api_options api;
    struct sv_workload workload; /* of the requests, or of the readers */
    struct sv_lengths intruder_prompt, intruder_output;
    double intrude_every_s;
    struct cli_list concurrency; /* n is 0 for an open loop */
    double duration_s;           /* 0: none */
    int64_t n_requests;          /* 0: no bound */
    struct sv_slo slo;
    uint64_t seed;
    char *extra;
    struct sv_texts texts;
    struct sv_trace trace;
};

/* Reads files and checks what options say together. options must outlive the command. */
enum baton_err sv_command_init(struct sv_command *command, const struct sv_options *options,
                               struct baton_why *why) BATON_MUST_CHECK;
void sv_command_fini(struct sv_command *command);

static inline bool sv_command_intrudes(const struct sv_command *command)
{
    return command->options->streams > 0;
}

/* Members of a JSON object, one for each option, and the seed that was used. */
void sv_options_put(const struct sv_command *command, struct baton_json_out *out);

#endif
