/* Products with q8 panels. Part of body.h.
 *
 * Sums within a group are integers, exact whatever their order and instructions; an element is the
 * chain of its groups in order, each scaled and added in f32. */
#ifndef BATON_KERNELS_LINEAR_Q8_H
#define BATON_KERNELS_LINEAR_Q8_H

#include "common/engine/kernels/tiles.h"

/* A word is four inputs' weights of one output: bytes with 128 added. */
#if defined(__AVX512VNNI__)
typedef int32_t q8_sum __attribute__((vector_size(REG_BYTES)));
struct q8_words {
    __m512i bytes;
};

INLINE q8_sum start_q8(const struct baton_q8_row_group *group)
{
    return (q8_sum){0} + group->offset;
}

INLINE struct q8_words load_q8(const void *words)
{
    return (struct q8_words){(__m512i)load_reg(words)};
}

INLINE q8_sum add_q8(q8_sum sum, struct q8_words words, const char *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return (q8_sum)_mm512_dpbusd_epi32((__m512i)sum, words.bytes, _mm512_set1_epi32(four));
}
#elif defined(__AVX512BW__)
typedef int32_t q8_sum __attribute__((vector_size(REG_BYTES)));
struct q8_words {
    __m512i magnitudes;
    __mmask64 negative;
};

INLINE q8_sum start_q8(const struct baton_q8_row_group *group)
{
    (void)group;
    return (q8_sum){0};
}

INLINE struct q8_words load_q8(const void *words)
{
    __m512i bytes = _mm512_xor_si512((__m512i)load_reg(words), _mm512_set1_epi8(-128));
    return (struct q8_words){_mm512_abs_epi8(bytes), _mm512_movepi8_mask(bytes)};
}

/* No pair of products exceeds 2 * 127 * 127, so VPMADDUBSW does not saturate. */
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
typedef int32_t q8_sum __attribute__((vector_size(REG_BYTES)));
struct q8_words {
    __m256i bytes, magnitudes;
};

INLINE q8_sum start_q8(const struct baton_q8_row_group *group)
{
    (void)group;
    return (q8_sum){0};
}

INLINE struct q8_words load_q8(const void *words)
{
    __m256i bytes = _mm256_xor_si256((__m256i)load_reg(words), _mm256_set1_epi8(-128));
    return (struct q8_words){bytes, _mm256_abs_epi8(bytes)};
}

/* No pair of products exceeds 2 * 127 * 127, so VPMADDUBSW does not saturate. */
INLINE q8_sum add_q8(q8_sum sum, struct q8_words words, const char *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    __m256i in = _mm256_sign_epi8(_mm256_set1_epi32(four), words.bytes);
    __m256i pairs = _mm256_maddubs_epi16(words.magnitudes, in);
    return sum + (q8_sum)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#else
/* f32 holds a group's sum exactly: it stays below 2^24. */
typedef reg q8_sum;
typedef int32_t word_reg __attribute__((vector_size(REG_BYTES)));
struct q8_words {
    reg weights[4];
};

INLINE q8_sum start_q8(const struct baton_q8_row_group *group)
{
    (void)group;
    return (q8_sum){0};
}

INLINE struct q8_words load_q8(const void *words)
{
    word_reg bytes = (word_reg)load_reg(words);
    struct q8_words loaded;
    UNROLL
    for (int i = 0; i < 4; i++)
        loaded.weights[i] = __builtin_convertvector((bytes >> 8 * i & 255) - 128, reg);
    return loaded;
}

INLINE q8_sum add_q8(q8_sum sum, struct q8_words words, const char *x)
{
    UNROLL
    for (int i = 0; i < 4; i++)
        sum += words.weights[i] * (float)((const int8_t *)x)[i];
    return sum;
}
#endif

/* results += the group's sums times the scales of weights and rows. */
INLINE void add_group_q8(float *results, q8_sum sums[][REGS], const char *scales,
                         const struct row_cursor *groups, int n_rows)
{
    UNROLL
    for (int i = 0; i < REGS; i++) {
        reg scale = load_reg(scales + i * REG_BYTES);
        UNROLL
        for (int r = 0; r < n_rows; r++) {
            const struct baton_q8_row_group *group = (const void *)row_of(groups, r);
            float *result = results + r * LANES + i * REG_LANES;
            store_reg(result, load_reg(result) + __builtin_convertvector(sums[r][i], reg) *
                                                     (scale * group->scale));
        }
    }
}

INLINE void tile_q8(const struct tile *tile, int n_rows)
{
    struct row_cursor x = cursor_at(tile->x, tile->row_bytes, n_rows);
    struct row_cursor groups = cursor_at(tile->x + tile->n_in, tile->row_bytes, n_rows);
    float *results = tile->results;
    const char *words = tile->panel;
    memset(results, 0, (size_t)n_rows * LANES * sizeof *results);
    for (int k = 0; k < tile->n_in; k += BATON_Q8_GROUP) {
        q8_sum sums[MOST_ROWS][REGS];
        const char *scales = words;
        words += LINE_BYTES;
        UNROLL
        for (int r = 0; r < n_rows; r++)
            UNROLL
        for (int i = 0; i < REGS; i++)
            sums[r][i] = start_q8((const void *)row_of(&groups, r));
        _Pragma("GCC unroll 1") for (int n = 0; n < BATON_Q8_GROUP; n += 4, words += LINE_BYTES)
        {
            __builtin_prefetch(words + FETCH_BYTES);
            UNROLL
            for (int i = 0; i < REGS; i++) {
                struct q8_words loaded = load_q8(words + i * REG_BYTES);
                UNROLL
                for (int r = 0; r < n_rows; r++)
                    sums[r][i] = add_q8(sums[r][i], loaded, row_of(&x, r));
            }
            advance(&x, 4, n_rows);
        }
        add_group_q8(results, sums, scales, &groups, n_rows);
        advance(&groups, sizeof(struct baton_q8_row_group), n_rows);
    }
}

TILE_TABLE(tile_q8);

static void linear_q8(const struct baton_linear *job, int first_out, int end_out)
{
    run_tiles(job, first_out, end_out, tile_q8s);
}

#endif
