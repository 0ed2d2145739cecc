/* Rounding of floats with a common scale to integers. Part of a set (set.h).
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_ROUND_H
#define BATON_ENGINE_KERNELS_VECTOR_ROUND_H

#include "engine/kernels/vector/registers.h"

/* The bits of magnitudes. Compared as integers they order like the numbers, and NaN is the
 * greatest: a NaN among the numbers is not lost, as it would be in a maximum of floats. */
INLINE ireg magnitude_bits(reg v)
{
    return (ireg)v & 0x7fffffff;
}

INLINE ireg max_bits(ireg a, ireg b)
{
#if defined(__AVX512F__)
    return (ireg)_mm512_max_epi32((__m512i)a, (__m512i)b); /* GCC 12 makes three of the other */
#elif defined(USES_NEON)
    return (ireg)vmaxq_s32((int32x4_t)a, (int32x4_t)b);
#else
    ireg greater = a > b;
    return (a & greater) | (b & ~greater);
#endif
}

INLINE float max_lane_of(ireg v)
{
    union {
        ireg whole;
        iquarter part[REG_LANES / 4];
    } lanes = {v};
    iquarter max = lanes.part[0];
    for (int i = 1; i < REG_LANES / 4; i++) {
        iquarter greater = lanes.part[i] > max;
        max = (lanes.part[i] & greater) | (max & ~greater);
    }
    union {
        int32_t bits;
        float value;
    } most = {max[0]};
    for (int i = 1; i < 4; i++)
        most.bits = max[i] > most.bits ? max[i] : most.bits;
    return most.value;
}

/* The greatest magnitude of x [n]; NaN is the greatest. */
INLINE float greatest_magnitude(const float *x, int n)
{
    ireg largest = {0};
    for (int i = 0; i < n; i += LANES) {
        union vec_regs part = {load_up_to(x + i, n - i)};
        for (int j = 0; j < REGS; j++)
            largest = max_bits(magnitude_bits(part.part[j]), largest);
    }
    return max_lane_of(largest);
}

/* x * inverse to the nearest integers, which lie within +-2^22. */
INLINE ureg round_reg(reg x, float inverse)
{
    const float magic = 0x1.8p23F; /* adding it rounds, and leaves the integer in the low bits */
    return (ureg)(x * inverse + magic) - (ureg)splat_reg(magic);
}

/* Stores the lanes as bytes; their values fit. */
INLINE void store_bytes(int8_t *to, ureg v)
{
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8((__m512i)v));
#elif defined(__AVX2__)
    __m128i low = _mm256_castsi256_si128((__m256i)v),
            high = _mm256_extracti128_si256((__m256i)v, 1);
    __m128i words = _mm_packs_epi32(low, high);
    _mm_storel_epi64((__m128i *)(void *)to, _mm_packs_epi16(words, words));
#elif defined(USES_NEON)
    int16x4_t words = vmovn_s32((int32x4_t)v);
    int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
    memcpy(to, &bytes, REG_LANES);
#else
    for (int i = 0; i < REG_LANES; i++)
        to[i] = (int8_t)v[i];
#endif
}

/* Stores the lanes as words; their values fit. */
INLINE void store_words(int16_t *to, ureg v)
{
#if defined(__AVX512F__)
    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtepi32_epi16((__m512i)v));
#elif defined(__AVX2__)
    __m128i low = _mm256_castsi256_si128((__m256i)v),
            high = _mm256_extracti128_si256((__m256i)v, 1);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_packs_epi32(low, high));
#else
    for (int i = 0; i < REG_LANES; i++)
        to[i] = (int16_t)v[i];
#endif
}

INLINE void round_to_bytes(vec x, float inverse, int8_t *to)
{
    union vec_regs part = {x};
    for (int i = 0; i < REGS; i++)
        store_bytes(to + i * REG_LANES, round_reg(part.part[i], inverse));
}

INLINE void round_to_words(vec x, float inverse, int16_t *to)
{
    union vec_regs part = {x};
    for (int i = 0; i < REGS; i++)
        store_words(to + i * REG_LANES, round_reg(part.part[i], inverse));
}

#endif
