#include "engine/kernels/pack/packed.h"

#include <math.h>
#include <string.h>

#include "common/base/bf16.h"
#include "engine/kernels/pack/encode_panels.h"
#include "engine/kernels/pack/native_panels.h"
#include "engine/kernels/pack/quantized.h"

enum { LINE_BYTES = 64, Q8_ZERO = 128, Q8_MAX = 127 };

struct q8_group {
    float scales[BATON_PANEL];
    uint8_t bytes[BATON_Q8_GROUP / 4][BATON_PANEL][4];
};

const char *baton_dtype_name(enum baton_dtype dtype)
{
    return baton_dtype_ops[dtype].name;
}

bool baton_dtype_parse(const char *name, enum baton_dtype *dtype)
{
    for (int i = 0; i < BATON_N_DTYPES; i++)
        if (!strcmp(baton_dtype_ops[i].name, name)) {
            *dtype = (enum baton_dtype)i;
            return true;
        }
    return false;
}

static int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

int baton_packed_block_values(enum baton_dtype dtype)
{
    const struct baton_native *blocks = baton_dtype_ops[dtype].blocks;
    return blocks ? (int)baton_block_values(blocks->type) : 1;
}

int baton_packed_n_in(enum baton_dtype dtype, int n_in)
{
    return round_up(n_in, baton_dtype_ops[dtype].step);
}

size_t baton_packed_panel_bytes(enum baton_dtype dtype, int n_in)
{
    const struct baton_dtype_ops *ops = &baton_dtype_ops[dtype];
    const size_t step_bytes =
        ops->blocks ? (size_t)baton_native_step_bytes(ops->blocks) : ops->panel_step_bytes;
    return (size_t)(round_up(n_in, ops->step) / ops->step) * step_bytes;
}

size_t baton_packed_bytes(enum baton_dtype dtype, enum baton_layout layout, int n_out, int n_in)
{
    size_t n_panels = (size_t)round_up(n_out, BATON_PANEL) / BATON_PANEL;
    if (layout == BATON_PANELS)
        return n_panels * baton_packed_panel_bytes(dtype, n_in);
    size_t n = (size_t)n_out * (size_t)n_in * sizeof(float);
    return (n + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static char *panel_of(const struct baton_packed *packed, int panel)
{
    return (char *)packed->data +
           (size_t)panel * baton_packed_panel_bytes(packed->dtype, packed->n_in);
}

static void write_f32(void *panel, const float *rows, size_t n_in)
{
    float *to = panel;
    for (size_t k = 0; k < n_in; k++)
        for (size_t o = 0; o < BATON_PANEL; o++)
            to[k * BATON_PANEL + o] = rows[o * n_in + k];
}

static void write_bf16(void *panel, const float *rows, size_t n_in)
{
    uint16_t *to = panel;
    size_t n_stored = (size_t)baton_packed_n_in(BATON_BF16, (int)n_in);
    for (size_t k = 0; k < n_stored; k++)
        for (size_t o = 0; o < BATON_PANEL; o++)
            to[(k / 2 * BATON_PANEL + o) * 2 + k % 2] =
                k < n_in ? baton_bf16_from(rows[o * n_in + k]) : 0;
}

static void write_f16(void *panel, const float *rows, size_t n_in)
{
    uint16_t *to = panel;
    size_t n_stored = (size_t)baton_packed_n_in(BATON_F16, (int)n_in);
    for (size_t k = 0; k < n_stored; k++)
        for (size_t o = 0; o < BATON_PANEL; o++)
            to[k * BATON_PANEL + o] = k < n_in ? baton_native_f16(rows[o * n_in + k]) : 0;
}

static float largest_magnitude(const float weights[BATON_Q8_GROUP])
{
    enum { N_LANES = 8 }; /* a maximum for each first: lanes do not wait for each other */
    float lanes[N_LANES] = {0}, largest = 0;
    for (size_t i = 0; i < BATON_Q8_GROUP; i += N_LANES)
        for (size_t lane = 0; lane < N_LANES; lane++) {
            float magnitude = fabsf(weights[i + lane]);
            lanes[lane] = magnitude > lanes[lane] ? magnitude : lanes[lane];
        }
    for (size_t lane = 0; lane < N_LANES; lane++)
        largest = lanes[lane] > largest ? lanes[lane] : largest;
    return largest;
}

/* Writes one output's share of a group: n <= 64 weights, and zeros. */
static void write_q8_column(struct q8_group *group, size_t out, const float *weights, size_t n)
{
    float column[BATON_Q8_GROUP] = {0};
    uint32_t bits[BATON_Q8_GROUP];
    uint8_t bytes[BATON_Q8_GROUP];
    memcpy(column, weights, n * sizeof *weights);
    float scale = largest_magnitude(column) / Q8_MAX, inverse = scale > 0 ? 1 / scale : 0;
    if (!isfinite(inverse))
        scale = inverse = 0;
    group->scales[out] = scale;
    /* The last bit of this sum stands for 1: the addition rounds to nearest even, and the low byte
     * of the sum's bits is that of the integer. */
    for (size_t i = 0; i < BATON_Q8_GROUP; i++)
        column[i] = column[i] * inverse + 0x1.8p23F;
    memcpy(bits, column, sizeof bits);
    for (size_t i = 0; i < BATON_Q8_GROUP; i++)
        bytes[i] = (uint8_t)(bits[i] + Q8_ZERO);
    for (size_t i = 0; i < BATON_Q8_GROUP / 4; i++)
        memcpy(group->bytes[i][out], bytes + 4 * i, 4);
}

static void write_q8(void *panel, const float *rows, size_t n_in)
{
    struct q8_group *groups = panel;
    for (size_t k = 0; k < n_in; k += BATON_Q8_GROUP, groups++) {
        size_t n = n_in - k < BATON_Q8_GROUP ? n_in - k : BATON_Q8_GROUP;
        for (size_t o = 0; o < BATON_PANEL; o++)
            write_q8_column(groups, o, rows + o * n_in + k, n);
    }
}

static void read_f32(const void *panel, size_t out, float *row, size_t n_in)
{
    const float *from = panel;
    for (size_t k = 0; k < n_in; k++)
        row[k] = from[k * BATON_PANEL + out];
}

static void read_bf16(const void *panel, size_t out, float *row, size_t n_in)
{
    const uint16_t *from = panel;
    for (size_t k = 0; k < n_in; k++)
        row[k] = baton_bf16_to(from[(k / 2 * BATON_PANEL + out) * 2 + k % 2]);
}

static void read_f16(const void *panel, size_t out, float *row, size_t n_in)
{
    const uint16_t *from = panel;
    for (size_t k = 0; k < n_in; k++)
        row[k] = baton_f16_to(from[k * BATON_PANEL + out]);
}

static void read_q8(const void *panel, size_t out, float *row, size_t n_in)
{
    const struct q8_group *groups = panel;
    for (size_t k = 0; k < n_in; k++) {
        const struct q8_group *group = &groups[k / BATON_Q8_GROUP];
        size_t i = k % BATON_Q8_GROUP;
        row[k] = (float)(group->bytes[i / 4][out][i % 4] - Q8_ZERO) * group->scales[out];
    }
}

#define X(name, NAME, ...)                                                                         \
    static const struct baton_native native_##name = BATON_NATIVE(NAME, __VA_ARGS__);
BATON_NATIVE_DTYPES(X)
#undef X

const struct baton_dtype_ops baton_dtype_ops[BATON_N_DTYPES] = {
    [BATON_F32] = {.name = "f32",
                   .step = 1,
                   .panel_step_bytes = BATON_PANEL * sizeof(float),
                   .row_step_bytes = sizeof(float),
                   .write = write_f32,
                   .read = read_f32},
    /* Rows are as large as floats, because kernels without VDPBF16PS store them as floats. */
    [BATON_BF16] = {.name = "bf16",
                    .step = BATON_BF16_STEP,
                    .panel_step_bytes = BATON_BF16_STEP * BATON_PANEL * sizeof(uint16_t),
                    .row_step_bytes = BATON_BF16_STEP * sizeof(float),
                    .rows_are_spread = true,
                    .write = write_bf16,
                    .read = read_bf16},
    [BATON_Q8] = {.name = "q8",
                  .step = BATON_Q8_GROUP,
                  .panel_step_bytes = sizeof(struct q8_group),
                  .row_step_bytes = BATON_Q8_GROUP + sizeof(struct baton_q8_row_group),
                  .rows_are_spread = true,
                  .write = write_q8,
                  .read = read_q8},
    [BATON_F16] = {.name = "f16",
                   .step = BATON_F16_STEP,
                   .panel_step_bytes = BATON_F16_STEP * BATON_PANEL * sizeof(uint16_t),
                   .write = write_f16,
                   .read = read_f16},
#define X(text, NAME, form, ...)                                                                   \
    [BATON_##NAME] = {.name = #text,                                                               \
                      .step = BATON_NATIVE_STEP_OF(BATON_SCALES_##form),                           \
                      .blocks = &native_##text},
    BATON_NATIVE_DTYPES(X)
#undef X
};

enum baton_dtype baton_dtype_of_blocks(enum baton_block_type type)
{
    static const enum baton_dtype dtypes[BATON_N_BLOCK_TYPES] = {[BATON_BLOCK_F32] = BATON_F32,
                                                                 [BATON_BLOCK_BF16] = BATON_BF16,
                                                                 [BATON_BLOCK_F16] = BATON_F16,
#define X(name, NAME, ...) [BATON_BLOCK_##NAME] = BATON_##NAME,
                                                                 BATON_NATIVE_DTYPES(X)
#undef X
    };
    return dtypes[type];
}

enum baton_block_type baton_dtype_block_type(enum baton_dtype dtype)
{
    return baton_dtype_ops[dtype].blocks->type;
}

size_t baton_quantized_row_bytes(enum baton_dtype dtype, int n_in)
{
    const struct baton_dtype_ops *ops = &baton_dtype_ops[dtype];
    if (ops->blocks)
        return baton_native_row_bytes(n_in);
    if (dtype == BATON_F16)
        ops = &baton_dtype_ops[BATON_F32];
    size_t n_bytes = (size_t)(round_up(n_in, ops->step) / ops->step) * ops->row_step_bytes;
    return ops->rows_are_spread ? ((n_bytes + LINE_BYTES - 1) / LINE_BYTES | 1) * LINE_BYTES
                                : n_bytes;
}

void baton_packed_write(const struct baton_packed *packed, int panel, const float *rows)
{
    size_t n_in = (size_t)packed->n_in;
    if (packed->layout == BATON_ROWS) {
        int first = panel * BATON_PANEL, n = packed->n_out - first;
        n = n < BATON_PANEL ? n : BATON_PANEL;
        memcpy((float *)packed->data + (size_t)first * n_in, rows, (size_t)n * n_in * sizeof *rows);
        return;
    }
    const struct baton_dtype_ops *ops = &baton_dtype_ops[packed->dtype];
    if (ops->blocks)
        baton_native_encode(ops->blocks, panel_of(packed, panel), rows, n_in);
    else
        ops->write(panel_of(packed, panel), rows, n_in);
}

void baton_packed_write_blocks(const struct baton_packed *packed, int panel,
                               const uint8_t *const rows[BATON_PANEL])
{
    baton_native_write(baton_dtype_ops[packed->dtype].blocks, panel_of(packed, panel), rows,
                       (size_t)packed->n_in);
}

void baton_packed_row(const struct baton_packed *packed, int out, float *row)
{
    const struct baton_dtype_ops *ops = &baton_dtype_ops[packed->dtype];
    const size_t n_in = (size_t)packed->n_in, of_panel = (size_t)(out % BATON_PANEL);
    if (packed->layout == BATON_ROWS)
        memcpy(row, (const float *)packed->data + (size_t)out * n_in, n_in * sizeof *row);
    else if (ops->blocks)
        baton_native_read(ops->blocks, panel_of(packed, out / BATON_PANEL), of_panel, row, n_in);
    else
        ops->read(panel_of(packed, out / BATON_PANEL), of_panel, row, n_in);
}
