#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include "engine/kernels/kernels.h"
#include "engine/kernels/vector/rope_angles.h"

enum { HEADS = 3, POSITION = 1234 };

/* Heads of dim elements, whose first n_rotated turn; against the formula in double. */
static void check_heads(const struct baton_kernels *kernels, size_t dim, size_t n_rotated)
{
    size_t n = HEADS * dim, n_pairs = n_rotated / 2;
    float *x = random_floats(n + 1, 3), *before = random_floats(n + 1, 3);
    float *cosines = random_floats(n_pairs + 1, 0), *sines = random_floats(n_pairs + 1, 0);
    for (size_t i = 0; i < n_pairs; i++) {
        double angle = POSITION * pow(10000, -2.0 * (double)i / (double)n_rotated);
        cosines[i] = (float)cos(angle);
        sines[i] = (float)sin(angle);
    }
    kernels->rope(x, cosines, sines, HEADS, (int)dim, (int)n_rotated);
    for (size_t at = 0; at < n; at++) {
        size_t d = at % dim, pair = d % (n_pairs ? n_pairs : 1);
        double exact = before[at];
        if (d < n_pairs)
            exact = exact * cosines[pair] - (double)before[at + n_pairs] * sines[pair];
        else if (d < 2 * n_pairs)
            exact = exact * cosines[pair] + (double)before[at - n_pairs] * sines[pair];
        assert_true(fabs((double)x[at] - exact) < 3e-7);
    }
    assert_true(x[n] == before[n]);
    free(x);
    free(before);
    free(cosines);
    free(sines);
}

TEST(the_first_elements_of_every_head_turn_and_the_others_stay)
{
    const size_t sizes[][2] = {{2, 2},   {6, 4},   {16, 16}, {20, 10},  {32, 32},   {64, 64},
                               {80, 32}, {80, 80}, {96, 72}, {128, 96}, {128, 128}, {256, 256}};
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (size_t i = 0; i < BATON_N_OF(sizes); i++)
            check_heads(kernels, sizes[i][0], sizes[i][1]);
}

TEST(angles_are_those_of_the_position_times_the_factor)
{
    struct baton_rope_spec rope = {.n_rotated = 6, .attention_factor = 1.25};
    float cosines[3], sines[3];
    for (int i = 0; i < 3; i++)
        rope.inverse[i] = pow(500000, -i / 3.0);
    baton_rope_angles(&rope, 131071, cosines, sines);
    for (int i = 0; i < 3; i++) {
        assert_true(cosines[i] == (float)(1.25 * cos(131071 * rope.inverse[i])));
        assert_true(sines[i] == (float)(1.25 * sin(131071 * rope.inverse[i])));
    }
}
