#include "tests/unit/engine/compute/attention_unit.h"

#include "tests/unit/engine/unit.h"

#include "common/base/bf16.h"
#include "common/base/f16.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS, SPARE = ATTENTION_SPARE, MAX_DIM = 512 };

void *attention_allocate(size_t n_bytes)
{
    void *memory = aligned_alloc(64, (n_bytes + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0xff, n_bytes); /* NaN in every dtype */
    return memory;
}

size_t context_block_bytes(const struct context *c)
{
    return baton_kv_head_bytes(c->dtype, c->dim, 0) * (size_t)c->n_heads;
}

static size_t padded_dim(const struct context *c)
{
    return ((size_t)c->dim + 15) / 16 * 16;
}

/* The place of element d of a slot's K or V of a head in a block, counted in elements. */
static size_t place_of(const struct context *c, int head, bool is_key, int d, int slot)
{
    size_t n = padded_dim(c), at = (size_t)d, p = (size_t)slot, dim = (size_t)c->dim;
    if (c->dtype == BATON_KV_Q8) {
        size_t begin = (size_t)head * (2 * n * BLOCK + 64);
        return begin +
               (is_key ? at / 4 * 64 + p * 4 + at % 4 : n * BLOCK + p / 4 * n * 4 + at * 4 + p % 4);
    }
    size_t begin = (size_t)head * (dim + n) * BLOCK;
    return begin + (is_key ? at * BLOCK + p : dim * BLOCK + p * n + at);
}

/* The scale of a slot's K or V of a head. */
static uint16_t *q8_scale(const struct context *c, void *block, int head, bool is_key, int slot)
{
    size_t n = padded_dim(c);
    char *of_head = (char *)block + (size_t)head * (2 * n * BLOCK + 64);
    return (uint16_t *)(void *)(of_head + 2 * n * BLOCK) + (is_key ? 0 : BLOCK) + slot;
}

float context_get(const struct context *c, const void *block, int head, bool is_key, int d,
                  int slot)
{
    size_t at = place_of(c, head, is_key, d, slot);
    if (c->dtype == BATON_KV_F16)
        return baton_f16_to(((const uint16_t *)block)[at]);
    if (c->dtype == BATON_KV_F32)
        return ((const float *)block)[at];
    return (float)((const int8_t *)block)[at] *
           baton_bf16_to(*q8_scale(c, (void *)block, head, is_key, slot));
}

static void put_q8(const struct context *c, void *block, int head, bool is_key, int slot,
                   const float *x)
{
    float most = 0;
    for (int d = 0; d < c->dim; d++)
        most = fmaxf(most, fabsf(x[d]));
    float scale = baton_bf16_to(baton_bf16_from(most / 127));
    for (int d = 0; d < (int)padded_dim(c); d++)
        ((int8_t *)block)[place_of(c, head, is_key, d, slot)] =
            d < c->dim ? (int8_t)lrintf(x[d] / scale) : 0;
    *q8_scale(c, block, head, is_key, slot) = baton_bf16_from(scale);
}

/* x [D] as a slot's K or V. */
static void put(const struct context *c, void *block, int head, bool is_key, int slot,
                const float *x)
{
    if (c->dtype == BATON_KV_Q8) {
        put_q8(c, block, head, is_key, slot, x);
        return;
    }
    for (int d = 0; d < c->dim; d++) {
        size_t at = place_of(c, head, is_key, d, slot);
        if (c->dtype == BATON_KV_F16)
            ((uint16_t *)block)[at] = baton_f16_from(x[d]);
        else
            ((float *)block)[at] = x[d];
    }
}

void context_poison(const struct context *c, int position, int head)
{
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < c->dim; d++) {
            size_t at = place_of(c, head, i == 0, d, position % BLOCK);
            void *block = context_block(c, position);
            if (c->dtype == BATON_KV_Q8)
                *q8_scale(c, block, head, i == 0, position % BLOCK) = baton_bf16_from(NAN);
            else if (c->dtype == BATON_KV_F16)
                ((uint16_t *)block)[at] = baton_f16_from(NAN);
            else
                ((float *)block)[at] = NAN;
        }
}

char *context_block(const struct context *c, int position)
{
    return c->layer + (size_t)c->blocks[position / BLOCK] * context_block_bytes(c);
}

static void place(struct context *c, int position)
{
    size_t row = (size_t)position * (size_t)(c->n_heads * c->dim);
    void *block = context_block(c, position);
    for (int g = 0; g < c->n_heads; g++)
        for (int i = 0; i < 2; i++) {
            float *x = (i ? c->v : c->k) + row + (size_t)(g * c->dim);
            put(c, block, g, i == 0, position % BLOCK, x);
            for (int d = 0; d < c->dim; d++)
                x[d] = context_get(c, block, g, i == 0, d, position % BLOCK);
        }
}

void context_init(struct context *c, enum baton_kv_dtype dtype, int n_heads, int group, int dim,
                  int n_positions)
{
    size_t n = (size_t)n_positions * (size_t)(n_heads * dim);
    *c = (struct context){.dtype = dtype, .n_heads = n_heads, .group = group, .dim = dim};
    c->n_positions = n_positions;
    c->n_blocks = (n_positions + BLOCK - 1) / BLOCK;
    c->k = random_floats(n, 11);
    c->v = random_floats(n, 12);
    c->q = random_floats(n * (size_t)group, 13);
    c->layer = attention_allocate(2 * (size_t)c->n_blocks * context_block_bytes(c));
    c->blocks = calloc((size_t)c->n_blocks, sizeof *c->blocks);
    c->weights = calloc((size_t)n_positions, sizeof *c->weights);
    c->state = attention_allocate((size_t)(n_positions * n_heads * group) *
                                  baton_attend_query_floats(dim) * sizeof *c->state);
    assert_true(c->blocks && c->weights);
    for (int b = 0; b < c->n_blocks; b++)
        c->blocks[b] = 2 * (c->n_blocks - b) - 1; /* backwards, with gaps */
    for (int p = 0; p < n_positions; p++)
        place(c, p);
}

void context_fini(struct context *c)
{
    free(c->k);
    free(c->v);
    free(c->q);
    free(c->layer);
    free(c->blocks);
    free(c->weights);
    free(c->state);
}

static const float scale = 1.5F;

/* Query head h of the row at `position`, in double. */
static void attend_naively(const struct context *c, int position, int h, double *out)
{
    int stride = c->n_heads * c->dim, at = h / c->group * c->dim;
    const float *q = c->q + (size_t)(position * c->n_heads * c->group + h) * (size_t)c->dim;
    double cap = (double)c->score_cap, max = c->sinks ? (double)c->sinks[h] : -INFINITY;
    int first = c->window && position >= c->window ? position - c->window + 1 : 0;
    for (int p = first; p <= position; p++) {
        c->weights[p] = 0;
        for (int d = 0; d < c->dim; d++)
            c->weights[p] += (double)q[d] * c->k[p * stride + at + d] * scale;
        if (cap > 0)
            c->weights[p] = cap * tanh(c->weights[p] / cap);
        max = fmax(max, c->weights[p]);
    }
    double sum = c->sinks ? exp((double)c->sinks[h] - max) : 0;
    for (int p = first; p <= position; p++)
        sum += c->weights[p] = exp(c->weights[p] - max);
    for (int d = 0; d < c->dim; d++) {
        out[d] = 0;
        for (int p = first; p <= position; p++)
            out[d] += c->weights[p] / sum * c->v[p * stride + at + d];
    }
}

/* Rows first..first + n - 1 into out [n][H][D] with some space behind each row. */
void context_run(const struct baton_kernels *kernels, const struct context *c, int first, int n,
                 int first_head, int end_head, float *out)
{
    size_t width = (size_t)(c->n_heads * c->group * c->dim);
    const struct baton_attend job = {.q = c->q + (size_t)first * width,
                                     .out = out,
                                     .q_stride = width,
                                     .out_stride = width + SPARE,
                                     .layer = c->layer,
                                     .blocks = c->blocks,
                                     .dtype = c->dtype,
                                     .n_rows = n,
                                     .first_position = first,
                                     .n_heads = c->n_heads,
                                     .group = c->group,
                                     .head_dim = c->dim,
                                     .scale = scale,
                                     .score_cap = c->score_cap,
                                     .window = c->window,
                                     .sinks = c->sinks,
                                     .state = c->state};
    kernels->attend(&job, first_head, end_head);
}

float *context_make_out(const struct context *c, int n_rows)
{
    return attention_allocate((size_t)n_rows * (size_t)(c->n_heads * c->group * c->dim + SPARE) *
                              sizeof(float));
}

void context_assert_row(const struct context *c, int position, const float *row)
{
    double exact[MAX_DIM], tolerance = 4e-6 * fmax(1, c->dim / 64.0); /* a score's rounding */
    if (c->dtype == BATON_KV_Q8) /* queries and weights have 15 bits */
        tolerance = 3e-4 * fmax(1, sqrt(c->dim / 64.0));
    for (int h = 0; h < c->n_heads * c->group; h++) {
        attend_naively(c, position, h, exact);
        for (int d = 0; d < c->dim; d++)
            assert_true(fabs((double)row[h * c->dim + d] - exact[d]) < tolerance);
    }
    for (int i = 0; i < SPARE; i++)
        assert_true(isnan(row[c->n_heads * c->group * c->dim + i]));
}

/* A row by itself, and head by head, against the same among its neighbours. */
void context_assert_rows_are_independent(const struct baton_kernels *kernels,
                                         const struct context *c, int first, int n, float *together,
                                         float *alone)
{
    size_t width = (size_t)(c->n_heads * c->group * c->dim), row_bytes = width * sizeof *alone;
    context_run(kernels, c, first, n, 0, c->n_heads, together);
    for (int r = 0; r < n; r++) {
        const float *row = together + (size_t)r * (width + SPARE);
        context_run(kernels, c, first + r, 1, 0, c->n_heads, alone);
        assert_memory_equal(alone, row, row_bytes);
        memset(alone, 0, row_bytes);
        for (int head = 0; head < c->n_heads; head++)
            context_run(kernels, c, first + r, 1, head, head + 1, alone);
        assert_memory_equal(alone, row, row_bytes);
    }
}
