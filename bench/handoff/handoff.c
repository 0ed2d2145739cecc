/* baton-bench handoff: measures hand-offs over a real link and through shared memory, by prompt
 * length, KV dtype and chunk size, and finds the prompt from which on they cost less than computing
 * the prompt on the decode worker.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/handoff/report.h"
#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/wire/frame.h"
#include "common/wire/handoff.h"
#include "tools/support/machine/machine.h"
#include "tools/support/machine/shapes.h"

enum { MAX_PROMPT = 1 << 15, MIN_RUNS = 3, MAX_RUNS = 101 };

struct options {
    const char *model, *dtype, *kernels, *kv_dtype, *prompt, *chunk_kib;
    int64_t threads, runs;
    double bandwidth_gbit, latency_ms;
    bool emulate, json;
};

static const struct baton_option table[] = {
    BATON_ROW_TEXT(struct options, model, "model", "shape:distilgpt2",
                   "model directory, or shape:NAME for random weights"),
    BATON_ROW_TEXT(struct options, dtype, "dtype", NULL, BATON_DTYPE_HELP),
    BATON_ROW_TEXT(struct options, kernels, "kernels", "auto",
                   "kernel set: auto, amx, avx512vnni, avx512, avx2, i8mm, dotprod, neon, portable "
                   "or openblas"),
    BATON_ROW_TEXT(struct options, kv_dtype, "kv-dtype", "both",
                   "element type of the KV cache: f16, f32 or both"),
    BATON_ROW_INT(struct options, threads, "threads", "1", 1, 256, "",
                  "threads that compute the prompt"),
    BATON_ROW_TEXT(struct options, prompt, "prompt", "1,16,64,256,512", "prompt lengths in tokens"),
    BATON_ROW_TEXT(struct options, chunk_kib, "chunk-kib", "64,256,512,1024,4096",
                   "chunk sizes to compare; workers send 512"),
    BATON_ROW_INT(struct options, runs, "runs", "9", MIN_RUNS, MAX_RUNS, "",
                  "runs per figure, which is their median"),
    BATON_ROW_REAL(struct options, bandwidth_gbit, "bandwidth", "0", 0, 1e6, "Gbit/s",
                   "bandwidth of a network to estimate and emulate; 0 = unlimited"),
    BATON_ROW_REAL(struct options, latency_ms, "latency", "0", 0, 1e4, "ms",
                   "one-way latency of that network"),
    BATON_ROW_BOOL(struct options, emulate, "emulate", "true",
                   "emulate the network in a namespace of its own, where that is permitted"),
    BATON_ROW_BOOL(struct options, json, "json", "false", "one JSON object instead of tables"),
};

struct stand {
    const struct options *options;
    struct cli_list prompts, chunks;
    struct bench_machine machine;
    struct ho_emulation emulation;
    struct ho_report report;
    double prefills_s[CLI_LIST_MAX];
};

_Static_assert((int)HO_MAX_LENGTHS == (int)CLI_LIST_MAX, "a list of lengths fits");

/* ---- measuring ---- */

static enum baton_err time_prefill(struct stand *stand, struct baton_seq *seq, const uint32_t *ids,
                                   int n_tokens, double *seconds)
{
    double runs[MAX_RUNS];
    int n_runs = (int)stand->options->runs;
    enum baton_err err = BATON_OK;
    for (int i = -1; i < n_runs && !err; i++) { /* the first one warms up */
        seq->n_tokens = 0;
        int64_t begin_ns = baton_now_ns();
        err = baton_engine_prefill(stand->machine.engine, seq, ids, n_tokens, NULL, NULL,
                                   stand->machine.logits);
        if (i >= 0)
            runs[i] = baton_seconds(baton_now_ns() - begin_ns);
    }
    if (!err)
        *seconds = cli_median(runs, n_runs);
    return err;
}

static enum baton_err measure_prefills(struct stand *stand)
{
    int longest = cli_list_greatest(&stand->prompts);
    int n_vocab = baton_model_info(stand->machine.model)->n_vocab;
    uint32_t *ids = calloc((size_t)longest, sizeof *ids);
    struct baton_seq seq = {0};
    enum baton_err err = ids ? baton_seq_init(&seq, stand->machine.kv, longest) : BATON_NO_MEMORY;
    for (int i = 0; i < longest && !err; i++)
        ids[i] = (uint32_t)(7 * i % n_vocab);
    for (int i = 0; i < stand->prompts.n && !err; i++)
        err = time_prefill(stand, &seq, ids, stand->prompts.values[i], &stand->prefills_s[i]);
    baton_seq_fini(&seq);
    free(ids);
    return err;
}

/* Measures both ways one after the other, so that the machine's load affects both alike. */
static enum baton_err measure_length(struct stand *stand, struct ho_lane *lane, int i,
                                     struct ho_figures *figures, struct baton_why *why)
{
    int n_blocks = baton_kv_blocks_for(stand->prompts.values[i]),
        n_runs = (int)stand->options->runs;
    enum baton_err err =
        ho_lane_measure(lane, n_blocks, BATON_HANDOFF_CHUNK_BYTES, n_runs, &figures->times[i], why);
    ho_lane_share(lane, true);
    if (!err)
        err = ho_lane_measure(lane, n_blocks, BATON_HANDOFF_CHUNK_BYTES, n_runs,
                              &figures->shared[i], why);
    ho_lane_share(lane, false);
    return err;
}

static enum baton_err measure_lane(struct stand *stand, struct ho_lane *lane,
                                   struct ho_figures *figures, struct baton_why *why)
{
    int n_runs = (int)stand->options->runs;
    int longest = baton_kv_blocks_for(cli_list_greatest(&stand->prompts));
    enum baton_err err = BATON_OK;
    for (int i = 0; i < stand->prompts.n && !err; i++)
        err = measure_length(stand, lane, i, figures, why);
    for (int i = 0; i < stand->chunks.n && !err; i++)
        err = ho_lane_measure(lane, longest, stand->report.chunk_bytes[i], n_runs,
                              &figures->by_chunk[i], why);
    return err;
}

/* Measures over the emulated network. A missing permission is no failure: the report mentions
 * it. */
static enum baton_err emulate(struct stand *stand, const struct ho_geometry *geometry,
                              struct ho_figures *figures, struct baton_why *why)
{
    struct ho_order order = {.network = stand->report.network,
                             .geometry = *geometry,
                             .chunk_bytes = BATON_HANDOFF_CHUNK_BYTES,
                             .n_runs = (int)stand->options->runs,
                             .n_lengths = stand->prompts.n};
    struct baton_why reason = {""};
    if (!stand->emulation.pid || stand->report.skipped.text[0])
        return BATON_OK;
    for (int i = 0; i < order.n_lengths; i++)
        order.n_blocks[i] = baton_kv_blocks_for(stand->prompts.values[i]);
    enum baton_err err = ho_emulation_run(&stand->emulation, &order, figures->emulated, &reason);
    figures->has_emulated = !err;
    if (err == BATON_IO || err == BATON_NOT_FOUND) {
        stand->report.skipped = reason;
        return BATON_OK;
    }
    return err ? baton_fail(why, err, "%s", reason.text) : BATON_OK;
}

static void draw_curve(const struct stand *stand, const struct ho_geometry *geometry,
                       const struct ho_times *times, struct ho_point *points,
                       struct ho_curve *curve)
{
    for (int i = 0; i < stand->prompts.n; i++)
        points[i] = (struct ho_point){.n_tokens = stand->prompts.values[i],
                                      .n_bytes = times[i].n_bytes,
                                      .prefill_s = stand->prefills_s[i],
                                      .transfer_s = times[i].transfer_s};
    *curve = (struct ho_curve){.points = points,
                               .n_points = stand->prompts.n,
                               .n_layers = geometry->n_layers,
                               .block_tokens = BATON_KV_BLOCK_TOKENS,
                               .bytes_per_token = (double)geometry->block_bytes *
                                                  geometry->n_layers / BATON_KV_BLOCK_TOKENS};
    ho_curve_fit(curve);
}

static enum baton_err measure_dtype(struct stand *stand, const char *kv_dtype,
                                    struct baton_why *why)
{
    struct ho_figures *figures = &stand->report.figures[stand->report.n_figures++];
    int n_layers; /* layers of the mean size, where sizes differ */
    (void)baton_kv_held_layers(stand->machine.kv, &n_layers);
    struct ho_geometry geometry = {.n_layers = n_layers,
                                   .max_blocks =
                                       baton_kv_blocks_for(cli_list_greatest(&stand->prompts))};
    struct ho_lane *lane = NULL;
    const struct baton_kv_pool_options pool = {.dtype = kv_dtype};
    struct baton_kv_sizes sizes = {0};
    figures->kv_dtype = kv_dtype;
    enum baton_err err = baton_kv_measure(stand->machine.model, &pool, &sizes, why);
    geometry.block_bytes = sizes.block_bytes / (size_t)n_layers;
    if (!err)
        err = ho_lane_open(&geometry, &lane, why);
    if (!err)
        err = measure_lane(stand, lane, figures, why);
    ho_lane_close(lane);
    if (err)
        return err;
    draw_curve(stand, &geometry, figures->times, figures->points, &figures->curve);
    draw_curve(stand, &geometry, figures->shared, figures->shared_points, &figures->shared_curve);
    return emulate(stand, &geometry, figures, why);
}

static enum baton_err measure_all(struct stand *stand, struct baton_why *why)
{
    const char *dtypes = stand->options->kv_dtype;
    enum baton_err err = measure_prefills(stand);
    if (!err && strcmp(dtypes, "f32") != 0)
        err = measure_dtype(stand, "f16", why);
    if (!err && strcmp(dtypes, "f16") != 0)
        err = measure_dtype(stand, "f32", why);
    return err;
}

/* ---- set up ---- */

static enum baton_err check_ascending(const char *option, const struct cli_list *list,
                                      struct baton_why *why)
{
    for (int i = 1; i < list->n; i++)
        if (list->values[i] <= list->values[i - 1])
            return baton_fail(why, BATON_INVALID, "%s: %d after %d: must ascend", option,
                              list->values[i], list->values[i - 1]);
    return BATON_OK;
}

static enum baton_err read_options(struct stand *stand, struct baton_why *why)
{
    const struct options *options = stand->options;
    const char *kv_dtype = options->kv_dtype;
    if (strcmp(kv_dtype, "both") != 0 && strcmp(kv_dtype, "f16") != 0 &&
        strcmp(kv_dtype, "f32") != 0)
        return baton_fail(why, BATON_INVALID, "--kv-dtype: must be f16, f32 or both, not \"%.40s\"",
                          kv_dtype);
    enum baton_err err =
        cli_list_parse("--prompt", options->prompt, 1, MAX_PROMPT, &stand->prompts, why);
    if (!err)
        err = check_ascending("--prompt", &stand->prompts, why);
    if (!err)
        err = cli_list_parse("--chunk-kib", options->chunk_kib, 1, BATON_FRAME_MAX_PAYLOAD >> 10,
                             &stand->chunks, why);
    for (int i = 0; i < stand->chunks.n && !err; i++)
        stand->report.chunk_bytes[i] = (size_t)stand->chunks.values[i] << 10;
    stand->report.n_chunk_sizes = stand->chunks.n;
    stand->report.network = (struct ho_network){.bytes_per_s = options->bandwidth_gbit * 1e9 / 8,
                                                .latency_s = options->latency_ms / 1e3};
    stand->report.has_network = options->bandwidth_gbit > 0 || options->latency_ms > 0;
    return err;
}

static enum baton_err init_machine(struct stand *stand, struct baton_why *why)
{
    const struct options *options = stand->options;
    int longest = cli_list_greatest(&stand->prompts), n_threads = (int)options->threads;
    const struct bench_machine_options machine = {
        .name = options->model,
        .model = {.dtype = options->dtype,
                  .kernels = options->kernels,
                  .n_threads = n_threads,
                  .show_progress = true},
        .kv_dtype = "auto",
        .n_kv_tokens = baton_kv_blocks_for(longest) * BATON_KV_BLOCK_TOKENS,
        .engine = {.max_rows = longest, .n_threads = n_threads},
        .max_logits = 1};
    enum baton_err err = bench_machine_init(&stand->machine, &machine, why);
    if (err)
        return err;
    const struct baton_model *model = stand->machine.model;
    const char *shape_name = bench_shape_name(options->model);
    stand->report.model = shape_name ? shape_name : options->model;
    stand->report.dtype = baton_model_info(model)->dtype;
    stand->report.kernels = baton_model_info(model)->kernels;
    stand->report.n_threads = n_threads;
    stand->report.n_context = baton_model_info(model)->n_context;
    if (longest > stand->report.n_context)
        return baton_fail(why, BATON_INVALID, "--prompt %d: the model has %d positions", longest,
                          stand->report.n_context);
    return BATON_OK;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct stand stand = {.options = arg};
    enum baton_err err = read_options(&stand, why);
    if (!err && stand.report.has_network && stand.options->emulate)
        err = ho_emulation_start(&stand.emulation, why); /* before there are threads */
    if (!err)
        err = init_machine(&stand, why);
    if (!err)
        err = measure_all(&stand, why);
    if (!err)
        err = stand.options->json ? ho_report_json(&stand.report) : ho_report_table(&stand.report);
    ho_emulation_stop(&stand.emulation);
    bench_machine_fini(&stand.machine);
    return err;
}

enum baton_err bench_handoff(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench handoff",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "what a hand-off costs, and from which prompt it pays",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
