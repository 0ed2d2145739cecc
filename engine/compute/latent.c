#include "engine/compute/latent.h"

#include <string.h>

#include "engine/compute/forward.h"

struct latent_loop {
    struct baton_forward *forward;
    const struct baton_latent_spec *spec;
    const struct baton_attention *attention;
    int layer;
};

static struct latent_loop loop_of(struct baton_forward *forward, int layer)
{
    return (struct latent_loop){.forward = forward,
                                .spec = &forward->model->spec.latent,
                                .attention = &forward->model->layers[layer].attention,
                                .layer = layer};
}

static int end_of_item(int item, int n)
{
    int end = (item + 1) * BATON_ROWS_PER_ITEM;
    return end < n ? end : n;
}

/* ---- products by heads ---- */

/* A product of each head's rows with its own matrix. */
struct head_product {
    struct baton_forward *forward;
    const struct baton_matrix *first; /* head 0's */
    float *y; /* [n_rows] rows y_stride floats apart, in which heads are head_stride apart */
    size_t y_stride, head_stride;
    const void *x;
    int n_heads, heads_per_item, items_per_head, units_per_item;
};

static size_t row_bytes(const struct head_product *product)
{
    const struct baton_packed *packed = &product->first->parts[0];
    return baton_quantized_bytes(product->forward->kernels, packed->dtype, 1, packed->n_in);
}

static size_t bytes_of_inputs(const struct baton_model *model, const struct baton_packed *packed,
                              int n_rows)
{
    return baton_quantized_bytes(model->kernels, packed->dtype, n_rows * model->spec.n_heads,
                                 packed->n_in);
}

size_t baton_latent_quantized_bytes(const struct baton_model *model, int n_rows)
{
    size_t most = 0;
    for (int i = 0; i < model->spec.n_layers && model->spec.latent.n_rank; i++) {
        const struct baton_packed *keys = &model->layers[i].attention.key_up.parts[0],
                                  *values = &model->layers[i].attention.value_up.parts[0];
        size_t of_keys = bytes_of_inputs(model, keys, n_rows),
               of_values = bytes_of_inputs(model, values, n_rows);
        most = of_keys > most ? of_keys : most;
        most = of_values > most ? of_values : most;
    }
    return most;
}

static void quantize_some(void *arg, int item, int worker)
{
    const struct head_product *product = arg;
    const struct baton_packed *packed = &product->first->parts[0];
    struct baton_forward *forward = product->forward;
    (void)worker;
    forward->kernels->dtypes[packed->dtype].quantize(
        forward->latent.by_heads, packed->n_in, item * BATON_ROWS_PER_ITEM,
        end_of_item(item, product->n_heads * forward->n_rows), forward->latent.quantized);
}

static void multiply_head(const struct head_product *product, int head, int first, int end)
{
    const struct baton_forward *forward = product->forward;
    struct baton_matrix matrix = baton_matrix_of_expert(product->first, head);
    const struct baton_linear job = {
        .weights = &matrix.parts[0],
        .x = (const char *)product->x + (size_t)head * (size_t)forward->n_rows * row_bytes(product),
        .y = product->y + (size_t)head * product->head_stride,
        .y_stride = (int)product->y_stride,
        .n_rows = forward->n_rows,
        .epilogue = {.kind = BATON_STORE, .scale = 1}};
    baton_kernels_linear(forward->kernels, &job, first, end < matrix.n_out ? end : matrix.n_out);
}

/* An item is a part of one head's outputs, or several heads. */
static void multiply_item(void *arg, int item, int worker)
{
    const struct head_product *product = arg;
    int part = item % product->items_per_head,
        head = item / product->items_per_head * product->heads_per_item,
        end = head + product->heads_per_item;
    int first = part * product->units_per_item * BATON_PANEL,
        end_out = first + product->units_per_item * BATON_PANEL;
    (void)worker;
    for (; head < end && head < product->n_heads; head++)
        multiply_head(product, head, first, end_out);
}

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

static void multiply_heads(struct head_product *product)
{
    struct baton_forward *forward = product->forward;
    enum baton_dtype dtype = product->first->parts[0].dtype;
    size_t n_bytes = baton_matrix_read_bytes(product->first) * (size_t)product->n_heads;
    int n_units = divide_up(product->first->n_out, BATON_PANEL),
        n_items = baton_forward_n_items(forward, baton_forward_work(n_bytes, forward->n_rows));
    product->x = forward->latent.by_heads;
    if (!forward->kernels->dtypes[dtype].copies) {
        baton_pool_run(forward->pool,
                       divide_up(product->n_heads * forward->n_rows, BATON_ROWS_PER_ITEM),
                       quantize_some, product);
        product->x = forward->latent.quantized;
    }
    product->heads_per_item = divide_up(product->n_heads, n_items);
    product->units_per_item = divide_up(n_units, divide_up(n_items, product->n_heads));
    product->items_per_head = divide_up(n_units, product->units_per_item);
    baton_pool_run(forward->pool,
                   divide_up(product->n_heads, product->heads_per_item) * product->items_per_head,
                   multiply_item, product);
}

/* ---- queries and latents ---- */

static float *row_of_qkv(const struct latent_loop *loop, int r)
{
    const struct baton_forward *forward = loop->forward;
    return forward->qkv +
           (size_t)r * (size_t)baton_spec_qkv_width(&forward->model->spec, loop->layer);
}

static void norm_ranks(void *arg, int item, int worker)
{
    const struct latent_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    const struct baton_spec *spec = &forward->model->spec;
    int n = loop->spec->n_q_rank;
    (void)worker;
    for (int r = item * BATON_ROWS_PER_ITEM; r < end_of_item(item, forward->n_rows); r++)
        forward->kernels->norm(spec->norm, forward->latent.ranks + (size_t)r * (size_t)n,
                               row_of_qkv(loop, r), loop->attention->q_rank_norm, NULL, n,
                               spec->norm_epsilon);
}

/* The queries of all rows, and how far apart they are: those of the projections, or what q_up makes
 * of their normed ranks. */
static float *project_queries(struct latent_loop *loop, size_t *stride)
{
    struct baton_forward *forward = loop->forward;
    struct baton_input input = baton_input_of(forward->latent.ranks, loop->spec->n_q_rank);
    *stride = (size_t)baton_spec_qkv_width(&forward->model->spec, loop->layer);
    if (!loop->spec->n_q_rank)
        return forward->qkv;
    baton_forward_share_rows(forward, norm_ranks, loop);
    baton_forward_linear(forward, &loop->attention->q_up, &input, forward->latent.q,
                         (struct baton_epilogue){.kind = BATON_STORE, .scale = 1});
    *stride = (size_t)baton_latent_q_width(&forward->model->spec);
    return forward->latent.q;
}

struct query_loop {
    struct latent_loop latent;
    float *q;
    size_t stride;
};

/* Norms and turns a row's K, and stores it, which is its V as well. */
static void store_latent(const struct latent_loop *loop, int r, const float *cosines)
{
    const struct baton_forward *forward = loop->forward;
    const struct baton_spec *spec = &forward->model->spec;
    const struct baton_row *row = &forward->rows[r];
    int n_rank = loop->spec->n_rank, n_turned = loop->spec->n_turned;
    int dim = n_rank + n_turned, width = baton_spec_qkv_width(spec, loop->layer);
    float *k = row_of_qkv(loop, r) + width - dim;
    forward->kernels->norm(spec->norm, k, k, loop->attention->latent_norm, NULL, n_rank,
                           spec->norm_epsilon);
    forward->kernels->rope(k + n_rank, cosines, cosines + n_turned / 2, 1, n_turned, n_turned);
    forward->kernels->store_kv(
        baton_kv_element(row->seq->kv), k, NULL, 1, dim, n_rank,
        baton_seq_block(row->seq, loop->layer, row->position / BATON_KV_BLOCK_TOKENS),
        row->position % BATON_KV_BLOCK_TOKENS);
}

/* Turns a row's queries, and brings them to where products and attention read them. */
static void place_queries(const struct query_loop *loop, int r, const float *cosines)
{
    const struct baton_forward *forward = loop->latent.forward;
    const struct baton_latent_spec *spec = loop->latent.spec;
    size_t n_heads = (size_t)forward->model->spec.n_heads, n_plain = (size_t)spec->n_plain,
           n_turned = (size_t)spec->n_turned, dim = (size_t)spec->n_rank + n_turned;
    const float *plain = loop->q + (size_t)r * loop->stride;
    float *turned = loop->q + (size_t)r * loop->stride + n_heads * n_plain;
    float *to = forward->latent.queries + (size_t)r * n_heads * dim + spec->n_rank;
    forward->kernels->rope(turned, cosines, cosines + spec->n_turned / 2, (int)n_heads,
                           spec->n_turned, spec->n_turned);
    for (size_t h = 0; h < n_heads; h++) {
        memcpy(to + h * dim, turned + h * n_turned, n_turned * sizeof *to);
        memcpy(forward->latent.by_heads + (h * (size_t)forward->n_rows + (size_t)r) * n_plain,
               plain + h * n_plain, n_plain * sizeof *to);
    }
}

static void finish_rows(void *arg, int item, int worker)
{
    const struct query_loop *loop = arg;
    const struct baton_forward *forward = loop->latent.forward;
    size_t n = baton_forward_rotation_floats(&forward->model->spec);
    (void)worker;
    for (int r = item * BATON_ROWS_PER_ITEM; r < end_of_item(item, forward->n_rows); r++) {
        const float *cosines = forward->rotations + (size_t)r * n;
        store_latent(&loop->latent, r, cosines);
        place_queries(loop, r, cosines);
    }
}

void baton_latent_finish_qkv(struct baton_forward *forward, int layer)
{
    struct query_loop loop = {.latent = loop_of(forward, layer)};
    size_t dim = (size_t)(loop.latent.spec->n_rank + loop.latent.spec->n_turned);
    struct head_product keys = {.forward = forward,
                                .first = &loop.latent.attention->key_up,
                                .n_heads = forward->model->spec.n_heads,
                                .y = forward->latent.queries,
                                .y_stride = (size_t)forward->model->spec.n_heads * dim,
                                .head_stride = dim};
    loop.q = project_queries(&loop.latent, &loop.stride);
    baton_forward_share_rows(forward, finish_rows, &loop);
    multiply_heads(&keys);
}

/* ---- values ---- */

static void gather_results(void *arg, int item, int worker)
{
    const struct latent_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    size_t n_heads = (size_t)forward->model->spec.n_heads, n_rank = (size_t)loop->spec->n_rank;
    (void)worker;
    for (int r = item * BATON_ROWS_PER_ITEM; r < end_of_item(item, forward->n_rows); r++)
        for (size_t h = 0; h < n_heads; h++)
            memcpy(forward->latent.by_heads + (h * (size_t)forward->n_rows + (size_t)r) * n_rank,
                   forward->latent.results + ((size_t)r * n_heads + h) * n_rank,
                   n_rank * sizeof(float));
}

void baton_latent_make_values(struct baton_forward *forward, int layer)
{
    struct latent_loop loop = loop_of(forward, layer);
    size_t n_values = (size_t)loop.spec->n_values, n_heads = (size_t)forward->model->spec.n_heads;
    struct head_product values = {.forward = forward,
                                  .first = &loop.attention->value_up,
                                  .n_heads = (int)n_heads,
                                  .y = forward->attn_out,
                                  .y_stride = n_heads * n_values,
                                  .head_stride = n_values};
    baton_forward_share_rows(forward, gather_results, &loop);
    multiply_heads(&values);
}
