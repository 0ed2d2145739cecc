/* One position's keys and values on their way into a block (kv_block.h). Part of body.h.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_KERNELS_STORE_KV_H
#define BATON_KERNELS_STORE_KV_H

#include "common/engine/kernels/kv_element.h"

INLINE void store_head_f32(const float *k, const float *v, int head_dim, float *head, int slot)
{
    float *values =
        head + baton_kv_key_elements(head_dim) + (size_t)slot * baton_kv_value_elements(head_dim);
    for (int d = 0; d < head_dim; d++)
        head[d * LANES + slot] = k[d];
    int d = 0;
    for (; d + LANES <= head_dim; d += LANES)
        store(values + d, load(v + d));
    if (d < head_dim)
        store(values + d, load_part(v + d, head_dim - d));
}

INLINE void store_chunk_f16(vec k, vec v, uint16_t *keys, uint16_t *values, int n)
{
    uint16_t column[LANES];
    store_halves(column, k);
    for (int i = 0; i < n; i++)
        keys[i * LANES] = column[i];
    store_halves(values, v);
}

INLINE void store_head_f16(const float *k, const float *v, int head_dim, uint16_t *head, int slot)
{
    uint16_t *keys = head + slot;
    uint16_t *values =
        head + baton_kv_key_elements(head_dim) + (size_t)slot * baton_kv_value_elements(head_dim);
    int d = 0;
    for (; d + LANES <= head_dim; d += LANES)
        store_chunk_f16(load(k + d), load(v + d), keys + d * LANES, values + d, LANES);
    if (d < head_dim)
        store_chunk_f16(load_part(k + d, head_dim - d), load_part(v + d, head_dim - d),
                        keys + d * LANES, values + d, head_dim - d);
}

static void store_kv(enum baton_kv_dtype dtype, const float *k, const float *v, int n_heads,
                     int head_dim, void *block, int slot)
{
    size_t n = baton_kv_head_elements(head_dim), dim = (size_t)head_dim;
    for (size_t g = 0; g < (size_t)n_heads; g++)
        if (dtype == BATON_KV_F16)
            store_head_f16(k + g * dim, v + g * dim, head_dim, (uint16_t *)block + g * n, slot);
        else
            store_head_f32(k + g * dim, v + g * dim, head_dim, (float *)block + g * n, slot);
}

#endif
