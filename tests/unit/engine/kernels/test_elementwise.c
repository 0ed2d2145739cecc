#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include <float.h>

#include "engine/kernels/kernels.h"

static const size_t sizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 257, 1000};

enum { N_SIZES = BATON_N_OF(sizes) };

TEST(caps_follow_tanh_to_the_last_digits)
{
    const float caps[] = {30, 50, 0.5F};
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int c = 0; c < 3; c++) {
            float cap = caps[c];
            for (float x = -300; x < 300; x += 0.377F) {
                float y[2] = {x, x * 1e-4F};
                kernels->cap(y, cap, 2);
                for (int i = 0; i < 2; i++) {
                    double of = i ? (double)(x * 1e-4F) : (double)x;
                    double exact = (double)cap * tanh(of / (double)cap);
                    assert_true(fabs((double)y[i] - exact) <= 4 * FLT_EPSILON * fabs(exact));
                }
            }
        }
}

TEST(caps_keep_infinities_in_and_nan_out)
{
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
        float x[] = {INFINITY, -INFINITY, NAN, 0};
        kernels->cap(x, 30, 4);
        assert_true(x[0] == 30 && x[1] == -30 && isnan(x[2]) && x[3] == 0);
    }
}

TEST(clamped_and_added_vectors_match_at_any_length)
{
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int s = 0; s < N_SIZES; s++) {
            size_t n = sizes[s];
            float *x = random_floats(n + 1, 2), *y = random_floats(n + 1, 4);
            float *clamped = random_floats(n + 1, 2), *sum = random_floats(n + 1, 4);
            kernels->clamp(clamped, 0.25F, n);
            kernels->add_scaled(sum, x, 0.3F, n);
            for (size_t i = 0; i < n; i++) {
                assert_true(clamped[i] == fmaxf(-0.25F, fminf(0.25F, x[i])));
                assert_true(fabs((double)sum[i] - (double)y[i] - (double)0.3F * (double)x[i]) <=
                            FLT_EPSILON);
            }
            assert_true(clamped[n] == x[n] && sum[n] == y[n]);
            free(x);
            free(y);
            free(clamped);
            free(sum);
        }
}
