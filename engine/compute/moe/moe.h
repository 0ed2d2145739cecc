/* The feed-forward part of a layer that is a mixture of experts: each row takes k of E MLPs,
 * chosen by a router, and the sum of their results by their weights.
 *
 *     router     input -> logits -> k experts and weights of each row    (route.h)
 *     plan       pairs of row and expert, sorted by expert                (plan.h)
 *     up, down   one product per expert over its pairs                    (product.h)
 *     combine    each row adds its k results by rank, then the shared expert's
 *
 * A row's bits depend on itself alone: products are row-invariant, and the row's sum has an order
 * of its own, whatever rows share its experts.
 *
 * Ownership: the state's arrays are pieces of the engine's scratch memory, sized for its most rows.
 * Threading: the engine thread, which shares the work with its pool.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_COMPUTE_MOE_MOE_H
#define BATON_ENGINE_COMPUTE_MOE_MOE_H

#include "engine/compute/moe/plan.h"
#include "engine/model/layers.h"

struct baton_forward;

struct baton_moe_state {
    struct baton_moe_plan plan;
    int *experts;    /* [n_rows][k] by rank */
    float *weights;  /* [n_rows][k] */
    float *logits;   /* [n_rows][E], and the shared expert's gate */
    float *shared;   /* [n_rows][C] the shared expert's result */
    float *hidden;   /* [n_pairs][F] */
    float *results;  /* [n_pairs][C] */
    void *quantized; /* [n_pairs] rows of hidden as down reads them */
};

/* Points the arrays into memory, aligned to a cache line, for n_rows rows, or measures them when
 * memory is NULL. Returns their bytes: 0 for a model without mixtures. */
size_t baton_moe_place(struct baton_moe_state *state, const struct baton_model *model, char *memory,
                       int n_rows);

/* y [n_rows][C] from `in` [n_rows][C]. The epilogue stores or adds. */
void baton_moe_run(struct baton_forward *forward, const struct baton_mlp *mlp, const float *in,
                   float *y, struct baton_epilogue epilogue);

/* The parts of it, for a mixture whose parts have inputs of their own [n_rows][C]: the shared
 * expert, whose result is in the state's `shared`; the router, whose logits are multiplied by a
 * scale; the experts that it chose, whose sum is stored in y. */
void baton_moe_run_shared(struct baton_forward *forward, const struct baton_mlp *mlp,
                          const float *in);
void baton_moe_choose(struct baton_forward *forward, const struct baton_mlp *mlp, const float *in,
                      float scale);
void baton_moe_run_chosen(struct baton_forward *forward, const struct baton_mlp *mlp,
                          const float *in, float *y);

#endif
