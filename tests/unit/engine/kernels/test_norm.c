#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include "engine/kernels/kernels.h"

static const size_t widths[] = {1, 5, 15, 16, 17, 48, 100, 767, 768};

enum { N_WIDTHS = BATON_N_OF(widths), MAX_WIDTH = 768 };

static const float epsilon = 1e-5F;

/* In double; weight or bias NULL: none. */
static void norm_naively(enum baton_norm_kind kind, const float *x, const float *weight,
                         const float *bias, int n, double *y)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < n && kind == BATON_LAYER_NORM; i++)
        mean += (double)x[i] / n;
    for (int i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i] =
            (x[i] - mean) / sqrt(variance + (double)epsilon) * (weight ? (double)weight[i] : 1.0) +
            (bias ? (double)bias[i] : 0);
}

/* One width, with and without weight and bias; added, stored, and stored in place. */
static void check_width(const struct baton_kernels *kernels, enum baton_norm_kind kind,
                        size_t width)
{
    int n = (int)width;
    float *x = random_floats(width, 5), *y = random_floats(width, 8);
    float *weights = random_floats(width, 6), *biases = random_floats(width, 7);
    double exact[MAX_WIDTH];
    for (int parts = 0; parts < 4; parts++) {
        const float *weight = parts & 1 ? weights : NULL, *bias = parts & 2 ? biases : NULL;
        float added[MAX_WIDTH], in_place[MAX_WIDTH];
        memcpy(added, biases, (size_t)n * sizeof *added);
        memcpy(in_place, x, (size_t)n * sizeof *in_place);
        norm_naively(kind, x, weight, bias, n, exact);
        kernels->norm(kind, y, x, weight, bias, n, epsilon);
        kernels->norm(kind, in_place, in_place, weight, bias, n, epsilon);
        kernels->norm_add(kind, added, x, weight, bias, n, epsilon);
        assert_memory_equal(in_place, y, (size_t)n * sizeof *y);
        for (int i = 0; i < n; i++) {
            assert_true(fabs((double)y[i] - exact[i]) < 1e-5);
            assert_true(fabs((double)added[i] - (double)biases[i] - exact[i]) < 1e-5);
        }
    }
    free(x);
    free(y);
    free(weights);
    free(biases);
}

TEST(norms_match_their_formulas_on_odd_widths)
{
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int w = 0; w < N_WIDTHS; w++) {
            check_width(kernels, BATON_LAYER_NORM, widths[w]);
            check_width(kernels, BATON_RMS_NORM, widths[w]);
        }
}

/* Each head is what norm makes of it alone; what follows the heads stays. */
static void check_heads(const struct baton_kernels *kernels, size_t n_heads, size_t dim,
                        size_t weight_stride)
{
    size_t n = n_heads * dim;
    float *x = random_floats(n + 1, 15), *weight = random_floats(n + 1, 16);
    float *before = random_floats(n + 1, 15), *alone = random_floats(dim, 0);
    kernels->norm_heads(BATON_RMS_NORM, x, weight, weight_stride, (int)n_heads, (int)dim, epsilon);
    for (size_t h = 0; h < n_heads; h++) {
        kernels->norm(BATON_RMS_NORM, alone, before + h * dim, weight + h * weight_stride, NULL,
                      (int)dim, epsilon);
        assert_memory_equal(x + h * dim, alone, dim * sizeof *alone);
    }
    assert_true(x[n] == before[n]);
    free(x);
    free(weight);
    free(before);
    free(alone);
}

TEST(heads_are_normalised_one_by_one)
{
    const size_t dims[] = {1, 7, 16, 24, 64, 80, 128, 256};
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (size_t d = 0; d < BATON_N_OF(dims); d++) {
            check_heads(kernels, 3, dims[d], 0);
            check_heads(kernels, 5, dims[d], dims[d]);
        }
}
