#include "tests/unit/engine/unit.h"

#include "common/engine/kernels/f16.h"
#include "common/engine/kernels/kernels.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS, SPARE = 16, MAX_DIM = 512 };

/* One sequence's K and V of one layer, each position twice: as plain numbers, rounded as they are
 * stored, and in scattered blocks. Slots past the last position hold NaN. */
struct context {
    enum baton_kv_dtype dtype;
    int n_heads, group, dim, n_positions, n_blocks;
    float *k, *v; /* [positions][G][D] */
    char *layer;  /* [2 n_blocks] blocks */
    int *blocks;  /* [n_blocks] */
    float *q;     /* [positions][H][D] */
    float *state;
    double *weights; /* [positions], of the naive sum */
    int window;      /* what init leaves out: 0 */
    float score_cap;
    const float *sinks;
};

static void *allocate(size_t n_bytes)
{
    void *memory = aligned_alloc(64, (n_bytes + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0xff, n_bytes); /* NaN in every dtype */
    return memory;
}

static size_t block_bytes(const struct context *c)
{
    return baton_kv_head_elements(c->dim) * (size_t)c->n_heads * baton_kv_element_bytes(c->dtype);
}

/* Element `index` of a head's share of a block. */
static void put(const struct context *c, void *block, int head, size_t index, float value)
{
    size_t at = (size_t)head * baton_kv_head_elements(c->dim) + index;
    if (c->dtype == BATON_KV_F16)
        ((uint16_t *)block)[at] = baton_f16_from(value);
    else
        ((float *)block)[at] = value;
}

static float get(const struct context *c, const void *block, int head, size_t index)
{
    size_t at = (size_t)head * baton_kv_head_elements(c->dim) + index;
    return c->dtype == BATON_KV_F16 ? baton_f16_to(((const uint16_t *)block)[at])
                                    : ((const float *)block)[at];
}

static size_t key_index(int d, int slot)
{
    return (size_t)d * BLOCK + (size_t)slot;
}

static size_t value_index(const struct context *c, int d, int slot)
{
    return (size_t)c->dim * BLOCK + (size_t)slot * ((size_t)(c->dim + 15) / 16 * 16) + (size_t)d;
}

static char *block_of(const struct context *c, int position)
{
    return c->layer + (size_t)c->blocks[position / BLOCK] * block_bytes(c);
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
            put(c, block_of(c, position), g, key_index(d, position % BLOCK), *k);
            put(c, block_of(c, position), g, value_index(c, d, position % BLOCK), *v);
        }
}

static void init(struct context *c, enum baton_kv_dtype dtype, int n_heads, int group, int dim,
                 int n_positions)
{
    size_t n = (size_t)n_positions * (size_t)(n_heads * dim);
    *c = (struct context){.dtype = dtype, .n_heads = n_heads, .group = group, .dim = dim};
    c->n_positions = n_positions;
    c->n_blocks = (n_positions + BLOCK - 1) / BLOCK;
    c->k = random_floats(n, 11);
    c->v = random_floats(n, 12);
    c->q = random_floats(n * (size_t)group, 13);
    c->layer = allocate(2 * (size_t)c->n_blocks * block_bytes(c));
    c->blocks = calloc((size_t)c->n_blocks, sizeof *c->blocks);
    c->weights = calloc((size_t)n_positions, sizeof *c->weights);
    c->state = allocate((size_t)(n_positions * n_heads * group) * baton_attend_query_floats(dim) *
                        sizeof *c->state);
    assert_true(c->blocks && c->weights);
    for (int b = 0; b < c->n_blocks; b++)
        c->blocks[b] = 2 * (c->n_blocks - b) - 1; /* backwards, with gaps */
    for (int p = 0; p < n_positions; p++)
        place(c, p);
}

static void fini(struct context *c)
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
static void run(const struct baton_kernels *kernels, const struct context *c, int first, int n,
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

static float *make_out(const struct context *c, int n_rows)
{
    return allocate((size_t)n_rows * (size_t)(c->n_heads * c->group * c->dim + SPARE) *
                    sizeof(float));
}

static void assert_row_matches(const struct context *c, int position, const float *row)
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

static const int dims[] = {1, 7, 16, 20, 32, 64, 80, 128, 256, 500};

enum { N_DIMS = sizeof dims / sizeof dims[0] };

TEST(rows_match_the_naive_sum_at_every_position)
{
    enum { N = 100 };
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int i = 0; i < N_DIMS; i++) {
            struct context c;
            init(&c, (enum baton_kv_dtype)dtype, 2, 1, dims[i], N);
            float *out = make_out(&c, 1);
            for (int k = 0; (kernels = baton_kernels_at(k)); k++)
                for (int p = 0; p<N; p += dims[i]> 20 ? 1 + p % 3 : 1) {
                    run(kernels, &c, p, 1, 0, 2, out);
                    assert_row_matches(&c, p, out);
                }
            free(out);
            fini(&c);
        }
}

TEST(long_contexts_match_the_naive_sum)
{
    enum { N = 1100 };
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int i = 0; i < N_DIMS; i++) {
            struct context c;
            init(&c, (enum baton_kv_dtype)dtype, 1, 1, dims[i], N);
            float *out = make_out(&c, 40);
            for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
                run(kernels, &c, N - 40, 40, 0, 1, out);
                for (int r = 0; r < 40; r += 13)
                    assert_row_matches(&c, N - 40 + r, out + r * (dims[i] + SPARE));
            }
            free(out);
            fini(&c);
        }
}

TEST(groups_of_queries_share_their_heads_k_and_v)
{
    enum { N = 75 };
    const int groups[] = {1, 2, 3, 4, 5, 7, 8, 16};
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int g = 0; g < (int)(sizeof groups / sizeof groups[0]); g++) {
            struct context c;
            int group = groups[g];
            init(&c, (enum baton_kv_dtype)dtype, 3, group, 20, N);
            float *out = make_out(&c, N);
            for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
                run(kernels, &c, 0, N, 0, 3, out);
                for (int p = 0; p < N; p += 5)
                    assert_row_matches(&c, p, out + p * (3 * group * 20 + SPARE));
                run(kernels, &c, N - 1, 1, 0, 3, out);
                assert_row_matches(&c, N - 1, out);
            }
            free(out);
            fini(&c);
        }
}

/* A row by itself, and head by head, against the same among its neighbours. */
static void assert_rows_are_independent(const struct baton_kernels *kernels,
                                        const struct context *c, int first, int n, float *together,
                                        float *alone)
{
    size_t width = (size_t)(c->n_heads * c->group * c->dim), row_bytes = width * sizeof *alone;
    run(kernels, c, first, n, 0, c->n_heads, together);
    for (int r = 0; r < n; r++) {
        const float *row = together + (size_t)r * (width + SPARE);
        run(kernels, c, first + r, 1, 0, c->n_heads, alone);
        assert_memory_equal(alone, row, row_bytes);
        memset(alone, 0, row_bytes);
        for (int head = 0; head < c->n_heads; head++)
            run(kernels, c, first + r, 1, head, head + 1, alone);
        assert_memory_equal(alone, row, row_bytes);
    }
}

TEST(a_row_has_the_same_bits_alone_and_among_others)
{
    enum { N = 230 };
    const int layouts[][2] = {{0, 1}, {0, 16}, {3, 7}, {61, 6}, {64, 64}, {100, 130}, {200, 29}};
    const struct baton_kernels *kernels;
    for (int variant = 0; variant < 3 * BATON_N_KV_DTYPES; variant++) {
        struct context c;
        init(&c, (enum baton_kv_dtype)(variant / 3), 2, 1 + variant % 3, variant % 2 ? 64 : 23, N);
        float *together = make_out(&c, N), *alone = make_out(&c, 1);
        for (int k = 0; (kernels = baton_kernels_at(k)); k++)
            for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
                assert_rows_are_independent(kernels, &c, layouts[i][0], layouts[i][1], together,
                                            alone);
        free(together);
        free(alone);
        fini(&c);
    }
}

/* ---- windows, caps, sinks ---- */

static const int windows[] = {1, 2, 5, 16, 33, 64, 65, 100, 500};

enum { N_WINDOWS = sizeof windows / sizeof windows[0] };

static const float sinks[] = {-1, 3, 0.5F, -30, 8, 0};

/* Form i of what scores may go through: a window, a cap, sinks, and all of it together. */
static void set_form(struct context *c, int i)
{
    c->window = windows[i % N_WINDOWS];
    c->score_cap = i / N_WINDOWS & 1 ? 2.0F : 0.0F;
    c->sinks = i / N_WINDOWS & 2 ? sinks : NULL;
}

TEST(windows_caps_and_sinks_match_the_naive_sum)
{
    enum { N = 230, HEADS = 2 };
    const int forms_dims[] = {7, 32, 64, 96, 256};
    const struct baton_kernels *kernels;
    for (int i = 0; i < 4 * N_WINDOWS; i++) {
        struct context c;
        init(&c, (enum baton_kv_dtype)(i % BATON_N_KV_DTYPES), HEADS, 1 + i % 3, forms_dims[i % 5],
             N);
        size_t stride = (size_t)(HEADS * c.group * c.dim + SPARE);
        float *out = make_out(&c, N);
        set_form(&c, i);
        for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
            run(kernels, &c, 3, N - 3, 0, HEADS, out);
            for (int p = 3; p < N; p += 1 + p % 7)
                assert_row_matches(&c, p, out + (size_t)(p - 3) * stride);
        }
        free(out);
        fini(&c);
    }
}

TEST(a_row_of_any_form_has_the_same_bits_alone_and_among_others)
{
    enum { N = 230 };
    const int layouts[][2] = {{0, 16}, {3, 70}, {61, 6}, {64, 64}, {100, 130}};
    const struct baton_kernels *kernels;
    for (int i = 0; i < 4 * N_WINDOWS; i++) {
        struct context c;
        init(&c, (enum baton_kv_dtype)(i % BATON_N_KV_DTYPES), 2, 1 + i % 3, i % 2 ? 32 : 23, N);
        float *together = make_out(&c, N), *alone = make_out(&c, 1);
        set_form(&c, i);
        for (int k = 0; (kernels = baton_kernels_at(k)); k++)
            for (size_t l = 0; l < sizeof layouts / sizeof layouts[0]; l++)
                assert_rows_are_independent(kernels, &c, layouts[l][0], layouts[l][1], together,
                                            alone);
        free(together);
        free(alone);
        fini(&c);
    }
}

/* Blocks that were given back lie anywhere, here past all memory. */
TEST(blocks_before_every_window_are_not_read)
{
    enum { N = 230, WINDOW = 50, FIRST = 170 };
    const struct baton_kernels *kernels;
    struct context c;
    init(&c, BATON_KV_F16, 1, 2, 64, N);
    c.window = WINDOW;
    float *out = make_out(&c, N - FIRST);
    for (int b = 0; b < (FIRST - WINDOW + 1) / BLOCK; b++)
        c.blocks[b] = 1 << 30;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
        run(kernels, &c, FIRST, N - FIRST, 0, 1, out);
        assert_row_matches(&c, FIRST, out);
        assert_row_matches(&c, N - 1, out + (N - 1 - FIRST) * (2 * 64 + SPARE));
    }
    free(out);
    fini(&c);
}

/* Not even a NaN in a later position, which is in the same block and the same tile. */
TEST(a_row_sees_nothing_of_later_positions)
{
    enum { N = 90, DIM = 64 };
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
            struct context c;
            init(&c, (enum baton_kv_dtype)dtype, 1, 1, DIM, N);
            float *before = make_out(&c, N), *after = make_out(&c, N);
            run(kernels, &c, 0, N, 0, 1, before);
            for (int poisoned = 70; poisoned < N; poisoned++)
                for (int d = 0; d < DIM; d++) {
                    put(&c, block_of(&c, poisoned), 0, key_index(d, poisoned % BLOCK), NAN);
                    put(&c, block_of(&c, poisoned), 0, value_index(&c, d, poisoned % BLOCK), NAN);
                }
            run(kernels, &c, 0, N, 0, 1, after);
            assert_memory_equal(before, after, (size_t)70 * (DIM + SPARE) * sizeof *before);
            assert_true(isnan(after[(N - 1) * (DIM + SPARE)]));
            free(before);
            free(after);
            fini(&c);
        }
}

TEST(avx2_and_avx512_give_the_same_bits)
{
    enum { N = 150 };
    const struct baton_kernels *narrow = baton_kernels_find("avx2"), *wide;
    const char *const names[] = {"avx512", "avx512vnni"};
    for (int variant = 0; variant < 2 * BATON_N_KV_DTYPES; variant++) {
        struct context c;
        if (!narrow || !(wide = baton_kernels_find(names[variant % 2])))
            continue;
        init(&c, (enum baton_kv_dtype)(variant / 2), 2, 2, 80, N);
        float *a = make_out(&c, N), *b = make_out(&c, N);
        run(narrow, &c, 0, N, 0, 2, a);
        run(wide, &c, 0, N, 0, 2, b);
        assert_memory_equal(a, b, (size_t)N * (2 * 2 * 80 + SPARE) * sizeof *a);
        free(a);
        free(b);
        fini(&c);
    }
}

/* ---- storing ---- */

TEST(stored_rows_are_where_the_block_says_and_nowhere_else)
{
    enum { HEADS = 3 };
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int i = 0; i < N_DIMS; i++)
            for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
                struct context c;
                init(&c, (enum baton_kv_dtype)dtype, HEADS, 1, dims[i], BLOCK);
                size_t n = block_bytes(&c);
                char *block = allocate(n + 64);
                for (int p = 0; p < BLOCK; p++) {
                    size_t row = (size_t)(p * HEADS * dims[i]);
                    kernels->store_kv(c.dtype, c.k + row, c.v + row, HEADS, dims[i], block, p);
                }
                for (int g = 0; g < HEADS; g++)
                    for (int j = 0; j < BLOCK * dims[i]; j++) {
                        int p = j / dims[i], d = j % dims[i], at = (p * HEADS + g) * dims[i] + d;
                        assert_true(get(&c, block, g, key_index(d, p)) == c.k[at]);
                        assert_true(get(&c, block, g, value_index(&c, d, p)) == c.v[at]);
                    }
                for (size_t j = n; j < n + 64; j++)
                    assert_int_equal((uint8_t)block[j], 0xff);
                free(block);
                fini(&c);
            }
}

TEST(every_half_survives_and_others_round_to_nearest_even)
{
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float value = baton_f16_to((uint16_t)h), above = baton_f16_to((uint16_t)(h + 1));
        double middle = ((double)value + above) / 2;
        assert_int_equal(baton_f16_from(value), h);
        assert_int_equal(baton_f16_from(-value), h | 0x8000);
        assert_true(baton_f16_to((uint16_t)(h | 0x8000)) == -value);
        if (h == 0x7bff)
            break;
        assert_true(above > value);
        assert_int_equal(baton_f16_from((float)middle), h + (h & 1));
        assert_int_equal(baton_f16_from(nextafterf((float)middle, 0)), h);
        assert_int_equal(baton_f16_from(nextafterf((float)middle, 1e9F)), h + 1);
    }
    assert_true(baton_f16_to(1) == 0x1p-24F && baton_f16_to(0x3c00) == 1);
    assert_true(isinf(baton_f16_to(0x7c00)) && isnan(baton_f16_to(0x7e01)));
    assert_int_equal(baton_f16_from(1e6F), 0x7bff);
    assert_int_equal(baton_f16_from(-INFINITY), 0xfbff);
    assert_true(isnan(baton_f16_to(baton_f16_from(NAN))));
}

TEST(all_kernels_round_as_the_scalar_functions_do)
{
    const float odd[] = {0,     -0.0F, 1e-8F, 3e-8F,    6.1e-5F,  1.0009766F, 65503, 65519,
                         65520, 1e30F, NAN,   INFINITY, -1e-7F,   -65520,     2049,  -2051,
                         0.1F,  -0.3F, 1e-6F, 5.97e-8F, 2.98e-8F, 1e-40F,     7,     -100.1F};
    enum { DIM = sizeof odd / sizeof odd[0] };
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
        struct context c = {.dtype = BATON_KV_F16, .n_heads = 1, .dim = DIM};
        uint16_t *block = allocate(block_bytes(&c));
        kernels->store_kv(c.dtype, odd, odd, 1, DIM, block, 5);
        for (int d = 0; d < DIM; d++) {
            assert_int_equal(block[key_index(d, 5)], baton_f16_from(odd[d]));
            assert_int_equal(block[value_index(&c, d, 5)], baton_f16_from(odd[d]));
        }
        free(block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_match_the_naive_sum_at_every_position),
        cmocka_unit_test(long_contexts_match_the_naive_sum),
        cmocka_unit_test(groups_of_queries_share_their_heads_k_and_v),
        cmocka_unit_test(a_row_has_the_same_bits_alone_and_among_others),
        cmocka_unit_test(windows_caps_and_sinks_match_the_naive_sum),
        cmocka_unit_test(a_row_of_any_form_has_the_same_bits_alone_and_among_others),
        cmocka_unit_test(blocks_before_every_window_are_not_read),
        cmocka_unit_test(a_row_sees_nothing_of_later_positions),
        cmocka_unit_test(avx2_and_avx512_give_the_same_bits),
        cmocka_unit_test(stored_rows_are_where_the_block_says_and_nowhere_else),
        cmocka_unit_test(every_half_survives_and_others_round_to_nearest_even),
        cmocka_unit_test(all_kernels_round_as_the_scalar_functions_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
