/* Scores and mixtures over q8 K and V (kv_block.h). Part of tile.h.
 *
 * A query is rounded to 15 bits once, and its weights of a step to 15 bits of the greatest of them.
 * Products of these words with bytes, and their sums over a head or a step, are integers that 32
 * bits hold exactly, so they are the same in any order, on every machine and in every set. The sums
 * are multiplied by scales afterwards. The chain of f32 additions has one link for each step
 * instead of one for each position.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_ATTEND_Q8_H
#define BATON_ENGINE_KERNELS_ATTEND_Q8_H

#include "engine/kernels/attend/weigh.h"
#include "engine/kernels/vector/round.h"

enum {
    FOUR = 4,                                 /* elements or positions side by side */
    HALVES = 2 * REGS,                        /* registers of words that 16 fours of bytes are */
    SPAN_Q8 = REG_BYTES == 16 ? 1 : SPAN / 2, /* vectors, whose sums fit the registers */
    WORD_MAX = 32767
};
_Static_assert((int64_t)BATON_KV_Q8_MAX_HEAD_DIM * 127 * WORD_MAX <= INT32_MAX,
               "a sum over a head fits");

/* Half a register's bytes as words. */
INLINE ireg load_as_words(const char *p)
{
#if defined(__AVX512BW__)
    return (ireg)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
#elif defined(__AVX2__)
    return (ireg)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
#else
    typedef int8_t bytes __attribute__((vector_size(REG_BYTES / 2), aligned(1), may_alias));
    typedef int16_t words __attribute__((vector_size(REG_BYTES)));
    return (ireg) __builtin_convertvector(*(const bytes *)(const void *)p, words);
#endif
}

/* Adds to each lane the products of the two words of a's lane with those of b's. */
INLINE ireg add_pairs(ireg sum, ireg a, ireg b)
{
#if defined(__AVX512VNNI__)
    return (ireg)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__AVX512BW__)
    return sum + (ireg)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return sum + (ireg)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
    return sum + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

INLINE ireg splat_four(const int16_t *x)
{
    typedef int64_t longs __attribute__((vector_size(REG_BYTES)));
    int64_t four;
    memcpy(&four, x, sizeof four);
    return (ireg)(four - (longs){0});
}

/* Sums of neighbouring lanes: those of a, then those of b. */
INLINE ireg add_neighbours(ireg a, ireg b)
{
#if REG_BYTES == 64
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                   30) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif REG_BYTES == 32
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
    return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

/* A register of sums of fours, from two of pairs. */
INLINE reg sums_of_fours(const ireg *pairs)
{
    return __builtin_convertvector(add_neighbours(pairs[0], pairs[1]), reg);
}

INLINE reg load_scales(const uint16_t *p)
{
    typedef uint16_t halves __attribute__((vector_size(REG_BYTES / 2), aligned(2), may_alias));
    return (reg)(__builtin_convertvector(*(const halves *)(const void *)p, ureg) << 16);
}

/* The scale of words for numbers with that greatest magnitude; *inverse is the factor that makes
 * the words. Both are 0 for numbers too small to matter; NaN and infinity stay in the scale. */
INLINE float word_scale(float most, float *inverse)
{
    const float least = 1e-30F;
    *inverse = most > least && most < INFINITY ? WORD_MAX / most : 0;
    return most <= least ? 0 : most * (1.0F / WORD_MAX);
}

/* Rounds a query to words; its scale includes the scale of the scores. */
static void round_query(struct query *query, int head_dim, float scale)
{
    float inverse;
    *query->q_scale = word_scale(greatest_magnitude(query->q, head_dim), &inverse) * scale;
    for (int d = 0; d < head_dim; d += LANES)
        round_to_words(load_up_to(query->q + d, head_dim - d), inverse, query->words + d);
}

/* Rounds the weights times V's scales to words. A slot that the query does not see may hold any
 * scale, even NaN, so its product is masked rather than multiplied by 0. Not inlined, like
 * weigh_scores. */
static __attribute__((noinline)) void round_weights(struct query *query, const struct kv_step *step)
{
    float scaled[STEP] = {0}, inverse;
    int end = (query->n_seen + LANES - 1) / LANES;
    for (int b = query->first_seen / LANES; b < end; b++)
        for (int i = b * REGS; i < (b + 1) * REGS; i++) {
            reg weights = load_reg(query->weights + i * REG_LANES);
            ireg is_seen = weights != 0;
            reg scales = load_scales(step->scales[b] + LANES + i % REGS * REG_LANES);
            store_reg(scaled + i * REG_LANES, (reg)((ireg)(weights * scales) & is_seen));
        }
    query->weight_scale = word_scale(greatest_magnitude(scaled, STEP), &inverse);
    for (int i = 0; i < STEP; i += LANES)
        round_to_words(load(scaled + i), inverse, query->rounded + i);
}

/* Elements from..end-1 of K, which have a scale of their own; a further part adds to the scores. */
struct q8_part {
    size_t from, end;
    int scales; /* where their scales are among those of a block */
    bool adds;
};

/* Scores of the positions of n_blocks blocks from `first` on, by one part of K. */
INLINE void score_part_q8(const struct kv_step *step, struct query *queries, int n_queries,
                          int first, int n_blocks, struct q8_part part)
{
    ireg acc[TILE][SPAN_Q8 * HALVES] = {0};
    for (size_t d = part.from; d < part.end; d += FOUR) {
        ireg k[SPAN_Q8 * HALVES];
        for (int i = 0; i < n_blocks * HALVES; i++)
            k[i] = load_as_words(step->k[first + i / HALVES] + d * LANES +
                                 (size_t)(i % HALVES * (REG_BYTES / 2)));
        for (int b = 0; b < n_blocks && step->fetches; b++)
            __builtin_prefetch(step->v[first + b] + d * LANES, 0, 2);
        for (int r = 0; r < n_queries; r++) {
            ireg q = splat_four(queries[r].words + d);
            for (int i = 0; i < n_blocks * HALVES; i++)
                acc[r][i] = add_pairs(acc[r][i], k[i], q);
        }
    }
    for (int r = 0; r < n_queries; r++)
        for (int i = 0; i < n_blocks * REGS; i++) {
            float *scores = queries[r].weights + first * LANES + i * REG_LANES;
            reg scales = load_scales(step->scales[first + i / REGS] + part.scales +
                                     (size_t)(i % REGS * REG_LANES));
            reg sums = sums_of_fours(&acc[r][2 * i]) * *queries[r].q_scale * scales;
            store_reg(scores, part.adds ? load_reg(scores) + sums : sums);
        }
}

/* A latent's two parts are added up apart: each has a scale, and a sum that 32 bits hold. */
INLINE void score_q8(const struct kv_step *step, struct query *queries, int n_queries, int first,
                     int n_blocks)
{
    size_t n_latent = (size_t)step->n_latent, end = step->key_elements;
    if (!n_latent) {
        score_part_q8(step, queries, n_queries, first, n_blocks,
                      (struct q8_part){0, end, 0, false});
        return;
    }
    score_part_q8(step, queries, n_queries, first, n_blocks,
                  (struct q8_part){0, n_latent, LANES, false});
    score_part_q8(step, queries, n_queries, first, n_blocks,
                  (struct q8_part){n_latent, end, 0, true});
}

/* Adds weight * V of the fours first..end-1 of positions to n_vecs vectors of the mixtures. */
INLINE void mix_q8(const struct kv_step *step, struct query *queries, int n_queries, size_t d,
                   int n_vecs, int first, int end)
{
    ireg acc[TILE][SPAN_Q8 * HALVES] = {0};
    for (int four = first; four < end; four++) {
        size_t at = ((size_t)(four % FOUR) * step->value_elements + d) * FOUR;
        ireg v[SPAN_Q8 * HALVES];
        for (int i = 0; i < n_vecs * HALVES; i++)
            v[i] = load_as_words(step->v[four / FOUR] + at + (size_t)(i * (REG_BYTES / 2)));
        for (int i = 0; i < n_vecs && step->fetches; i++)
            __builtin_prefetch(step->next[four / FOUR] + at + (size_t)(i * LANES * FOUR), 0, 2);
        for (int r = 0; r < n_queries; r++) {
            ireg weights = splat_four(queries[r].rounded + four * FOUR);
            for (int i = 0; i < n_vecs * HALVES; i++)
                acc[r][i] = add_pairs(acc[r][i], v[i], weights);
        }
    }
    for (int r = 0; r < n_queries; r++)
        for (int i = 0; i < n_vecs * REGS; i++) {
            float *mixed = queries[r].mixed + d + i * REG_LANES;
            store_reg(mixed,
                      load_reg(mixed) + sums_of_fours(&acc[r][2 * i]) * queries[r].weight_scale);
        }
}

/* A later query begins and ends no earlier. Each query is scored and mixed for all positions that
 * any of them sees: its weights are 0 where it sees none. */
INLINE void attend_queries_q8(const struct kv_step *step, struct query *queries, int n_queries)
{
    int b = queries[0].first_seen / LANES, first = queries[0].first_seen / FOUR;
    int end = (queries[n_queries - 1].n_seen + FOUR - 1) / FOUR, n_blocks = (end + 3) / FOUR;
    size_t d = 0;
    for (; b + SPAN_Q8 <= n_blocks; b += SPAN_Q8)
        score_q8(step, queries, n_queries, b, SPAN_Q8);
    for (; b < n_blocks; b++)
        score_q8(step, queries, n_queries, b, 1);
    for (int r = 0; r < n_queries; r++) {
        weigh_scores(&queries[r], step);
        round_weights(&queries[r], step);
    }
    for (; d + SPAN_Q8 * LANES <= step->value_elements; d += SPAN_Q8 * LANES)
        mix_q8(step, queries, n_queries, d, SPAN_Q8, first, end);
    for (; d < step->value_elements; d += LANES)
        mix_q8(step, queries, n_queries, d, 1, first, end);
}

#endif
