#include "common/engine/run.h"

enum {
    STORE_ROWS_PER_ITEM = 16,
    TILE_ROWS = 16, /* of one sequence that read its K and V together */
    ITEMS_PER_THREAD = 2,
    ITEM_MIN_ELEMENTS = 16 << 10, /* of K and V, read before another core has joined in */
    BLOCK = BATON_KV_BLOCK_TOKENS
};

struct layer_loop {
    struct baton_run *run;
    int layer;
    int rows_per_item, heads_per_item, n_row_groups; /* of attention; KV heads */
};

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

static size_t qkv_floats(const struct baton_model_shape *shape)
{
    return (size_t)(shape->n_heads + 2 * shape->n_kv_heads) * (size_t)shape->head_dim;
}

static void store_rows(void *arg, int item, int worker)
{
    const struct layer_loop *loop = arg;
    const struct baton_run *run = loop->run;
    const struct baton_model_shape *shape = &run->model->shape;
    int first = item * STORE_ROWS_PER_ITEM, end = first + STORE_ROWS_PER_ITEM;
    size_t dim = (size_t)shape->head_dim, n_queries = (size_t)shape->n_heads * dim;
    (void)worker;
    for (int r = first; r < end && r < run->n_rows; r++) {
        const struct baton_row *row = &run->rows[r];
        const float *k = run->qkv + (size_t)r * qkv_floats(shape) + n_queries;
        run->kernels->store_kv(
            baton_kv_element(row->seq->kv), k, k + (size_t)shape->n_kv_heads * dim,
            shape->n_kv_heads, shape->head_dim,
            baton_seq_block(row->seq, loop->layer, row->position / BLOCK), row->position % BLOCK);
    }
}

void baton_run_store_kv(struct baton_run *run, int layer)
{
    struct layer_loop loop = {.run = run, .layer = layer};
    baton_pool_run(run->pool, divide_up(run->n_rows, STORE_ROWS_PER_ITEM), store_rows, &loop);
}

/* An item is some rows of one KV head, or one row of some. */
size_t baton_run_attending_floats(const struct baton_model_shape *shape)
{
    int n_tile = TILE_ROWS * (shape->n_heads / shape->n_kv_heads);
    int n_queries = n_tile > shape->n_heads ? n_tile : shape->n_heads;
    return (size_t)n_queries * baton_attend_query_floats(shape->head_dim);
}

/* Neighbours that follow each other in one sequence, from `first` on. */
static int count_together(const struct baton_run *run, int first, int end)
{
    const struct baton_row *rows = run->rows;
    int r = first + 1;
    while (r < end && rows[r].seq == rows[first].seq &&
           rows[r].position == rows[first].position + r - first)
        r++;
    return r - first;
}

static void attend_together(const struct layer_loop *loop, int first, int n, int head, int worker)
{
    const struct baton_run *run = loop->run;
    const struct baton_model_shape *shape = &run->model->shape;
    const struct baton_row *row = &run->rows[first];
    size_t n_mixed = (size_t)shape->n_heads * (size_t)shape->head_dim, at = (size_t)first;
    int end_head = head + loop->heads_per_item;
    const struct baton_attend job = {
        .q = run->qkv + at * qkv_floats(shape),
        .q_stride = qkv_floats(shape),
        .out = run->mixed + at * n_mixed,
        .out_stride = n_mixed,
        .layer = baton_kv_layer(row->seq->kv, loop->layer),
        .blocks = row->seq->blocks,
        .dtype = baton_kv_element(row->seq->kv),
        .n_rows = n,
        .first_position = row->position,
        .n_heads = shape->n_kv_heads,
        .group = shape->n_heads / shape->n_kv_heads,
        .head_dim = shape->head_dim,
        .scale = run->attention_scale,
        .state = run->attending + (size_t)worker * baton_run_attending_floats(shape),
    };
    run->kernels->attend(&job, head, end_head < job.n_heads ? end_head : job.n_heads);
}

/* Items of one head are neighbours, so that a prompt's K and V stay in the cache. */
static void attend_rows(void *arg, int item, int worker)
{
    const struct layer_loop *loop = arg;
    int head = item / loop->n_row_groups * loop->heads_per_item;
    int first = item % loop->n_row_groups * loop->rows_per_item;
    int end = first + loop->rows_per_item;
    if (end > loop->run->n_rows)
        end = loop->run->n_rows;
    for (int r = first, n; r < end; r += n) {
        n = count_together(loop->run, r, end);
        attend_together(loop, r, n, head, worker);
    }
}

/* Whether any rows follow each other in one sequence. */
static bool have_neighbours(const struct baton_run *run)
{
    for (int r = 0; r + 1 < run->n_rows; r++)
        if (count_together(run, r, r + 2) > 1)
            return true;
    return false;
}

/* A prompt's rows share what they load. Rows of different sequences have nothing to share, but read
 * memory fastest with the heads in the order in which they lie there. */
static void share_out(struct layer_loop *loop)
{
    const struct baton_run *run = loop->run;
    const struct baton_model_shape *shape = &run->model->shape;
    const struct baton_row *last = &run->rows[run->n_rows - 1];
    size_t n_elements = (size_t)run->n_rows * (size_t)(last->position + 1) *
                        (size_t)(2 * shape->n_kv_heads * shape->head_dim);
    int n_items = baton_pool_n_threads(run->pool) * ITEMS_PER_THREAD;
    if (have_neighbours(run)) {
        loop->rows_per_item = TILE_ROWS;
        loop->heads_per_item = 1;
    } else {
        loop->rows_per_item = 1;
        loop->heads_per_item = n_elements < 2 * ITEM_MIN_ELEMENTS
                                   ? shape->n_kv_heads
                                   : divide_up(shape->n_kv_heads, divide_up(n_items, run->n_rows));
    }
    loop->n_row_groups = divide_up(run->n_rows, loop->rows_per_item);
}

void baton_run_attend(struct baton_run *run, int layer)
{
    struct layer_loop loop = {.run = run, .layer = layer};
    share_out(&loop);
    baton_pool_run(run->pool,
                   loop.n_row_groups * divide_up(run->model->shape.n_kv_heads, loop.heads_per_item),
                   attend_rows, &loop);
}
