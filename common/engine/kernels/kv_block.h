/* A block of one layer of the KV cache, as it is stored and as it travels: for each of G heads the
 * keys and values of 16 consecutive positions side by side, so that a head's share is one stream.
 *
 *     [G] { K [D][16], V [16][D'] }     D' = D rounded up to 16, zeros past D
 *
 * K is transposed: the scores of 16 positions are one vector, summed over D without a reduction
 * across lanes. Elements are f32, or f16 rounded to nearest even; finite values beyond its range of
 * 65504 become that.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_KV_BLOCK_H
#define BATON_ENGINE_KV_BLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { BATON_KV_BLOCK_TOKENS = 16 };

enum baton_kv_dtype { BATON_KV_F32, BATON_KV_F16, BATON_N_KV_DTYPES };

static inline int baton_kv_blocks_for(int n_tokens)
{
    return (n_tokens + BATON_KV_BLOCK_TOKENS - 1) / BATON_KV_BLOCK_TOKENS;
}

static inline size_t baton_kv_element_bytes(enum baton_kv_dtype dtype)
{
    return dtype == BATON_KV_F16 ? sizeof(uint16_t) : sizeof(float);
}

/* Elements of one position's V of one head: D'. */
static inline size_t baton_kv_value_elements(int head_dim)
{
    return ((size_t)head_dim + 15) / 16 * 16;
}

/* Elements of one head's K, after which its V begins; and of both. */
static inline size_t baton_kv_key_elements(int head_dim)
{
    return (size_t)head_dim * BATON_KV_BLOCK_TOKENS;
}

static inline size_t baton_kv_head_elements(int head_dim)
{
    return baton_kv_key_elements(head_dim) +
           baton_kv_value_elements(head_dim) * BATON_KV_BLOCK_TOKENS;
}

#endif
