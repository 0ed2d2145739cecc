#include "common/engine/compute/run.h"

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
    int n_tiles, n_singles, heads_per_single; /* of attention; KV heads */
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

/* Neighbours that follow each other in one sequence, from `first` on, up to a tile. */
static int count_together(const struct baton_run *run, int first)
{
    const struct baton_row *rows = run->rows + first;
    int n = 1;
    while (n < TILE_ROWS && first + n < run->n_rows && rows[n].seq == rows[0].seq &&
           rows[n].position == rows[0].position + n)
        n++;
    return n;
}

static void attend_together(const struct layer_loop *loop, int first, int n, int head, int end_head,
                            int worker)
{
    const struct baton_run *run = loop->run;
    const struct baton_model_shape *shape = &run->model->shape;
    const struct baton_row *row = &run->rows[first];
    size_t n_mixed = (size_t)shape->n_heads * (size_t)shape->head_dim, at = (size_t)first;
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

/* Tiles of one head are neighbours, so that a prompt's K and V stay in the cache. */
static void attend_tile(const struct layer_loop *loop, int item, int worker)
{
    const struct baton_run *run = loop->run;
    int first = run->groups[item % loop->n_tiles], head = item / loop->n_tiles;
    attend_together(loop, first, count_together(run, first), head, head + 1, worker);
}

static void attend_single(const struct layer_loop *loop, int item, int worker)
{
    const struct baton_run *run = loop->run;
    int row = run->groups[run->n_rows - 1 - item % loop->n_singles];
    int head = item / loop->n_singles * loop->heads_per_single;
    attend_together(loop, row, 1, head, head + loop->heads_per_single, worker);
}

static void attend_item(void *arg, int item, int worker)
{
    const struct layer_loop *loop = arg;
    int n_tile_items = loop->n_tiles * loop->run->model->shape.n_kv_heads;
    if (item < n_tile_items)
        attend_tile(loop, item, worker);
    else
        attend_single(loop, item - n_tile_items, worker);
}

/* Tiles from the front of the groups, single rows from the back. Returns the positions that the
 * single ones look at. */
static size_t group_rows(struct layer_loop *loop)
{
    const struct baton_run *run = loop->run;
    size_t n_positions = 0;
    for (int r = 0, n; r < run->n_rows; r += n) {
        n = count_together(run, r);
        if (n > 1) {
            run->groups[loop->n_tiles++] = r;
        } else {
            run->groups[run->n_rows - 1 - loop->n_singles++] = r;
            n_positions += (size_t)run->rows[r].position + 1;
        }
    }
    return n_positions;
}

/* A prompt's rows share what they load. Rows of different sequences have nothing to share, but read
 * memory fastest with the heads in the order in which they lie there. */
static int share_out(struct layer_loop *loop)
{
    const struct baton_run *run = loop->run;
    const struct baton_model_shape *shape = &run->model->shape;
    int n_heads = shape->n_kv_heads, n_items = baton_pool_n_threads(run->pool) * ITEMS_PER_THREAD;
    size_t n_elements = group_rows(loop) * (size_t)(2 * n_heads * shape->head_dim);
    if (!loop->n_singles)
        return loop->n_tiles * n_heads;
    loop->heads_per_single = n_elements < 2 * ITEM_MIN_ELEMENTS
                                 ? n_heads
                                 : divide_up(n_heads, divide_up(n_items, loop->n_singles));
    return loop->n_tiles * n_heads + loop->n_singles * divide_up(n_heads, loop->heads_per_single);
}

void baton_run_attend(struct baton_run *run, int layer)
{
    struct layer_loop loop = {.run = run, .layer = layer};
    baton_pool_run(run->pool, share_out(&loop), attend_item, &loop);
}
