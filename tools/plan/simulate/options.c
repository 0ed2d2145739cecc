#include "tools/plan/simulate/options.h"

#include <string.h>

#include "common/base/array.h"
#include "engine/arch/spec_cost.h"
#include "engine/kernels/attend/kv_block.h"
#include "tools/plan/costs/costs_file.h"

enum { MAX_CONCURRENCY = 1 << 20, DEFAULT_REQUESTS = 1000, DEFAULT_CONTEXTS = 16 };

typedef struct sim_options options_type;

#define TEXT(field, name, fallback, help) BATON_ROW_TEXT(options_type, field, name, fallback, help)
#define INT(field, name, fallback, min, max, unit, help)                                           \
    BATON_ROW_INT(options_type, field, name, fallback, min, max, unit, help)
#define REAL(field, name, fallback, min, max, unit, help)                                          \
    BATON_ROW_REAL(options_type, field, name, fallback, min, max, unit, help)

const struct baton_option sim_option_table[] = {
    TEXT(calibration, "calibration", NULL, "file of measured costs, from baton-plan calibrate"),
    TEXT(layouts, "layouts", "1P1D", "fleets to simulate, one run each: 1P1D,2P1D,..."),
    TEXT(cores, "cores", "own",
         "CPUs of workers: own (a machine per worker), pinned or elastic (one machine for all)"),
    INT(worker_cores, "worker-cores", "1", 1, 256, "", "own, pinned: cores per worker"),
    INT(host_cores, "host-cores", "2", 1, BATON_CORES_MAX, "", "elastic: cores of the machine"),
    TEXT(concurrency, "concurrency", NULL,
         "closed loop: requests in flight, or several such numbers, one run each (1)"),
    REAL(rate, "rate", "0", 0, 1e6, "requests/s",
         "open loop: Poisson arrivals per second; 0 = off"),
    INT(max_in_flight, "max-in-flight", "1048576", 1, 1 << 20, "requests",
        "requests per run; 0 = 1000, or all of the trace"),
    INT(requests, "requests", "0", 0, 1e7, "", "of a run; 0: 1000, or all of the trace"),
    TEXT(prompt_tokens, "prompt-tokens", NULL,
         "prompt lengths: N, uniform:MIN-MAX, normal:MEAN,DEVIATION or zipf:EXPONENT,MIN-MAX (64)"),
    TEXT(output_tokens, "output-tokens", NULL, "output lengths, as --prompt-tokens (64)"),
    INT(max_total_tokens, "max-total-tokens", "0", 0, LD_MAX_TOKENS, "tokens",
        "limit of prompt + output, such as the context; 0 = none"),
    TEXT(trace, "trace", NULL, "trace in Mooncake's jsonl format: arrivals and lengths"),
    REAL(trace_speed, "trace-speed", "1", 1e-6, 1e6, "",
         "speed of the trace: 2 = arrivals twice as fast"),
    REAL(trace_scale, "trace-scale", "1", 1e-6, 1e6, "", "factor for the trace's lengths"),
    INT(seed, "seed", "1", 1, 9e15, "",
        "seed of lengths, arrivals and times; the same seed gives the same result"),
    TEXT(slo, "slo", NULL,
         "latency bounds of a good request: ttft=200ms,itl=50ms,tpot=40ms,e2el=3s"),
    INT(chunk, "chunk", "0", 0, 1 << 16, "tokens",
        "prompt tokens per prefill step; 0 = as calibrated, or 128 where the file has none"),
    INT(max_batch, "max-batch", "64", 1, 1024, "sequences", "most sequences per decode step"),
    INT(context_tokens, "context-tokens", "1024", 16, 1 << 24, "tokens", "the model's context"),
    INT(kv_tokens, "kv-tokens", "0", 0, 1 << 28, "tokens",
        "KV cache of a decode worker; 0 = sixteen contexts"),
    TEXT(prefill_policy, "prefill-policy", "least-loaded",
         "routing of prompts: round-robin or least-loaded"),
    TEXT(decode_policy, "decode-policy", "least-loaded",
         "routing of requests to decode workers: round-robin or least-loaded"),
    TEXT(overlap, "overlap", "auto",
         "sending of contexts while their prompts are computed: on, off, or auto (long prompts "
         "only)"),
    INT(max_queued, "max-queued", "1048576", 1, 1 << 20, "requests",
        "requests waiting for a worker, else 429"),
    INT(max_queued_tokens, "max-queued-tokens", "1073741824", 1, 1 << 30, "tokens",
        "prompt tokens waiting for a worker, else 429"),
    INT(gateways, "gateways", "1", 1, 4096, "", "gateways that share the requests"),
    REAL(gateway_token_us, "gateway-token-us", "0", 0, 1e6, "us",
         "a gateway's CPU time per token; 0 = it is never the bottleneck"),
    REAL(network_gbps, "network-gbps", "0", 0, 1e6, "Gbit/s",
         "bandwidth of every worker's NIC; 0 = as calibrated"),
    REAL(network_latency_us, "network-latency-us", "0", 0, 1e9, "us",
         "one-way latency beyond that of the calibration"),
    TEXT(json, "json", NULL, "file for all figures and settings; -: stdout instead of the table"),
    TEXT(csv, "csv", NULL, "file for one row per run"),
};

const size_t sim_n_options = BATON_N_OF(sim_option_table);

/* ---- words ---- */

static enum baton_err parse_policy(const char *option, const char *text,
                                   enum baton_routing_policy *policy, struct baton_why *why)
{
    static const char *const words[] = {"round-robin", "least-loaded"};
    int which = 0;
    enum baton_err err = cli_word_parse(option, text, words, 2, &which, why);
    *policy = which ? BATON_ROUTING_LEAST_LOADED : BATON_ROUTING_ROUND_ROBIN;
    return err;
}

static enum baton_err read_words(struct sim_command *command, struct baton_why *why)
{
    static const char *const overlaps[] = {"on", "off", "auto"};
    const struct sim_options *options = command->options;
    struct sim_settings *settings = &command->settings;
    int overlap = 0;
    enum baton_err err = sim_cores_parse("--cores", options->cores, &settings->cores, why);
    if (!err)
        err = parse_policy("--prefill-policy", options->prefill_policy, &settings->prefill_policy,
                           why);
    if (!err)
        err =
            parse_policy("--decode-policy", options->decode_policy, &settings->decode_policy, why);
    if (!err)
        err = cli_word_parse("--overlap", options->overlap, overlaps, 3, &overlap, why);
    settings->overlap = (enum baton_overlap)overlap; /* the enum has this order */
    return err;
}

/* ---- the load ---- */

static enum baton_err read_lengths(struct sim_command *command, struct baton_why *why)
{
    const struct sim_options *options = command->options;
    const char *prompt = options->prompt_tokens, *output = options->output_tokens;
    struct ld_workload *workload = &command->settings.load.workload;
    enum baton_err err =
        ld_lengths_parse("--prompt-tokens", prompt ? prompt : "64", &workload->prompt, why);
    if (!err)
        err = ld_lengths_parse("--output-tokens", output ? output : "64", &workload->output, why);
    if (!err && options->trace)
        err = ld_trace_read(options->trace, &command->trace, why);
    return err;
}

static enum baton_err read_load(struct sim_command *command, struct baton_why *why)
{
    const struct sim_options *options = command->options;
    bool is_open = options->rate > 0 || options->trace;
    const char *concurrency = options->concurrency ? options->concurrency : "1";
    struct ld_source *load = &command->settings.load;
    *load = (struct ld_source){.name = "requests",
                               .rate_per_s = options->rate,
                               .trace_speed = options->trace_speed,
                               .max_in_flight = (int)options->max_in_flight,
                               .arrivals = options->trace ? LD_TRACE
                                           : is_open      ? LD_POISSON
                                                          : LD_CLOSED,
                               .workload = {.seed = (uint64_t)options->seed,
                                            .n_prefixes = 1,
                                            .max_tokens = options->max_total_tokens,
                                            .trace_scale = options->trace_scale}};
    enum baton_err err = read_lengths(command, why);
    if (!err && !is_open)
        err = cli_list_parse("--concurrency", concurrency, 1, MAX_CONCURRENCY,
                             &command->concurrency, why);
    load->workload.trace = options->trace ? &command->trace : NULL;
    load->n_requests = options->requests ? options->requests
                       : options->trace  ? (int64_t)command->trace.n
                                         : DEFAULT_REQUESTS;
    if (options->trace && load->n_requests > (int64_t)command->trace.n)
        load->n_requests = (int64_t)command->trace.n;
    if (command->concurrency.n)
        load->concurrency = command->concurrency.values[0];
    return err;
}

/* ---- the fleet ---- */

static void read_sizes(struct sim_command *command)
{
    const struct sim_options *options = command->options;
    struct sim_settings *settings = &command->settings;
    int64_t kv_tokens =
        options->kv_tokens ? options->kv_tokens : DEFAULT_CONTEXTS * options->context_tokens;
    settings->n_cores =
        (int)(settings->cores == SIM_CORES_ELASTIC ? options->host_cores : options->worker_cores);
    int chunk = options->chunk ? (int)options->chunk : settings->costs.chunk;
    if (!chunk)
        chunk = BATON_DENSE_CHUNK;
    /* A pass computes whole KV blocks. */
    settings->chunk = chunk / BATON_KV_BLOCK_TOKENS * BATON_KV_BLOCK_TOKENS;
    settings->max_batch = (int)options->max_batch;
    settings->kv_blocks = (kv_tokens + BATON_KV_BLOCK_TOKENS - 1) / BATON_KV_BLOCK_TOKENS;
    settings->max_queued = options->max_queued;
    settings->max_queued_tokens = options->max_queued_tokens;
    settings->n_gateways = (int)options->gateways;
    settings->gateway_token_s = options->gateway_token_us / 1e6;
    settings->gbps = options->network_gbps;
    settings->latency_s = options->network_latency_us / 1e6;
}

/* Checks that a shared machine has few enough workers, and that costs exist for each layout's
 * cores. */
static enum baton_err check_cores(const struct sim_command *command, struct baton_why *why)
{
    const struct sim_settings *settings = &command->settings;
    const struct sim_costs *costs = &settings->costs;
    int least = settings->cores == SIM_CORES_ELASTIC ? 1 : settings->n_cores;
    if (least < costs->cores[0].n_cores || settings->n_cores > costs->cores[costs->n - 1].n_cores)
        return baton_fail(why, BATON_INVALID,
                          "--%s: %s has costs for %d to %d cores, %d to %d are needed",
                          settings->cores == SIM_CORES_ELASTIC ? "host-cores" : "worker-cores",
                          command->options->calibration, costs->cores[0].n_cores,
                          costs->cores[costs->n - 1].n_cores, least, settings->n_cores);
    for (int i = 0; i < command->layouts.n && settings->cores != SIM_CORES_OWN; i++) {
        const struct sim_layout *layout = &command->layouts.items[i];
        if (layout->n_prefill + layout->n_decode > BATON_CORE_WORKERS_MAX)
            return baton_fail(why, BATON_INVALID,
                              "--layouts: at most %d workers share a machine, not %dP%dD",
                              BATON_CORE_WORKERS_MAX, layout->n_prefill, layout->n_decode);
    }
    return BATON_OK;
}

/* ---- options that exclude each other ---- */

static enum baton_err check_together(const struct sim_options *o, struct baton_why *why)
{
    const struct cli_clash clashes[] = {
        {o->concurrency && o->rate > 0, "--concurrency and --rate"},
        {o->concurrency && o->trace, "--concurrency and --trace"},
        {o->rate > 0 && o->trace, "--rate and --trace"},
        {o->trace && (o->prompt_tokens || o->output_tokens),
         "--trace and --prompt-tokens or --output-tokens"},
    };
    enum baton_err err = cli_check_clashes(clashes, BATON_N_OF(clashes), why);
    if (err)
        return err;
    if (!o->calibration)
        return baton_fail(
            why, BATON_INVALID,
            "--calibration: must name a file of costs (baton-plan calibrate makes one)");
    if (o->chunk && o->chunk < BATON_KV_BLOCK_TOKENS)
        return baton_fail(why, BATON_INVALID, "--chunk: must be 0, or from %d to 65536",
                          BATON_KV_BLOCK_TOKENS);
    if (o->max_total_tokens == 1)
        return baton_fail(why, BATON_INVALID, "--max-total-tokens: must be 0 or at least 2");
    return BATON_OK;
}

static enum baton_err check_network(const struct sim_command *command, struct baton_why *why)
{
    if (!(command->options->network_gbps > 0) || command->settings.costs.kv_token_bytes > 0)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "--network-gbps: %s lacks the bytes of a token's KV "
                      "(kv_token_bytes; baton-plan calibrate with --model writes it)",
                      command->options->calibration);
}

enum baton_err sim_command_init(struct sim_command *command, const struct sim_options *options,
                                struct baton_why *why)
{
    *command = (struct sim_command){.options = options};
    enum baton_err err = check_together(options, why);
    if (!err)
        err = sim_costs_file_read(options->calibration, &command->settings.costs, why);
    if (!err)
        err = sim_layouts_parse("--layouts", options->layouts, &command->layouts, why);
    if (!err)
        err = read_words(command, why);
    if (!err)
        err = read_load(command, why);
    if (!err && options->slo)
        err = ld_slo_parse("--slo", options->slo, &command->settings.slo, why);
    if (!err) {
        read_sizes(command);
        err = check_cores(command, why);
    }
    if (!err)
        err = check_network(command, why);
    if (err)
        sim_command_fini(command);
    return err;
}

void sim_command_fini(struct sim_command *command)
{
    ld_trace_fini(&command->trace);
    *command = (struct sim_command){0};
}
