#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "engine/kernels/kernels.h"
#include "engine/kv/pool.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

/* ---- the sampler's ---- */

static const size_t row_sizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 300, 1000};

enum { N_ROW_SIZES = BATON_N_OF(row_sizes), MAX_ROW = 1000, VECTOR = 16 };

TEST(weights_are_accurate_and_end_in_zero)
{
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
        float y[5];
        const float ends[] = {-INFINITY, -200, 3, NAN, -3.4e38F};
        assert_true(kernels->weigh(y, ends, 3, 1, 5) == 1);
        assert_true(y[0] == 0 && y[1] == 0 && y[2] == 1 && y[3] == 0 && y[4] == 0);
        assert_true(kernels->weigh(y, ends, 3, 3.4e38F, 5) == 1);
        for (float x = -87; x <= 1; x += 0.00731F) {
            float moved = x;
            double sum = kernels->weigh(y, &moved, 1, 0.5F, 1), exact = exp((moved - 1.0F) * 0.5);
            assert_true(fabs((double)y[0] - exact) <= 2e-7 * exact && sum == y[0]);
        }
    }
}

TEST(weights_sum_up_over_any_length)
{
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int i = 0; i < N_ROW_SIZES; i++) {
            size_t n = row_sizes[i];
            float *x = random_floats(n, 21), *y = random_floats(n + 1, 22), after = y[n];
            double sum = kernels->weigh(y, x, 1, 3, n), exact = 0;
            for (size_t p = 0; p < n; p++)
                exact += (double)y[p];
            assert_true(fabs(sum - exact) <= 1e-14 * exact && y[n] == after);
            assert_true(kernels->weigh(x, x, 1, 3, n) == sum); /* in place */
            assert_memory_equal(x, y, n * sizeof *x);
            free(x);
            free(y);
        }
}

static float naive_max(const float *x, size_t first, size_t end, size_t step)
{
    float max = -INFINITY;
    for (size_t i = first; i < end; i += step)
        max = x[i] > max ? x[i] : max;
    return max;
}

TEST(maxima_skip_nan)
{
    enum { GROUP = VECTOR * VECTOR };
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int i = 0; i < N_ROW_SIZES; i++) {
            size_t n = row_sizes[i];
            float *x = random_floats(n, 31), maxima[MAX_ROW];
            for (size_t p = 0; p < n; p += 3)
                x[p] = NAN;
            assert_true(kernels->max(x, n) == naive_max(x, 0, n, 1));
            kernels->maxima(maxima, x, n);
            for (size_t g = 0; g < (n + GROUP - 1) / GROUP * VECTOR; g++) {
                size_t first = g / VECTOR * GROUP, end = first + GROUP < n ? first + GROUP : n;
                assert_true(maxima[g] == naive_max(x, first + g % VECTOR, end, VECTOR));
            }
            free(x);
        }
}

static void assert_keeps(const struct baton_kernels *kernels, size_t n, float least, bool with_ids)
{
    float *x = random_floats(n + VECTOR, 41), y[MAX_ROW + VECTOR];
    uint32_t ids[MAX_ROW + VECTOR], y_ids[MAX_ROW + VECTOR];
    x[n / 2] = NAN;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = 7 * i + 1;
    size_t n_kept = kernels->keep(y, y_ids, x, with_ids ? ids : NULL, least, n), at = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!(x[i] >= least))
            continue;
        assert_true(at < n_kept && y[at] == x[i]);
        assert_int_equal(y_ids[at++], with_ids ? ids[i] : i);
    }
    assert_int_equal(at, n_kept);
    assert_int_equal(kernels->keep(x, ids, x, with_ids ? ids : NULL, least, n), n_kept);
    assert_memory_equal(x, y, n_kept * sizeof *x);
    assert_memory_equal(ids, y_ids, n_kept * sizeof *ids);
    free(x);
}

TEST(keeping_gathers_in_order_even_in_place)
{
    const struct baton_kernels *kernels;
    const float leasts[] = {-INFINITY, -1, -0.5F, 0, 0.9F, 2};
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int i = 0; i < N_ROW_SIZES * 6; i++) {
            assert_keeps(kernels, row_sizes[i / 6], leasts[i % 6], false);
            assert_keeps(kernels, row_sizes[i / 6], leasts[i % 6], true);
        }
}

/* ---- which sets there are ---- */

#if defined(__aarch64__)
TEST(the_sets_match_the_cpus_features)
{
    bool has_dotprod = getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
    bool has_i8mm = has_dotprod && getauxval(AT_HWCAP2) & HWCAP2_I8MM;
    assert_true(!baton_kernels_find("dotprod") == !has_dotprod);
    assert_true(!baton_kernels_find("i8mm") == !has_i8mm);
    assert_non_null(baton_kernels_find("neon"));
    assert_non_null(baton_kernels_find("portable"));
    assert_null(baton_kernels_find("avx2"));
    assert_string_equal(baton_kernels_best()->name, has_i8mm      ? "i8mm"
                                                    : has_dotprod ? "dotprod"
                                                                  : "neon");
}
#else
TEST(the_sets_match_the_cpus_features)
{
    assert_null(baton_kernels_find("neon"));
    assert_non_null(baton_kernels_find("portable"));
}
#endif
