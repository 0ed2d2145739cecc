#include <string.h>

#include "common/engine/run.h"

enum { STORE_ROWS_PER_ITEM = 16, ATTEND_ROWS_PER_ITEM = 8, BLOCK = BATON_KV_BLOCK_TOKENS };

struct layer_loop {
    struct baton_run *run;
    int layer;
    int n_groups; /* of rows */
};

/* One row's keys and values [G][D] each into slot `slot` of its block (kv.h has the layout). */
static void store_row(const struct baton_model_shape *shape, const float *k, float *block, int slot)
{
    size_t n = (size_t)shape->n_kv_heads * (size_t)shape->head_dim, dim = (size_t)shape->head_dim;
    const float *v = k + n;
    float *v_block = block + n * BLOCK;
    for (size_t i = 0; i < n; i++)
        block[i * BLOCK + (size_t)slot] = k[i];
    for (size_t g = 0; g < n / dim; g++)
        memcpy(v_block + (g * BLOCK + (size_t)slot) * dim, v + g * dim, dim * sizeof *v);
}

static void store_rows(void *arg, int item, int worker)
{
    const struct layer_loop *loop = arg;
    const struct baton_run *run = loop->run;
    const struct baton_model_shape *shape = &run->model->shape;
    int first = item * STORE_ROWS_PER_ITEM, end = first + STORE_ROWS_PER_ITEM;
    size_t n_queries = (size_t)shape->n_heads * (size_t)shape->head_dim;
    size_t stride = n_queries + 2 * (size_t)shape->n_kv_heads * (size_t)shape->head_dim;
    (void)worker;
    for (int r = first; r < end && r < run->n_rows; r++) {
        const struct baton_row *row = &run->rows[r];
        float *block = baton_seq_block(row->seq, loop->layer, row->position / BLOCK);
        store_row(shape, run->qkv + (size_t)r * stride + n_queries, block, row->position % BLOCK);
    }
}

void baton_run_store_kv(struct baton_run *run, int layer)
{
    int n_items = (run->n_rows + STORE_ROWS_PER_ITEM - 1) / STORE_ROWS_PER_ITEM;
    struct layer_loop loop = {.run = run, .layer = layer, .n_groups = n_items};
    baton_pool_run(run->pool, n_items, store_rows, &loop);
}

size_t baton_run_scores_size(const struct baton_model_shape *shape)
{
    return (size_t)baton_kv_blocks_for(shape->n_context) * BLOCK;
}

/* One head of some rows: neighbours in one item, so that a prompt's K and V stay in the cache. */
static void attend_rows(void *arg, int item, int worker)
{
    const struct layer_loop *loop = arg;
    const struct baton_run *run = loop->run;
    const struct baton_model_shape *shape = &run->model->shape;
    int head = item / loop->n_groups, first = item % loop->n_groups * ATTEND_ROWS_PER_ITEM;
    size_t dim = (size_t)shape->head_dim;
    size_t kv_head = (size_t)(head / (shape->n_heads / shape->n_kv_heads));
    size_t k_floats = (size_t)shape->n_kv_heads * dim * BLOCK;
    size_t stride = (size_t)(shape->n_heads + 2 * shape->n_kv_heads) * dim;
    struct baton_attend job = {
        .block_floats = 2 * k_floats,
        .k_offset = kv_head * dim * BLOCK,
        .v_offset = k_floats + kv_head * dim * BLOCK,
        .head_dim = shape->head_dim,
        .scale = run->attention_scale,
        .scores = run->scores + (size_t)worker * baton_run_scores_size(shape),
    };
    for (int r = first; r < first + ATTEND_ROWS_PER_ITEM && r < run->n_rows; r++) {
        const struct baton_row *row = &run->rows[r];
        job.q = run->qkv + (size_t)r * stride + (size_t)head * dim;
        job.out = run->mixed + ((size_t)r * (size_t)shape->n_heads + (size_t)head) * dim;
        job.layer = baton_kv_layer(row->seq->kv, loop->layer);
        job.blocks = row->seq->blocks;
        job.n_positions = row->position + 1;
        run->kernels->attend(&job);
    }
}

void baton_run_attend(struct baton_run *run, int layer)
{
    int n_groups = (run->n_rows + ATTEND_ROWS_PER_ITEM - 1) / ATTEND_ROWS_PER_ITEM;
    struct layer_loop loop = {.run = run, .layer = layer, .n_groups = n_groups};
    baton_pool_run(run->pool, n_groups * run->model->shape.n_heads, attend_rows, &loop);
}
