/* Rows of x become what prepared.h says. Part of body.h. */
#ifndef BATON_KERNELS_PREPARE_H
#define BATON_KERNELS_PREPARE_H

#include "common/engine/kernels/prepared.h"
#include "common/engine/kernels/vectors.h"

typedef uint32_t uvec __attribute__((vector_size(64))); /* it wraps around */

/* 16 elements of a row from the k-th on, zeros past its n. */
INLINE vec load_row(const float *x, int k, int n)
{
    return n - k >= LANES ? load(x + k) : n > k ? load_part(x + k, n - k) : splat(0);
}

/* ---- bf16 ---- */

#if defined(__AVX512BF16__)
INLINE void store_bf16(char *row, int k, vec v)
{
    __m256i rounded = (__m256i)_mm512_cvtneps_pbh((__m512)v);
    _mm256_storeu_si256((__m256i *)(void *)(row + (size_t)k * sizeof(uint16_t)), rounded);
}
#else
/* To the nearest of the floats that have nothing in their lower half, ties to even. */
INLINE vec round_bf16(vec v)
{
    uvec bits = (uvec)v, rounded = bits + 0x7fff + (bits >> 16 & 1);
    ivec is_nan = v != v;
    return (vec)((uvec)blend(is_nan, (vec)(bits | 0x400000), (vec)rounded) & 0xffff0000u);
}

INLINE void store_bf16(char *row, int k, vec v)
{
    store((float *)(void *)row + k, round_bf16(v));
}
#endif

static void prepare_bf16(const float *x, int n_in, int first_row, int end_row, char *prepared)
{
    size_t row_bytes = baton_prepared_row_bytes(BATON_BF16, n_in);
    int n_stored = baton_packed_n_in(BATON_BF16, n_in);
    for (size_t row = (size_t)first_row; row < (size_t)end_row; row++)
        for (int k = 0; k < n_stored; k += LANES)
            store_bf16(prepared + row * row_bytes, k, load_row(x + row * (size_t)n_in, k, n_in));
}

/* ---- q8 ---- */

INLINE ivec magnitude_bits(vec v)
{
    return (ivec)v & 0x7fffffff;
}

/* As integers, magnitudes compare like the numbers, and NaN is the greatest. */
INLINE ivec max_bits(ivec a, ivec b)
{
    return (ivec)blend(a > b, (vec)a, (vec)b);
}

/* Lane i of the result is lane i ^ d of v. */
#define SWAP_LANES(v, d)                                                                           \
    __builtin_shufflevector(v, v, 0 ^ (d), 1 ^ (d), 2 ^ (d), 3 ^ (d), 4 ^ (d), 5 ^ (d), 6 ^ (d),   \
                            7 ^ (d), 8 ^ (d), 9 ^ (d), 10 ^ (d), 11 ^ (d), 12 ^ (d), 13 ^ (d),     \
                            14 ^ (d), 15 ^ (d))

INLINE int32_t max_lane_bits(ivec v)
{
    v = max_bits(v, SWAP_LANES(v, 8));
    v = max_bits(v, SWAP_LANES(v, 4));
    v = max_bits(v, SWAP_LANES(v, 2));
    return max_bits(v, SWAP_LANES(v, 1))[0];
}

INLINE uint32_t sum_lane_bits(uvec v)
{
    v += SWAP_LANES(v, 8);
    v += SWAP_LANES(v, 4);
    v += SWAP_LANES(v, 2);
    return v[0] + v[1];
}

INLINE void store_bytes(int8_t *to, uvec v)
{
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8((__m512i)v));
#else
    for (int i = 0; i < LANES; i++)
        to[i] = (int8_t)v[i];
#endif
}

static void prepare_q8_group(const float *x, int k, int n_in, int8_t *bytes,
                             struct baton_q8_row_group *group)
{
    enum { N_VECS = BATON_Q8_GROUP / LANES };
    const float magic = 0x1.8p23F; /* adding it rounds, and leaves the integer in the low bits */
    vec v[N_VECS];
    ivec largest = {0};
    uvec sum = {0};
    for (int i = 0; i < N_VECS; i++) {
        v[i] = load_row(x, k + i * LANES, n_in);
        largest = max_bits(magnitude_bits(v[i]), largest);
    }
    ivec most_bits = (ivec){0} + max_lane_bits(largest);
    float most = ((vec)most_bits)[0];
    float inverse = most > 1e-30F ? 127 / most : 0;
    for (int i = 0; i < N_VECS; i++) {
        uvec rounded = (uvec)(v[i] * inverse + magic) - (uvec)splat(magic);
        sum += rounded;
        store_bytes(bytes + i * LANES, rounded);
    }
    group->scale = most / 127;
    group->offset = (int32_t)(-128u * sum_lane_bits(sum));
}

static void prepare_q8(const float *x, int n_in, int first_row, int end_row, char *prepared)
{
    size_t row_bytes = baton_prepared_row_bytes(BATON_Q8, n_in);
    int n_stored = baton_packed_n_in(BATON_Q8, n_in);
    for (size_t row = (size_t)first_row; row < (size_t)end_row; row++) {
        int8_t *bytes = (int8_t *)prepared + row * row_bytes;
        struct baton_q8_row_group *group = (void *)(bytes + n_stored);
        for (int k = 0; k < n_stored; k += BATON_Q8_GROUP)
            prepare_q8_group(x + row * (size_t)n_in, k, n_in, bytes + k, group++);
    }
}

#endif
