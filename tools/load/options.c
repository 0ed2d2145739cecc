#include "tools/load/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/random.h"
#include "tools/load/workload/number.h"

enum { MAX_CONCURRENCY = 65536, DEFAULT_REQUESTS = 100 };

#define MAX_SECONDS 1e6
/* Generated seeds, and all that are written, stay exact in every JSON reader. */
#define SEED_MASK (((uint64_t)1 << 53) - 1)

typedef struct ld_options options_type;

#define TEXT(field, name, fallback, help) BATON_ROW_TEXT(options_type, field, name, fallback, help)
#define INT(field, name, fallback, min, max, unit, help)                                           \
    BATON_ROW_INT(options_type, field, name, fallback, min, max, unit, help)
#define REAL(field, name, fallback, min, max, unit, help)                                          \
    BATON_ROW_REAL(options_type, field, name, fallback, min, max, unit, help)
#define FLAG(field, name, fallback, help) BATON_ROW_BOOL(options_type, field, name, fallback, help)

const struct baton_option ld_option_table[] = {
    TEXT(url, "url", "http://127.0.0.1:8000", "server URL: http://HOST[:PORT][/PATH]"),
    TEXT(api, "api", "native", "API: native, openai-completions or openai-chat"),
    TEXT(model, "model", NULL, "model field of the body; unset: none"),
    TEXT(api_key, "api-key", NULL, "API key, sent as Authorization: Bearer KEY"),
    TEXT(extra, "extra", NULL, "JSON object whose members are added to every body"),
    TEXT(concurrency, "concurrency", NULL,
         "closed loop: requests in flight, or several such numbers, one run each (1)"),
    REAL(rate, "rate", "0", 0, 1e6, "requests/s",
         "open loop: Poisson arrivals per second; 0 = off"),
    INT(max_in_flight, "max-in-flight", "2000", 1, MAX_CONCURRENCY, "requests",
        "requests per run; 0 = 100, or as many as --duration allows"),
    INT(requests, "requests", "0", 0, 1e9, "", "to send in a run; 0: 100, or for --duration"),
    TEXT(duration, "duration", NULL, "time in which a run starts requests, as 30, 30s or 500ms"),
    REAL(drain_s, "drain-s", "30", 0, MAX_SECONDS, "s",
         "time that requests have to end after --duration, before they are cut off"),
    INT(warmup, "warmup", "0", 0, 1e6, "requests", "uncounted requests before each run"),
    INT(retry, "retry", "0", 0, 1000, "times",
        "retries of a request that got 429, after its Retry-After (closed loop)"),
    REAL(timeout_s, "timeout-s", "600", 0, MAX_SECONDS, "s", "time limit of one attempt; 0 = none"),
    TEXT(prompt_tokens, "prompt-tokens", NULL,
         "prompt lengths: N, uniform:MIN-MAX, normal:MEAN,DEVIATION or zipf:EXPONENT,MIN-MAX (64)"),
    TEXT(output_tokens, "output-tokens", NULL, "output lengths, as --prompt-tokens (64)"),
    TEXT(vocab, "vocab", "16-2000", "range of token ids that prompts are drawn from"),
    INT(shared_prefix_tokens, "shared-prefix-tokens", "0", 0, LD_MAX_TOKENS, "tokens",
        "length of the common prefixes of prompts; 0 = no common prefixes"),
    REAL(prefix_reuse, "prefix-reuse", "1", 0, 1, "",
         "share of requests that begin with a common prefix"),
    INT(prefixes, "prefixes", "1", 1, 1e6, "", "number of different common prefixes"),
    TEXT(prompt_file, "prompt-file", NULL, "file of prompts as text, one per line, used in turn"),
    TEXT(trace, "trace", NULL,
         "trace in Mooncake's jsonl format: arrivals, lengths and shared blocks"),
    REAL(trace_speed, "trace-speed", "1", 1e-6, 1e6, "",
         "speed of the trace: 2 = arrivals twice as fast"),
    REAL(trace_scale, "trace-scale", "1", 1e-6, 1e6, "",
         "factor for the trace's lengths and blocks"),
    INT(max_total_tokens, "max-total-tokens", "0", 0, LD_MAX_TOKENS, "tokens",
        "limit of prompt + output, such as the context; 0 = none"),
    INT(seed, "seed", "0", 0, 9e15, "", "seed of prompts, lengths and arrivals; 0 = a fresh one"),
    REAL(temperature, "temperature", "0", 0, 100, "", "sampling temperature; 0 = greedy"),
    FLAG(ignore_eos, "ignore-eos", "true",
         "ask for exactly as many tokens as planned, beyond the end of the text"),
    FLAG(timeline, "timeline", "true", "ask for the server's stages (native API)"),
    REAL(cancel_rate, "cancel-rate", "0", 0, 1, "",
         "share of clients that disconnect after some tokens"),
    REAL(slow_rate, "slow-rate", "0", 0, 1, "", "share of clients that read slowly"),
    INT(slow_bytes_per_s, "slow-bytes-per-s", "200", 1, 1e9, "bytes/s",
        "reading speed of slow clients"),
    FLAG(no_keepalive, "no-keepalive", "false", "open a new connection for every request"),
    TEXT(slo, "slo", NULL,
         "latency bounds of a good request: ttft=200ms,itl=50ms,tpot=40ms,e2el=3s"),
    TEXT(json, "json", NULL, "file for all figures and settings; -: stdout instead of the table"),
    TEXT(csv, "csv", NULL, "file for one row per request"),
    TEXT(itl_csv, "itl-csv", NULL, "file for one row per request's start and per token"),
    FLAG(realtime, "realtime", "true",
         "take real-time priority where allowed, so that a busy core does not delay measurements"),
    FLAG(quiet, "quiet", "false", "no progress line"),
    INT(streams, "streams", "0", 0, MAX_CONCURRENCY, "",
        "streams whose token gaps are measured first alone, then beside intruding prompts; 0 = "
        "off"),
    TEXT(intrude_prompt_tokens, "intrude-prompt-tokens", "512",
         "prompt lengths of intruding requests"),
    TEXT(intrude_output_tokens, "intrude-output-tokens", "2",
         "output lengths of intruding requests"),
    TEXT(intrude_every, "intrude-every", "0.5s", "interval between intruding requests"),
    REAL(baseline_s, "baseline-s", "10", 0.1, MAX_SECONDS, "s",
         "duration of each of the two phases of --streams"),
};

const size_t ld_n_options = BATON_N_OF(ld_option_table);

/* ---- single options ---- */

static enum baton_err parse_seconds(const char *option, const char *text, double *seconds,
                                    struct baton_why *why)
{
    const char *p = text;
    double value;
    if (!ld_take_seconds(&p, &value) || *p || !(value > 0) || value > MAX_SECONDS)
        return baton_fail(why, BATON_INVALID,
                          "%s: must be a time above 0 as in 30, 30s or 500ms, not \"%.60s\"",
                          option, text);
    *seconds = value;
    return BATON_OK;
}

/* Keeps the members of the object, without its braces. */
static enum baton_err read_extra(struct ld_command *command, struct baton_why *why)
{
    const char *text = command->options->extra;
    struct baton_json *json = NULL;
    struct baton_why problem = {""};
    if (!text)
        return BATON_OK;
    enum baton_err err = baton_json_parse(text, strlen(text), &json, &problem);
    bool is_object = baton_json_kind(json) == BATON_JSON_OBJECT, empty = !baton_json_size(json);
    baton_json_free(json);
    if (err || !is_object)
        return baton_fail(why, BATON_INVALID, "--extra: must be a JSON object%s%.200s",
                          err ? ": " : "", problem.text);
    const char *from = strchr(text, '{') + 1, *to = strrchr(text, '}');
    command->extra = empty ? NULL : strndup(from, (size_t)(to - from));
    if (!empty && !command->extra)
        return BATON_NO_MEMORY;
    command->api.extra = empty ? "" : command->extra;
    return BATON_OK;
}

static enum baton_err read_api(struct ld_command *command, struct baton_why *why)
{
    const struct ld_options *options = command->options;
    command->api = (struct ld_api_options){.model = options->model,
                                           .extra = "",
                                           .temperature = options->temperature,
                                           .ignore_eos = options->ignore_eos,
                                           .timeline = options->timeline};
    enum baton_err err = baton_http_url_parse("--url", options->url, &command->url, why);
    if (!err)
        err = ld_api_parse("--api", options->api, &command->api.api, why);
    if (!err)
        err = read_extra(command, why);
    for (const char *p = options->api_key; !err && p && *p; p++)
        if (!isgraph((unsigned char)*p))
            err = baton_fail(why, BATON_INVALID, "--api-key: must be visible ASCII");
    return err;
}

/* ---- the shape of requests ---- */

static enum baton_err read_lengths(struct ld_command *command, struct baton_why *why)
{
    const struct ld_options *options = command->options;
    const char *prompt = options->prompt_tokens, *output = options->output_tokens;
    struct ld_workload *workload = &command->workload;
    enum baton_err err =
        ld_lengths_parse("--prompt-tokens", prompt ? prompt : "64", &workload->prompt, why);
    if (!err)
        err = ld_lengths_parse("--output-tokens", output ? output : "64", &workload->output, why);
    if (!err)
        err = ld_lengths_parse("--intrude-prompt-tokens", options->intrude_prompt_tokens,
                               &command->intruder_prompt, why);
    if (!err)
        err = ld_lengths_parse("--intrude-output-tokens", options->intrude_output_tokens,
                               &command->intruder_output, why);
    if (!err)
        err = ld_range_parse("--vocab", options->vocab, 0, INT32_MAX, &workload->first_id,
                             &workload->last_id, why);
    return err;
}

static enum baton_err read_files(struct ld_command *command, struct baton_why *why)
{
    const struct ld_options *options = command->options;
    enum baton_err err = BATON_OK;
    if (options->prompt_file)
        err = ld_texts_read(options->prompt_file, &command->texts, why);
    if (!err && options->trace)
        err = ld_trace_read(options->trace, &command->trace, why);
    command->workload.texts = options->prompt_file ? &command->texts : NULL;
    command->workload.trace = options->trace ? &command->trace : NULL;
    return err;
}

static enum baton_err read_workload(struct ld_command *command, struct baton_why *why)
{
    const struct ld_options *options = command->options;
    uint64_t fresh = baton_random_id() & SEED_MASK;
    command->seed = options->seed ? (uint64_t)options->seed : fresh;
    command->workload = (struct ld_workload){.prefix_tokens = options->shared_prefix_tokens,
                                             .n_prefixes = options->prefixes,
                                             .prefix_reuse = options->prefix_reuse,
                                             .cancel_rate = options->cancel_rate,
                                             .slow_rate = options->slow_rate,
                                             .max_tokens = options->max_total_tokens,
                                             .trace_scale = options->trace_scale};
    enum baton_err err = read_lengths(command, why);
    if (!err)
        err = read_files(command, why);
    if (!err && options->max_total_tokens == 1)
        err = baton_fail(why, BATON_INVALID, "--max-total-tokens: must be 0 or at least 2");
    return err;
}

/* ---- arrivals ---- */

static enum baton_err read_arrivals(struct ld_command *command, struct baton_why *why)
{
    const struct ld_options *options = command->options;
    bool is_open = options->rate > 0 || options->trace;
    const char *concurrency = options->concurrency ? options->concurrency : "1";
    enum baton_err err = BATON_OK;
    command->n_requests = options->requests;
    if (options->duration)
        err = parse_seconds("--duration", options->duration, &command->duration_s, why);
    else if (!options->requests && !options->trace)
        command->n_requests = DEFAULT_REQUESTS;
    if (!err && !is_open && !ld_command_intrudes(command))
        err = cli_list_parse("--concurrency", concurrency, 1, MAX_CONCURRENCY,
                             &command->concurrency, why);
    if (!err)
        err = parse_seconds("--intrude-every", options->intrude_every, &command->intrude_every_s,
                            why);
    return err;
}

/* ---- options that exclude each other ---- */

static enum baton_err check_together(const struct ld_options *o, struct baton_why *why)
{
    const struct cli_clash clashes[] = {
        {o->concurrency && o->rate > 0, "--concurrency and --rate"},
        {o->concurrency && o->trace, "--concurrency and --trace"},
        {o->rate > 0 && o->trace, "--rate and --trace"},
        {o->prompt_file && o->trace, "--prompt-file and --trace"},
        {o->prompt_file && o->prompt_tokens, "--prompt-file and --prompt-tokens"},
        {o->prompt_file && o->shared_prefix_tokens, "--prompt-file and --shared-prefix-tokens"},
        {o->trace && (o->prompt_tokens || o->output_tokens),
         "--trace and --prompt-tokens or --output-tokens"},
        {o->trace && o->shared_prefix_tokens, "--trace and --shared-prefix-tokens"},
        {o->streams && (o->concurrency || o->rate > 0 || o->trace),
         "--streams and --concurrency, --rate or --trace"},
        {o->streams && (o->requests || o->duration),
         "--streams and --requests or --duration (--baseline-s says how long)"},
    };
    return cli_check_clashes(clashes, BATON_N_OF(clashes), why);
}

enum baton_err ld_command_init(struct ld_command *command, const struct ld_options *options,
                               struct baton_why *why)
{
    *command = (struct ld_command){.options = options};
    enum baton_err err = check_together(options, why);
    if (!err)
        err = read_api(command, why);
    if (!err)
        err = read_workload(command, why);
    if (!err)
        err = read_arrivals(command, why);
    if (!err && options->slo)
        err = ld_slo_parse("--slo", options->slo, &command->slo, why);
    if (err)
        ld_command_fini(command);
    return err;
}

void ld_command_fini(struct ld_command *command)
{
    free(command->extra);
    ld_texts_fini(&command->texts);
    ld_trace_fini(&command->trace);
    *command = (struct ld_command){0};
}

/* ---- the options in the report ---- */

void ld_options_put(const struct ld_command *command, struct baton_json_out *out)
{
    for (size_t i = 0; i < ld_n_options; i++) {
        const struct baton_option *option = &ld_option_table[i];
        if (!strcmp(option->name, "api-key"))
            continue; /* reports are passed on to others */
        if (!strcmp(option->name, "seed"))
            baton_json_put_uint(out, option->name, command->seed);
        else
            cli_put_options(option, 1, command->options, out);
    }
}
