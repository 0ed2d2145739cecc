#include "common/engine/compute/forward.h"

#include <string.h>

enum {
    ROWS_PER_ITEM = 16,
    ITEMS_PER_THREAD = 4, /* so that a thread that lost its core delays a quarter of its share */
    ROWS_PER_READ = 8,    /* whose arithmetic takes about as long as reading the weights */
    ITEM_MIN_BYTES = 64 << 10, /* read in less time than another core takes to join in */
};

struct norm_loop {
    struct baton_forward *forward;
    const struct baton_norm *norm;
};

static void norm_rows(void *arg, int item, int worker)
{
    const struct norm_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    int first = item * ROWS_PER_ITEM, end = first + ROWS_PER_ITEM, n = forward->model->shape.n_embd;
    (void)worker;
    for (int r = first; r < end && r < forward->n_rows; r++)
        forward->kernels->layer_norm(forward->normed + (size_t)r * n, forward->x + (size_t)r * n,
                                     loop->norm->weight, loop->norm->bias, n,
                                     forward->model->shape.norm_epsilon);
}

void baton_forward_norm(struct baton_forward *forward, const struct baton_norm *norm)
{
    struct norm_loop loop = {.forward = forward, .norm = norm};
    baton_pool_run(forward->pool, (forward->n_rows + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM, norm_rows,
                   &loop);
}

struct linear_loop {
    const struct baton_kernels *kernels;
    struct baton_linear job;
    int outs_per_item;
};

static void linear_outs(void *arg, int item, int worker)
{
    const struct linear_loop *loop = arg;
    int first = item * loop->outs_per_item, end = first + loop->outs_per_item;
    (void)worker;
    if (end > loop->job.weights->n_out)
        end = loop->job.weights->n_out;
    loop->kernels->linear(&loop->job, first, end);
}

struct quantize_loop {
    struct baton_forward *forward;
    enum baton_dtype dtype;
    const float *in;
    int n_in;
};

static void quantize_rows(void *arg, int item, int worker)
{
    const struct quantize_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    int first = item * ROWS_PER_ITEM, end = first + ROWS_PER_ITEM;
    (void)worker;
    forward->kernels->quantize(loop->dtype, loop->in, loop->n_in, first,
                               end < forward->n_rows ? end : forward->n_rows, forward->quantized);
}

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* The input as the kernels read it: made once, not by every thread for itself. */
static const void *quantize(struct baton_forward *forward, const struct baton_packed *packed,
                            const float *in)
{
    struct quantize_loop loop = {
        .forward = forward, .dtype = packed->dtype, .in = in, .n_in = packed->n_in};
    if (packed->dtype == BATON_F32 && !forward->kernels->splits_f32)
        return in;
    baton_pool_run(forward->pool, divide_up(forward->n_rows, ROWS_PER_ITEM), quantize_rows, &loop);
    return forward->quantized;
}

/* A small product is done sooner by the caller alone. */
static int count_items(const struct baton_forward *forward, const struct baton_packed *packed)
{
    size_t n_threads = (size_t)baton_pool_n_threads(forward->pool),
           n_most = n_threads * ITEMS_PER_THREAD;
    size_t work =
        baton_packed_read_bytes(packed) / ROWS_PER_READ * (size_t)(ROWS_PER_READ + forward->n_rows);
    size_t n = work / ITEM_MIN_BYTES / n_threads * n_threads; /* as many for each */
    return (int)(n > n_most ? n_most : n ? n : 1);
}

void baton_forward_linear(struct baton_forward *forward, const struct baton_matrix *matrix,
                          const float *in, float *out, enum baton_epilogue epilogue)
{
    struct linear_loop loop = {.kernels = forward->kernels,
                               .job = {.x = quantize(forward, &matrix->packed, in),
                                       .weights = &matrix->packed,
                                       .bias = matrix->bias,
                                       .y = out,
                                       .n_rows = forward->n_rows,
                                       .epilogue = epilogue}};
    int n_out = matrix->packed.n_out, n_items = count_items(forward, &matrix->packed);
    loop.outs_per_item = divide_up(divide_up(n_out, n_items), BATON_PANEL) * BATON_PANEL;
    baton_pool_run(forward->pool, divide_up(n_out, loop.outs_per_item), linear_outs, &loop);
}

size_t baton_forward_quantized_bytes(const struct baton_model *model, int n_rows)
{
    const struct baton_model_shape *shape = &model->shape;
    int n_attn_out = shape->n_heads * shape->head_dim;
    int widest = shape->n_ff > shape->n_embd ? shape->n_ff : shape->n_embd;
    return baton_quantized_bytes(model->kernels, model->dtype, n_rows,
                                 n_attn_out > widest ? n_attn_out : widest);
}

static void move_floats(float *array, size_t row_floats, int from, int to)
{
    memcpy(array + (size_t)to * row_floats, array + (size_t)from * row_floats,
           row_floats * sizeof *array);
}

void baton_forward_move_row(struct baton_forward *forward, int from, int to)
{
    const struct baton_model_shape *shape = &forward->model->shape;
    if (from == to)
        return;
    forward->rows[to] = forward->rows[from];
    move_floats(forward->x, (size_t)shape->n_embd, from, to);
    move_floats(forward->qkv,
                (size_t)(shape->n_heads + 2 * shape->n_kv_heads) * (size_t)shape->head_dim, from,
                to);
}

void baton_forward_narrow(struct baton_forward *forward, int first, int n)
{
    const struct baton_model_shape *shape = &forward->model->shape;
    size_t skip = (size_t)first, n_embd = (size_t)shape->n_embd;
    forward->rows += skip;
    forward->x += skip * n_embd;
    forward->normed += skip * n_embd;
    forward->qkv += skip * (size_t)((shape->n_heads + 2 * shape->n_kv_heads) * shape->head_dim);
    forward->attn_out += skip * n_embd;
    forward->hidden += skip * (size_t)shape->n_ff;
    forward->n_rows = n;
}
