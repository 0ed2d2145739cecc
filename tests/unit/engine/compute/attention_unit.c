#include "tests/unit/engine/compute/attention_unit.h"

#include "tests/unit/engine/unit.h"

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
    return baton_kv_head_elements(c->dim) * (size_t)c->n_heads * baton_kv_element_bytes(c->dtype);
}

/* Element `index` of a head's share of a block. */
void context_put(const struct context *c, void *block, int head, size_t index, float value)
{
    size_t at = (size_t)head * baton_kv_head_elements(c->dim) + index;
    if (c->dtype == BATON_KV_F16)
        ((uint16_t *)block)[at] = baton_f16_from(value);
    else
        ((float *)block)[at] = value;
}

float context_get(const struct context *c, const void *block, int head, size_t index)
{
    size_t at = (size_t)head * baton_kv_head_elements(c->dim) + index;
    return c->dtype == BATON_KV_F16 ? baton_f16_to(((const uint16_t *)block)[at])
                                    : ((const float *)block)[at];
}

size_t context_key_index(int d, int slot)
{
    return (size_t)d * BLOCK + (size_t)slot;
}

size_t context_value_index(const struct context *c, int d, int slot)
{
    return (size_t)c->dim * BLOCK + (size_t)slot * ((size_t)(c->dim + 15) / 16 * 16) + (size_t)d;
}

char *context_block(const struct context *c, int position)
{
    return c->layer + (size_t)c->blocks[position / BLOCK] * context_block_bytes(c);
}

static float as_stored(const struct context *c, float value)
{
    return c->dtype == BATON_KV_F16 ? baton_f16_to(baton_f16_from(value)) : value;
}

static void place(struct context *c, int position)
{
    size_t row = (size_t)position * (size_t)(c->n_heads * c->dim);
    for (int g = 0; g < c->n_heads; g++)
        for (int d = 0; d < c->dim; d++) {
            float *k = &c->k[row + (size_t)(g * c->dim + d)];
            float *v = &c->v[row + (size_t)(g * c->dim + d)];
            *k = as_stored(c, *k);
            *v = as_stored(c, *v);
            context_put(c, context_block(c, position), g, context_key_index(d, position % BLOCK),
                        *k);
            context_put(c, context_block(c, position), g,
                        context_value_index(c, d, position % BLOCK), *v);
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
