/* Panels of the native dtypes: 16 outputs' blocks of a GGUF file in another layout, without
 * rounding; a panel's weights are exactly those that baton_blocks_decode gives. Private to the
 * kernels.
 *
 * A panel is steps of 64, 128 or 256 inputs: scales, then for each 64 inputs a unit of codes. A
 * unit is one or two planes of bits, and a plane is words of 64 bytes: byte b of output o, at
 * [o][b], is of input 4 n + b of the unit. Where a code has less than 8 bits in a plane, the next
 * words lie above it in the same bytes:
 *
 *     bits    low plane    high plane
 *     8       [16] words
 *     4       [8]
 *     5       [8] of 4     [2] of 1
 *     6       [8] of 4     [4] of 2
 *     2       [4]
 *     3       [4] of 2     [2] of 1
 *     1       [2]
 *
 * Of a format with a grid (grids.h) a unit has, instead, the low bytes of indices in words of four,
 * [o][i]; then, but for IQ1, a bit for each value that is negative, [4 n words][o][b]; then for
 * each output the other bits of its indices, in which every index of IQ1 has a fourth: the sign of
 * what is added to its values.
 *
 *     scales             inputs  of a step, each for 16 outputs                        dtypes
 *     F16                 64     f16 d [2]                                             q8_0, q4_0,
 *                                                                                      q5_0, q2_0,
 *                                                                                      iq4_nl
 *     F16_MIN             64     f16 d [2], min [2]                                    q4_1, q5_1
 *     EXPONENT           128     u8 e [4]                                              mxfp4
 *     FLOAT              128     float d                                               q1_0
 *     E4M3               256     float d, u8 scale [16]                                nvfp4
 *     INTEGER            256     float d, int8 scale [256 / group]                     q3_k, q6_k,
 *                                                                                      iq4_xs
 *     INTEGER_MIN        256     f16 d, f16 min, u8 scale [8], u8 min [8]              q4_k, q5_k
 *     NIBBLES            256     f16 d, f16 min, u8 scale | min << 4 [16]              q2_k
 *     ODD                256     float d, u8 s | the next s << 4 [128 / group]         iq1 to iq3,
 *                                where a scale is 2 s + 1                              tq
 *
 * Inputs past a row's end have a scale of 0.
 *
 * Ownership: nothing; arguments are borrowed for the call.
 * Threading: pure functions; different panels may be written by different threads.
 * Errors:    none; shapes are the caller's promise.
 */
#ifndef BATON_ENGINE_KERNELS_PACK_NATIVE_PANELS_H
#define BATON_ENGINE_KERNELS_PACK_NATIVE_PANELS_H

#include <math.h>

#include "common/base/f16.h"
#include "engine/checkpoint/weights/blocks.h"

enum baton_native_scales {
    BATON_SCALES_F16,
    BATON_SCALES_F16_MIN,
    BATON_SCALES_EXPONENT,
    BATON_SCALES_FLOAT,
    BATON_SCALES_E4M3,
    BATON_SCALES_INTEGER,
    BATON_SCALES_INTEGER_MIN,
    BATON_SCALES_NIBBLES,
    BATON_SCALES_ODD
};

enum {
    BATON_NATIVE_UNIT = 64,   /* inputs */
    BATON_NATIVE_STEP = 256,  /* most inputs of a step */
    BATON_NATIVE_WORD = 64,   /* bytes: of 4 inputs and 16 outputs */
    BATON_NATIVE_N_WORDS = 16 /* of a unit whose codes are bytes */
};

/* A native dtype. Kernels are compiled with constants of it, so that loops over its bits unroll. */
struct baton_native {
    enum baton_block_type type;
    enum baton_native_scales scales;
    int n_bits, group; /* of a code; inputs that share a scale */
    int zero;          /* the code of value 0, without levels */
    bool has_levels;
    bool has_min;
    bool has_spans; /* sums of four groups are scaled together: native/linear.h */
};

enum { BATON_NATIVE_SPAN_GROUPS = 4 };

/* Classes of formats. Products sum up the formats of a class alike: those agree in the inputs of a
 * group or a span, and in whether they have mins.
 *
 * name, NAME, scales, bits, group, zero, has levels */
#define BATON_NATIVE_16(X)                                                                         \
    X(q3_k, Q3_K, INTEGER, 3, 16, 4, false)                                                        \
    X(q6_k, Q6_K, INTEGER, 6, 16, 32, false)                                                       \
    X(iq2_xs, IQ2_XS, ODD, 8, 16, 128, false)                                                      \
    X(iq2_s, IQ2_S, ODD, 8, 16, 128, false)                                                        \
    X(iq1_m, IQ1_M, ODD, 8, 16, 128, false)
#define BATON_NATIVE_16_ALONE(X) X(nvfp4, NVFP4, E4M3, 4, 16, 0, true)
#define BATON_NATIVE_16_MIN(X)   X(q2_k, Q2_K, NIBBLES, 2, 16, 0, false)
#define BATON_NATIVE_32(X)                                                                         \
    X(q8_0, Q8_0, F16, 8, 32, 128, false)                                                          \
    X(q4_0, Q4_0, F16, 4, 32, 8, false)                                                            \
    X(q5_0, Q5_0, F16, 5, 32, 16, false)                                                           \
    X(iq4_nl, IQ4_NL, F16, 4, 32, 0, true)                                                         \
    X(iq4_xs, IQ4_XS, INTEGER, 4, 32, 0, true)                                                     \
    X(mxfp4, MXFP4, EXPONENT, 4, 32, 0, true)                                                      \
    X(q2_0, Q2_0, F16, 2, 32, 1, false)                                                            \
    X(q1_0, Q1_0, FLOAT, 1, 32, 0, true)
#define BATON_NATIVE_32_MIN(X)                                                                     \
    X(q4_1, Q4_1, F16_MIN, 4, 32, 0, false)                                                        \
    X(q5_1, Q5_1, F16_MIN, 5, 32, 0, false)
#define BATON_NATIVE_128(X)                                                                        \
    X(tq1_0, TQ1_0, ODD, 2, 32, 1, false)                                                          \
    X(tq2_0, TQ2_0, ODD, 2, 32, 1, false)                                                          \
    X(iq3_xxs, IQ3_XXS, ODD, 8, 32, 128, false)                                                    \
    X(iq3_s, IQ3_S, ODD, 8, 32, 128, false)                                                        \
    X(iq2_xxs, IQ2_XXS, ODD, 8, 32, 128, false)                                                    \
    X(iq1_s, IQ1_S, ODD, 8, 32, 128, false)
#define BATON_NATIVE_128_MIN(X)                                                                    \
    X(q4_k, Q4_K, INTEGER_MIN, 4, 32, 0, false)                                                    \
    X(q5_k, Q5_K, INTEGER_MIN, 5, 32, 0, false)
#define BATON_NATIVE_DTYPES(X)                                                                     \
    BATON_NATIVE_16(X)                                                                             \
    BATON_NATIVE_16_MIN(X)                                                                         \
    BATON_NATIVE_16_ALONE(X)                                                                       \
    BATON_NATIVE_32(X) BATON_NATIVE_32_MIN(X) BATON_NATIVE_128(X) BATON_NATIVE_128_MIN(X)

#define BATON_NATIVE(NAME, form, bits, n_group, zero_code, levels)                                 \
    {                                                                                              \
        .type = BATON_BLOCK_##NAME, .scales = BATON_SCALES_##form, .n_bits = bits,                 \
        .group = n_group, .zero = zero_code, .has_levels = levels,                                 \
        .has_min = BATON_SCALES_##form == BATON_SCALES_F16_MIN ||                                  \
                   BATON_SCALES_##form == BATON_SCALES_INTEGER_MIN ||                              \
                   BATON_SCALES_##form == BATON_SCALES_NIBBLES,                                    \
        .has_spans = BATON_SCALES_##form >= BATON_SCALES_INTEGER && !(levels)                      \
    }

/* Offsets in a step, in bytes. In INTEGER_MIN the mins follow the scales. */
enum {
    BATON_F16_MINS_AT = 64,
    BATON_INTEGER_MIN_AT = 32, /* f16 min */
    BATON_INTEGER_SCALES_AT = 64,
    BATON_INTEGER_MINS_AT = 64 + 8 * 16
};

/* Like baton_f16_from, but infinities stay, because a file may hold them. */
static inline uint16_t baton_native_f16(float number)
{
    if (isinf(number))
        return number < 0 ? 0xfc00 : 0x7c00;
    return baton_f16_from(number);
}

/* Inputs of a step, and bytes of its scales; constant expressions. */
#define BATON_NATIVE_STEP_OF(form)                                                                 \
    ((form) < BATON_SCALES_EXPONENT ? 64 : (form) <= BATON_SCALES_FLOAT ? 128 : BATON_NATIVE_STEP)
#define BATON_NATIVE_HEAD_OF(form, group)                                                          \
    ((form) == BATON_SCALES_F16 || (form) == BATON_SCALES_EXPONENT || (form) == BATON_SCALES_FLOAT \
         ? 64                                                                                      \
     : (form) == BATON_SCALES_ODD     ? 64 + BATON_NATIVE_STEP / (group)*8                         \
     : (form) == BATON_SCALES_F16_MIN ? 128                                                        \
     : (form) == BATON_SCALES_INTEGER ? 64 + BATON_NATIVE_STEP / (group)*16                        \
                                      : 64 + BATON_NATIVE_STEP)

/* Units of a span. */
static inline int baton_native_span_units(const struct baton_native *native)
{
    return BATON_NATIVE_SPAN_GROUPS * native->group / BATON_NATIVE_UNIT;
}

static inline int baton_native_step(const struct baton_native *native)
{
    return BATON_NATIVE_STEP_OF(native->scales);
}

static inline int baton_native_head_bytes(const struct baton_native *native)
{
    return BATON_NATIVE_HEAD_OF(native->scales, native->group);
}

/* Of a format with a grid: points of a unit, the bits of a point that are not in its byte, and
 * where signs and these bits begin. */
static inline int baton_native_points(const struct baton_native *native)
{
    return BATON_NATIVE_UNIT / baton_grid_values(baton_block_grid(native->type));
}

static inline int baton_native_point_bits(const struct baton_native *native)
{
    switch (baton_block_grid(native->type)) {
    case BATON_GRID_IQ3_S:
    case BATON_GRID_IQ2_XS:
        return 1;
    case BATON_GRID_IQ2_S:
        return 2;
    case BATON_GRID_IQ1:
        return 4;
    default:
        return 0;
    }
}

static inline int baton_native_signs_at(const struct baton_native *native)
{
    return baton_native_points(native) * 16;
}

static inline int baton_native_point_bits_at(const struct baton_native *native)
{
    const bool has_signs = baton_block_grid(native->type) != BATON_GRID_IQ1;
    return baton_native_signs_at(native) + (has_signs ? BATON_NATIVE_UNIT * 16 / 8 : 0);
}

/* Bytes of an output's bits. */
static inline int baton_native_point_bytes(const struct baton_native *native)
{
    return baton_native_points(native) * baton_native_point_bits(native) / 8;
}

static inline int baton_native_unit_bytes(const struct baton_native *native)
{
    if (baton_block_has_grid(native->type))
        return baton_native_point_bits_at(native) + baton_native_point_bytes(native) * 16;
    return BATON_NATIVE_UNIT * 16 / 8 * native->n_bits;
}

static inline int baton_native_step_bytes(const struct baton_native *native)
{
    return baton_native_head_bytes(native) +
           baton_native_step(native) / BATON_NATIVE_UNIT * baton_native_unit_bytes(native);
}

/* A unit's share of its step, scales included. */
static inline int baton_native_unit_share(const struct baton_native *native)
{
    return baton_native_step_bytes(native) * BATON_NATIVE_UNIT / baton_native_step(native);
}

/* Bits of a code in the low plane, which comes first; the others are in the high one. */
static inline int baton_native_low_bits(const struct baton_native *native)
{
    return native->n_bits == 8 ? 8 : native->n_bits >= 4 ? 4 : native->n_bits >= 2 ? 2 : 1;
}

static inline int baton_native_low_bytes(const struct baton_native *native)
{
    return BATON_NATIVE_UNIT * 16 / 8 * baton_native_low_bits(native);
}

/* Packs a panel from rows of blocks: that of output o begins at rows[o]; NULL: zeros. */
void baton_native_write(const struct baton_native *native, void *panel,
                        const uint8_t *const rows[16], size_t n_in);

/* The bytes that codes or points stand for, plus 128 so that they are unsigned: the levels of a
 * dtype that has them, which levels takes, or its grid, which begins with them. */
const uint8_t *baton_native_levels(const struct baton_native *native, uint8_t levels[16]);

/* One output's weights as float [n_in]. */
void baton_native_read(const struct baton_native *native, const void *panel, size_t out, float *row,
                       size_t n_in);

#endif
