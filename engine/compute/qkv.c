/* From a layer's projections to its attention's inputs: norms of queries and keys,
 * clamping, rotary embedding (Su et al., "RoFormer", 2021), and the store into the KV
 * cache. Rows are independent. */
#include <math.h>
#include <string.h>

#include "engine/compute/forward.h"
#include "engine/kernels/vector/rope_angles.h"

struct row_loop {
    struct baton_forward *forward;
    int layer;
};

size_t baton_forward_rotation_floats(const struct baton_spec *spec)
{
    size_t n = 0;
    for (int i = 0; i < spec->n_ropes; i++)
        n += (size_t)spec->ropes[i].n_rotated;
    return n;
}

/* The rotations of one row for all ropes: cosines [n_rotated / 2], then sines. They are computed
 * once per forward; all layers with the same rope share them. */
static void rotate_row(const struct baton_spec *spec, int position, float *rotations)
{
    for (int i = 0; i < spec->n_ropes; i++) {
        const struct baton_rope_spec *rope = &spec->ropes[i];
        baton_rope_angles(rope, position, rotations, rotations + rope->n_rotated / 2);
        rotations += rope->n_rotated;
    }
}

static void rotate_rows(void *arg, int item, int worker)
{
    const struct row_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    const struct baton_spec *spec = &forward->model->spec;
    size_t n = baton_forward_rotation_floats(spec);
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    (void)worker;
    for (int r = first; r < end && r < forward->n_rows; r++)
        rotate_row(spec, forward->rows[r].position, forward->rotations + (size_t)r * n);
}

void baton_forward_rotate(struct baton_forward *forward)
{
    struct row_loop loop = {.forward = forward};
    if (forward->model->spec.n_ropes)
        baton_forward_share_rows(forward, rotate_rows, &loop);
}

/* The projections of one row in a layer. */
struct projections {
    float *q, *k, *v;
    int n_heads, n_kv_heads, head_dim; /* no KV heads where the layer computes none */
};

static void norm_heads(const struct baton_forward *forward, float *heads, const float *weight,
                       int n_heads, int head_dim)
{
    const struct baton_spec *spec = &forward->model->spec;
    const struct baton_kernels *kernels = forward->kernels;
    if (spec->qk_norm == BATON_QK_NORM_WHOLE)
        kernels->norm(spec->norm, heads, heads, weight, NULL, n_heads * head_dim,
                      spec->norm_epsilon);
    else
        kernels->norm_heads(spec->norm, heads, weight,
                            spec->qk_norm == BATON_QK_NORM_OWN_HEAD ? (size_t)head_dim : 0, n_heads,
                            head_dim, spec->norm_epsilon);
}

static void norm_row(const struct baton_forward *forward, int layer, const struct projections *row)
{
    const struct baton_attention *attention = &forward->model->layers[layer].attention;
    if (forward->model->spec.qk_norm == BATON_QK_NORM_NONE)
        return;
    norm_heads(forward, row->q, attention->q_norm, row->n_heads, row->head_dim);
    if (row->n_kv_heads)
        norm_heads(forward, row->k, attention->k_norm, row->n_kv_heads, row->head_dim);
}

/* Sets a row's values where they are its keys before these are normed, in memory that attention
 * overwrites later. */
static void copy_values(const struct baton_forward *forward, int layer, int r,
                        struct projections *row)
{
    size_t n = (size_t)(row->n_kv_heads * row->head_dim);
    if (!forward->model->spec.layers[layer].values_are_keys || !n)
        return;
    row->v = forward->attn_out + (size_t)r * (size_t)(row->n_heads * row->head_dim);
    memcpy(row->v, row->k, n * sizeof *row->v);
}

static void norm_values(const struct baton_forward *forward, const struct projections *row)
{
    const struct baton_spec *spec = &forward->model->spec;
    if (spec->norms_values && row->n_kv_heads)
        forward->kernels->norm_heads(spec->norm, row->v, NULL, 0, row->n_kv_heads, row->head_dim,
                                     spec->norm_epsilon);
}

/* One call clamps q, k and v, which are contiguous. */
static void clamp_row(const struct baton_forward *forward, int layer, const struct projections *row)
{
    float limit = forward->model->spec.clip_qkv;
    if (limit > 0)
        forward->kernels->clamp(row->q, limit,
                                (size_t)baton_spec_qkv_width(&forward->model->spec, layer));
}

/* The offset of a rope's rotations among those of a row. */
static size_t rope_offset(const struct baton_spec *spec, int rope)
{
    size_t n = 0;
    for (int i = 0; i < rope; i++)
        n += (size_t)spec->ropes[i].n_rotated;
    return n;
}

static void turn_row(const struct baton_forward *forward, int layer, int r,
                     const struct projections *row)
{
    const struct baton_spec *spec = &forward->model->spec;
    int rope = spec->layers[layer].rope;
    if (rope < 0)
        return;
    int n_rotated = spec->ropes[rope].n_rotated;
    const float *cosines = forward->rotations + (size_t)r * baton_forward_rotation_floats(spec) +
                           rope_offset(spec, rope);
    /* Keys follow the queries in memory, so one call turns both. */
    forward->kernels->rope(row->q, cosines, cosines + n_rotated / 2, row->n_heads + row->n_kv_heads,
                           row->head_dim, n_rotated);
}

/* Queries at far positions are sharpened: Llama 4's scaling, which Ministral 3 has as well. */
static void scale_queries(const struct baton_spec *spec, int position,
                          const struct projections *row)
{
    if (!spec->has_q_scaling)
        return;
    int period = position / spec->q_scaling_period;
    float scale = (float)(1 + (double)spec->q_scaling_beta * log1p(period));
    for (int i = 0; i < row->n_heads * row->head_dim; i++)
        row->q[i] *= scale;
}

static void store_row(const struct baton_forward *forward, int layer, int r,
                      const struct projections *row)
{
    const struct baton_row *of = &forward->rows[r];
    int block = of->position / BATON_KV_BLOCK_TOKENS, slot = of->position % BATON_KV_BLOCK_TOKENS;
    int kv_layer = baton_spec_kv_layer(&forward->model->spec, layer);
    if (row->n_kv_heads)
        forward->kernels->store_kv(baton_kv_element(of->seq->kv), row->k, row->v, row->n_kv_heads,
                                   row->head_dim, forward->model->spec.layers[layer].n_latent,
                                   baton_seq_block(of->seq, kv_layer, block), slot);
}

static struct projections projections_of(const struct baton_forward *forward, int layer, int r)
{
    const struct baton_spec *spec = &forward->model->spec;
    float *q = forward->qkv + (size_t)r * (size_t)baton_spec_qkv_width(spec, layer);
    float *k = q + baton_spec_q_width(spec, layer);
    return (struct projections){
        .q = q,
        .k = k,
        .v = k + baton_spec_kv_width(spec, layer),
        .n_heads = spec->n_heads,
        .n_kv_heads = baton_spec_stores_kv(spec, layer) ? spec->layers[layer].n_kv_heads : 0,
        .head_dim = spec->layers[layer].head_dim};
}

static void finish_rows(void *arg, int item, int worker)
{
    const struct row_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    const struct baton_spec *spec = &forward->model->spec;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    (void)worker;
    for (int r = first; r < end && r < forward->n_rows; r++) {
        struct projections row = projections_of(forward, loop->layer, r);
        copy_values(forward, loop->layer, r, &row);
        if (!spec->norms_turned)
            norm_row(forward, loop->layer, &row);
        norm_values(forward, &row);
        clamp_row(forward, loop->layer, &row);
        turn_row(forward, loop->layer, r, &row);
        if (spec->norms_turned)
            norm_row(forward, loop->layer, &row);
        scale_queries(spec, forward->rows[r].position, &row);
        store_row(forward, loop->layer, r, &row);
    }
}

void baton_forward_finish_qkv(struct baton_forward *forward, int layer)
{
    struct row_loop loop = {.forward = forward, .layer = layer};
    if (forward->model->spec.latent.n_rank)
        baton_latent_finish_qkv(forward, layer);
    else
        baton_forward_share_rows(forward, finish_rows, &loop);
}
