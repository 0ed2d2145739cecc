#include "common/engine/compute/forward.h"

#include <assert.h>
#include <string.h>

#include "common/engine/model/arrays.h"

enum {
    LINE_FLOATS = 16,
    ITEMS_PER_THREAD = 4, /* so that a thread that lost its core delays a quarter of its share */
    ROWS_PER_READ = 8,    /* their arithmetic takes about as long as reading the weights */
    ITEM_MIN_BYTES = 64 << 10, /* one core reads them before another has joined in */
};

void baton_forward_share_rows(struct baton_forward *forward, baton_item_fn fn, void *arg)
{
    baton_pool_run(forward->pool, (forward->n_rows + BATON_ROWS_PER_ITEM - 1) / BATON_ROWS_PER_ITEM,
                   fn, arg);
}

struct norm_loop {
    struct baton_forward *forward;
    const struct baton_norm *norm;
    void (*run)(enum baton_norm_kind kind, float *y, const float *x, const float *weight,
                const float *bias, int n, float epsilon);
    const float *in;
    float *out;
};

static void norm_rows(void *arg, int item, int worker)
{
    const struct norm_loop *loop = arg;
    const struct baton_norm *norm = loop->norm;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    int n = loop->forward->model->spec.n_embd;
    (void)worker;
    for (int r = first; r < end && r < loop->forward->n_rows; r++)
        loop->run(norm->kind, loop->out + (size_t)r * n, loop->in + (size_t)r * n, norm->weight,
                  norm->bias, n, norm->epsilon);
}

void baton_forward_norm(struct baton_forward *forward, const struct baton_norm *norm)
{
    struct norm_loop loop = {.forward = forward,
                             .norm = norm,
                             .run = forward->kernels->norm,
                             .in = forward->x,
                             .out = forward->normed};
    baton_forward_share_rows(forward, norm_rows, &loop);
}

void baton_forward_norm_add(struct baton_forward *forward, const struct baton_norm *norm)
{
    struct norm_loop loop = {.forward = forward,
                             .norm = norm,
                             .run = forward->kernels->norm_add,
                             .in = forward->branch,
                             .out = forward->x};
    baton_forward_share_rows(forward, norm_rows, &loop);
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
    baton_kernels_linear(loop->kernels, &loop->job, first, end);
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
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    (void)worker;
    forward->kernels->dtypes[loop->dtype].quantize(loop->in, loop->n_in, first,
                                                   end < forward->n_rows ? end : forward->n_rows,
                                                   forward->quantized);
}

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

struct baton_input baton_forward_quantize(struct baton_forward *forward, enum baton_dtype dtype,
                                          const float *in, int n_in)
{
    struct quantize_loop loop = {.forward = forward, .dtype = dtype, .in = in, .n_in = n_in};
    struct baton_input input = {.rows = forward->quantized, .dtype = dtype, .n_in = n_in};
    if (forward->kernels->dtypes[dtype].copies) /* a copy would have the same bits */
        input.rows = in;
    else
        baton_forward_share_rows(forward, quantize_rows, &loop);
    return input;
}

/* Arithmetic counts beside the read: its share grows with the rows. */
size_t baton_forward_work(size_t n_bytes, int n_rows)
{
    return n_bytes / ROWS_PER_READ * (size_t)(ROWS_PER_READ + n_rows);
}

int baton_forward_n_items(const struct baton_forward *forward, size_t work)
{
    size_t n_threads = (size_t)baton_pool_n_threads(forward->pool),
           n_most = n_threads * ITEMS_PER_THREAD;
    size_t n = work / ITEM_MIN_BYTES / n_threads * n_threads; /* as many for each */
    return (int)(n > n_most ? n_most : n ? n : 1);
}

void baton_forward_linear(struct baton_forward *forward, const struct baton_matrix *matrix,
                          struct baton_input input, float *out, struct baton_epilogue epilogue)
{
    struct linear_loop loop = {.kernels = forward->kernels,
                               .job = {.x = input.rows,
                                       .weights = &matrix->packed,
                                       .bias = matrix->bias,
                                       .y = out,
                                       .n_rows = forward->n_rows,
                                       .epilogue = epilogue}};
    assert(input.dtype == matrix->packed.dtype && input.n_in == matrix->packed.n_in);
    int n_out = matrix->packed.n_out,
        n_items = baton_forward_n_items(
            forward, baton_forward_work(baton_packed_read_bytes(&matrix->packed), forward->n_rows));
    /* Whole panels, or pairs of them: kernels take columns in multiples of those. */
    int step = epilogue.kind == BATON_GATE ? 2 * BATON_PANEL : BATON_PANEL;
    loop.outs_per_item = divide_up(divide_up(n_out, n_items), step) * step;
    baton_pool_run(forward->pool, divide_up(n_out, loop.outs_per_item), linear_outs, &loop);
}

size_t baton_forward_quantized_bytes(const struct baton_model *model, int n_rows)
{
    int n = baton_n_arrays(&model->spec);
    size_t most = 0;
    for (int i = 0; i < n; i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        if (!array.is_matrix || !array.n_rows)
            continue;
        const struct baton_packed *packed = baton_model_packed(model, &array);
        size_t n_bytes = baton_quantized_bytes(model->kernels, packed->dtype, n_rows, packed->n_in);
        most = n_bytes > most ? n_bytes : most;
    }
    return most;
}

/* The arrays of rows. Only this list says how many floats a row of each has. */
enum { N_ROW_ARRAYS = 7 };

struct row_array {
    float **array;
    size_t width;  /* of a row of the widest layer */
    size_t stride; /* from a row to the next before the last layer's attention; 0: holds nothing */
};

static void list_arrays(struct baton_forward *forward, struct row_array arrays[N_ROW_ARRAYS])
{
    const struct baton_spec *spec = &forward->model->spec;
    size_t n_embd = (size_t)spec->n_embd;
    /* The residual stream, and the queries in qkv, which attention reads. */
    const struct row_array all[N_ROW_ARRAYS] = {
        {&forward->x, n_embd, n_embd},
        {&forward->normed, n_embd, 0},
        {&forward->qkv, (size_t)baton_spec_most_qkv_width(spec),
         (size_t)baton_spec_qkv_width(spec, spec->n_layers - 1)},
        {&forward->attn_out, (size_t)baton_spec_most_q_width(spec), 0},
        {&forward->hidden, (size_t)baton_spec_most_n_ff(spec), 0},
        {&forward->branch, baton_spec_has_post_norms(spec) ? n_embd : 0, 0},
        {&forward->rotations, baton_forward_rotation_floats(spec), 0},
    };
    memcpy(arrays, all, sizeof all);
}

/* The next n floats, on cache lines of their own; NULL while memory is only measured. */
static float *take(float *memory, size_t *n_taken, size_t n)
{
    float *taken = memory ? memory + *n_taken : NULL;
    *n_taken += (n + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
    return taken;
}

size_t baton_forward_place(struct baton_forward *forward, float *memory, int n_rows)
{
    struct row_array arrays[N_ROW_ARRAYS];
    size_t n_taken = 0, n_threads = (size_t)baton_pool_n_threads(forward->pool);
    list_arrays(forward, arrays);
    for (int i = 0; i < N_ROW_ARRAYS; i++)
        *arrays[i].array = take(memory, &n_taken, (size_t)n_rows * arrays[i].width);
    forward->attn_scratch_floats = baton_forward_attn_scratch_floats(&forward->model->spec);
    forward->attn_scratch = take(memory, &n_taken, forward->attn_scratch_floats * n_threads);
    return n_taken;
}

void baton_forward_narrow(struct baton_forward *forward, int first, int n)
{
    struct row_array arrays[N_ROW_ARRAYS];
    list_arrays(forward, arrays);
    for (int i = 0; i < N_ROW_ARRAYS; i++)
        *arrays[i].array += (size_t)first * arrays[i].stride;
    forward->rows += first;
    forward->n_rows = n;
}

void baton_forward_move_row(struct baton_forward *forward, int from, int to)
{
    struct row_array arrays[N_ROW_ARRAYS];
    if (from == to)
        return;
    list_arrays(forward, arrays);
    forward->rows[to] = forward->rows[from];
    for (int i = 0; i < N_ROW_ARRAYS; i++) {
        float *array = *arrays[i].array;
        size_t stride = arrays[i].stride;
        if (stride)
            memcpy(array + (size_t)to * stride, array + (size_t)from * stride,
                   stride * sizeof *array);
    }
}
