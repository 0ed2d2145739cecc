/* One product per expert over the pairs of its group (plan.h), as a single loop: the panels of
 * all experts are shared out at once, so that a step of one row waits once and not k times.
 *
 * Ownership: arguments are borrowed for the call.
 * Threading: the engine thread, which shares the work with its pool.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_COMPUTE_MOE_PRODUCT_H
#define BATON_ENGINE_COMPUTE_MOE_PRODUCT_H

#include "engine/compute/forward.h"
#include "engine/compute/moe/plan.h"

struct baton_moe_product {
    const struct baton_moe_plan *plan;
    const struct baton_matrix *first; /* expert 0's; the others follow it (model/layers.h) */
    const void *x;                    /* inputs, as the matrices' dtype has them quantized */
    bool x_is_rows; /* x has a row for each row of the forward; else one for each pair */
    float *y;       /* [n_pairs][y_width] */
    int y_width;
    struct baton_epilogue epilogue; /* GATE or STORE */
};

void baton_moe_multiply(struct baton_forward *forward, const struct baton_moe_product *product);

#endif
