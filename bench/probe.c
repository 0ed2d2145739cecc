#include "bench/probe.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "engine/system/floats.h"
#include "engine/system/pool.h"

enum {
    /* The operands of one product take half a megabyte at most, so that a core's own cache holds
     * them. */
    N_ROWS = 64,
    N_IN = 1024,
    N_OUT = 64,
    PRODUCTS_PER_THREAD = 8,
    READ_PARTS = 64,  /* many, so that a thread that lost its core delays little */
    LEAST_PASSES = 2, /* over the memory that is read */
};

/* Far beyond any cache, since longer buffers read the same; and the least that can be measured. */
#define READ_MAX_BYTES 0x1p30
#define READ_MIN_BYTES 0x1p16
#define LEAST_PEAK_NS  (5 * BATON_MS)
#define LEAST_READ_NS  (20 * BATON_MS)

struct bench_probe {
    struct baton_pool *pool;
    const struct baton_kernels *kernels;
    struct baton_packed weights;
    float *x;        /* [N_ROWS][N_IN] */
    void *quantized; /* x as the kernels read it */
    float *y;        /* [n_threads][N_ROWS][N_OUT] */
    float *readable; /* [n_readable] */
    size_t n_readable;
};

/* Fills with any numbers that are not all equal. */
static void fill(float *floats, size_t n)
{
    for (size_t i = 0; i < n; i++)
        floats[i] = (float)(i * 37 % 101) / 101 - 0.5F;
}

/* Packs blocks whose scales are small numbers, whatever their type. */
static enum baton_err pack_blocks(const struct baton_packed *weights)
{
    const uint8_t byte = 0x11;
    uint8_t *row = malloc(N_IN * sizeof(float));
    const uint8_t *rows[BATON_PANEL];
    if (!row)
        return BATON_NO_MEMORY;
    memset(row, byte, N_IN * sizeof(float));
    for (int i = 0; i < BATON_PANEL; i++)
        rows[i] = row;
    for (int panel = 0; panel < baton_packed_n_panels(weights); panel++)
        baton_packed_write_blocks(weights, panel, rows);
    free(row);
    return BATON_OK;
}

static enum baton_err pack_floats(const struct baton_packed *weights)
{
    float *rows = baton_floats_create((size_t)BATON_PANEL * N_IN);
    if (!rows)
        return BATON_NO_MEMORY;
    fill(rows, (size_t)BATON_PANEL * N_IN);
    for (int panel = 0; panel < baton_packed_n_panels(weights); panel++)
        baton_packed_write(weights, panel, rows);
    free(rows);
    return BATON_OK;
}

static enum baton_err pack(struct bench_probe *probe)
{
    size_t n_bytes = baton_packed_bytes(probe->weights.dtype, probe->weights.layout, N_OUT, N_IN);
    probe->weights.data = baton_floats_create(n_bytes / sizeof(float) + 1);
    if (!probe->weights.data)
        return BATON_NO_MEMORY;
    return baton_dtype_has_blocks(probe->weights.dtype) ? pack_blocks(&probe->weights)
                                                        : pack_floats(&probe->weights);
}

static enum baton_err make_rows(struct bench_probe *probe)
{
    enum baton_dtype dtype = probe->weights.dtype;
    size_t n_threads = (size_t)baton_pool_n_threads(probe->pool);
    probe->x = baton_floats_create((size_t)N_ROWS * N_IN);
    probe->y = baton_floats_create(n_threads * N_ROWS * N_OUT);
    probe->quantized = baton_floats_create(
        baton_quantized_bytes(probe->kernels, dtype, N_ROWS, N_IN) / sizeof(float) + 1);
    if (!probe->x || !probe->y || !probe->quantized)
        return BATON_NO_MEMORY;
    fill(probe->x, (size_t)N_ROWS * N_IN);
    probe->kernels->dtypes[dtype].quantize(probe->x, N_IN, 0, N_ROWS, probe->quantized);
    return BATON_OK;
}

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static enum baton_err make(struct bench_probe *probe, int n_threads, double max_bytes,
                           struct baton_why *why)
{
    enum baton_err err = baton_pool_create(n_threads, &probe->pool, why);
    if (!err)
        err = pack(probe);
    if (!err)
        err = make_rows(probe);
    if (!err) {
        probe->n_readable =
            (size_t)clamp(max_bytes, READ_MIN_BYTES, READ_MAX_BYTES) / sizeof(float);
        probe->readable = baton_floats_create(probe->n_readable);
        if (!probe->readable)
            err = BATON_NO_MEMORY;
    }
    return err;
}

enum baton_err bench_probe_create(const struct baton_kernels *kernels, enum baton_dtype dtype,
                                  int n_threads, double max_bytes, struct bench_probe **probe,
                                  struct baton_why *why)
{
    struct bench_probe *made = calloc(1, sizeof *made);
    if (!made)
        return BATON_NO_MEMORY;
    made->kernels = kernels;
    made->weights = (struct baton_packed){
        .dtype = dtype, .layout = kernels->layout, .n_out = N_OUT, .n_in = N_IN};
    enum baton_err err = make(made, n_threads, max_bytes, why);
    if (err)
        bench_probe_destroy(made);
    else
        *probe = made;
    return err;
}

void bench_probe_destroy(struct bench_probe *probe)
{
    if (!probe)
        return;
    baton_pool_destroy(probe->pool);
    free(probe->weights.data);
    free(probe->x);
    free(probe->quantized);
    free(probe->y);
    free(probe->readable);
    free(probe);
}

static void multiply(void *arg, int item, int worker)
{
    const struct bench_probe *probe = arg;
    const struct baton_linear job = {.weights = &probe->weights,
                                     .x = probe->quantized,
                                     .y = probe->y + (size_t)worker * N_ROWS * N_OUT,
                                     .y_stride = N_OUT,
                                     .n_rows = N_ROWS,
                                     .epilogue = {.kind = BATON_STORE, .scale = 1}};
    (void)item;
    baton_kernels_linear(probe->kernels, &job, 0, N_OUT);
}

double bench_probe_peak(const struct bench_probe *probe)
{
    int n_products = PRODUCTS_PER_THREAD * baton_pool_n_threads(probe->pool), n_loops = 0;
    int64_t start = baton_now_ns(), spent = 0;
    for (; spent < LEAST_PEAK_NS; n_loops++) {
        baton_pool_run(probe->pool, n_products, multiply, (void *)probe);
        spent = baton_now_ns() - start;
    }
    return 2.0 * N_ROWS * N_IN * N_OUT * n_products * n_loops / baton_seconds(spent);
}

/* ---- reading ---- */

typedef float vec __attribute__((vector_size(64)));
typedef float unaligned_vec __attribute__((vector_size(64), aligned(4), may_alias));

enum { LANES = 16 };

/* ThreadSanitizer is not ready when the loader resolves the clones. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST_VECTORS
#endif

WIDEST_VECTORS static float sum_all(const float *p, size_t n)
{
    /* Four sums hide the latency of an addition, so that memory is the limit. */
    vec a = {0}, b = {0}, c = {0}, d = {0};
    for (size_t i = 0; i + 4 * LANES <= n; i += 4 * LANES) {
        a += *(const unaligned_vec *)(p + i);
        b += *(const unaligned_vec *)(p + i + LANES);
        c += *(const unaligned_vec *)(p + i + 2 * LANES);
        d += *(const unaligned_vec *)(p + i + 3 * LANES);
    }
    vec sum = (a + b) + (c + d);
    return sum[0] + sum[LANES / 2];
}

struct reading {
    const float *floats;
    size_t n_per_part;
    /* volatile, so that the compiler keeps the reads */
    volatile float sums[BATON_POOL_MAX_THREADS];
};

static void read_part(void *arg, int item, int worker)
{
    struct reading *reading = arg;
    reading->sums[worker] =
        sum_all(reading->floats + (size_t)item * reading->n_per_part, reading->n_per_part);
}

double bench_probe_bandwidth(const struct bench_probe *probe, double n_bytes)
{
    double n_most = (double)(probe->n_readable * sizeof(float));
    struct reading reading = {.floats = probe->readable};
    reading.n_per_part =
        (size_t)clamp(n_bytes, READ_MIN_BYTES, n_most) / sizeof(float) / READ_PARTS;
    int64_t start = baton_now_ns(), spent = 0;
    int n_passes = 0;
    for (; n_passes < LEAST_PASSES || spent < LEAST_READ_NS; n_passes++) {
        baton_pool_run(probe->pool, READ_PARTS, read_part, &reading);
        spent = baton_now_ns() - start;
    }
    double n_read = (double)n_passes * READ_PARTS * (double)reading.n_per_part * sizeof(float);
    return n_read / baton_seconds(spent);
}
