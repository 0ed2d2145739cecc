#include "common/engine/compute/run.h"

#include <string.h>

enum {
    ROWS_PER_ITEM = 16,
    ITEMS_PER_THREAD = 4, /* so that a thread that lost its core delays a quarter of its share */
    ROWS_PER_READ = 8,    /* whose arithmetic takes about as long as reading the weights */
    ITEM_MIN_BYTES = 64 << 10, /* read in less time than another core takes to join in */
};

struct norm_loop {
    struct baton_run *run;
    const struct baton_norm *norm;
};

static void norm_rows(void *arg, int item, int worker)
{
    const struct norm_loop *loop = arg;
    const struct baton_run *run = loop->run;
    int first = item * ROWS_PER_ITEM, end = first + ROWS_PER_ITEM, n = run->model->shape.n_embd;
    (void)worker;
    for (int r = first; r < end && r < run->n_rows; r++)
        run->kernels->layer_norm(run->normed + (size_t)r * n, run->x + (size_t)r * n,
                                 loop->norm->weight, loop->norm->bias, n,
                                 run->model->shape.norm_epsilon);
}

void baton_run_norm(struct baton_run *run, const struct baton_norm *norm)
{
    struct norm_loop loop = {.run = run, .norm = norm};
    baton_pool_run(run->pool, (run->n_rows + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM, norm_rows, &loop);
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

struct prepare_loop {
    struct baton_run *run;
    enum baton_dtype dtype;
    const float *in;
    int n_in;
};

static void prepare_rows(void *arg, int item, int worker)
{
    const struct prepare_loop *loop = arg;
    const struct baton_run *run = loop->run;
    int first = item * ROWS_PER_ITEM, end = first + ROWS_PER_ITEM;
    (void)worker;
    run->kernels->prepare(loop->dtype, loop->in, loop->n_in, first,
                          end < run->n_rows ? end : run->n_rows, run->prepared);
}

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* The input as the kernels read it: made once, not by every thread for itself. */
static const void *prepare(struct baton_run *run, const struct baton_packed *packed,
                           const float *in)
{
    struct prepare_loop loop = {.run = run, .dtype = packed->dtype, .in = in, .n_in = packed->n_in};
    if (packed->dtype == BATON_F32 && !run->kernels->splits_f32)
        return in;
    baton_pool_run(run->pool, divide_up(run->n_rows, ROWS_PER_ITEM), prepare_rows, &loop);
    return run->prepared;
}

/* A small product is done sooner by the caller alone. */
static int count_items(const struct baton_run *run, const struct baton_packed *packed)
{
    size_t n_threads = (size_t)baton_pool_n_threads(run->pool),
           n_most = n_threads * ITEMS_PER_THREAD;
    size_t work =
        baton_packed_read_bytes(packed) / ROWS_PER_READ * (size_t)(ROWS_PER_READ + run->n_rows);
    size_t n = work / ITEM_MIN_BYTES / n_threads * n_threads; /* as many for each */
    return (int)(n > n_most ? n_most : n ? n : 1);
}

void baton_run_linear(struct baton_run *run, const struct baton_matrix *matrix, const float *in,
                      float *out, enum baton_epilogue epilogue)
{
    struct linear_loop loop = {.kernels = run->kernels,
                               .job = {.x = prepare(run, &matrix->packed, in),
                                       .weights = &matrix->packed,
                                       .bias = matrix->bias,
                                       .y = out,
                                       .n_rows = run->n_rows,
                                       .epilogue = epilogue}};
    int n_out = matrix->packed.n_out, n_items = count_items(run, &matrix->packed);
    loop.outs_per_item = divide_up(divide_up(n_out, n_items), BATON_PANEL) * BATON_PANEL;
    baton_pool_run(run->pool, divide_up(n_out, loop.outs_per_item), linear_outs, &loop);
}

size_t baton_run_prepared_bytes(const struct baton_model *model, int n_rows)
{
    const struct baton_model_shape *shape = &model->shape;
    int n_mixed = shape->n_heads * shape->head_dim;
    int widest = shape->n_ff > shape->n_embd ? shape->n_ff : shape->n_embd;
    return baton_prepared_bytes(model->kernels, model->dtype, n_rows,
                                n_mixed > widest ? n_mixed : widest);
}

static void move_floats(float *array, size_t row_floats, int from, int to)
{
    memcpy(array + (size_t)to * row_floats, array + (size_t)from * row_floats,
           row_floats * sizeof *array);
}

void baton_run_move_row(struct baton_run *run, int from, int to)
{
    const struct baton_model_shape *shape = &run->model->shape;
    if (from == to)
        return;
    run->rows[to] = run->rows[from];
    move_floats(run->x, (size_t)shape->n_embd, from, to);
    move_floats(run->qkv,
                (size_t)(shape->n_heads + 2 * shape->n_kv_heads) * (size_t)shape->head_dim, from,
                to);
}

void baton_run_narrow(struct baton_run *run, int first, int n)
{
    const struct baton_model_shape *shape = &run->model->shape;
    size_t skip = (size_t)first, n_embd = (size_t)shape->n_embd;
    run->rows += skip;
    run->x += skip * n_embd;
    run->normed += skip * n_embd;
    run->qkv += skip * (size_t)((shape->n_heads + 2 * shape->n_kv_heads) * shape->head_dim);
    run->mixed += skip * n_embd;
    run->hidden += skip * (size_t)shape->n_ff;
    run->n_rows = n;
}
