/* q8 weights times bytes of x, by the instructions of each set; part of a set (set.h). All sets
 * give the same sums, which are exact.
 *
 *     q8_sum     one register of sums, one output a lane
 *     q8_words   one register of weights, four inputs a lane, in the form that add_q8 multiplies
 *     start_q8   the sum before the first product
 *     ready_q8   q8_words from bytes with 128 added
 *     load_q8    q8_words from memory, which holds such bytes
 *     add_q8     sum + weights * x, where x is four bytes that are the same for all lanes
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_DOT_Q8_H
#define BATON_ENGINE_KERNELS_LINEAR_DOT_Q8_H

#include "engine/kernels/linear/quantize.h"

#if defined(__AVX512VNNI__)
typedef ireg q8_sum;
struct q8_words {
    __m512i bytes;
};

/* VPDPBUSD multiplies unsigned by signed bytes: weights keep their 128, and the sum starts with the
 * row's offset, which is -128 times the sum of x. */
INLINE q8_sum start_q8(int32_t offset)
{
    return (q8_sum){0} + offset;
}

INLINE struct q8_words ready_q8(reg bytes)
{
    return (struct q8_words){(__m512i)bytes};
}

INLINE q8_sum add_q8(q8_sum sum, struct q8_words words, const char *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return (q8_sum)_mm512_dpbusd_epi32((__m512i)sum, words.bytes, _mm512_set1_epi32(four));
}
#elif defined(__AVX512BW__)
typedef ireg q8_sum;
struct q8_words {
    __m512i magnitudes;
    __mmask64 negative;
};

INLINE struct q8_words ready_q8(reg bytes)
{
    __m512i signed_bytes = _mm512_xor_si512((__m512i)bytes, _mm512_set1_epi8(-128));
    return (struct q8_words){_mm512_abs_epi8(signed_bytes), _mm512_movepi8_mask(signed_bytes)};
}

/* The weights' signs move to x, because VPMADDUBSW multiplies unsigned by signed bytes. No pair of
 * products exceeds 2 * 127 * 127, so it does not saturate. */
INLINE q8_sum add_q8(q8_sum sum, struct q8_words words, const char *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    __m512i in = _mm512_set1_epi32(four);
    in = _mm512_mask_sub_epi8(in, words.negative, _mm512_setzero_si512(), in);
    __m512i pairs = _mm512_maddubs_epi16(words.magnitudes, in);
    return sum + (q8_sum)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}
#elif defined(__AVX2__)
typedef ireg q8_sum;
struct q8_words {
    __m256i bytes, magnitudes;
};

INLINE struct q8_words ready_q8(reg bytes)
{
    __m256i signed_bytes = _mm256_xor_si256((__m256i)bytes, _mm256_set1_epi8(-128));
    return (struct q8_words){signed_bytes, _mm256_abs_epi8(signed_bytes)};
}

/* As above. */
INLINE q8_sum add_q8(q8_sum sum, struct q8_words words, const char *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    __m256i in = _mm256_sign_epi8(_mm256_set1_epi32(four), words.bytes);
    __m256i pairs = _mm256_maddubs_epi16(words.magnitudes, in);
    return sum + (q8_sum)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#elif defined(USES_NEON)
typedef ireg q8_sum;
struct q8_words {
    int8x16_t bytes;
};

INLINE struct q8_words ready_q8(reg bytes)
{
    return (struct q8_words){veorq_s8((int8x16_t)bytes, vdupq_n_s8(-128))};
}

/* Without SDOT, pairs of products are added in 16 bits, which hold them: at most 2 * 128 * 127. */
INLINE q8_sum add_q8(q8_sum sum, struct q8_words words, const char *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    int8x16_t in = vreinterpretq_s8_s32(vdupq_n_s32(four));
#if defined(__ARM_FEATURE_DOTPROD)
    return (q8_sum)vdotq_s32((int32x4_t)sum, words.bytes, in);
#else
    int16x8_t low = vmull_s8(vget_low_s8(words.bytes), vget_low_s8(in));
    int16x8_t high = vmull_high_s8(words.bytes, in);
    return (q8_sum)vpadalq_s16((int32x4_t)sum, vpaddq_s16(low, high));
#endif
}
#else
/* A float holds a group's sum exactly, because that stays below 2^24. */
typedef reg q8_sum;
struct q8_words {
    reg weights[4];
};

INLINE struct q8_words ready_q8(reg bytes)
{
    struct q8_words words;
    for (int i = 0; i < 4; i++)
        words.weights[i] = __builtin_convertvector(((ireg)bytes >> 8 * i & 255) - 128, reg);
    return words;
}

INLINE q8_sum add_q8(q8_sum sum, struct q8_words words, const char *x)
{
    for (int i = 0; i < 4; i++)
        sum += words.weights[i] * (float)((const int8_t *)x)[i];
    return sum;
}
#endif

INLINE struct q8_words load_q8(const void *words)
{
    return ready_q8(load_reg(words));
}

#if !defined(__AVX512VNNI__)
INLINE q8_sum start_q8(int32_t offset)
{
    (void)offset;
    return (q8_sum){0};
}
#endif

#endif
