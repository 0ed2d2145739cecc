/* Vectors of 16 floats, which the compiler maps to one, two or four registers. So lanes, and with
 * them the order of every sum, are the same in every set. Part of every set (set.h).
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_VECTORS_H
#define BATON_ENGINE_KERNELS_VECTOR_VECTORS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "engine/kernels/kernels.h"
#include "engine/kernels/set.h"

enum { LANES = 16 };

typedef float vec __attribute__((vector_size(64)));
typedef float half __attribute__((vector_size(32)));
typedef float quarter __attribute__((vector_size(16)));
typedef int32_t ivec __attribute__((vector_size(64)));
typedef float unaligned_vec __attribute__((vector_size(64), aligned(4), may_alias));

/* One machine register. The hottest loop counts in these, because GCC keeps arrays of vectors wider
 * than a register in memory. */
typedef float reg __attribute__((vector_size(REG_BYTES)));
typedef float unaligned_reg __attribute__((vector_size(REG_BYTES), aligned(4), may_alias));
typedef int32_t ireg __attribute__((vector_size(REG_BYTES)));
enum { REG_LANES = REG_BYTES / 4, REGS = LANES / REG_LANES };

/* A vector as its registers. */
union vec_regs {
    vec whole;
    reg part[REGS];
};

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *p)
{
    return *(const unaligned_vec *)p;
}

INLINE void store(float *p, vec v)
{
    *(unaligned_vec *)p = v;
}

/* The first n lanes; the others are 0. */
INLINE vec load_part(const float *p, int n)
{
    vec v = {0};
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}

INLINE void store_part(float *p, vec v, int n)
{
    memcpy(p, &v, (size_t)n * sizeof *p);
}

/* The same for any n: no lanes below 1, all above 15. */
INLINE vec load_up_to(const float *p, int n)
{
    return n >= LANES ? load(p) : load_part(p, n > 0 ? n : 0);
}

INLINE void store_up_to(float *p, vec v, int n)
{
    if (n >= LANES)
        store(p, v);
    else
        store_part(p, v, n);
}

INLINE vec splat(float value)
{
    return value - (vec){0};
}

INLINE vec blend(ivec mask, vec yes, vec no)
{
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

/* A NaN stays a NaN. */
INLINE vec clamp_vec(vec x, float least, float most)
{
    x = blend(x > most, splat(most), x);
    return blend(x < least, splat(least), x);
}

INLINE float sum_lanes(vec v)
{
    union {
        vec whole;
        half part[2];
    } a = {v};
    union {
        half whole;
        quarter part[2];
    } b = {a.part[0] + a.part[1]};
    quarter c = b.part[0] + b.part[1];
    return (c[0] + c[2]) + (c[1] + c[3]);
}

/* The greater of each lane; of a NaN and a number in y, y. */
#define MAX_OF(type, mask_type, x, y)                                                              \
    ((type)((((x) > (y)) & (mask_type)(x)) | (~((x) > (y)) & (mask_type)(y))))

/* No lane may be NaN. */
INLINE float max_lanes(vec v)
{
    typedef int32_t ihalf __attribute__((vector_size(32)));
    typedef int32_t iquarter __attribute__((vector_size(16)));
    union {
        vec whole;
        half part[2];
    } a = {v};
    union {
        half whole;
        quarter part[2];
    } b = {MAX_OF(half, ihalf, a.part[0], a.part[1])};
    quarter c = MAX_OF(quarter, iquarter, b.part[0], b.part[1]);
    float even = c[0] > c[2] ? c[0] : c[2], odd = c[1] > c[3] ? c[1] : c[3];
    return even > odd ? even : odd;
}

INLINE vec lane_numbers(void)
{
    return (vec){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

/* exp by Cephes' expf, -88 <= x <= 88: x = n ln 2 + r, a polynomial in r, n added to the exponent.
 * 0 at -88. */
INLINE reg exp_reg_within(reg x)
{
    const float round_magic = 0x1.8p23F; /* a sum with it has no fraction bits, so it is rounded */
    reg n = (x * 1.44269504088896341F + round_magic) - round_magic;
    reg r = x - n * 0.693359375F;
    r = r - n * -2.12194440e-4F;
    reg p = r * 1.9875691500e-4F + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * (r * r) + r + 1.0F;
    ireg power = (__builtin_convertvector(n, ireg) + 127) << 23;
    return p * (reg)power;
}

/* 0 below EXP_MIN, where results would be subnormal; saturates above EXP_MAX. */
INLINE reg exp_reg(reg x)
{
    const reg exp_min = -87.3F - (reg){0}, exp_max = 88.0F - (reg){0};
    ireg vanishes = x < exp_min;
    ireg is_greater = x > exp_max;
    x = (reg)((vanishes & (ireg)exp_min) | (is_greater & (ireg)exp_max) |
              (~(vanishes | is_greater) & (ireg)x));
    return (reg)(~vanishes & (ireg)exp_reg_within(x));
}

INLINE vec exp_within(vec x)
{
    union vec_regs v = {x};
    for (int i = 0; i < REGS; i++)
        v.part[i] = exp_reg_within(v.part[i]);
    return v.whole;
}

INLINE vec exp_vec(vec x)
{
    union vec_regs v = {x};
    for (int i = 0; i < REGS; i++)
        v.part[i] = exp_reg(v.part[i]);
    return v.whole;
}

/* tanh: an odd polynomial below 0.625 (Cephes' tanhf), so that small numbers keep their digits. */
INLINE vec tanh_vec(vec x)
{
    vec a = blend(x < 0.0F, -x, x), s = x * x;
    vec p = -5.70498872745E-3F * s + 2.06390887954E-2F;
    p = p * s - 5.37397155531E-2F;
    p = p * s + 1.33314422036E-1F;
    p = p * s - 3.33332819422E-1F;
    vec near = p * s * x + x, far = 1.0F - 2.0F / (exp_vec(2.0F * a) + 1.0F);
    return blend(a < 0.625F, near, blend(x < 0.0F, -far, far));
}

/* x / (1 + exp(-slope x)): silu where slope is 1. */
INLINE vec swish(vec x, float slope)
{
    return x / (1.0F + exp_vec(-slope * x));
}

INLINE vec cap_vec(vec x, float cap)
{
    return cap * tanh_vec(x * (1.0F / cap));
}

#endif
