#include "common/engine/run.h"

enum {
    ROWS_PER_ITEM = 16,
    OUTS_ALIGN = 16,     /* an item's outputs fill whole vectors */
    ITEMS_PER_THREAD = 4 /* so that a thread that lost its core delays a quarter of its share */
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
    bool dense;
};

static void linear_outs(void *arg, int item, int worker)
{
    const struct linear_loop *loop = arg;
    int first = item * loop->outs_per_item, end = first + loop->outs_per_item;
    (void)worker;
    if (end > loop->job.n_out)
        end = loop->job.n_out;
    if (loop->dense)
        baton_dense_linear(loop->kernels, &loop->job, first, end);
    else
        loop->kernels->linear(&loop->job, first, end);
}

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

void baton_run_linear(struct baton_run *run, const struct baton_matrix *matrix, const float *in,
                      float *out, enum baton_epilogue epilogue)
{
    struct linear_loop loop = {
        .kernels = run->kernels,
        .job = {.x = in,
                .weights = matrix->weights,
                .bias = matrix->bias,
                .y = out,
                .n_rows = run->n_rows,
                .n_in = matrix->n_in,
                .n_out = matrix->n_out,
                .epilogue = epilogue},
        .dense = run->may_use_dense && run->n_rows >= run->kernels->dense_min_rows,
    };
    /* Each GEMM packs all of its input: as few of them as there are threads. */
    int n_items = baton_pool_n_threads(run->pool) * (loop.dense ? 1 : ITEMS_PER_THREAD);
    loop.outs_per_item = divide_up(divide_up(matrix->n_out, n_items), OUTS_ALIGN) * OUTS_ALIGN;
    baton_pool_run(run->pool, divide_up(matrix->n_out, loop.outs_per_item), linear_outs, &loop);
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
