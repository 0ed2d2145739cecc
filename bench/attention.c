/* baton-bench attention: measures attention over long contexts without the layers around it, in a
 * step of some sequences and in the last rows of a long prompt. Each figure stands beside the least
 * time that its arithmetic (at the peak of f32 products) or its K and V (at the speed of memory)
 * needs here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/line.h"
#include "common/base/array.h"
#include "common/base/clock.h"
#include "engine/arch/spec.h"
#include "engine/arch/spec_cost.h"
#include "engine/compute/forward.h"
#include "engine/system/floats.h"

enum {
    MAX_POSITIONS = 1 << 20,
    MAX_ROWS = 4096,
    OUTPUT_MAX_BYTES = 1 << 20,
    MIN_LOOP_NS = 5000000
};

struct options {
    const char *kernels, *kv_dtype, *positions, *batch;
    int64_t heads, kv_heads, head_dim, window, threads, rows, runs;
    bool json;
};

static const struct baton_option table[] = {
    BATON_ROW_INT(struct options, heads, "heads", "12", 1, 1024, "", "query heads"),
    BATON_ROW_INT(struct options, kv_heads, "kv-heads", "12", 1, 1024, "",
                  "KV heads; divides --heads"),
    BATON_ROW_INT(struct options, head_dim, "head-dim", "64", 1, 512, "", "width of a head"),
    BATON_ROW_INT(struct options, window, "window", "0", 0, 1 << 24, "positions",
                  "context lengths, as the last row sees them"),
    BATON_ROW_TEXT(
        struct options, kernels, "kernels", "auto",
        "kernel set: auto, avx512vnni, avx512, avx2, i8mm, dotprod, neon, portable or openblas"),
    BATON_ROW_TEXT(struct options, kv_dtype, "kv-dtype", "f16",
                   "element type of the KV cache: f32, f16 or q8"),
    BATON_ROW_INT(struct options, threads, "threads", "1", 1, 256, "", "compute threads"),
    BATON_ROW_TEXT(struct options, positions, "positions", "512,4096,16384",
                   "that the last row looks at"),
    BATON_ROW_TEXT(struct options, batch, "batch", "1,16", "sequences per step"),
    BATON_ROW_INT(struct options, rows, "rows", "256", 1, MAX_ROWS, "",
                  "prompt rows computed together"),
    BATON_ROW_INT(struct options, runs, "runs", "5", BENCH_MIN_RUNS, BENCH_MAX_RUNS, "",
                  "runs per line, which shows their median"),
    BATON_ROW_BOOL(struct options, json, "json", "false", "an array of objects instead of a table"),
};

struct stand {
    const struct options *options;
    struct cli_list positions, batches;
    struct baton_model *model;
    struct baton_kv *kv;
    struct bench_probes probes;
    struct baton_forward forward;
    float *scratch;
    struct baton_seq *seqs; /* [largest batch] */
    struct bench_subject subject;
    char name[64];
    struct baton_buf buf; /* for --json */
    struct baton_json_out out;
};

/* ---- one line ---- */

/* Sets the rows of the line's phase: a step of sequences, or the end of a prompt. */
static void set_rows(struct stand *stand, const struct bench_line *line, bool prefill)
{
    stand->forward.n_rows = line->batch;
    for (int r = 0; r < line->batch; r++)
        stand->forward.rows[r] =
            (struct baton_row){.seq = &stand->seqs[prefill ? 0 : r],
                               .position = line->prompt - 1 - (prefill ? line->batch - 1 - r : 0)};
}

/* Repeats until the clock is exact enough. Short runs would measure only the first-level cache. */
static enum baton_err time_rows(void *arg, const struct bench_line *line, double *seconds)
{
    struct stand *stand = arg;
    int64_t start = baton_now_ns(), n = 0, now = start;
    (void)line;
    do {
        baton_forward_attend(&stand->forward, 0);
        n++;
        now = baton_now_ns();
    } while (now - start < MIN_LOOP_NS);
    *seconds = baton_seconds(now - start) / (double)n;
    return BATON_OK;
}

static struct bench_work work_of(const struct stand *stand, const struct bench_line *line,
                                 bool prefill)
{
    const struct baton_spec *spec = baton_model_spec(stand->model);
    int window = spec->layers[0].window;
    double n = line->batch, last = line->prompt;
    double attended =
        prefill ? baton_spec_seen_by_rows(window, last - n, n) : n * baton_spec_seen(window, last);
    /* A prompt's rows share their K and V: from the first one's window to the last one's
     * position. */
    double read = prefill ? fmin(last, baton_spec_seen(window, last) + n - 1) : attended;
    double token_bytes = (double)baton_kv_all_block_bytes(stand->kv) / BATON_KV_BLOCK_TOKENS;
    return (struct bench_work){.attention = {.flops = attended * 4.0 * baton_spec_q_width(spec, 0),
                                             .bytes = read * token_bytes}};
}

static enum baton_err measure(struct stand *stand, const char *phase, int positions, int batch)
{
    bool prefill = *phase == 'p';
    struct bench_line line = {.phase = phase, .prompt = positions, .batch = batch};
    line.work = work_of(stand, &line, prefill);
    set_rows(stand, &line, prefill);
    enum baton_err err =
        bench_line_measure(&line, &stand->probes, (int)stand->options->runs, time_rows, stand);
    if (err || !stand->options->json)
        return err ? err : bench_line_print(&line);
    bench_line_put(&stand->out, &stand->subject, &line);
    return BATON_OK;
}

static enum baton_err measure_positions(struct stand *stand, int positions)
{
    int n_rows = (int)stand->options->rows;
    enum baton_err err = BATON_OK;
    for (int i = 0; i < stand->batches.n && !err; i++)
        err = measure(stand, "decode's part", positions, stand->batches.values[i]);
    return err ? err
               : measure(stand, "prefill's part", positions,
                         n_rows < positions ? n_rows : positions);
}

static enum baton_err measure_all(struct stand *stand)
{
    enum baton_err err = BATON_OK;
    if (stand->options->json)
        baton_json_open(&stand->out, NULL, '[');
    else
        err = bench_line_print_head(&stand->subject);
    for (int i = 0; i < stand->positions.n && !err; i++)
        err = measure_positions(stand, stand->positions.values[i]);
    if (err || !stand->options->json)
        return err;
    baton_json_close(&stand->out, ']');
    return cli_print(&stand->buf);
}

/* ---- set up ---- */

static int most_rows(const struct stand *stand)
{
    int largest = cli_list_greatest(&stand->batches), n_rows = (int)stand->options->rows;
    return largest > n_rows ? largest : n_rows;
}

static enum baton_err open_model(struct stand *stand, struct baton_why *why)
{
    const struct options *options = stand->options;
    enum { SMALL = 16 }; /* attention does not depend on it */
    if (options->heads % options->kv_heads)
        return baton_fail(why, BATON_INVALID, "--kv-heads: must divide --heads, %lld",
                          (long long)options->heads);
    const struct baton_gpt2_sizes sizes = {.n_layers = 1,
                                           .n_embd = (int)(options->heads * options->head_dim),
                                           .n_heads = (int)options->heads,
                                           .n_kv_heads = (int)options->kv_heads,
                                           .head_dim = (int)options->head_dim,
                                           .n_ff = SMALL,
                                           .n_vocab = SMALL,
                                           .n_context = cli_list_greatest(&stand->positions)};
    struct baton_spec spec;
    baton_gpt2_spec(&sizes, &spec);
    spec.layers[0].window = (int)options->window;
    int n_blocks = baton_kv_blocks_for(sizes.n_context) * cli_list_greatest(&stand->batches);
    enum baton_err err = baton_model_random(
        &spec, 1, &(struct baton_model_options){.kernels = options->kernels}, &stand->model, why);
    return err ? err
               : baton_kv_create(stand->model,
                                 &(struct baton_kv_pool_options){.dtype = options->kv_dtype,
                                                                 .n_blocks = n_blocks},
                                 &stand->kv, why);
}

static enum baton_err init_forward(struct stand *stand, struct baton_why *why)
{
    const struct baton_spec *spec = baton_model_spec(stand->model);
    size_t n_rows = (size_t)most_rows(stand), n_threads = (size_t)stand->options->threads;
    size_t n_qkv = n_rows * (size_t)baton_spec_qkv_width(spec, 0);
    struct baton_forward *forward = &stand->forward;
    *forward = (struct baton_forward){
        .model = stand->model,
        .kernels = baton_kernels_find(baton_model_info(stand->model)->kernels)};
    enum baton_err err = baton_pool_create((int)n_threads, &forward->pool, why);
    if (err)
        return err;
    forward->rows = calloc(n_rows, sizeof *forward->rows);
    forward->groups = calloc(n_rows, sizeof *forward->groups);
    /* Without memory, place only counts the bytes that it needs. */
    stand->scratch =
        baton_floats_create(baton_forward_place(forward, NULL, (int)n_rows) / sizeof(float));
    stand->seqs = calloc((size_t)cli_list_greatest(&stand->batches), sizeof *stand->seqs);
    if (!forward->rows || !forward->groups || !stand->scratch || !stand->seqs)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for %zu rows", n_rows);
    (void)baton_forward_place(forward, (char *)stand->scratch, (int)n_rows);
    /* Any values will do that are not all equal. */
    for (size_t i = 0; i < n_qkv; i++)
        forward->qkv[i] = (float)(i * 2654435761U % 1000) / 500 - 1;
    return BATON_OK;
}

/* Fills K and V of every position with the same few rows, again and again. */
static void fill(struct stand *stand, const struct baton_seq *seq, int n_positions)
{
    int most = most_rows(stand);
    for (int first = 0, n; first < n_positions; first += n) {
        n = n_positions - first < most ? n_positions - first : most;
        stand->forward.n_rows = n;
        for (int r = 0; r < n; r++)
            stand->forward.rows[r] = (struct baton_row){.seq = seq, .position = first + r};
        baton_forward_finish_qkv(&stand->forward, 0);
    }
}

static enum baton_err init_sequences(struct stand *stand)
{
    int n_positions = cli_list_greatest(&stand->positions);
    enum baton_err err = BATON_OK;
    for (int b = 0; b < cli_list_greatest(&stand->batches) && !err; b++) {
        err = baton_seq_init(&stand->seqs[b], stand->kv, n_positions);
        if (!err)
            fill(stand, &stand->seqs[b], n_positions);
    }
    return err;
}

static enum baton_err init_probe(struct stand *stand, struct baton_why *why)
{
    const struct bench_line longest = {.prompt = cli_list_greatest(&stand->positions),
                                       .batch = cli_list_greatest(&stand->batches)};
    enum baton_err err = bench_probe_create(
        stand->forward.kernels, BATON_F32, (int)stand->options->threads,
        work_of(stand, &longest, false).attention.bytes, &stand->probes.products, why);
    stand->probes.attention = stand->probes.products; /* both are f32 here */
    return err;
}

static void describe(struct stand *stand)
{
    const struct options *options = stand->options;
    (void)snprintf(stand->name, sizeof stand->name, "%lld heads of %lld, %lld of K and V",
                   (long long)options->heads, (long long)options->head_dim,
                   (long long)options->kv_heads);
    stand->subject = (struct bench_subject){
        .model = stand->name,
        .dtype = baton_kv_dtype(stand->kv),
        .kernels = baton_model_info(stand->model)->kernels,
        .kv_dtype = baton_kv_dtype(stand->kv),
        .kv_token_bytes = (double)baton_kv_all_block_bytes(stand->kv) / BATON_KV_BLOCK_TOKENS,
        .n_threads = (int)options->threads};
}

static void fini(struct stand *stand)
{
    for (int b = 0; stand->seqs && b < cli_list_greatest(&stand->batches); b++)
        baton_seq_fini(&stand->seqs[b]);
    free(stand->seqs);
    free(stand->scratch);
    free(stand->forward.rows);
    free(stand->forward.groups);
    baton_pool_destroy(stand->forward.pool);
    bench_probe_destroy(stand->probes.products);
    baton_kv_destroy(stand->kv);
    baton_model_close(stand->model);
    baton_buf_fini(&stand->buf);
}

static enum baton_err init(struct stand *stand, struct baton_why *why)
{
    const struct options *options = stand->options;
    enum baton_err err =
        cli_list_parse("--positions", options->positions, 1, MAX_POSITIONS, &stand->positions, why);
    if (!err)
        err = cli_list_parse("--batch", options->batch, 1, MAX_ROWS, &stand->batches, why);
    if (!err)
        err = open_model(stand, why);
    if (!err)
        err = init_forward(stand, why);
    if (!err)
        err = init_sequences(stand);
    if (!err)
        err = init_probe(stand, why);
    return err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct stand stand = {.options = arg};
    baton_buf_init(&stand.buf, OUTPUT_MAX_BYTES);
    stand.out = baton_json_out(&stand.buf);
    enum baton_err err = init(&stand, why);
    if (!err) {
        describe(&stand);
        err = measure_all(&stand);
    }
    fini(&stand);
    return err;
}

enum baton_err bench_attention(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench attention",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "measures attention alone beside the machine",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
