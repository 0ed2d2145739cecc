#include "common/engine/kernels/packed.h"

#include <math.h>
#include <string.h>

#include "common/engine/kernels/bf16.h"

enum { LINE_BYTES = 64, Q8_ZERO = 128, Q8_MAX = 127 };

struct q8_group {
    float scales[BATON_PANEL];
    uint8_t bytes[BATON_Q8_GROUP / 4][BATON_PANEL][4];
};

static const char *const names[BATON_N_DTYPES] = {"f32", "bf16", "q8"};

const char *baton_dtype_name(enum baton_dtype dtype)
{
    return names[dtype];
}

bool baton_dtype_parse(const char *name, enum baton_dtype *dtype)
{
    for (int i = 0; i < BATON_N_DTYPES; i++)
        if (!strcmp(names[i], name)) {
            *dtype = (enum baton_dtype)i;
            return true;
        }
    return false;
}

static int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

int baton_packed_n_in(enum baton_dtype dtype, int n_in)
{
    static const int steps[BATON_N_DTYPES] = {1, BATON_BF16_STEP, BATON_Q8_GROUP};
    return round_up(n_in, steps[dtype]);
}

size_t baton_packed_panel_bytes(enum baton_dtype dtype, int n_in)
{
    size_t n = (size_t)baton_packed_n_in(dtype, n_in);
    switch (dtype) {
    case BATON_BF16:
        return n * BATON_PANEL * sizeof(uint16_t);
    case BATON_Q8:
        return n / BATON_Q8_GROUP * sizeof(struct q8_group);
    default:
        return n * BATON_PANEL * sizeof(float);
    }
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

static void write_f32(float *to, const float *rows, size_t n_in)
{
    for (size_t k = 0; k < n_in; k++)
        for (size_t o = 0; o < BATON_PANEL; o++)
            to[k * BATON_PANEL + o] = rows[o * n_in + k];
}

static void write_bf16(uint16_t *to, const float *rows, size_t n_in)
{
    size_t n_stored = (size_t)baton_packed_n_in(BATON_BF16, (int)n_in);
    for (size_t k = 0; k < n_stored; k++)
        for (size_t o = 0; o < BATON_PANEL; o++)
            to[(k / 2 * BATON_PANEL + o) * 2 + k % 2] =
                k < n_in ? baton_bf16_from(rows[o * n_in + k]) : 0;
}

static float largest_magnitude(const float weights[BATON_Q8_GROUP])
{
    enum { N_LANES = 8 }; /* a maximum per lane first: lanes do not wait for each other */
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

/* One output's share of a group: n <= 64 weights, and zeros. */
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
    /* In this sum the last bit stands for one: it is rounded to nearest even, and the low byte of
     * its bits is that of the integer. */
    for (size_t i = 0; i < BATON_Q8_GROUP; i++)
        column[i] = column[i] * inverse + 0x1.8p23F;
    memcpy(bits, column, sizeof bits);
    for (size_t i = 0; i < BATON_Q8_GROUP; i++)
        bytes[i] = (uint8_t)(bits[i] + Q8_ZERO);
    for (size_t i = 0; i < BATON_Q8_GROUP / 4; i++)
        memcpy(group->bytes[i][out], bytes + 4 * i, 4);
}

static void write_q8(struct q8_group *groups, const float *rows, size_t n_in)
{
    for (size_t k = 0; k < n_in; k += BATON_Q8_GROUP, groups++) {
        size_t n = n_in - k < BATON_Q8_GROUP ? n_in - k : BATON_Q8_GROUP;
        for (size_t o = 0; o < BATON_PANEL; o++)
            write_q8_column(groups, o, rows + o * n_in + k, n);
    }
}

void baton_packed_write(const struct baton_packed *packed, int panel, const float *rows)
{
    size_t n_in = (size_t)packed->n_in;
    char *to = panel_of(packed, panel);
    if (packed->layout == BATON_ROWS) {
        int first = panel * BATON_PANEL, n = packed->n_out - first;
        n = n < BATON_PANEL ? n : BATON_PANEL;
        memcpy((float *)packed->data + (size_t)first * n_in, rows, (size_t)n * n_in * sizeof *rows);
        return;
    }
    switch (packed->dtype) {
    case BATON_BF16:
        write_bf16((uint16_t *)(void *)to, rows, n_in);
        break;
    case BATON_Q8:
        write_q8((struct q8_group *)(void *)to, rows, n_in);
        break;
    default:
        write_f32((float *)(void *)to, rows, n_in);
        break;
    }
}

static float weight_at(const struct baton_packed *packed, int out, int k)
{
    const char *panel = panel_of(packed, out / BATON_PANEL);
    size_t o = (size_t)out % BATON_PANEL, i = (size_t)k;
    const struct q8_group *group;
    switch (packed->dtype) {
    case BATON_BF16:
        return baton_bf16_to(
            ((const uint16_t *)(const void *)panel)[(i / 2 * BATON_PANEL + o) * 2 + i % 2]);
    case BATON_Q8:
        group = (const struct q8_group *)(const void *)panel + i / BATON_Q8_GROUP;
        i %= BATON_Q8_GROUP;
        return (float)(group->bytes[i / 4][o][i % 4] - Q8_ZERO) * group->scales[o];
    default:
        return ((const float *)(const void *)panel)[i * BATON_PANEL + o];
    }
}

void baton_packed_row(const struct baton_packed *packed, int out, float *row)
{
    size_t n_in = (size_t)packed->n_in;
    if (packed->layout == BATON_ROWS) {
        memcpy(row, (const float *)packed->data + (size_t)out * n_in, n_in * sizeof *row);
        return;
    }
    for (int k = 0; k < packed->n_in; k++)
        row[k] = weight_at(packed, out, k);
}
