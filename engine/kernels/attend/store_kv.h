/* Stores one position's keys and values into a block (kv_block.h). Part of sets/attention.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_ATTEND_STORE_KV_H
#define BATON_ENGINE_KERNELS_ATTEND_STORE_KV_H

#include "common/base/bf16.h"
#include "engine/kernels/attend/kv_element.h"
#include "engine/kernels/vector/round.h"

INLINE void store_head_f32(const float *k, const float *v, int head_dim, float *head, int slot)
{
    float *values =
        head + (size_t)head_dim * LANES + (size_t)slot * baton_kv_value_elements(head_dim);
    for (int d = 0; d < head_dim; d++)
        head[d * LANES + slot] = k[d];
    if (!v)
        return;
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
        head + (size_t)head_dim * LANES + (size_t)slot * baton_kv_value_elements(head_dim);
    int d = 0;
    for (; d + LANES <= head_dim; d += LANES)
        store_chunk_f16(load(k + d), load(v + d), keys + d * LANES, values + d, LANES);
    if (d < head_dim)
        store_chunk_f16(load_part(k + d, head_dim - d), load_part(v + d, head_dim - d),
                        keys + d * LANES, values + d, head_dim - d);
}

/* The scale of x [n]; *inverse is the factor that makes the bytes. The scale is 0 for numbers too
 * small to matter, and NaN for a position that has an infinity or a NaN. The factor is that of the
 * scale as bf16, so that bytes make up for the scale's rounding. */
INLINE float q8_scale(const float *x, int n, float *inverse)
{
    const float least = 1e-30F;
    float most = greatest_magnitude(x, n);
    float scale = baton_bf16_to(baton_bf16_from(most > least ? most * (1.0F / 127) : 0));
    *inverse = scale > 0 && most < INFINITY ? 1 / scale : 0;
    return most < INFINITY ? scale : NAN;
}

/* Stores sixteen elements from d on: K in fours, V in single bytes between those of other
 * positions. */
INLINE void store_chunk_q8(const int8_t *k, const int8_t *v, int d, size_t value_elements,
                           char *head, int slot)
{
    char *keys = head + (size_t)(d * LANES + slot * 4);
    char *values = head + value_elements * LANES + (size_t)(slot / 4) * value_elements * 4 +
                   (size_t)(d * 4 + slot % 4);
    for (int i = 0; i < LANES; i += 4)
        memcpy(keys + i * LANES, k + i, 4);
    for (int i = 0; i < LANES; i++)
        values[i * 4] = (char)v[i];
}

INLINE void store_head_q8(const float *k, const float *v, int head_dim, char *head, int slot)
{
    size_t value_elements = baton_kv_value_elements(head_dim);
    uint16_t *scales = (uint16_t *)(void *)(head + 2 * LANES * value_elements);
    int8_t k_bytes[LANES], v_bytes[LANES];
    float k_inverse, v_inverse;
    scales[slot] = baton_bf16_from(q8_scale(k, head_dim, &k_inverse));
    scales[LANES + slot] = baton_bf16_from(q8_scale(v, head_dim, &v_inverse));
    for (int d = 0; d < head_dim; d += LANES) {
        round_to_bytes(load_up_to(k + d, head_dim - d), k_inverse, k_bytes);
        round_to_bytes(load_up_to(v + d, head_dim - d), v_inverse, v_bytes);
        store_chunk_q8(k_bytes, v_bytes, d, value_elements, head, slot);
    }
}

/* Keys alone, whose first n_latent elements are the values. */
INLINE void store_latent_f16(const float *k, int head_dim, uint16_t *head, int slot)
{
    uint16_t column[LANES];
    for (int d = 0; d < head_dim; d += LANES) {
        int n = head_dim - d < LANES ? head_dim - d : LANES;
        store_halves(column, load_up_to(k + d, n));
        for (int i = 0; i < n; i++)
            head[(size_t)(d + i) * LANES + (size_t)slot] = column[i];
    }
}

/* Elements from..end-1 of a latent, a multiple of 16 but for the last, by a scale of their own. */
INLINE void store_latent_part_q8(const float *k, int from, int end, char *head, int slot,
                                 uint16_t *scale)
{
    int8_t bytes[LANES];
    float inverse;
    *scale = baton_bf16_from(q8_scale(k + from, end - from, &inverse));
    for (int d = from; d < end; d += LANES) {
        round_to_bytes(load_up_to(k + d, end - d), inverse, bytes);
        for (int i = 0; i < LANES; i += 4)
            memcpy(head + (size_t)((d + i) * LANES + slot * 4), bytes + i, 4);
    }
}

static void store_latent(enum baton_kv_dtype dtype, const float *k, int head_dim, int n_latent,
                         char *head, int slot)
{
    uint16_t *scales = (uint16_t *)(void *)(head + baton_kv_key_bytes(BATON_KV_Q8, head_dim));
    if (dtype == BATON_KV_F32)
        store_head_f32(k, NULL, head_dim, (float *)(void *)head, slot);
    else if (dtype == BATON_KV_F16)
        store_latent_f16(k, head_dim, (uint16_t *)(void *)head, slot);
    else {
        store_latent_part_q8(k, 0, n_latent, head, slot, scales + LANES + slot);
        store_latent_part_q8(k, n_latent, head_dim, head, slot, scales + slot);
    }
}

static void store_kv(enum baton_kv_dtype dtype, const float *k, const float *v, int n_heads,
                     int head_dim, int n_latent, void *block, int slot)
{
    size_t n = baton_kv_head_bytes(dtype, head_dim, n_latent), dim = (size_t)head_dim;
    char *head = block;
    for (size_t g = 0; g < (size_t)n_heads; g++, head += n)
        if (n_latent)
            store_latent(dtype, k + g * dim, head_dim, n_latent, head, slot);
        else if (dtype == BATON_KV_F32)
            store_head_f32(k + g * dim, v + g * dim, head_dim, (float *)(void *)head, slot);
        else if (dtype == BATON_KV_F16)
            store_head_f16(k + g * dim, v + g * dim, head_dim, (uint16_t *)(void *)head, slot);
        else
            store_head_q8(k + g * dim, v + g * dim, head_dim, head, slot);
}

#endif
