#include "worker/kv/tier.h"

#include <stdlib.h>

static const uint8_t state_salt[BATON_BLOCK_HASH_BYTES] = "states of layers";

/* The layers of the class. A pool without states has one class in the file: all layers. */
static void choose_layers(struct baton_kv_tier *tier, bool of_states)
{
    tier->layers = baton_kv_has_states(tier->kv)
                       ? baton_kv_layers_with(tier->kv, of_states, &tier->n_layers)
                       : baton_kv_held_layers(tier->kv, &tier->n_layers);
    for (int i = 0; i < tier->n_layers; i++)
        tier->block_bytes += baton_kv_block_bytes(tier->kv, tier->layers[i]);
}

static enum baton_err open_file(struct baton_kv_tier *tier, const char *dir, int64_t max_bytes,
                                const struct baton_block_hash *root, bool of_states,
                                struct baton_why *why)
{
    struct baton_block_hash states;
    enum baton_err err = baton_block_hash_salted(root, state_salt, sizeof state_salt, &states);
    if (err)
        return baton_fail(why, err, "--kv-disk: out of memory");
    const struct baton_block_hash *other = of_states ? root : &states;
    const struct baton_kv_file_options file = {.dir = dir,
                                               .max_bytes = max_bytes,
                                               .root = of_states ? states : *root,
                                               .block_bytes = tier->block_bytes,
                                               .beside =
                                                   baton_kv_has_states(tier->kv) ? other : NULL,
                                               .holds = of_states ? "state" : "block"};
    return baton_kv_file_open(&file, &tier->file, why);
}

enum baton_err baton_kv_tier_open(const char *dir, int64_t max_bytes,
                                  const struct baton_prefix_cache *cache, bool of_states,
                                  struct baton_kv_tier *tier, struct baton_why *why)
{
    *tier = (struct baton_kv_tier){.kv = cache->kv};
    choose_layers(tier, of_states);
    tier->pieces = calloc((size_t)tier->n_layers + 1, sizeof *tier->pieces);
    if (!tier->pieces)
        return baton_fail(why, BATON_NO_MEMORY, "--kv-disk: out of memory");
    return open_file(tier, dir, max_bytes, &cache->root, of_states, why);
}

void baton_kv_tier_close(struct baton_kv_tier *tier)
{
    baton_kv_file_close(tier->file);
    free(tier->pieces);
    *tier = (struct baton_kv_tier){0};
}

bool baton_kv_tier_has(struct baton_kv_tier *tier, const struct baton_block_hash *hash)
{
    return baton_kv_file_find(tier->file, hash) != BATON_KV_NO_SLOT;
}

/* Sets pieces to the memory of one block's layers. */
static void lay_out(const struct baton_kv_tier *tier, const struct baton_seq *seq, int block)
{
    for (int i = 0; i < tier->n_layers; i++)
        tier->pieces[i] =
            (struct iovec){.iov_base = baton_seq_block(seq, tier->layers[i], block),
                           .iov_len = baton_kv_block_bytes(tier->kv, tier->layers[i])};
}

enum baton_err baton_kv_tier_read(struct baton_kv_tier *tier, const struct baton_block_hash *hash,
                                  const struct baton_seq *seq, int block, int64_t used_ns)
{
    int64_t slot = baton_kv_file_find(tier->file, hash);
    if (slot == BATON_KV_NO_SLOT)
        return BATON_NOT_FOUND;
    lay_out(tier, seq, block);
    enum baton_err err = baton_kv_file_read(tier->file, slot, hash, tier->pieces, tier->n_layers);
    if (!err)
        baton_kv_file_touch(tier->file, slot, used_ns);
    return err;
}

enum baton_err baton_kv_tier_write(struct baton_kv_tier *tier, const struct baton_block_hash *hash,
                                   const struct baton_seq *seq, int block, int64_t used_ns,
                                   bool *evicted)
{
    lay_out(tier, seq, block);
    return baton_kv_file_write(tier->file, hash, tier->pieces, tier->n_layers, used_ns, evicted);
}

bool baton_kv_tier_touch(struct baton_kv_tier *tier, const struct baton_block_hash *hash,
                         int64_t used_ns)
{
    int64_t slot = baton_kv_file_find(tier->file, hash);
    if (slot != BATON_KV_NO_SLOT)
        baton_kv_file_touch(tier->file, slot, used_ns);
    return slot != BATON_KV_NO_SLOT;
}
