/* Gathers the V of a step of positions where a row of V is a part of the row of K (kv_block.h): K
 * is stored by elements, and mixtures read V by positions. The numbers are those of K, so that
 * results are the same to the bit as with a V of its own. Part of attend.h.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_ATTEND_LATENTS_H
#define BATON_ENGINE_KERNELS_ATTEND_LATENTS_H

#include "engine/kernels/attend/q8.h"

/* Squares of numbers are transposed whose rows fill a register, or half of one of AVX-512. */
#if REG_BYTES == 64
#define SIDE_F32 16
#define SIDE_F16 16
#elif REG_BYTES == 32
#define SIDE_F32 8
#define SIDE_F16 16
#else
#define SIDE_F32 4
#define SIDE_F16 8
#endif

/* Lane c of rows i and i + s after stage s of a transposition. */
#define UPPER(side, s, c) ((c) & (s) ? (side) + (c) - (s) : (c))
#define LOWER(side, s, c) ((c) & (s) ? (side) + (c) : (c) + (s))
#define LANES_4(of, side, s, c)                                                                    \
    of(side, s, c), of(side, s, (c) + 1), of(side, s, (c) + 2), of(side, s, (c) + 3)
#define LANES_8(of, side, s, c)  LANES_4(of, side, s, c), LANES_4(of, side, s, (c) + 4)
#define LANES_16(of, side, s, c) LANES_8(of, side, s, c), LANES_8(of, side, s, (c) + 8)
#define LANES_OF(side, of, s)    LANES_OF_(side, of, s)
#define LANES_OF_(side, of, s)   LANES_##side(of, side, s, 0)

#define DEFINE_GATHER(name, element, side)                                                         \
    typedef element name##_row                                                                     \
        __attribute__((vector_size((side) * sizeof(element)), aligned(2), may_alias));             \
                                                                                                   \
    INLINE void name##_stage(name##_row *rows, int i, int s, name##_row upper, name##_row lower)   \
    {                                                                                              \
        rows[i] = upper;                                                                           \
        rows[i + s] = lower;                                                                       \
    }                                                                                              \
                                                                                                   \
    /* rows [side] of the elements from d on, `side` positions each, to positions. */              \
    INLINE void name##_transpose(name##_row *rows)                                                 \
    {                                                                                              \
        STAGE(name, rows, side, 1)                                                                 \
        STAGE(name, rows, side, 2)                                                                 \
        if ((side) > 4)                                                                            \
            STAGE(name, rows, side, ((side) > 4 ? 4 : 1))                                          \
        if ((side) > 8)                                                                            \
            STAGE(name, rows, side, ((side) > 8 ? 8 : 1))                                          \
    }                                                                                              \
                                                                                                   \
    /* A block's K [D][16] to V [16][value_elements], with zeros past n_latent. */                 \
    static void name(const element *k, int n_latent, size_t value_elements, element *v)            \
    {                                                                                              \
        for (int d = 0; d < (int)value_elements; d += (side))                                      \
            for (int p = 0; p < LANES; p += (side)) {                                              \
                name##_row rows[side];                                                             \
                for (int i = 0; i < (side); i++)                                                   \
                    rows[i] = d + i < n_latent                                                     \
                                  ? *(const name##_row *)(const void *)(k + (d + i) * LANES + p)   \
                                  : (name##_row){0};                                               \
                name##_transpose(rows);                                                            \
                for (int i = 0; i < (side); i++)                                                   \
                    *(name##_row *)(void *)(v + (size_t)(p + i) * value_elements + d) = rows[i];   \
            }                                                                                      \
    }

#define STAGE(name, rows, side, s)                                                                 \
    for (int i = 0; i < (side); i++)                                                               \
        if (!(i & (s)))                                                                            \
            name##_stage(                                                                          \
                rows, i, s,                                                                        \
                __builtin_shufflevector((rows)[i], (rows)[i + (s)], LANES_OF(side, UPPER, s)),     \
                __builtin_shufflevector((rows)[i], (rows)[i + (s)], LANES_OF(side, LOWER, s)));

DEFINE_GATHER(gather_f32, uint32_t, SIDE_F32)
DEFINE_GATHER(gather_f16, uint16_t, SIDE_F16)

typedef uint8_t latents_q8 __attribute__((vector_size(LANES), aligned(1), may_alias));

/* K [D'/4][16][4] to V [16/4][value_elements][4]: four elements of four positions change places. */
static void gather_q8(const uint8_t *k, int n_latent, size_t value_elements, uint8_t *v)
{
    for (int d = 0; d < n_latent; d += FOUR)
        for (int four = 0; four < LANES / FOUR; four++) {
            const uint8_t *from = k + (size_t)d * LANES + (size_t)four * LANES;
            latents_q8 bytes = *(const latents_q8 *)(const void *)from;
            *(latents_q8 *)(void *)(v + ((size_t)four * value_elements + (size_t)d) * FOUR) =
                __builtin_shufflevector(bytes, bytes, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7,
                                        11, 15);
        }
}

static void gather_block(enum baton_kv_dtype dtype, const char *k, int n_latent,
                         size_t value_elements, char *v)
{
    if (dtype == BATON_KV_F32)
        gather_f32((const uint32_t *)(const void *)k, n_latent, value_elements,
                   (uint32_t *)(void *)v);
    else if (dtype == BATON_KV_F16)
        gather_f16((const uint16_t *)(const void *)k, n_latent, value_elements,
                   (uint16_t *)(void *)v);
    else
        gather_q8((const uint8_t *)k, n_latent, value_elements, (uint8_t *)v);
}

#endif
