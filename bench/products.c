/* baton-bench products: measures one product by every kernel set of this CPU, in turn, to find the
 * fastest set for each number of rows. One thread is timed by its own clock, several by the wall
 * clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "common/base/array.h"
#include "common/base/clock.h"
#include "engine/kernels/kernels.h"
#include "engine/model/random_blocks.h"
#include "engine/system/floats.h"
#include "engine/system/pool.h"

enum {
    MAX_SETS = 8,
    MAX_RUNS = 1001,
    MAX_ROWS = 4096,
    MAX_SIZE = 1 << 20,
    ITEMS_PER_THREAD = 4,
    LEAST_RUN_NS = 2000000
};

struct options {
    const char *dtype, *kernels, *rows;
    int64_t n_in, n_out, memory, threads, runs;
};

static const struct baton_option table[] = {
    BATON_ROW_INT(struct options, n_in, "inputs", "2048", 1, MAX_SIZE, "", "inputs of the matrix"),
    BATON_ROW_INT(struct options, n_out, "outputs", "2048", 1, MAX_SIZE, "",
                  "outputs of the matrix"),
    BATON_ROW_TEXT(struct options, dtype, "dtype", "bf16",
                   "weight format: f32, bf16, q8, f16, q4_0, q4_k, ..."),
    BATON_ROW_TEXT(struct options, kernels, "kernels", "all", "all, or the name of one kernel set"),
    BATON_ROW_TEXT(struct options, rows, "rows", "1,8,16,64,512", "rows of the input"),
    BATON_ROW_INT(struct options, memory, "memory", "256", 1, 1 << 20, "MiB",
                  "size of all copies of the matrix, which are used in turn"),
    BATON_ROW_INT(struct options, threads, "threads", "1", 1, 256, "", "compute threads"),
    BATON_ROW_INT(struct options, runs, "runs", "11", 1, MAX_RUNS, "",
                  "runs per figure, which is their median; kernel sets alternate"),
};

/* A kernel set and its operands. */
struct subject {
    const struct baton_kernels *kernels;
    struct baton_packed weights; /* the current copy */
    char *copies;
    size_t copy_bytes;
    int n_copies, next;
    void *quantized;
    double seconds[MAX_RUNS];
};

struct stand {
    const struct options *options;
    enum baton_dtype dtype;
    struct cli_list rows;
    struct baton_pool *pool;
    struct subject subjects[MAX_SETS];
    int n_subjects;
    float *x, *y;
};

struct loop {
    const struct subject *subject;
    struct baton_linear job;
    int outs_per_item;
};

static void multiply_item(void *arg, int item, int worker)
{
    const struct loop *loop = arg;
    int n_out = loop->subject->weights.n_out, first = item * loop->outs_per_item;
    int end = first + loop->outs_per_item;
    (void)worker;
    if (first < n_out)
        baton_kernels_linear(loop->subject->kernels, &loop->job, first, end < n_out ? end : n_out);
}

/* Returns the time of the calling thread alone, without that of other processes on its core. */
static int64_t thread_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Returns the seconds of one product, over as many products as the clock needs. */
static double run_once(struct stand *stand, struct subject *subject, int n_rows)
{
    /* Several items per thread, so that one that lost its core delays little. */
    int n_items =
        (int)stand->options->threads == 1 ? 1 : (int)stand->options->threads * ITEMS_PER_THREAD;
    int n_panels = baton_packed_n_panels(&subject->weights), n = 0;
    struct loop loop = {.subject = subject,
                        .outs_per_item = (n_panels + n_items - 1) / n_items * BATON_PANEL};
    int64_t (*now_ns)(void) = stand->options->threads == 1 ? thread_ns : baton_now_ns;
    int64_t start = now_ns(), now = start;
    for (; now - start < LEAST_RUN_NS; n++, now = now_ns()) {
        subject->weights.data = subject->copies + (size_t)subject->next * subject->copy_bytes;
        subject->next = (subject->next + 1) % subject->n_copies;
        loop.job = (struct baton_linear){.weights = &subject->weights,
                                         .x = subject->quantized,
                                         .y = stand->y,
                                         .y_stride = subject->weights.n_out,
                                         .n_rows = n_rows,
                                         .epilogue = {.kind = BATON_STORE, .scale = 1}};
        baton_pool_run(stand->pool, n_items, multiply_item, &loop);
    }
    return baton_seconds(now - start) / n;
}

static enum baton_err measure(struct stand *stand, int n_rows)
{
    int n_runs = (int)stand->options->runs;
    double flops = 2.0 * n_rows * (double)stand->options->n_in * (double)stand->options->n_out;
    for (int run = -1; run < n_runs; run++) /* the first is not counted */
        for (int i = 0; i < stand->n_subjects; i++)
            stand->subjects[i].seconds[run < 0 ? 0 : run] =
                run_once(stand, &stand->subjects[i], n_rows);
    bool failed = printf("| %d |", n_rows) < 0;
    for (int i = 0; i < stand->n_subjects; i++) {
        struct subject *subject = &stand->subjects[i];
        double seconds = cli_median(subject->seconds, n_runs);
        failed |= printf(" %.0f GFLOP/s, %.1f GB/s |", flops / seconds / 1e9,
                         (double)subject->copy_bytes / seconds / 1e9) < 0;
    }
    failed |= printf("\n") < 0 || fflush(stdout) != 0;
    return failed ? BATON_IO : BATON_OK;
}

/* ---- set up ---- */

static float *make_floats(size_t n)
{
    float *floats = baton_floats_create(n);
    for (size_t i = 0; floats && i < n; i++)
        floats[i] = (float)(i * 2654435761U % 1009) / 1009 - 0.5F;
    return floats;
}

/* Returns the blocks of one row. */
static uint8_t *make_blocks(enum baton_block_type type, size_t n_in)
{
    const size_t n_blocks = n_in / baton_block_values(type);
    uint8_t *blocks = malloc(n_blocks * baton_block_bytes(type));
    uint64_t state = 0;
    if (blocks)
        baton_random_blocks(type, &state, n_blocks, blocks);
    return blocks;
}

/* The source of every panel: one row of blocks, or 16 rows of floats. */
struct source {
    float *rows;
    uint8_t *blocks;
};

static bool make_source(const struct stand *stand, struct source *source)
{
    size_t n_in = (size_t)stand->options->n_in;
    if (!baton_dtype_has_blocks(stand->dtype)) {
        source->rows = make_floats(BATON_PANEL * n_in);
        return source->rows;
    }
    source->blocks = make_blocks(baton_dtype_block_type(stand->dtype), n_in);
    return source->blocks;
}

static void pack(const struct baton_packed *weights, const struct source *source)
{
    const uint8_t *rows[BATON_PANEL];
    for (int i = 0; i < BATON_PANEL; i++)
        rows[i] = source->blocks;
    for (int panel = 0; panel < baton_packed_n_panels(weights); panel++)
        if (source->blocks)
            baton_packed_write_blocks(weights, panel, rows);
        else
            baton_packed_write(weights, panel, source->rows);
}

static bool add_subject(struct stand *stand, const struct baton_kernels *kernels,
                        const struct source *source)
{
    int n_in = (int)stand->options->n_in, n_out = (int)stand->options->n_out;
    int most_rows = cli_list_greatest(&stand->rows);
    struct subject *subject = &stand->subjects[stand->n_subjects++];
    subject->kernels = kernels;
    subject->copy_bytes = baton_packed_bytes(stand->dtype, kernels->layout, n_out, n_in);
    /* Copies follow each other so that weights come from memory, as in a model. */
    subject->n_copies = (int)(((size_t)stand->options->memory << 20) / subject->copy_bytes) + 1;
    subject->weights = (struct baton_packed){
        .dtype = stand->dtype, .layout = kernels->layout, .n_out = n_out, .n_in = n_in};
    size_t n_floats = subject->copy_bytes / sizeof(float) * (size_t)subject->n_copies;
    subject->copies = (char *)baton_floats_create(n_floats);
    subject->quantized = baton_floats_create(
        baton_quantized_bytes(kernels, stand->dtype, most_rows, n_in) / sizeof(float) + 1);
    if (!subject->copies || !subject->quantized)
        return false;
    for (int c = 0; c < subject->n_copies; c++) {
        subject->weights.data = subject->copies + (size_t)c * subject->copy_bytes;
        pack(&subject->weights, source);
    }
    kernels->dtypes[stand->dtype].quantize(stand->x, n_in, 0, most_rows, subject->quantized);
    return true;
}

static bool is_selected(const char *names, const char *name)
{
    return !strcmp(names, "all") || !strcmp(names, name);
}

static enum baton_err init(struct stand *stand, struct baton_why *why)
{
    const struct options *options = stand->options;
    enum baton_err err = cli_list_parse("--rows", options->rows, 1, MAX_ROWS, &stand->rows, why);
    if (!err && !baton_dtype_parse(options->dtype, &stand->dtype))
        err = baton_fail(why, BATON_INVALID, "--dtype: \"%.40s\" is not a dtype", options->dtype);
    if (!err && options->n_in % baton_packed_block_values(stand->dtype))
        err = baton_fail(why, BATON_INVALID, "--inputs: %lld is not a multiple of %s's block, %d",
                         (long long)options->n_in, options->dtype,
                         baton_packed_block_values(stand->dtype));
    if (!err)
        err = baton_pool_create((int)options->threads, &stand->pool, why);
    if (err)
        return err;
    size_t n_rows = (size_t)cli_list_greatest(&stand->rows), n_in = (size_t)options->n_in;
    struct source source = {0};
    const struct baton_kernels *kernels;
    stand->x = make_floats(n_rows * n_in);
    stand->y = make_floats(n_rows * (size_t)options->n_out);
    bool has_memory = make_source(stand, &source) && stand->x && stand->y;
    for (int i = 0; has_memory && (kernels = baton_kernels_at(i)); i++)
        if (kernels->dtypes[stand->dtype].linear && is_selected(options->kernels, kernels->name))
            has_memory = add_subject(stand, kernels, &source);
    free(source.rows);
    free(source.blocks);
    if (has_memory && !stand->n_subjects)
        return baton_fail(why, BATON_INVALID, "--kernels: no set \"%.40s\" has products in %s here",
                          options->kernels, options->dtype);
    return has_memory ? BATON_OK : baton_fail(why, BATON_NO_MEMORY, "no memory for the copies");
}

static void fini(struct stand *stand)
{
    for (int i = 0; i < stand->n_subjects; i++) {
        free(stand->subjects[i].copies);
        free(stand->subjects[i].quantized);
    }
    free(stand->x);
    free(stand->y);
    baton_pool_destroy(stand->pool);
}

static enum baton_err print_head(const struct stand *stand)
{
    bool failed = printf("%s [%lld][%lld], %lld threads\n| rows |", stand->options->dtype,
                         (long long)stand->options->n_out, (long long)stand->options->n_in,
                         (long long)stand->options->threads) < 0;
    for (int i = 0; i < stand->n_subjects; i++)
        failed |= printf(" %s |", stand->subjects[i].kernels->name) < 0;
    failed |= printf("\n") < 0;
    return failed ? BATON_IO : BATON_OK;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct stand *stand = calloc(1, sizeof *stand);
    if (!stand)
        return BATON_NO_MEMORY;
    stand->options = arg;
    enum baton_err err = init(stand, why);
    if (!err)
        err = print_head(stand);
    for (int i = 0; i < stand->rows.n && !err; i++)
        err = measure(stand, stand->rows.values[i]);
    fini(stand);
    free(stand);
    return err;
}

enum baton_err bench_products(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench products",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "one product by every kernel set, in turn",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
