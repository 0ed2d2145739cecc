/* Attention whose values are a part of its keys, which alone are kept. */
#include "common/base/array.h"
#include "tests/unit/engine/compute/attention_unit.h"
#include "tests/unit/engine/unit.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS, SPARE = ATTENTION_SPARE };

/* Keys, and how much of them is V. */
static const struct shape {
    int dim, n_latent;
} shapes[] = {{576, 512}, {80, 64}, {26, 24}, {33, 16}, {5, 3}, {48, 32}, {17, 1}};

/* One sequence's rows, in blocks that keep K alone and in blocks that keep V beside it. */
struct rows {
    struct shape shape;
    enum baton_kv_dtype dtype;
    int n_heads, n;
    float *k, *v, *q; /* v: the latent, then zeros */
    char *shared, *apart;
    int *blocks;
    float *state, *values;
};

static size_t block_bytes(const struct rows *rows, int n_latent)
{
    return baton_kv_head_bytes(rows->dtype, rows->shape.dim, n_latent);
}

static void store(const struct baton_kernels *kernels, struct rows *rows)
{
    size_t dim = (size_t)rows->shape.dim;
    for (int p = 0; p < rows->n; p++) {
        size_t block = (size_t)rows->blocks[p / BLOCK];
        const float *k = rows->k + (size_t)p * dim, *v = rows->v + (size_t)p * dim;
        kernels->store_kv(rows->dtype, k, NULL, 1, rows->shape.dim, rows->shape.n_latent,
                          rows->shared + block * block_bytes(rows, rows->shape.n_latent),
                          p % BLOCK);
        if (rows->dtype != BATON_KV_Q8)
            kernels->store_kv(rows->dtype, k, v, 1, rows->shape.dim, 0,
                              rows->apart + block * block_bytes(rows, 0), p % BLOCK);
    }
}

static void rows_init(struct rows *rows, enum baton_kv_dtype dtype, struct shape shape, int n_heads,
                      int n)
{
    size_t dim = (size_t)shape.dim;
    int n_blocks = baton_kv_blocks_for(n);
    *rows = (struct rows){.shape = shape, .dtype = dtype, .n_heads = n_heads, .n = n};
    rows->k = random_floats((size_t)n * dim, 21);
    rows->v = random_floats((size_t)n * dim, 21);
    rows->q = random_floats((size_t)n * dim * (size_t)n_heads, 22);
    for (size_t i = 0; i < (size_t)n * dim; i++)
        rows->v[i] = (int)(i % dim) < shape.n_latent ? rows->k[i] : 0;
    rows->shared = attention_allocate((size_t)n_blocks * block_bytes(rows, shape.n_latent));
    rows->apart = attention_allocate((size_t)n_blocks * block_bytes(rows, 0));
    rows->state = attention_allocate((size_t)(n * n_heads) * baton_attend_query_floats(shape.dim) *
                                     sizeof(float));
    rows->values = attention_allocate(baton_attend_value_floats(shape.n_latent) * sizeof(float));
    rows->blocks = calloc((size_t)n_blocks, sizeof *rows->blocks);
    assert_non_null(rows->blocks);
    for (int b = 0; b < n_blocks; b++)
        rows->blocks[b] = n_blocks - 1 - b;
}

static void rows_fini(struct rows *rows)
{
    free(rows->k);
    free(rows->v);
    free(rows->q);
    free(rows->shared);
    free(rows->apart);
    free(rows->blocks);
    free(rows->state);
    free(rows->values);
}

/* Rows first..first + n - 1 of query heads first_head..end_head - 1, in groups of so many. */
static void run(const struct baton_kernels *kernels, const struct rows *rows, int first, int n,
                int group, int n_latent, float *out)
{
    size_t width = (size_t)(rows->n_heads * rows->shape.dim),
           n_out = (size_t)(n_latent ? n_latent : rows->shape.dim);
    const struct baton_attend job = {.q = rows->q + (size_t)first * width,
                                     .out = out,
                                     .q_stride = width,
                                     .out_stride = (size_t)rows->n_heads * n_out + SPARE,
                                     .layer = n_latent ? rows->shared : rows->apart,
                                     .blocks = rows->blocks,
                                     .dtype = rows->dtype,
                                     .n_rows = n,
                                     .first_position = first,
                                     .n_heads = rows->n_heads / group,
                                     .group = group,
                                     .head_dim = rows->shape.dim,
                                     .n_latent = n_latent,
                                     .scale = 1.5F,
                                     .state = rows->state,
                                     .values = rows->values};
    kernels->attend(&job, 0, job.n_heads);
}

static float *make_out(const struct rows *rows, int n)
{
    return attention_allocate((size_t)n * (size_t)(rows->n_heads * rows->shape.dim + SPARE) *
                              sizeof(float));
}

/* A position's value as it is kept, whatever its dtype: attention that sees it alone returns it. */
static double kept(const struct rows *rows, int p, int d)
{
    return (double)rows->k[(size_t)p * (size_t)rows->shape.dim + (size_t)d];
}

static void attend_naively(const struct rows *rows, int p, int h, double *weights, double *out)
{
    size_t dim = (size_t)rows->shape.dim;
    const float *q = rows->q + ((size_t)p * (size_t)rows->n_heads + (size_t)h) * dim;
    double max = -INFINITY, sum = 0;
    for (int i = 0; i <= p; i++) {
        weights[i] = 0;
        for (int d = 0; d < rows->shape.dim; d++)
            weights[i] += 1.5 * (double)q[d] * kept(rows, i, d);
        max = fmax(max, weights[i]);
    }
    for (int i = 0; i <= p; i++)
        sum += weights[i] = exp(weights[i] - max);
    for (int d = 0; d < rows->shape.n_latent; d++) {
        out[d] = 0;
        for (int i = 0; i <= p; i++)
            out[d] += weights[i] / sum * kept(rows, i, d);
    }
}

static const double tolerances[BATON_N_KV_DTYPES] = {2e-5, 2e-2, 0.12};

TEST(results_are_those_of_the_naive_sum)
{
    enum { N = 75, HEADS = 4 };
    const struct baton_kernels *kernels;
    double weights[N], exact[512];
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (size_t i = 0; i < BATON_N_OF(shapes); i++) {
            struct rows rows;
            int n_latent = shapes[i].n_latent;
            if (dtype == BATON_KV_Q8 && n_latent % 16)
                continue;
            rows_init(&rows, (enum baton_kv_dtype)dtype, shapes[i], HEADS, N);
            float *out = make_out(&rows, N);
            for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
                store(kernels, &rows);
                run(kernels, &rows, 0, N, 2, n_latent, out);
                for (int p = 0; p < N; p += 7)
                    for (int h = 0; h < HEADS; h++) {
                        attend_naively(&rows, p, h, weights, exact);
                        const float *row = out + (size_t)p * (size_t)(HEADS * n_latent + SPARE) +
                                           (size_t)(h * n_latent);
                        for (int d = 0; d < n_latent; d++)
                            assert_true(fabs((double)row[d] - exact[d]) < tolerances[dtype]);
                    }
                for (int s = 0; s < SPARE; s++)
                    assert_true(isnan(out[HEADS * n_latent + s]));
            }
            free(out);
            rows_fini(&rows);
        }
}

/* f32 and f16; q8 has another scale for a V of its own. */
TEST(keeping_values_once_changes_no_bit)
{
    enum { N = 150, HEADS = 6 };
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_KV_Q8; dtype++)
        for (size_t i = 0; i < BATON_N_OF(shapes); i++) {
            struct rows rows;
            size_t n_latent = (size_t)shapes[i].n_latent, dim = (size_t)shapes[i].dim;
            rows_init(&rows, (enum baton_kv_dtype)dtype, shapes[i], HEADS, N);
            float *shared = make_out(&rows, N), *apart = make_out(&rows, N);
            for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
                store(kernels, &rows);
                run(kernels, &rows, 0, N, HEADS, (int)n_latent, shared);
                run(kernels, &rows, 0, N, HEADS, 0, apart);
                for (size_t r = 0; r < N; r++)
                    for (size_t h = 0; h < HEADS; h++)
                        assert_memory_equal(shared + r * (HEADS * n_latent + SPARE) + h * n_latent,
                                            apart + r * (HEADS * dim + SPARE) + h * dim,
                                            n_latent * sizeof(float));
            }
            free(shared);
            free(apart);
            rows_fini(&rows);
        }
}

TEST(a_query_has_the_same_bits_alone_and_in_any_group)
{
    enum { N = 90, HEADS = 12, FIRST = 70 };
    const int groups[] = {1, 4, 6, 12};
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++) {
        struct rows rows;
        rows_init(&rows, (enum baton_kv_dtype)dtype, shapes[1], HEADS, N);
        size_t n_latent = (size_t)rows.shape.n_latent, stride = HEADS * n_latent + SPARE;
        float *together = make_out(&rows, N), *alone = make_out(&rows, 1);
        for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
            store(kernels, &rows);
            run(kernels, &rows, FIRST, N - FIRST, 4, (int)n_latent, together);
            for (int r = 0; r < N - FIRST; r++)
                for (size_t g = 0; g < BATON_N_OF(groups); g++) {
                    run(kernels, &rows, FIRST + r, 1, groups[g], (int)n_latent, alone);
                    assert_memory_equal(alone, together + (size_t)r * stride,
                                        HEADS * n_latent * sizeof(float));
                }
        }
        free(together);
        free(alone);
        rows_fini(&rows);
    }
}
