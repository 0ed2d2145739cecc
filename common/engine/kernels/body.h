/* The kernels' text, compiled once per instruction set: the including file defines KERNELS (the
 * table's name), KERNELS_NAME, DENSE_MIN_ROWS, REG_BYTES, and the tile of `linear` in outputs and
 * rows that fits its registers. */
#include "common/engine/kernels/attend.h"
#include "common/engine/kernels/choose.h"
#include "common/engine/kernels/linear_rows.h"
#include "common/engine/kernels/norm.h"

const struct baton_kernels KERNELS = {
    .name = KERNELS_NAME,
    .dense_min_rows = DENSE_MIN_ROWS,
    .linear = linear,
    .finish = finish,
    .layer_norm = layer_norm,
    .attend = attend,
    .max = max_of,
    .maxima = maxima,
    .weigh = weigh,
    .keep = keep,
};
