/* Attention of a prompt's rows over q8 K and V by tiles; part of sets/amx.c.
 *
 * Sixteen queries are multiplied with a step at once. Tiles multiply bytes only, so each word of
 * queries and weights is split into a signed high byte and an unsigned low byte, which are
 * multiplied separately. Sums are integers, so results are those of attend/q8.h to the bit; that
 * file serves the queries that fill no tile.
 *
 * Pure but for the tiles of the calling thread, which the caller has configured.
 */
#ifndef BATON_ENGINE_KERNELS_AMX_ATTEND_H
#define BATON_ENGINE_KERNELS_AMX_ATTEND_H

#include "engine/kernels/amx/tiles.h"
#include "engine/kernels/attend/attend.h"

/* Tiles of the sums with high bytes and with low ones, for each of a pair of K's blocks, or of a
 * pair of V's vectors of 16 elements. */
#define HIGH_0 SUMS_00
#define LOW_0  SUMS_01
#define HIGH_1 SUMS_10
#define LOW_1  SUMS_11

/* A step of one KV head as tiles read it, and the sums that they compute of it. */
struct step_tiles {
    _Alignas(LINE_BYTES) char values[STEP / FOUR][BATON_KV_Q8_MAX_HEAD_DIM * FOUR];
    _Alignas(LINE_BYTES) int8_t high[TILE_ROWS][STEP]; /* of the rounded weights */
    _Alignas(LINE_BYTES) uint8_t low[TILE_ROWS][STEP];
    _Alignas(LINE_BYTES) int32_t sums[PAIR][2][TILE_ROWS][LANES]; /* with high bytes, with low */
};

/* Splits n words, a multiple of 32, into their bytes. high may be where the words are: a vector is
 * loaded before its shorter result is stored. */
static void split_words(const int16_t *words, size_t n, int8_t *high, uint8_t *low)
{
    for (size_t i = 0; i < n; i += 32) {
        __m512i part = _mm512_loadu_si512(words + i);
        _mm256_storeu_si256((__m256i *)(void *)(low + i), _mm512_cvtepi16_epi8(part));
        _mm256_storeu_si256((__m256i *)(void *)(high + i),
                            _mm512_cvtepi16_epi8(_mm512_srai_epi16(part, 8)));
    }
}

/* Replaces a query's words [D'] in place by their high bytes [D'] and their low bytes [D']. */
static void split_queries(const struct heads *heads)
{
    size_t n = baton_kv_value_elements(heads->job->head_dim);
    uint8_t low[BATON_KV_Q8_MAX_HEAD_DIM];
    for (int head = heads->first_head; head < heads->end_head; head++)
        for (int i = 0; i < heads->n_queries; i++) {
            struct query query;
            set_query(heads, head, i, &query);
            split_words(query.words, n, (int8_t *)query.words, low);
            memcpy((char *)query.words + n, low, n);
        }
}

/* Copies V: its fours of positions are contiguous within a block only, and a tile is loaded with
 * one stride. */
static void gather_values(const struct kv_step *step, struct step_tiles *tiles)
{
    size_t n = step->value_elements * FOUR;
    for (int four = 0; four < STEP / FOUR; four++)
        if (step->v[four / FOUR])
            memcpy(tiles->values[four], step->v[four / FOUR] + (size_t)(four % FOUR) * n, n);
}

#define MULTIPLY_PAIR(first, second, stride)                                                       \
    do {                                                                                           \
        LOAD_TILE(PANEL_0, first, stride);                                                         \
        LOAD_TILE(PANEL_1, second, stride);                                                        \
        _tile_dpbssd(HIGH_0, ROWS_0, PANEL_0);                                                     \
        _tile_dpbusd(LOW_0, ROWS_1, PANEL_0);                                                      \
        _tile_dpbssd(HIGH_1, ROWS_0, PANEL_1);                                                     \
        _tile_dpbusd(LOW_1, ROWS_1, PANEL_1);                                                      \
    } while (0)

static void store_pair(struct step_tiles *tiles)
{
    _tile_stored(HIGH_0, tiles->sums[0][0], LINE_BYTES);
    _tile_stored(LOW_0, tiles->sums[0][1], LINE_BYTES);
    _tile_stored(HIGH_1, tiles->sums[1][0], LINE_BYTES);
    _tile_stored(LOW_1, tiles->sums[1][1], LINE_BYTES);
    KEEP_STORES(tiles->sums);
}

/* Sums of words. The high bytes' sum times 256 may wrap around, but the whole sum fits 32 bits
 * (q8.h), so it comes out right modulo 2^32. */
INLINE reg sums_of_words(const struct step_tiles *tiles, int which, int row)
{
    __m512i high = _mm512_load_si512(tiles->sums[which][0][row]);
    __m512i low = _mm512_load_si512(tiles->sums[which][1][row]);
    return (reg)_mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high, 8), low));
}

/* Scores of sixteen queries with the blocks b and other, which is b again where the step has no
 * further block. */
static void score_pair(const struct kv_step *step, struct query *queries, size_t query_bytes, int b,
                       int other, struct step_tiles *tiles)
{
    const char *high = (const char *)queries[0].words, *low = high + step->value_elements;
    zero_sums();
    for (size_t d = 0; d < step->value_elements; d += LINE_BYTES) {
        LOAD_TILE(ROWS_0, high + d, query_bytes);
        LOAD_TILE(ROWS_1, low + d, query_bytes);
        MULTIPLY_PAIR(step->k[b] + d * LANES, step->k[other] + d * LANES, LINE_BYTES);
    }
    store_pair(tiles);
    for (int which = 0; which <= other - b; which++) {
        reg scales = load_scales(step->scales[b + which]);
        for (int r = 0; r < TILE_ROWS; r++)
            store_reg(queries[r].weights + (b + which) * LANES,
                      sums_of_words(tiles, which, r) * *queries[r].q_scale * scales);
    }
}

/* Adds weight * V to the mixtures of the queries that see something of the step. */
static void mix_tiles(const struct kv_step *step, struct query *queries, struct step_tiles *tiles)
{
    LOAD_TILE(ROWS_0, tiles->high, STEP);
    LOAD_TILE(ROWS_1, tiles->low, STEP);
    for (size_t d = 0; d < step->value_elements; d += PAIR * LANES) {
        zero_sums();
        MULTIPLY_PAIR(tiles->values[0] + d * FOUR, tiles->values[0] + (d + LANES) * FOUR,
                      sizeof tiles->values[0]);
        store_pair(tiles);
        for (int r = 0; r < TILE_ROWS; r++)
            for (int which = 0; which < PAIR && queries[r].n_seen > queries[r].first_seen;
                 which++) {
                float *mixed = queries[r].mixed + d + (size_t)(which * LANES);
                store_reg(mixed, load_reg(mixed) +
                                     sums_of_words(tiles, which, r) * queries[r].weight_scale);
            }
    }
}

/* Attends with sixteen neighbouring queries, at least one of which sees a part of the step. */
static void attend_sixteen(const struct heads *heads, const struct kv_step *step,
                           struct query *queries, struct step_tiles *tiles)
{
    int b = STEP_BLOCKS, end = 0;
    for (int r = 0; r < TILE_ROWS; r++)
        if (queries[r].n_seen > queries[r].first_seen) {
            int first = queries[r].first_seen / LANES, last = (queries[r].n_seen - 1) / LANES;
            b = first < b ? first : b;
            end = last >= end ? last + 1 : end;
        }
    for (; b < end; b += PAIR)
        score_pair(step, queries, heads->query_floats * sizeof(float), b, b + 1 < end ? b + 1 : b,
                   tiles);
    for (int r = 0; r < TILE_ROWS; r++) {
        if (queries[r].n_seen > queries[r].first_seen) {
            weigh_scores(&queries[r], step);
            round_weights(&queries[r], step);
        } else {
            memset(queries[r].rounded, 0, sizeof queries[r].rounded);
        }
        split_words(queries[r].rounded, STEP, tiles->high[r], tiles->low[r]);
    }
    mix_tiles(step, queries, tiles);
}

static void attend_step_by_tiles(const struct heads *heads, int head, int at,
                                 struct step_tiles *tiles)
{
    struct kv_step step;
    struct query queries[TILE_ROWS];
    set_step(heads, head, at, &step);
    gather_values(&step, tiles);
    for (int i = 0; i < heads->n_queries; i += TILE_ROWS) {
        bool is_seen = false;
        for (int r = 0; r < TILE_ROWS; r++) {
            aim_query(heads, head, i + r, at, &queries[r]);
            is_seen = is_seen || queries[r].n_seen > queries[r].first_seen;
        }
        if (is_seen)
            attend_sixteen(heads, &step, queries, tiles);
    }
}

static bool fills_tiles(const struct baton_attend *job)
{
    return job->dtype == BATON_KV_Q8 && !job->n_latent &&
           job->n_rows * job->group % TILE_ROWS == 0 && job->head_dim % LINE_BYTES == 0;
}

static void begin_heads(const struct heads *heads)
{
    for (int head = heads->first_head; head < heads->end_head; head++)
        for (int i = 0; i < heads->n_queries; i++)
            begin_query(heads, head, i);
    split_queries(heads);
}

static void attend_by_tiles(const struct baton_attend *job, int first_head, int end_head)
{
    const struct heads heads = heads_of(job, first_head, end_head);
    int first = first_seen_from(job, job->first_position) / STEP * STEP;
    struct step_tiles tiles;
    memset(tiles.values, 0, sizeof tiles.values);
    begin_heads(&heads);
    for (int at = first, end = end_seen(job); at < end; at += STEP)
        for (int head = first_head; head < end_head; head++)
            attend_step_by_tiles(&heads, head, at, &tiles);
    for (int head = first_head; head < end_head; head++)
        for (int i = 0; i < heads.n_queries; i++)
            end_query(&heads, head, i);
}

#endif
