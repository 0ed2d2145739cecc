/* Layers with latents (arch/spec.h): what is between their projections and attention, and between
 * attention and its output matrix. The products of keys and values with the latents are applied to
 * queries and results, a head at a time, so that prompts and steps have one arithmetic.
 *
 *     qkv        -> q_up of the normed ranks -> [plain, turned] of each head
 *     plain      -> key_up     -> queries [H][n_rank + n_turned], beside the turned part
 *     results    -> value_up   -> attn_out [H][n_values]
 *
 * Ownership: the state's arrays are pieces of the engine's scratch memory, sized for its most rows.
 * Threading: the engine thread, which shares the work with its pool.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_COMPUTE_LATENT_H
#define BATON_ENGINE_COMPUTE_LATENT_H

#include <stddef.h>

struct baton_forward;
struct baton_model;

struct baton_latent_state {
    float *queries;  /* [n_rows][H][n_rank + n_turned] as attention reads them */
    float *results;  /* [n_rows][H][n_rank] of attention */
    float *ranks;    /* [n_rows][n_q_rank], normed */
    float *q;        /* [n_rows][H n_plain + H n_turned] that q_up makes */
    float *by_heads; /* [H][n_rows] inputs of key_up or value_up */
    void *quantized; /* of by_heads, as the matrices read them */
};

/* Bytes of `quantized` for n_rows rows; 0 for a model without latents. */
size_t baton_latent_quantized_bytes(const struct baton_model *model, int n_rows);

/* latent.queries, and the rows' latents in their sequences' blocks, from qkv. */
void baton_latent_finish_qkv(struct baton_forward *forward, int layer);

/* attn_out from latent.results. */
void baton_latent_make_values(struct baton_forward *forward, int layer);

#endif
