#include "common/engine/model/packing.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { PANELS_PER_ITEM = BATON_WEIGHTS_READ_MAX / BATON_PANEL, SHOW_EVERY_MS = 100 };

enum baton_err baton_packing_add(struct baton_packing *packing,
                                 const struct baton_weights_source *source, bool is_gated,
                                 const struct baton_packed *packed)
{
    int n_items = (baton_packed_n_panels(packed) + PANELS_PER_ITEM - 1) / PANELS_PER_ITEM;
    struct baton_packing_job *jobs =
        realloc(packing->jobs, ((size_t)packing->n_jobs + 1) * sizeof *jobs);
    if (!jobs)
        return BATON_NO_MEMORY;
    packing->jobs = jobs;
    jobs[packing->n_jobs++] = (struct baton_packing_job){
        .source = *source, .packed = *packed, .is_gated = is_gated, .first_item = packing->n_items};
    packing->n_items += n_items;
    return BATON_OK;
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
    atomic_int n_done;
    bool shows;
    int64_t show_next_ns;
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

static void show(struct pack_loop *loop)
{
    int64_t now_ns = baton_now_ns();
    if (now_ns < loop->show_next_ns)
        return;
    loop->show_next_ns = now_ns + SHOW_EVERY_MS * BATON_MS;
    (void)dprintf(STDERR_FILENO, "\rpacking weights: %3d %%",
                  (int)(100 * (int64_t)atomic_load(&loop->n_done) / loop->packing->n_items));
}

/* The rows of an item's panels, zeros past the matrix. Both panels of a matrix that is not gated are
 * read at once: a transposed one is stored in lines. */
static void read_panels(const struct baton_packing_job *job, int panel, float *rows)
{
    size_t n_in = (size_t)job->source.n_in;
    struct baton_panel_rows first = baton_panel_rows(job->source.n_out, job->is_gated, panel);
    memset(rows, 0, BATON_WEIGHTS_READ_MAX * n_in * sizeof *rows);
    if (!job->is_gated) {
        int n = job->source.n_out - first.first;
        baton_weights_read(&job->source, first.first,
                           n < BATON_WEIGHTS_READ_MAX ? n : BATON_WEIGHTS_READ_MAX, rows);
        return;
    }
    struct baton_panel_rows second = baton_panel_rows(job->source.n_out, true, panel + 1);
    baton_weights_read(&job->source, first.first, first.n, rows);
    baton_weights_read(&job->source, second.first, second.n, rows + BATON_PANEL * n_in);
}

static void pack_item(void *arg, int item, int worker)
{
    struct pack_loop *loop = arg;
    const struct baton_packing_job *job = job_of(loop->packing, item);
    const struct baton_packed *packed = &job->packed;
    size_t n_in = (size_t)packed->n_in;
    float *rows = loop->rows + (size_t)worker * loop->rows_per_thread;
    int panel = (item - job->first_item) * PANELS_PER_ITEM, end = panel + PANELS_PER_ITEM;
    read_panels(job, panel, rows);
    if (end > baton_packed_n_panels(packed))
        end = baton_packed_n_panels(packed);
    for (; panel < end; panel++, rows += BATON_PANEL * n_in)
        baton_packed_write(packed, panel, rows);
    atomic_fetch_add(&loop->n_done, 1);
    if (loop->shows && !worker)
        show(loop);
}

enum baton_err baton_packing_run(const struct baton_packing *packing, struct baton_pool *pool,
                                 bool show_progress)
{
    struct pack_loop loop = {.packing = packing,
                             .shows = show_progress && isatty(STDERR_FILENO),
                             .show_next_ns = baton_now_ns() + SHOW_EVERY_MS * BATON_MS};
    size_t n_in = 1;
    for (int i = 0; i < packing->n_jobs; i++)
        if ((size_t)packing->jobs[i].packed.n_in > n_in)
            n_in = (size_t)packing->jobs[i].packed.n_in;
    loop.rows_per_thread = BATON_WEIGHTS_READ_MAX * n_in;
    loop.rows = calloc((size_t)baton_pool_n_threads(pool), loop.rows_per_thread * sizeof(float));
    if (!loop.rows)
        return BATON_NO_MEMORY;
    baton_pool_run(pool, packing->n_items, pack_item, &loop);
    if (loop.shows)
        (void)dprintf(STDERR_FILENO, "\r\033[K");
    free(loop.rows);
    return BATON_OK;
}
