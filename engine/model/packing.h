/* Packing of matrices: they are listed first, then all threads pack all of them, a few panels at a
 * time.
 *
 * Ownership: the list is the caller's; sources and destinations are borrowed until run returns.
 * Threading: one owner; run keeps the pool busy.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_ENGINE_MODEL_PACKING_H
#define BATON_ENGINE_MODEL_PACKING_H

#include "engine/checkpoint/weights/weights.h"
#include "engine/model/matrix.h"
#include "engine/system/pool.h"

struct baton_packing_job {
    struct baton_weights_source source;
    struct baton_packed packed;
    int first_row;     /* of the source: packed's first output */
    bool is_gated;     /* the source has the gate's rows, then up's (arch/arrays.h) */
    bool keeps_blocks; /* the source's blocks are packed as they are, else as floats */
    int first_item;    /* of this part in the loop over all */
    int matrix;        /* that it is a part of; parts of one share its source */
};

struct baton_packing {
    struct baton_packing_job *jobs;
    int n_jobs, n_items, n_matrices;
    size_t cap_jobs;
};

/* The rows that one panel of a matrix of n rows holds. The panels of a gated matrix hold the gate's
 * and up's rows in turn. */
struct baton_panel_rows {
    int first, n;
};

static inline struct baton_panel_rows baton_panel_rows(int n_rows, bool is_gated, int panel)
{
    int n_half = is_gated ? n_rows / 2 : n_rows;
    int first = (is_gated ? panel / 2 : panel) * BATON_PANEL, n = n_half - first;
    return (struct baton_panel_rows){.first = first + (is_gated && panel % 2 ? n_half : 0),
                                     .n = n < BATON_PANEL ? n : BATON_PANEL};
}

/* The source has all rows of the matrix. */
enum baton_err baton_packing_add(struct baton_packing *packing,
                                 const struct baton_weights_source *source, bool is_gated,
                                 const struct baton_matrix *matrix) BATON_MUST_CHECK;

/* Gives the pages of a source back as soon as its matrix is packed: a checkpoint of any
 * size takes no more memory than its largest tensors. shows_progress: progress and the time
 * left, on stderr. */
enum baton_err baton_packing_run(const struct baton_packing *packing, struct baton_pool *pool,
                                 bool shows_progress) BATON_MUST_CHECK;
void baton_packing_fini(struct baton_packing *packing);

#endif
