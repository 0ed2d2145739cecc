/* Rows of x as the products with native panels read them (quantized.h): q8's bytes and scales, and
 * sums of parts of a group. Part of sets/vectors.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_NATIVE_QUANTIZE_H
#define BATON_ENGINE_KERNELS_NATIVE_QUANTIZE_H

#include "engine/kernels/linear/quantize.h"

/* x [64], whose greatest magnitude is known, as bytes, and the rest of its group. */
INLINE void quantize_group(const float *x, float most, int8_t *bytes,
                           struct baton_native_row_group *group)
{
    float sums[BATON_Q8_GROUP / HALF_GROUP];
    for (int i = 0; i < BATON_Q8_GROUP / HALF_GROUP; i++) {
        sums[i] =
            (float)(int32_t)store_q8(x + i * HALF_GROUP, most, HALF_GROUP, bytes + i * HALF_GROUP);
        group->halves[i] = BATON_NATIVE_START - 128 * sums[i];
    }
    for (int i = 0; i < 2; i++) {
        float sum = sums[2 * i] + sums[2 * i + 1];
        group->starts[i] = BATON_NATIVE_START - 128 * sum;
        group->minus[i] = -sum;
    }
    group->scale = most * (1.0F / 127);
}

/* The greater of two magnitudes; NaN is greater than any number. */
INLINE float greater_of(float a, float b)
{
    return b > a || b != b ? b : a;
}

/* n_together is the number of neighbouring groups that share a scale, 1 or 2. */
INLINE void quantize_native_row(const float *x, int n_in, int n_together, int8_t *bytes,
                                struct baton_native_row_group *groups)
{
    const int n_groups = (n_in + BATON_Q8_GROUP - 1) / BATON_Q8_GROUP;
    float copy[BATON_Q8_GROUP];
    for (int k = 0; k < n_in; k += BATON_Q8_GROUP)
        groups[k / BATON_Q8_GROUP].scale = most_of(block_at(x, k, n_in, BATON_Q8_GROUP, copy));
    for (int g = 0; n_together == 2 && g + 1 < n_groups; g += 2)
        groups[g].scale = groups[g + 1].scale = greater_of(groups[g].scale, groups[g + 1].scale);
    for (int k = 0; k < n_in; k += BATON_Q8_GROUP) {
        struct baton_native_row_group *group = &groups[k / BATON_Q8_GROUP];
        quantize_group(block_at(x, k, n_in, BATON_Q8_GROUP, copy), group->scale, bytes + k, group);
    }
}

INLINE void quantize_native_rows(const float *x, int n_in, int n_together, int first_row,
                                 int end_row, void *quantized)
{
    const size_t row_bytes = baton_native_row_bytes(n_in);
    const int n_stored = baton_native_row_inputs(n_in);
    static const float zeros[BATON_Q8_GROUP];
    for (size_t row = (size_t)first_row; row < (size_t)end_row; row++) {
        char *bytes = (char *)quantized + row * row_bytes;
        struct baton_native_row_group *groups = (void *)(bytes + n_stored);
        quantize_native_row(x + row * (size_t)n_in, n_in, n_together, (int8_t *)bytes, groups);
        for (int k = baton_packed_n_in(BATON_Q8, n_in); k < n_stored; k += BATON_Q8_GROUP)
            quantize_group(zeros, 0, (int8_t *)bytes + k, &groups[k / BATON_Q8_GROUP]);
    }
}

static void quantize_native(const float *x, int n_in, int first_row, int end_row, void *quantized)
{
    quantize_native_rows(x, n_in, 1, first_row, end_row, quantized);
}

/* For dtypes whose spans have 128 inputs: within a span x must have one scale. */
static void quantize_native_wide(const float *x, int n_in, int first_row, int end_row,
                                 void *quantized)
{
    quantize_native_rows(x, n_in, 2, first_row, end_row, quantized);
}

#define NATIVE_QUANTIZE(form, n_bits, n_group, ...)                                                \
    (BATON_SCALES_##form == BATON_SCALES_INTEGER_MIN ||                                            \
             (BATON_SCALES_##form == BATON_SCALES_ODD && (n_group) != HALF_GROUP)                  \
         ? quantize_native_wide                                                                    \
         : quantize_native)

#endif
