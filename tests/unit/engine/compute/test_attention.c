#include "common/base/array.h"
#include "tests/support/kernel_sets.h"
#include "tests/unit/engine/compute/attention_unit.h"
#include "tests/unit/engine/unit.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS, SPARE = ATTENTION_SPARE };

static const int dims[] = {1, 7, 16, 20, 32, 64, 80, 128, 256, 500, 512};

enum { N_DIMS = BATON_N_OF(dims) };

TEST(rows_match_the_naive_sum_at_every_position)
{
    enum { N = 100 };
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int i = 0; i < N_DIMS; i++) {
            struct context c;
            context_init(&c, (enum baton_kv_dtype)dtype, 2, 1, dims[i], N);
            float *out = context_make_out(&c, 1);
            for (int k = 0; (kernels = baton_kernels_at(k)); k++)
                for (int p = 0; p<N; p += dims[i]> 20 ? 1 + p % 3 : 1) {
                    context_run(kernels, &c, p, 1, 0, 2, out);
                    context_assert_row(&c, p, out);
                }
            free(out);
            context_fini(&c);
        }
}

TEST(long_contexts_match_the_naive_sum)
{
    enum { N = 1100 };
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int i = 0; i < N_DIMS; i++) {
            struct context c;
            context_init(&c, (enum baton_kv_dtype)dtype, 1, 1, dims[i], N);
            float *out = context_make_out(&c, 40);
            for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
                context_run(kernels, &c, N - 40, 40, 0, 1, out);
                for (int r = 0; r < 40; r += 13)
                    context_assert_row(&c, N - 40 + r, out + r * (dims[i] + SPARE));
            }
            free(out);
            context_fini(&c);
        }
}

TEST(groups_of_queries_share_their_heads_k_and_v)
{
    enum { N = 75 };
    const int groups[] = {1, 2, 3, 4, 5, 7, 8, 16};
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int g = 0; g < (int)(BATON_N_OF(groups)); g++) {
            struct context c;
            int group = groups[g];
            context_init(&c, (enum baton_kv_dtype)dtype, 3, group, 20, N);
            float *out = context_make_out(&c, N);
            for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
                context_run(kernels, &c, 0, N, 0, 3, out);
                for (int p = 0; p < N; p += 5)
                    context_assert_row(&c, p, out + p * (3 * group * 20 + SPARE));
                context_run(kernels, &c, N - 1, 1, 0, 3, out);
                context_assert_row(&c, N - 1, out);
            }
            free(out);
            context_fini(&c);
        }
}

TEST(a_row_has_the_same_bits_alone_and_among_others)
{
    enum { N = 230 };
    const int layouts[][2] = {{0, 1}, {0, 16}, {3, 7}, {61, 6}, {64, 64}, {100, 130}, {200, 29}};
    const struct baton_kernels *kernels;
    for (int variant = 0; variant < 3 * BATON_N_KV_DTYPES; variant++) {
        struct context c;
        context_init(&c, (enum baton_kv_dtype)(variant / 3), 2, 1 + variant % 3,
                     variant % 2 ? 64 : 23, N);
        float *together = context_make_out(&c, N), *alone = context_make_out(&c, 1);
        for (int k = 0; (kernels = baton_kernels_at(k)); k++)
            for (size_t i = 0; i < BATON_N_OF(layouts); i++)
                context_assert_rows_are_independent(kernels, &c, layouts[i][0], layouts[i][1],
                                                    together, alone);
        free(together);
        free(alone);
        context_fini(&c);
    }
}

/* Not even a NaN in a later position, which is in the same block and the same tile. */
TEST(a_row_sees_nothing_of_later_positions)
{
    enum { N = 90, DIM = 64 };
    const struct baton_kernels *kernels;
    for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
        for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
            struct context c;
            context_init(&c, (enum baton_kv_dtype)dtype, 1, 1, DIM, N);
            float *before = context_make_out(&c, N), *after = context_make_out(&c, N);
            context_run(kernels, &c, 0, N, 0, 1, before);
            for (int poisoned = 70; poisoned < N; poisoned++)
                context_poison(&c, poisoned, 0);
            context_run(kernels, &c, 0, N, 0, 1, after);
            assert_memory_equal(before, after, (size_t)70 * (DIM + SPARE) * sizeof *before);
            assert_true(isnan(after[(N - 1) * (DIM + SPARE)]));
            free(before);
            free(after);
            context_fini(&c);
        }
}

static void assert_same_bits(const char *one, const char *other, enum baton_kv_dtype dtype)
{
    enum { N = 150 };
    struct context c;
    context_init(&c, dtype, 2, 2, 80, N);
    float *a = context_make_out(&c, N), *b = context_make_out(&c, N);
    context_run(baton_kernels_find(one), &c, 0, N, 0, 2, a);
    context_run(baton_kernels_find(other), &c, 0, N, 0, 2, b);
    assert_memory_equal(a, b, (size_t)N * (2 * 2 * 80 + SPARE) * sizeof *a);
    free(a);
    free(b);
    context_fini(&c);
}

TEST(sets_that_compute_alike_give_the_same_bits)
{
    const char *a, *b;
    for (int i = 0; kernel_sets_alike_at(i, &a, &b); i++)
        for (int dtype = 0; dtype < BATON_N_KV_DTYPES; dtype++)
            assert_same_bits(a, b, (enum baton_kv_dtype)dtype);
}

/* Sums over q8 are integers, by tiles as well as by vectors. The portable set rounds a few products
 * of floats apart. */
TEST(q8_gives_the_same_bits_in_every_set_but_the_portable_one)
{
    enum { N = 420, DIM = 128, ROWS = 72 };
    const struct baton_kernels *exact = baton_kernels_find("portable"), *kernels;
    for (int variant = 0; variant < 4; variant++) {
        struct context c;
        context_init(&c, BATON_KV_Q8, 2, 2 + 2 * (variant % 2), DIM, N);
        c.window = variant / 2 ? 100 : 0;
        size_t width = (size_t)(2 * c.group * DIM + SPARE), n = ROWS * width;
        float *wanted = context_make_out(&c, ROWS), *near = context_make_out(&c, ROWS),
              *out = context_make_out(&c, ROWS);
        context_run(exact, &c, N - ROWS, ROWS, 0, 2, near);
        context_run(baton_kernels_at(0), &c, N - ROWS, ROWS, 0, 2, wanted);
        for (size_t i = 0; i < n; i++)
            assert_true(i % width >= width - SPARE || fabsf(wanted[i] - near[i]) < 4e-5F);
        for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
            context_run(kernels, &c, N - ROWS, ROWS, 0, 2, out);
            assert_true(kernels->attend == exact->attend || !memcmp(out, wanted, n * sizeof *out));
        }
        free(wanted);
        free(near);
        free(out);
        context_fini(&c);
    }
}
