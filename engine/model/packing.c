#include "engine/model/packing.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "engine/checkpoint/weights/coded.h"
#include "engine/kernels/pack/encode_panels.h"

enum {
    PANELS_PER_ITEM = BATON_WEIGHTS_READ_MAX / BATON_PANEL,
    SHOW_EVERY_MS = 100,
    LOG_EVERY_MS = 10000
};

static enum baton_err add_job(struct baton_packing *packing, struct baton_packing_job job)
{
    if (BATON_RESERVE(packing->jobs, packing->cap_jobs, (size_t)packing->n_jobs + 1))
        return BATON_NO_MEMORY;
    job.first_item = packing->n_items;
    packing->jobs[packing->n_jobs++] = job;
    packing->n_items +=
        (baton_packed_n_panels(&job.packed) + PANELS_PER_ITEM - 1) / PANELS_PER_ITEM;
    return BATON_OK;
}

static bool has_blocks_of(const struct baton_tensor *tensor, enum baton_dtype dtype)
{
    const enum baton_block_type type = baton_dtype_block_type(dtype);
    if (tensor->coded)
        return baton_coded_block_type(tensor->coded) == type;
    return tensor->dtype == BATON_ELEMENT_BLOCKS && tensor->block_type == type &&
           (!tensor->factors || type == BATON_BLOCK_NVFP4);
}

/* Whether a part is packed from rows that are blocks of its own dtype. */
static bool keeps_blocks(const struct baton_weights_source *source, int first, int n,
                         enum baton_dtype dtype)
{
    bool keeps = baton_dtype_has_blocks(dtype);
    for (int i = 0; i < source->n_slices && keeps; i++) {
        const struct baton_weights_slice *slice = &source->slices[i];
        if (slice->first < first + n && first < slice->first + slice->n)
            keeps = !slice->transposed && !slice->scales && has_blocks_of(slice->tensor, dtype);
    }
    return keeps;
}

enum baton_err baton_packing_add(struct baton_packing *packing,
                                 const struct baton_weights_source *source, bool is_gated,
                                 const struct baton_matrix *matrix)
{
    enum baton_err err = BATON_OK;
    for (int i = 0, first = 0; i < matrix->n_parts && !err; first += matrix->parts[i++].n_out) {
        const struct baton_packed *part = &matrix->parts[i];
        int n_rows = is_gated ? source->n_out : part->n_out;
        err = add_job(packing, (struct baton_packing_job){.source = *source,
                                                          .packed = *part,
                                                          .first_row = first,
                                                          .matrix = packing->n_matrices,
                                                          .is_gated = is_gated,
                                                          .keeps_blocks = keeps_blocks(
                                                              source, first, n_rows, part->dtype)});
    }
    packing->n_matrices++;
    return err;
}

void baton_packing_fini(struct baton_packing *packing)
{
    free(packing->jobs);
    *packing = (struct baton_packing){0};
}

struct pack_loop {
    const struct baton_packing *packing;
    float *rows; /* [n_threads][outputs of an item][n_in] */
    size_t rows_per_thread;
    atomic_int *n_left;    /* [n_matrices] items */
    atomic_llong n_packed; /* weights */
    int64_t n_all, begin_ns, show_next_ns;
    bool shows_progress, is_terminal;
};

/* The matrix that an item of the whole loop belongs to. */
static const struct baton_packing_job *job_of(const struct baton_packing *packing, int item)
{
    int low = 0, high = packing->n_jobs;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (packing->jobs[middle].first_item <= item)
            low = middle;
        else
            high = middle;
    }
    return &packing->jobs[low];
}

/* Rewrites one line on a terminal, or logs a line from time to time. */
static void show_progress(struct pack_loop *loop)
{
    int64_t now_ns = baton_now_ns(), n_packed = atomic_load(&loop->n_packed);
    if (now_ns < loop->show_next_ns || !n_packed)
        return;
    int percent = (int)(100 * n_packed / loop->n_all);
    double left_s = baton_seconds(now_ns - loop->begin_ns) * (double)(loop->n_all - n_packed) /
                    (double)n_packed;
    loop->show_next_ns = now_ns + (loop->is_terminal ? SHOW_EVERY_MS : LOG_EVERY_MS) * BATON_MS;
    if (loop->is_terminal)
        (void)dprintf(STDERR_FILENO, "\rpacking weights: %3d %%, %.0f s left\033[K", percent,
                      left_s);
    else
        baton_log(BATON_LOG_INFO, "weights_packing", BATON_I("percent", percent),
                  BATON_F("left_s", left_s));
}

/* The rows of an item's panels, zeros past the matrix. Both panels of a matrix that is not gated
 * are read at once: neighbouring rows of a transposed tensor lie in the same cache lines. */
static void read_panels(const struct baton_packing_job *job, int panel, float *rows)
{
    size_t n_in = (size_t)job->source.n_in;
    memset(rows, 0, BATON_WEIGHTS_READ_MAX * n_in * sizeof *rows);
    if (!job->is_gated) {
        int first = panel * BATON_PANEL, n = job->packed.n_out - first;
        baton_weights_read(&job->source, job->first_row + first,
                           n < BATON_WEIGHTS_READ_MAX ? n : BATON_WEIGHTS_READ_MAX, rows);
        return;
    }
    for (int i = 0; i < PANELS_PER_ITEM; i++) {
        struct baton_panel_rows of = baton_panel_rows(job->source.n_out, true, panel + i);
        baton_weights_read(&job->source, of.first, of.n, rows + (size_t)i * BATON_PANEL * n_in);
    }
}

/* Packs panels first..end - 1 from floats, which are rounded to the dtype. */
static void pack_floats(const struct baton_packing_job *job, int first, int end, float *rows)
{
    read_panels(job, first, rows);
    for (int panel = first; panel < end; panel++, rows += BATON_PANEL * (size_t)job->packed.n_in)
        baton_packed_write(&job->packed, panel, rows);
}

/* Packs panels first..end - 1 from blocks, which are rearranged but keep their bits. rows is memory
 * for the blocks of codes. */
static void pack_blocks(const struct baton_packing_job *job, int first, int end, float *rows)
{
    int n_rows = job->is_gated ? job->source.n_out : job->packed.n_out;
    for (int panel = first; panel < end; panel++) {
        struct baton_panel_rows of = baton_panel_rows(n_rows, job->is_gated, panel);
        const uint8_t *blocks[BATON_PANEL] = {NULL};
        float factors[BATON_PANEL] = {0};
        for (int i = 0; i < of.n; i++) {
            factors[i] = baton_weights_factor(&job->source, job->first_row + of.first + i);
            blocks[i] =
                baton_weights_blocks(&job->source, job->first_row + of.first + i,
                                     (uint8_t *)(rows + (size_t)i * (size_t)job->source.n_in));
        }
        baton_packed_write_blocks(&job->packed, panel, blocks);
        if (job->packed.dtype == BATON_NVFP4)
            baton_packed_scale(&job->packed, panel, factors);
    }
}

static void pack_item(void *arg, int item, int worker)
{
    struct pack_loop *loop = arg;
    const struct baton_packing_job *job = job_of(loop->packing, item);
    int n_panels = baton_packed_n_panels(&job->packed),
        panel = (item - job->first_item) * PANELS_PER_ITEM, end = panel + PANELS_PER_ITEM;
    end = end < n_panels ? end : n_panels;
    float *rows = loop->rows + (size_t)worker * loop->rows_per_thread;
    if (job->keeps_blocks)
        pack_blocks(job, panel, end, rows);
    else
        pack_floats(job, panel, end, rows);
    /* The thread that packs the last item of a matrix, of all its parts, releases its pages.
     * Another matrix of the same tensors may still need some: it faults them in again. */
    if (atomic_fetch_sub(&loop->n_left[job->matrix], 1) == 1)
        baton_weights_release(&job->source);
    atomic_fetch_add(&loop->n_packed,
                     (long long)(end - panel) * BATON_PANEL * (long long)job->packed.n_in);
    if (loop->shows_progress && !worker) /* one thread writes, so lines do not mix */
        show_progress(loop);
}

/* Counts the work and allocates the scratch memory of the loop. */
static bool prepare(struct pack_loop *loop, const struct baton_packing *packing, int n_threads)
{
    size_t n_in = 1;
    loop->n_left = calloc((size_t)packing->n_matrices + 1, sizeof *loop->n_left);
    for (int i = 0; loop->n_left && i < packing->n_jobs; i++) {
        const struct baton_packed *packed = &packing->jobs[i].packed;
        int n_panels = baton_packed_n_panels(packed);
        n_in = (size_t)packed->n_in > n_in ? (size_t)packed->n_in : n_in;
        atomic_fetch_add(&loop->n_left[packing->jobs[i].matrix],
                         (n_panels + PANELS_PER_ITEM - 1) / PANELS_PER_ITEM);
        loop->n_all += (int64_t)n_panels * BATON_PANEL * packed->n_in;
    }
    loop->rows_per_thread = BATON_WEIGHTS_READ_MAX * n_in;
    loop->rows = calloc((size_t)n_threads, loop->rows_per_thread * sizeof(float));
    return loop->n_left && loop->rows;
}

enum baton_err baton_packing_run(const struct baton_packing *packing, struct baton_pool *pool,
                                 bool shows_progress)
{
    int64_t now_ns = baton_now_ns();
    bool is_terminal = isatty(STDERR_FILENO);
    struct pack_loop loop = {.packing = packing,
                             .begin_ns = now_ns,
                             .show_next_ns =
                                 now_ns + (is_terminal ? SHOW_EVERY_MS : LOG_EVERY_MS) * BATON_MS,
                             .shows_progress = shows_progress,
                             .is_terminal = is_terminal};
    bool prepared = prepare(&loop, packing, baton_pool_n_threads(pool));
    if (prepared)
        baton_pool_run(pool, packing->n_items, pack_item, &loop);
    if (shows_progress && is_terminal)
        (void)dprintf(STDERR_FILENO, "\r\033[K");
    free(loop.rows);
    free(loop.n_left);
    return prepared ? BATON_OK : BATON_NO_MEMORY;
}
