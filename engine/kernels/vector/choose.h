/* The sampler's operations on a row of logits. Part of sets/vectors.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_CHOOSE_H
#define BATON_ENGINE_KERNELS_VECTOR_CHOOSE_H

#include "engine/kernels/vector/vectors.h"

/* The greater of a and b; b if a is NaN. */
INLINE vec max_vec(vec a, vec b)
{
    return blend(a > b, a, b);
}

/* The first n lanes; the others are -infinity. */
INLINE vec load_part_or_least(const float *p, int n)
{
    return blend(lane_numbers() < (float)n, load_part(p, n), splat(-INFINITY));
}

static float max_of(const float *x, size_t n)
{
    vec a = splat(-INFINITY), b = a, c = a, d = a;
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        a = max_vec(load(x + i), a);
        b = max_vec(load(x + i + LANES), b);
        c = max_vec(load(x + i + 2 * LANES), c);
        d = max_vec(load(x + i + 3 * LANES), d);
    }
    for (; i + LANES <= n; i += LANES)
        a = max_vec(load(x + i), a);
    b = max_vec(load_part_or_least(x + i, (int)(n - i)), b);
    return max_lanes(max_vec(max_vec(a, b), max_vec(c, d)));
}

static void maxima(float *y, const float *x, size_t n)
{
    enum { GROUP = LANES * LANES };
    for (size_t first = 0; first < n; first += GROUP, y += LANES) {
        vec most = splat(-INFINITY);
        size_t i = first, end = n - first < GROUP ? n : first + GROUP;
        for (; i + LANES <= end; i += LANES)
            most = max_vec(load(x + i), most);
        if (i < end)
            most = max_vec(load_part_or_least(x + i, (int)(end - i)), most);
        store(y, most);
    }
}

INLINE vec weigh_vec(vec x, float most, float scale)
{
    const float least = -88;
    vec exponent = (x - most) * scale;
    return exp_within(blend(exponent > least, exponent, splat(least)));
}

typedef double dvec __attribute__((vector_size(64)));

INLINE dvec widen(half v)
{
#if defined(__AVX512F__)
    return (dvec)_mm512_cvtps_pd((__m256)v); /* GCC 12 makes seven instructions of the other */
#else
    return __builtin_convertvector(v, dvec);
#endif
}

INLINE dvec add_widened(dvec sum, vec v)
{
    union {
        vec whole;
        half part[2];
    } a = {v};
    return sum + (widen(a.part[0]) + widen(a.part[1]));
}

static double weigh(float *y, const float *x, float most, float scale, size_t n)
{
    dvec sum = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec weights = weigh_vec(load(x + i), most, scale);
        store(y + i, weights);
        sum = add_widened(sum, weights);
    }
    if (i < n) {
        int rest = (int)(n - i);
        vec weights = weigh_vec(load_part(x + i, rest), most, scale);
        store_part(y + i, weights, rest);
        sum = add_widened(sum, blend(lane_numbers() < (float)rest, weights, splat(0)));
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* Bit i is set if lane i of the mask is. */
INLINE unsigned bits_of(ivec mask)
{
#if defined(__AVX512DQ__)
    return _mm512_movepi32_mask((__m512i)mask);
#elif defined(__AVX2__)
    union {
        ivec whole;
        __m256 part[2];
    } a = {mask};
    return (unsigned)_mm256_movemask_ps(a.part[0]) | (unsigned)_mm256_movemask_ps(a.part[1]) << 8;
#elif defined(USES_NEON)
    const uint32x4_t ones = {1, 2, 4, 8};
    union {
        ivec whole;
        uint32x4_t part[REGS];
    } a = {mask};
    unsigned bits = 0;
    for (int i = 0; i < REGS; i++)
        bits |= vaddvq_u32(vandq_u32(a.part[i], ones)) << i * REG_LANES;
    return bits;
#else
    unsigned bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (unsigned)(mask[i] & 1) << i;
    return bits;
#endif
}

/* Stores the lanes whose bits are set one after the other; the rest of the 64 bytes is undefined.
 * VCOMPRESSPS with a memory operand would write the lanes only, but it is slow on Zen 4. */
INLINE void store_lanes(void *to, vec v, unsigned bits)
{
#if defined(__AVX512F__)
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps((__mmask16)bits, (__m512)v));
#else
    float lanes[LANES];
    char *at = to;
    store(lanes, v);
    for (; bits; bits &= bits - 1, at += sizeof lanes[0])
        memcpy(at, &lanes[__builtin_ctz(bits)], sizeof lanes[0]);
#endif
}

static size_t keep(float *y, uint32_t *y_ids, const float *x, const uint32_t *ids, float least,
                   size_t n)
{
    const ivec lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i += LANES) {
        int rest = n - i < LANES ? (int)(n - i) : LANES;
        vec v = rest == LANES ? load(x + i) : load_part(x + i, rest);
        unsigned bits = bits_of(v >= least) & ((1U << rest) - 1);
        if (!bits)
            continue;
        ivec v_ids = lanes + (int32_t)i;
        if (ids)
            memcpy(&v_ids, ids + i, (size_t)rest * sizeof *ids);
        store_lanes(y + n_kept, v, bits);
        store_lanes(y_ids + n_kept, (vec)v_ids, bits);
        n_kept += (size_t)__builtin_popcount(bits);
    }
    return n_kept;
}

#endif
