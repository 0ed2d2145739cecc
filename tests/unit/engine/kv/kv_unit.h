/* Support for tests of the KV pool: a small layout, hashes, and stamps in a block's memory. */
#ifndef BATON_TESTS_UNIT_ENGINE_KV_KV_UNIT_H
#define BATON_TESTS_UNIT_ENGINE_KV_KV_UNIT_H

#include "tests/unit/engine/unit.h"

#include "engine/kv/pool.h"

static const struct baton_spec kv_spec = {
    .n_layers = 2,
    .layers = {{.n_kv_heads = 1, .head_dim = 4, .kv_from = 0},
               {.n_kv_heads = 1, .head_dim = 4, .kv_from = 1}}};
static const struct baton_kv_layout kv_layout = {.spec = &kv_spec, .auto_dtype = "f32"};

static inline enum baton_err make_pool(const char *dtype, int n_blocks, struct baton_kv **kv)
{
    const struct baton_kv_pool_options options = {.dtype = dtype, .n_blocks = n_blocks};
    return baton_kv_create_of(kv_layout, &options, kv, NULL);
}

/* Hashes that a hash table tells apart late: of the bytes that serve as the hash only two bits
 * differ. */
static inline struct baton_block_hash colliding_hash(uint32_t number)
{
    struct baton_block_hash hash = {.bytes = {(uint8_t)(number % 4)}};
    memcpy(hash.bytes + 8, &number, sizeof number);
    return hash;
}

/* All of the block's memory, in every layer. */
static inline void stamp_block(const struct baton_seq *seq, int index, uint32_t stamp)
{
    for (int layer = 0; layer < kv_spec.n_layers; layer++) {
        uint32_t *words = baton_seq_block(seq, layer, index);
        for (size_t i = 0; i < baton_kv_block_bytes(seq->kv, layer) / sizeof *words; i++)
            words[i] = stamp + (uint32_t)layer;
    }
}

static inline void assert_stamped(const struct baton_seq *seq, int index, uint32_t stamp)
{
    size_t last = baton_kv_block_bytes(seq->kv, 0) / sizeof(uint32_t) - 1;
    for (int layer = 0; layer < kv_spec.n_layers; layer++) {
        const uint32_t *words = baton_seq_block(seq, layer, index);
        assert_int_equal(words[0], stamp + (uint32_t)layer);
        assert_int_equal(words[last], stamp + (uint32_t)layer);
    }
}

#endif
