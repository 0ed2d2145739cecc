#include "tests/unit/engine/kernels/product.h"

#include "tests/unit/engine/kernels/guarded.h"
#include "tests/unit/engine/unit.h"

#include "common/base/bf16.h"
#include "engine/kernels/pack/native_panels.h"
#include "engine/kernels/pack/quantized.h"
#include "tests/support/random_blocks.h"

static size_t packed_bytes(const struct product *p)
{
    return baton_packed_bytes(p->packed.dtype, p->packed.layout, p->n_out, p->n_in);
}

size_t product_quantized_bytes(const struct product *p)
{
    return baton_quantized_bytes(p->kernels, p->packed.dtype, p->n_rows, p->n_in);
}

size_t product_y_bytes(const struct product *p)
{
    return (size_t)p->n_rows * p->n_out * sizeof *p->y;
}

static enum baton_block_type type_of(const struct product *p)
{
    return baton_dtype_ops[p->packed.dtype].blocks->type;
}

static size_t n_row_blocks(const struct product *p)
{
    size_t n_values = baton_block_values(type_of(p));
    return ((size_t)p->n_in + n_values - 1) / n_values;
}

static void pack_blocks(const struct product *p)
{
    size_t row_bytes = n_row_blocks(p) * baton_block_bytes(type_of(p));
    for (int first = 0; first < p->n_out; first += BATON_PANEL) {
        const uint8_t *rows[BATON_PANEL] = {NULL};
        for (int o = 0; o < BATON_PANEL && first + o < p->n_out; o++)
            rows[o] = p->blocks + (size_t)(first + o) * row_bytes;
        baton_packed_write_blocks(&p->packed, first / BATON_PANEL, rows);
    }
}

static void pack_rows(const struct product *p)
{
    float *panel = calloc((size_t)BATON_PANEL * p->n_in, sizeof *panel);
    assert_non_null(panel);
    for (int first = 0; first < p->n_out; first += BATON_PANEL) {
        int n = p->n_out - first < BATON_PANEL ? p->n_out - first : BATON_PANEL;
        memset(panel, 0, (size_t)BATON_PANEL * p->n_in * sizeof *panel);
        memcpy(panel, p->rows + (size_t)first * p->n_in, (size_t)n * p->n_in * sizeof *panel);
        baton_packed_write(&p->packed, first / BATON_PANEL, panel);
    }
    free(panel);
}

void product_pack(const struct product *p)
{
    if (p->blocks)
        pack_blocks(p);
    else
        pack_rows(p);
    for (int out = 0; out < p->n_out; out++)
        baton_packed_row(&p->packed, out, p->weights + (size_t)out * p->n_in);
}

void product_clear(const struct product *p)
{
    if (p->blocks)
        memset(p->blocks, 0, n_row_blocks(p) * baton_block_bytes(type_of(p)) * (size_t)p->n_out);
    else
        memset(p->rows, 0, (size_t)p->n_out * (size_t)p->n_in * sizeof *p->rows);
    product_pack(p);
}

static float q8_input(const struct product *p, int row, int k)
{
    const char *from =
        (const char *)p->quantized + (size_t)row * baton_quantized_row_bytes(BATON_Q8, p->n_in);
    struct baton_q8_row_group group;
    memcpy(&group,
           from + baton_packed_n_in(BATON_Q8, p->n_in) + k / BATON_Q8_GROUP * (int)sizeof group,
           sizeof group);
    return (float)((const int8_t *)from)[k] * group.scale;
}

static float native_input(const struct product *p, int row, int k)
{
    const char *from = (const char *)p->quantized + (size_t)row * baton_native_row_bytes(p->n_in);
    struct baton_native_row_group group;
    memcpy(&group, from + baton_native_row_inputs(p->n_in) + k / BATON_Q8_GROUP * (int)sizeof group,
           sizeof group);
    return (float)((const int8_t *)from)[k] * group.scale;
}

static float input_at(const struct product *p, int row, int k)
{
    float x = p->x[row * p->n_in + k];
    if (p->packed.dtype == BATON_Q8)
        return q8_input(p, row, k);
    if (p->blocks)
        return native_input(p, row, k);
    return p->packed.dtype == BATON_BF16 ? baton_bf16_to(baton_bf16_from(x)) : x;
}

static void quantize(const struct product *p)
{
    p->kernels->dtypes[p->packed.dtype].quantize(p->x, p->n_in, 0, p->n_rows, p->quantized);
    for (int row = 0; row < p->n_rows; row++)
        for (int k = 0; k < p->n_in; k++)
            p->inputs[row * p->n_in + k] = input_at(p, row, k);
}

/* What product_pack and quantize write. */
static float *zeros(size_t n)
{
    float *floats = calloc(n, sizeof *floats);
    assert_non_null(floats);
    return floats;
}

void product_init(struct product *p, const struct baton_kernels *kernels, int dtype, int n_rows,
                  int n_in, int n_out)
{
    size_t n_y = (size_t)n_rows * n_out, n_x = (size_t)n_rows * n_in, n_w = (size_t)n_out * n_in;
    *p = (struct product){.kernels = kernels, .n_rows = n_rows, .n_in = n_in, .n_out = n_out};
    p->packed = (struct baton_packed){
        .dtype = (enum baton_dtype)dtype, .layout = kernels->layout, .n_out = n_out, .n_in = n_in};
    p->packed.data = guarded_create(packed_bytes(p), PRODUCT_ALIGNMENT);
    p->quantized = guarded_create(product_quantized_bytes(p), PRODUCT_ALIGNMENT);
    p->y = guarded_create(n_y * sizeof *p->y, sizeof *p->y);
    p->bias = guarded_create((size_t)n_out * sizeof *p->bias, sizeof *p->bias);
    if (baton_dtype_has_blocks((enum baton_dtype)dtype))
        p->blocks = random_blocks(type_of(p), n_row_blocks(p) * (size_t)n_out, 2);
    else
        p->rows = random_floats(n_w, 2);
    p->weights = zeros(n_w);
    p->x = random_floats(n_x, 1);
    p->inputs = zeros(n_x);
    p->before = random_floats(n_y, 4);
    for (int out = 0; out < n_out; out++)
        p->bias[out] = (float)out / 8 - 1;
    product_pack(p);
    quantize(p);
}

void product_fini(struct product *p)
{
    guarded_destroy(p->packed.data, packed_bytes(p));
    guarded_destroy(p->quantized, product_quantized_bytes(p));
    guarded_destroy(p->y, product_y_bytes(p));
    guarded_destroy(p->bias, (size_t)p->n_out * sizeof *p->bias);
    free(p->rows);
    free(p->blocks);
    free(p->weights);
    free(p->x);
    free(p->inputs);
    free(p->before);
}

struct baton_linear product_job(const struct product *p, int kind, bool with_bias)
{
    return (struct baton_linear){.weights = &p->packed,
                                 .bias = with_bias ? p->bias : NULL,
                                 .x = p->quantized,
                                 .y = p->y,
                                 .y_stride = p->n_out,
                                 .n_rows = p->n_rows,
                                 .epilogue = {.kind = (enum baton_epilogue_kind)kind,
                                              .activation = BATON_ACT_GELU_TANH,
                                              .scale = 1}};
}
