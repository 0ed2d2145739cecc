/* baton-bench engine: shows how close prefill and decode come to the machine's limits. Every line
 * stands beside the least time that its arithmetic and its bytes need here. Runs and samples of the
 * machine alternate, because both vary with the machine's other load; figures are medians. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/line.h"
#include "bench/probe.h"
#include "common/base/array.h"
#include "common/base/clock.h"
#include "engine/arch/spec_cost.h"
#include "engine/kv/pool.h"
#include "engine/model/model.h"
#include "tools/support/machine/machine.h"
#include "tools/support/machine/shapes.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };
enum {
    MAX_PROMPT = 1 << 15,
    MAX_DEPTH = 1 << 20,
    MAX_BATCH = 256,
    MAX_NEW = 4096,
    OUTPUT_MAX_BYTES = 1 << 20
};

struct options {
    const char *model, *dtype, *kernels, *kv_dtype, *pack_dir, *prompt, *batch;
    int64_t threads, depth, new, runs;
    bool json;
};

static const struct baton_option table[] = {
    BATON_ROW_TEXT(struct options, model, "model", "shape:distilgpt2",
                   "model directory, or shape:NAME for random weights"),
    BATON_ROW_TEXT(struct options, dtype, "dtype", NULL,
                   BATON_DTYPE_HELP "; of shape:NAME also a format, as q4_k, or q4_k_m"),
    BATON_ROW_TEXT(struct options, kernels, "kernels", "auto",
                   "kernel set: auto, amx, avx512vnni, avx512, avx2, i8mm, dotprod, neon, portable "
                   "or openblas"),
    BATON_ROW_TEXT(struct options, kv_dtype, "kv-dtype", "auto",
                   "element type of the KV cache: auto, f32, f16 or q8"),
    BATON_ROW_TEXT(struct options, pack_dir, "pack-dir", "",
                   "directory of packed weights that workers share, as their option; \"\": none"),
    BATON_ROW_INT(struct options, threads, "threads", "1", 1, 256, "", "compute threads"),
    BATON_ROW_TEXT(struct options, prompt, "prompt", "16,64,256,512", "prompt lengths in tokens"),
    BATON_ROW_INT(struct options, depth, "depth", "0", 0, MAX_DEPTH, "positions",
                  "positions before the prompt, whose K and V repeat those of the first of them"),
    BATON_ROW_INT(struct options, new, "new", "64", 1, MAX_NEW, "tokens",
                  "steps per decode run, which shows their mean"),
    BATON_ROW_TEXT(struct options, batch, "batch", "1,4,16", "sequences per step"),
    BATON_ROW_INT(struct options, runs, "runs", "5", BENCH_MIN_RUNS, BENCH_MAX_RUNS, "",
                  "runs per line, which shows their median"),
    BATON_ROW_BOOL(struct options, json, "json", "false", "an array of objects instead of a table"),
};

struct stand {
    const struct options *options;
    struct cli_list prompts, batches;
    struct bench_machine machine;
    struct bench_probes probes;
    struct bench_subject subject;
    struct bench_sizes sizes;
    uint32_t *ids;          /* of a prompt; step i of a batch uses ids[i] and the following */
    struct baton_seq *seqs; /* [largest batch]; the first one holds the prompt */
    struct baton_seq **batch;
    struct baton_buf buf; /* for --json */
    struct baton_json_out out;
};

static const struct baton_spec *spec_of(const struct stand *stand)
{
    return baton_model_spec(stand->machine.model);
}

static bool has_states(const struct stand *stand)
{
    return baton_kv_has_states(stand->machine.kv);
}

/* The steps of a sequence: those of one run, or of all runs, because a state is not taken back. */
static int n_steps(const struct stand *stand)
{
    const struct options *options = stand->options;
    return (int)(options->new *(has_states(stand) ? stand->batches.n * (options->runs + 1) : 1));
}

/* ---- one line ---- */

static enum baton_err time_prefill(void *arg, const struct bench_line *line, double *seconds)
{
    const struct stand *stand = arg;
    struct baton_seq *seq = &stand->seqs[0];
    /* Each run computes the same positions again. */
    seq->n_tokens = (int)stand->options->depth;
    int64_t start = baton_now_ns();
    enum baton_err err = baton_engine_prefill(stand->machine.engine, seq, stand->ids, line->prompt,
                                              NULL, NULL, stand->machine.logits);
    *seconds = baton_seconds(baton_now_ns() - start);
    return err;
}

static enum baton_err time_decode(void *arg, const struct bench_line *line, double *seconds)
{
    const struct stand *stand = arg;
    int64_t n_new = stand->options->new;
    enum baton_err err = BATON_OK;
    /* Each run repeats the same steps, or, behind a state, those that follow. */
    for (int b = 0; b < line->batch && !has_states(stand); b++)
        stand->seqs[b].n_tokens = (int)stand->options->depth + line->prompt;
    int64_t start = baton_now_ns();
    for (int64_t i = 0; i < n_new && !err; i++)
        err = baton_engine_decode(stand->machine.engine, stand->batch, stand->ids + i, line->batch,
                                  stand->machine.logits);
    *seconds = baton_seconds(baton_now_ns() - start) / (double)n_new;
    return err;
}

static enum baton_err report(struct stand *stand, const struct bench_line *line)
{
    if (!stand->options->json)
        return bench_line_print(line);
    bench_line_put(&stand->out, &stand->subject, line);
    return BATON_OK;
}

static enum baton_err measure(struct stand *stand, bench_time_fn time, struct bench_line *line)
{
    enum baton_err err =
        bench_line_measure(line, &stand->probes, (int)stand->options->runs, time, stand);
    return err ? err : report(stand, line);
}

/* ---- all lines of a prompt's length ---- */

static struct bench_work prefill_work(const struct stand *stand, int n_prompt)
{
    return bench_prefill_work(spec_of(stand), &stand->sizes, (int)stand->options->depth, n_prompt);
}

static struct bench_work decode_work(const struct stand *stand, int n_prompt, int n_seqs)
{
    double n_past =
        (double)stand->options->depth + n_prompt + (double)(stand->options->new - 1) / 2;
    return bench_decode_work(spec_of(stand), &stand->sizes, n_past, n_seqs);
}

/* Copies a block of the first sequence, in all layers, to block `to` of seq. */
static void copy_block(struct stand *stand, int block, struct baton_seq *seq, int to)
{
    int n_layers;
    const int *layers = baton_kv_held_layers(stand->machine.kv, &n_layers);
    for (int i = 0; i < n_layers; i++)
        memcpy(baton_seq_block(seq, layers[i], to),
               baton_seq_block(&stand->seqs[0], layers[i], block),
               baton_kv_block_bytes(stand->machine.kv, layers[i]));
}

/* Copies the first sequence's K and V of n_tokens to every other sequence. States are computed. */
static enum baton_err share_context(struct stand *stand, int n_tokens, int n_seqs)
{
    enum baton_err err = BATON_OK;
    for (int b = 1; b < n_seqs && !err; b++)
        if (has_states(stand))
            err = baton_engine_prefill(stand->machine.engine, &stand->seqs[b], stand->ids, n_tokens,
                                       NULL, NULL, stand->machine.logits);
        else
            for (int block = 0; block < baton_kv_blocks_for(n_tokens); block++)
                copy_block(stand, block, &stand->seqs[b], block);
    return err;
}

/* Fills the positions before the prompt by copies: to compute them would take longer than the
 * measurement, and any K and V take as long as these. */
static enum baton_err fill_depth(struct stand *stand)
{
    struct baton_seq *seq = &stand->seqs[0];
    int depth = (int)stand->options->depth, n = cli_list_greatest(&stand->prompts);
    n = n < depth ? n : depth;
    if (!n)
        return BATON_OK;
    enum baton_err err = baton_engine_prefill(stand->machine.engine, seq, stand->ids, n, NULL, NULL,
                                              stand->machine.logits);
    for (int block = baton_kv_blocks_for(n); block < baton_kv_blocks_for(depth) && !err; block++)
        copy_block(stand, block % baton_kv_blocks_for(n), seq, block);
    return err;
}

static enum baton_err measure_prompt(struct stand *stand, int n_prompt)
{
    int n_seqs = cli_list_greatest(&stand->batches);
    int n_tokens = (int)stand->options->depth + n_prompt;
    enum baton_err err = BATON_OK;
    for (int b = 0; b < n_seqs && !err; b++)
        err = baton_seq_init(&stand->seqs[b], stand->machine.kv, n_tokens + n_steps(stand));
    if (!err)
        err = fill_depth(stand);
    if (!err)
        err = measure(stand, time_prefill,
                      &(struct bench_line){.phase = "prefill",
                                           .prompt = n_prompt,
                                           .batch = 1,
                                           .work = prefill_work(stand, n_prompt)});
    if (!err)
        err = share_context(stand, n_tokens, n_seqs);
    for (int i = 0; i < stand->batches.n && !err; i++) {
        int n = stand->batches.values[i];
        err = measure(stand, time_decode,
                      &(struct bench_line){.phase = "decode",
                                           .prompt = n_prompt,
                                           .batch = n,
                                           .work = decode_work(stand, n_prompt, n)});
    }
    for (int b = 0; b < n_seqs; b++)
        baton_seq_fini(&stand->seqs[b]);
    return err;
}

static enum baton_err measure_all(struct stand *stand)
{
    enum baton_err err = BATON_OK;
    if (stand->options->json)
        baton_json_open(&stand->out, NULL, '[');
    else
        err = bench_line_print_head(&stand->subject);
    for (int i = 0; i < stand->prompts.n && !err; i++)
        err = measure_prompt(stand, stand->prompts.values[i]);
    if (err || !stand->options->json)
        return err;
    baton_json_close(&stand->out, ']');
    return cli_print(&stand->buf);
}

/* ---- set up ---- */

static enum baton_err read_lists(struct stand *stand, struct baton_why *why)
{
    enum baton_err err =
        cli_list_parse("--prompt", stand->options->prompt, 1, MAX_PROMPT, &stand->prompts, why);
    if (!err)
        err = cli_list_parse("--batch", stand->options->batch, 1, MAX_BATCH, &stand->batches, why);
    return err;
}

static enum baton_err init_machine(struct stand *stand, struct baton_why *why)
{
    const struct options *options = stand->options;
    int longest = cli_list_greatest(&stand->prompts);
    int largest = cli_list_greatest(&stand->batches), n_threads = (int)options->threads;
    int n_tokens = (int)options->depth + longest + (int)options->new;
    /* Room for all runs' steps, which is memory only where they are computed (n_steps). */
    int n_all = n_tokens + (int)(options->new * stand->batches.n *(options->runs + 1));
    int n_kv_tokens = largest * baton_kv_blocks_for(n_all) * BLOCK;
    const struct bench_machine_options machine_options = {
        .name = options->model,
        .pack_dir = options->pack_dir,
        .model = {.dtype = options->dtype,
                  .kernels = options->kernels,
                  .n_threads = n_threads,
                  .show_progress = true},
        .kv_dtype = options->kv_dtype,
        .n_kv_tokens = n_kv_tokens,
        .engine = {.max_rows = longest > largest ? longest : largest, .n_threads = n_threads},
        .max_logits = largest};
    enum baton_err err = bench_machine_init(&stand->machine, &machine_options, why);
    if (!err && n_tokens > spec_of(stand)->n_context)
        err = baton_fail(why, BATON_INVALID,
                         "--depth %lld, --prompt %d and --new %lld need %d positions, the model "
                         "has %d",
                         (long long)options->depth, longest, (long long)options->new, n_tokens,
                         spec_of(stand)->n_context);
    if (!err && options->depth && has_states(stand))
        err =
            baton_fail(why, BATON_INVALID,
                       "--depth: must be 0 with a model that keeps states, which cannot be copied");
    return err;
}

static void describe(struct stand *stand)
{
    const struct baton_model *model = stand->machine.model;
    const char *shape_name = bench_shape_name(stand->options->model);
    stand->subject = (struct bench_subject){
        .model = shape_name ? shape_name : stand->options->model,
        .dtype = baton_model_info(model)->dtype,
        .kernels = baton_model_info(model)->kernels,
        .kv_dtype = baton_kv_dtype(stand->machine.kv),
        .kv_token_bytes = (double)baton_kv_all_block_bytes(stand->machine.kv) / BLOCK,
        .n_threads = (int)stand->options->threads,
        .chunk = baton_model_info(model)->n_chunk};
    stand->sizes = (struct bench_sizes){
        .weights = baton_model_bytes(model),
        .kv_element_bytes = (double)baton_kv_element_bytes(baton_kv_element(stand->machine.kv))};
}

static enum baton_err init_probe(struct stand *stand, struct baton_why *why)
{
    int longest = cli_list_greatest(&stand->prompts);
    const struct bench_work step = decode_work(stand, longest, cli_list_greatest(&stand->batches));
    const struct bench_work pass = prefill_work(stand, longest);
    double most = bench_work_bytes(&step);
    enum baton_dtype dtype = BATON_F32;
    if (!baton_dtype_parse(baton_model_info(stand->machine.model)->main_dtype, &dtype))
        return BATON_INTERNAL;
    if (bench_work_bytes(&pass) > most)
        most = bench_work_bytes(&pass);
    /* Weights of f32 share one probe with attention, which computes in f32. */
    const struct baton_kernels *kernels = baton_kernels_find(stand->subject.kernels);
    int n_threads = stand->subject.n_threads;
    enum baton_err err =
        bench_probe_create(kernels, dtype, n_threads, most, &stand->probes.products, why);
    if (!err && dtype != BATON_F32)
        err = bench_probe_create(kernels, BATON_F32, n_threads, 0, &stand->probes.attention, why);
    else
        stand->probes.attention = stand->probes.products;
    return err;
}

/* Creates ids and sequences. Any ids will do, but they must differ: a mixture's experts depend on
 * them. */
static enum baton_err init_sequences(struct stand *stand)
{
    int n_seqs = cli_list_greatest(&stand->batches), n_ids = cli_list_greatest(&stand->prompts),
        n_steps = (int)stand->options->new;
    n_ids = n_ids > n_steps + n_seqs ? n_ids : n_steps + n_seqs;
    stand->ids = calloc((size_t)n_ids, sizeof *stand->ids);
    stand->seqs = calloc((size_t)n_seqs, sizeof *stand->seqs);
    stand->batch = calloc((size_t)n_seqs, sizeof *stand->batch);
    if (!stand->ids || !stand->seqs || !stand->batch)
        return BATON_NO_MEMORY;
    for (int i = 0; i < n_ids; i++)
        stand->ids[i] = (uint32_t)(7 * i % spec_of(stand)->n_vocab);
    for (int b = 0; b < n_seqs; b++)
        stand->batch[b] = &stand->seqs[b];
    return BATON_OK;
}

static void fini(struct stand *stand)
{
    free(stand->ids);
    free(stand->seqs);
    free(stand->batch);
    if (stand->probes.attention != stand->probes.products)
        bench_probe_destroy(stand->probes.attention);
    bench_probe_destroy(stand->probes.products);
    bench_machine_fini(&stand->machine);
    baton_buf_fini(&stand->buf);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct stand stand = {.options = arg};
    baton_buf_init(&stand.buf, OUTPUT_MAX_BYTES);
    stand.out = baton_json_out(&stand.buf);
    enum baton_err err = read_lists(&stand, why);
    if (!err)
        err = init_machine(&stand, why);
    if (!err) {
        describe(&stand);
        err = init_probe(&stand, why);
    }
    if (!err)
        err = init_sequences(&stand);
    if (!err)
        err = measure_all(&stand);
    fini(&stand);
    return err;
}

enum baton_err bench_engine(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench engine",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "measures prefill and decode beside the machine",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
