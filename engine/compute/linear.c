/* Products of a forward's rows with a matrix, whose parts may have dtypes of their own. */
#include <assert.h>

#include "engine/arch/draft_head.h"
#include "engine/compute/forward.h"
#include "engine/model/layers.h"

enum {
    LINE_BYTES = 64,
    ITEMS_PER_THREAD = 4, /* so that a thread that lost its core delays a quarter of its share */
    ROWS_PER_READ = 8,    /* their arithmetic takes about as long as reading the weights */
    ITEM_MIN_BYTES = 64 << 10, /* one core reads them before another has joined in */
};

/* ---- inputs ---- */

struct quantize_loop {
    const struct baton_forward *forward;
    const struct baton_dtype_kernels *kernels;
    const struct baton_input *input;
    void *rows;
};

static void quantize_rows(void *arg, int item, int worker)
{
    const struct quantize_loop *loop = arg;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM,
        n_rows = loop->forward->n_rows;
    (void)worker;
    loop->kernels->quantize(loop->input->floats, loop->input->n_in, first,
                            end < n_rows ? end : n_rows, loop->rows);
}

static size_t form_bytes(const struct baton_kernels *kernels, enum baton_dtype dtype, int n_rows,
                         int n_in)
{
    size_t n_bytes = baton_quantized_bytes(kernels, dtype, n_rows, n_in);
    /* Forms lie behind each other, and kernels read each from an aligned address. */
    return (n_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

const void *baton_forward_quantize(struct baton_forward *forward, struct baton_input *input,
                                   enum baton_dtype dtype)
{
    struct quantize_loop loop = {.forward = forward,
                                 .kernels = &forward->kernels->dtypes[dtype],
                                 .input = input,
                                 .rows = (char *)forward->quantized + input->n_bytes};
    if (loop.kernels->copies) /* quantize would only copy the floats */
        return input->floats;
    for (int i = 0; i < input->n_forms; i++)
        if (baton_shares_rows(forward->kernels, input->forms[i].dtype, dtype))
            return input->forms[i].rows;
    assert(input->n_forms < BATON_INPUT_MAX_FORMS);
    baton_forward_share_rows(forward, quantize_rows, &loop);
    input->n_bytes += form_bytes(forward->kernels, dtype, forward->n_rows, input->n_in);
    input->forms[input->n_forms++] = (struct baton_input_form){.dtype = dtype, .rows = loop.rows};
    return loop.rows;
}

/* most[d]: the bytes of the largest input in the form of dtype d, counted at the first dtype that
 * shares the form. */
static void count_forms(const struct baton_kernels *kernels, const struct baton_matrix *matrix,
                        int n_rows, size_t most[BATON_N_DTYPES])
{
    for (int i = 0; i < matrix->n_parts; i++) {
        enum baton_dtype dtype = matrix->parts[i].dtype, form = BATON_F32;
        size_t n_bytes = form_bytes(kernels, dtype, n_rows, matrix->n_in);
        while (!baton_shares_rows(kernels, form, dtype))
            form++;
        most[form] = n_bytes > most[form] ? n_bytes : most[form];
    }
}

size_t baton_forward_quantized_bytes(const struct baton_model *model, int n_rows)
{
    int n = baton_n_arrays(&model->spec);
    size_t most[BATON_N_DTYPES] = {0}, n_bytes = 0;
    for (int i = 0; i < n; i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        if (array.is_matrix && array.n_rows)
            count_forms(model->kernels, baton_model_matrix_in(model, &array), n_rows, most);
    }
    if (baton_spec_is_draft_head(&model->spec)) /* another model's, which no array describes */
        count_forms(model->kernels, &model->head, n_rows, most);
    for (int i = 0; i < BATON_N_DTYPES; i++)
        n_bytes += most[i];
    return n_bytes;
}

/* ---- products ---- */

/* Reading weights costs the same for any number of rows, arithmetic grows with them. */
size_t baton_forward_work(size_t n_bytes, int n_rows)
{
    return n_bytes / ROWS_PER_READ * (size_t)(ROWS_PER_READ + n_rows);
}

int baton_forward_n_items(const struct baton_forward *forward, size_t work)
{
    size_t n_threads = (size_t)baton_pool_n_threads(forward->pool),
           n_most = n_threads * ITEMS_PER_THREAD;
    size_t n = work / ITEM_MIN_BYTES / n_threads * n_threads; /* as many for each thread */
    return (int)(n > n_most ? n_most : n ? n : 1);
}

/* The outputs of all parts as one line of units; an item is a range of it. A unit is a panel, or a
 * pair of them: kernels take outputs in multiples of those. */
struct linear_loop {
    const struct baton_kernels *kernels;
    int n_parts, unit, units_per_item;
    struct linear_part {
        struct baton_linear job;
        int first_unit, n_units;
    } parts[BATON_MATRIX_MAX_PARTS];
};

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

static void multiply_part(const struct linear_loop *loop, const struct linear_part *part, int first,
                          int end)
{
    int n_out = part->job.weights->n_out;
    first = first > part->first_unit ? first - part->first_unit : 0;
    end = end < part->first_unit + part->n_units ? end - part->first_unit : part->n_units;
    if (first < end)
        baton_kernels_linear(loop->kernels, &part->job, first * loop->unit,
                             end * loop->unit < n_out ? end * loop->unit : n_out);
}

static void multiply_item(void *arg, int item, int worker)
{
    const struct linear_loop *loop = arg;
    int first = item * loop->units_per_item;
    (void)worker;
    for (int i = 0; i < loop->n_parts; i++)
        multiply_part(loop, &loop->parts[i], first, first + loop->units_per_item);
}

/* Lines the matrix's parts up; returns the number of their units. */
static int line_up(struct linear_loop *loop, struct baton_forward *forward,
                   const struct baton_matrix *matrix, struct baton_input *input,
                   const struct baton_linear *whole)
{
    int n_units = 0, out = 0;
    for (int i = 0; i < matrix->n_parts; i++) {
        const struct baton_packed *packed = &matrix->parts[i];
        struct linear_part *part = &loop->parts[loop->n_parts++];
        *part = (struct linear_part){
            .job = *whole, .first_unit = n_units, .n_units = divide_up(packed->n_out, loop->unit)};
        part->job.weights = packed;
        part->job.x = baton_forward_quantize(forward, input, packed->dtype);
        part->job.bias = whole->bias ? whole->bias + out : NULL;
        part->job.y = whole->y + out;
        part->job.epilogue.first_delta = out;
        n_units += part->n_units;
        out += packed->n_out;
    }
    return n_units;
}

void baton_forward_linear(struct baton_forward *forward, const struct baton_matrix *matrix,
                          struct baton_input *input, float *out, struct baton_epilogue epilogue)
{
    bool is_gated = epilogue.kind == BATON_GATE;
    const struct baton_linear whole = {.bias = matrix->bias,
                                       .y = out,
                                       .y_stride = is_gated ? epilogue.n_ff : matrix->n_out,
                                       .n_rows = forward->n_rows,
                                       .epilogue = epilogue};
    struct linear_loop loop = {.kernels = forward->kernels,
                               .unit = is_gated ? 2 * BATON_PANEL : BATON_PANEL};
    assert(input->n_in == matrix->n_in);
    int n_units = line_up(&loop, forward, matrix, input, &whole),
        n_items = baton_forward_n_items(
            forward, baton_forward_work(baton_matrix_read_bytes(matrix), forward->n_rows));
    loop.units_per_item = divide_up(n_units, n_items);
    baton_pool_run(forward->pool, divide_up(n_units, loop.units_per_item), multiply_item, &loop);
}
