#include "engine/compute/forward.h"

enum {
    TILE_ROWS = 16,       /* neighbouring rows of one sequence that load its K and V together */
    ITEMS_PER_THREAD = 2, /* of single rows */
    ITEM_MIN_ELEMENTS = 16 << 10 /* of K and V: one core reads fewer before another joins in */
};

struct layer_loop {
    struct baton_forward *forward;
    int layer;
    int n_heads; /* KV heads; with latents groups of query heads, which share the one KV head */
    int n_tiles, n_singles, heads_per_single; /* for attention; heads are KV heads */
};

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* Query heads that attend together, besides those of neighbouring rows: those of a KV head. With
 * latents all have one, so they are divided for the threads, into as many as kernels like. */
static int count_group(const struct baton_spec *spec, int layer)
{
    if (!spec->layers[layer].n_latent)
        return spec->n_heads / spec->layers[layer].n_kv_heads;
    return spec->n_heads % 6 == 0 ? 6 : spec->n_heads % 4 == 0 ? 4 : spec->n_heads;
}

/* An item is a tile of rows of one KV head, or one row of several KV heads. The scratch of a thread
 * holds the queries of either. */
size_t baton_forward_attn_scratch_floats(const struct baton_spec *spec)
{
    size_t most = 0; /* of all layers: head sizes and KV heads may differ */
    for (int i = 0; i < spec->n_layers; i++) {
        int n_tile = TILE_ROWS * count_group(spec, i);
        int n_queries = n_tile > spec->n_heads ? n_tile : spec->n_heads;
        size_t n = (size_t)n_queries * baton_attend_query_floats(spec->layers[i].head_dim) +
                   baton_attend_value_floats(spec->layers[i].n_latent);
        most = n > most ? n : most;
    }
    return most;
}

/* The number of rows from `first` on that follow each other in one sequence, up to a tile. */
static int count_together(const struct baton_forward *forward, int first)
{
    const struct baton_row *rows = forward->rows + first;
    int n = 1;
    while (n < TILE_ROWS && first + n < forward->n_rows && rows[n].seq == rows[0].seq &&
           rows[n].position == rows[0].position + n)
        n++;
    return n;
}

/* The positions after its own that a row may see. */
static int count_ahead(const struct baton_row *row, int window)
{
    return !row->n_text ? 0 : window ? window - 1 : row->n_text;
}

static void attend_together(const struct layer_loop *loop, int first, int n, int head, int end_head,
                            int worker)
{
    const struct baton_forward *forward = loop->forward;
    const struct baton_spec *spec = &forward->model->spec;
    const struct baton_layer_spec *of = &spec->layers[loop->layer];
    const struct baton_row *row = &forward->rows[first];
    int kv_layer = baton_spec_kv_layer(spec, loop->layer);
    const bool has_latents = of->n_latent > 0;
    size_t q_stride = (size_t)(has_latents ? baton_latent_query_width(spec)
                                           : baton_spec_qkv_width(spec, loop->layer));
    size_t out_stride = (size_t)(has_latents ? baton_latent_result_width(spec)
                                             : baton_spec_q_width(spec, loop->layer));
    float *scratch = forward->attn_scratch + (size_t)worker * forward->attn_scratch_floats;
    size_t at = (size_t)first;
    const struct baton_attend job = {
        .q = (has_latents ? forward->latent.queries : forward->qkv) + at * q_stride,
        .q_stride = q_stride,
        .out = (has_latents ? forward->latent.results : forward->attn_out) + at * out_stride,
        .out_stride = out_stride,
        .layer = baton_kv_layer(row->seq->kv, kv_layer),
        .blocks = baton_seq_numbers(row->seq, kv_layer),
        .dtype = baton_kv_element(row->seq->kv),
        .n_rows = n,
        .first_position = row->position,
        .n_heads = loop->n_heads,
        .group = spec->n_heads / loop->n_heads,
        .head_dim = of->head_dim,
        .n_latent = of->n_latent,
        .scale = spec->score_scale,
        .score_cap = spec->score_cap,
        .window = of->window,
        .n_ahead = count_ahead(row, of->window),
        .n_positions = row->n_text,
        .sinks = forward->model->layers[loop->layer].attention.sinks,
        .values = scratch,
        .state = scratch + baton_attend_value_floats(of->n_latent),
    };
    forward->kernels->attend(&job, head, end_head < job.n_heads ? end_head : job.n_heads);
}

/* Items of one head are neighbours, so that a prompt's K and V of that head stay in the cache. */
static void attend_tile(const struct layer_loop *loop, int item, int worker)
{
    const struct baton_forward *forward = loop->forward;
    int first = forward->groups[item % loop->n_tiles], head = item / loop->n_tiles;
    attend_together(loop, first, count_together(forward, first), head, head + 1, worker);
}

static void attend_single(const struct layer_loop *loop, int item, int worker)
{
    const struct baton_forward *forward = loop->forward;
    int row = forward->groups[forward->n_rows - 1 - item % loop->n_singles];
    int head = item / loop->n_singles * loop->heads_per_single;
    attend_together(loop, row, 1, head, head + loop->heads_per_single, worker);
}

static void attend_item(void *arg, int item, int worker)
{
    const struct layer_loop *loop = arg;
    int n_tile_items = loop->n_tiles * loop->n_heads;
    if (item < n_tile_items)
        attend_tile(loop, item, worker);
    else
        attend_single(loop, item - n_tile_items, worker);
}

static int count_seen(int position, int window)
{
    return window && window <= position ? window : position + 1;
}

/* Fills the groups with tiles from the front and with single rows from the back, so one array
 * serves both. Returns the number of positions that the single rows attend to. */
static size_t group_rows(struct layer_loop *loop)
{
    const struct baton_forward *forward = loop->forward;
    int window = forward->model->spec.layers[loop->layer].window;
    size_t n_positions = 0;
    for (int r = 0, n; r < forward->n_rows; r += n) {
        n = count_together(forward, r);
        if (n > 1) {
            forward->groups[loop->n_tiles++] = r;
        } else {
            forward->groups[forward->n_rows - 1 - loop->n_singles++] = r;
            n_positions += (size_t)count_seen(forward->rows[r].position, window);
        }
    }
    return n_positions;
}

/* Returns the number of items. A prompt's rows share the K and V that they load, so a tile takes
 * one head. Rows of different sequences share nothing; they read memory fastest when a row takes
 * the heads in the order in which they lie there. So a single row is divided no further than the
 * threads need. */
static int share_out(struct layer_loop *loop)
{
    const struct baton_forward *forward = loop->forward;
    const struct baton_layer_spec *of = &forward->model->spec.layers[loop->layer];
    int n_heads = loop->n_heads, n_items = baton_pool_n_threads(forward->pool) * ITEMS_PER_THREAD;
    size_t n_elements = group_rows(loop) * (size_t)(2 * n_heads * of->head_dim);
    if (!loop->n_singles)
        return loop->n_tiles * n_heads;
    loop->heads_per_single = n_elements < 2 * ITEM_MIN_ELEMENTS
                                 ? n_heads
                                 : divide_up(n_heads, divide_up(n_items, loop->n_singles));
    return loop->n_tiles * n_heads + loop->n_singles * divide_up(n_heads, loop->heads_per_single);
}

void baton_forward_attend(struct baton_forward *forward, int layer)
{
    const struct baton_spec *spec = &forward->model->spec;
    struct layer_loop loop = {
        .forward = forward, .layer = layer, .n_heads = spec->n_heads / count_group(spec, layer)};
    if (spec->layers[layer].mixer != BATON_MIXER_ATTENTION)
        return;
    baton_pool_run(forward->pool, share_out(&loop), attend_item, &loop);
    if (spec->has_out_gate)
        baton_forward_gate(forward, layer);
    if (spec->latent.n_rank)
        baton_latent_make_values(forward, layer);
}
