/* A block of one layer of the KV cache, as it is stored and as it is sent: for each of G heads the
 * keys and values of 16 consecutive positions side by side, so that a head's share is one stream.
 *
 * f32, and f16, which is rounded to nearest even and limited to +-65504 if it is finite:
 *
 *     [G] { K [D][16], V [16][D'] }     D' = D rounded up to 16, zeros past D
 *
 * K is transposed: the scores of 16 positions are one vector, summed over D without a reduction
 * across lanes.
 *
 * q8, which is bytes and a bf16 scale for each position's K and for its V:
 *
 *     [G] { K [D'/4][16][4], V [16/4][D'][4], scales of K [16], scales of V [16] }
 *
 * A row of V may be the first n_latent elements of the row of K. Then K alone is kept, and in q8
 * the scales are those of K past n_latent, and of the elements before it:
 *
 *     [G] { K [D][16] }     q8: [G] { K [D'/4][16][4], scales [16], scales of the latents [16] }
 *
 * A number is byte * scale, and the scale is the greatest magnitude / 127. Four neighbours are side
 * by side, elements of K and positions of V, because an instruction adds up four products.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_KERNELS_ATTEND_KV_BLOCK_H
#define BATON_ENGINE_KERNELS_ATTEND_KV_BLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { BATON_KV_BLOCK_TOKENS = 16 };

enum baton_kv_dtype { BATON_KV_F32, BATON_KV_F16, BATON_KV_Q8, BATON_N_KV_DTYPES };

/* The widest heads of q8, and the widest of the two parts of a latent's: more would overflow the
 * integer sums of q8.h. */
enum { BATON_KV_Q8_MAX_HEAD_DIM = 512 };

static inline int baton_kv_blocks_for(int n_tokens)
{
    return (n_tokens + BATON_KV_BLOCK_TOKENS - 1) / BATON_KV_BLOCK_TOKENS;
}

/* Bytes of an element, without the scales of q8. */
static inline size_t baton_kv_element_bytes(enum baton_kv_dtype dtype)
{
    return dtype == BATON_KV_F32 ? sizeof(float) : dtype == BATON_KV_F16 ? sizeof(uint16_t) : 1;
}

/* Elements of one position's V of one head: D'. */
static inline size_t baton_kv_value_elements(int head_dim)
{
    return ((size_t)head_dim + 15) / 16 * 16;
}

/* Bytes of one head's K, which its V follows; of its V, which q8's scales follow; and of a whole
 * head. */
static inline size_t baton_kv_key_bytes(enum baton_kv_dtype dtype, int head_dim)
{
    size_t n = dtype == BATON_KV_Q8 ? baton_kv_value_elements(head_dim) : (size_t)head_dim;
    return n * BATON_KV_BLOCK_TOKENS * baton_kv_element_bytes(dtype);
}

/* No bytes where V is a part of K. */
static inline size_t baton_kv_value_bytes(enum baton_kv_dtype dtype, int head_dim, int n_latent)
{
    return n_latent ? 0
                    : baton_kv_value_elements(head_dim) * BATON_KV_BLOCK_TOKENS *
                          baton_kv_element_bytes(dtype);
}

static inline size_t baton_kv_head_bytes(enum baton_kv_dtype dtype, int head_dim, int n_latent)
{
    size_t scales = dtype == BATON_KV_Q8 ? 2 * BATON_KV_BLOCK_TOKENS * sizeof(uint16_t) : 0;
    return baton_kv_key_bytes(dtype, head_dim) + baton_kv_value_bytes(dtype, head_dim, n_latent) +
           scales;
}

#endif
