/* Loads and stores of elements of the KV cache. Part of a set (set.h); dtype is a constant at each
 * call.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_ATTEND_KV_ELEMENT_H
#define BATON_ENGINE_KERNELS_ATTEND_KV_ELEMENT_H

#include "common/base/f16.h"
#include "engine/kernels/vector/vectors.h"

#if defined(__AVX512F__)

INLINE reg load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

INLINE void store_f16(uint16_t *p, reg v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

#elif defined(__F16C__)

INLINE reg load_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE void store_f16(uint16_t *p, reg v)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

#elif defined(USES_NEON)

INLINE reg load_f16(const uint16_t *p)
{
    return (reg)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

INLINE void store_f16(uint16_t *p, reg v)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
}

#else

typedef uint16_t shorts __attribute__((vector_size(REG_BYTES / 2), aligned(2), may_alias));
typedef int32_t ints __attribute__((vector_size(REG_BYTES)));

/* The same as baton_f16_to. */
INLINE reg load_f16(const uint16_t *p)
{
    ints stored = __builtin_convertvector(*(const shorts *)(const void *)p, ints);
    ints special = (stored & 0x7c00) == 0x7c00, sign = (stored & 0x8000) << 16;
    ints bits = (ints)((reg)((stored & 0x7fff) << 13) * 0x1p112F);
    return (reg)(bits | (special & 0x7f800000) | sign);
}

INLINE void store_f16(uint16_t *p, reg v)
{
    for (int i = 0; i < REG_LANES; i++)
        p[i] = baton_f16_from(v[i]);
}

#endif

/* Stores sixteen numbers, rounded as baton_f16_from does it: the instructions would round numbers
 * beyond f16's range to infinity, so these are limited first. */
INLINE void store_halves(uint16_t *p, vec v)
{
    union vec_regs limited = {v};
    limited.whole = blend(v > BATON_F16_MAX, splat(BATON_F16_MAX), limited.whole);
    limited.whole = blend(v < -BATON_F16_MAX, splat(-BATON_F16_MAX), limited.whole);
    for (int i = 0; i < REGS; i++)
        store_f16(p + i * REG_LANES, limited.part[i]);
}

/* A register of elements from the index-th on. */
INLINE reg load_kv(enum baton_kv_dtype dtype, const char *p, size_t index)
{
    if (dtype == BATON_KV_F16)
        return load_f16((const uint16_t *)(const void *)p + index);
    return *(const unaligned_reg *)((const float *)(const void *)p + index);
}

#endif
