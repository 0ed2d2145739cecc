#include "worker/kv/prefix_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/params/adapters.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

enum baton_err baton_prefix_cache_init(struct baton_prefix_cache *cache, struct baton_kv *kv,
                                       const char *dtype,
                                       const struct baton_fingerprint *fingerprint,
                                       const struct baton_numeric_class *numeric_class, bool on,
                                       struct baton_why *why)
{
    const struct baton_block_salt salt = {.config = fingerprint->config,
                                          .weights = fingerprint->weights,
                                          .dtype = dtype,
                                          .kv_dtype = baton_kv_dtype(kv),
                                          .block_tokens = BLOCK,
                                          .kv_layout = baton_kv_layout_name(kv),
                                          .numeric_class = numeric_class->hex};
    *cache = (struct baton_prefix_cache){.kv = kv, .on = on};
    if (!on) /* otherwise the pool would still cache blocks */
        baton_kv_bound_cache(kv, 0);
    enum baton_err err = baton_block_hash_root(&salt, &cache->root);
    return err ? baton_fail(why, err, "prefix cache: no hash for the model") : BATON_OK;
}

enum baton_err baton_prefix_init(struct baton_prefix *prefix,
                                 const struct baton_prefix_cache *cache,
                                 const ProtobufCBinaryData *hashes, size_t n_tokens)
{
    size_t n = hashes->len / BATON_BLOCK_HASH_BYTES;
    *prefix = (struct baton_prefix){0};
    if (n > baton_block_hash_count(n_tokens, BLOCK))
        return BATON_INVALID;
    if (!n || !cache->on)
        return BATON_OK;
    prefix->hashes = malloc(n * sizeof *prefix->hashes);
    if (!prefix->hashes)
        return BATON_NO_MEMORY;
    memcpy(prefix->hashes, hashes->data, n * sizeof *prefix->hashes);
    prefix->n_hashes = (int)n;
    return BATON_OK;
}

void baton_prefix_fini(struct baton_prefix *prefix)
{
    free(prefix->hashes);
    *prefix = (struct baton_prefix){0};
}

static struct baton_adapter_uses uses_of(const Baton__V1__PrefillRequest *request)
{
    struct baton_adapter_uses uses = {0};
    for (size_t i = 0; i < request->n_adapters && i < BATON_MAX_BLENDED; i++) {
        struct baton_adapter_use *use = &uses.list[uses.n++];
        (void)snprintf(use->digest, sizeof use->digest, "%s", request->adapters[i]->digest);
        use->scale = request->adapters[i]->scale;
    }
    return uses;
}

/* Each hash covers the one before it, so the first one identifies the model of all. */
bool baton_prefix_cache_made(const struct baton_prefix_cache *cache,
                             const struct baton_prefix *prefix,
                             const Baton__V1__PrefillRequest *request)
{
    const ProtobufCBinaryData *salt = &request->prefix_salt;
    const struct baton_adapter_uses uses = uses_of(request);
    struct baton_block_hash salted, root, first;
    if (!prefix->n_hashes)
        return true;
    return !baton_block_hash_salted(&cache->root, salt->data, salt->len, &salted) &&
           !baton_adapter_uses_root(&uses, &salted, &root) &&
           !baton_block_hash_tokens(&root, request->tokens, BLOCK, &first, 1) &&
           !memcmp(&first, &prefix->hashes[0], sizeof first);
}

static void save_states(const struct baton_prefix *prefix, struct baton_seq *seq)
{
    baton_seq_save_states(seq, (struct baton_state_saves){.hashes = prefix->hashes,
                                                          .borders = prefix->borders,
                                                          .n_hashes = prefix->n_hashes,
                                                          .n_borders = prefix->n_borders});
}

void baton_prefix_set_borders(struct baton_prefix *prefix, const Baton__V1__PrefillRequest *request,
                              struct baton_seq *seq)
{
    size_t n = request->n_borders < BATON_MAX_BORDERS ? request->n_borders : BATON_MAX_BORDERS;
    if (n)
        memcpy(prefix->borders, request->borders, n * sizeof *request->borders);
    prefix->n_borders = (int)n;
    save_states(prefix, seq);
}

enum baton_err baton_prefix_cache_take_blocks(struct baton_prefix_cache *cache,
                                              struct baton_prefix *prefix, struct baton_seq *seq,
                                              int n_positions, enum baton_prefix_use use)
{
    int n_hashes = use == BATON_PREFIX_UNUSED ? 0 : prefix->n_hashes;
    enum baton_err err =
        use == BATON_PREFIX_ARRIVES
            ? baton_seq_init_arriving(seq, cache->kv, n_positions, prefix->hashes, n_hashes)
            : baton_seq_init_shared(seq, cache->kv, n_positions, prefix->hashes, n_hashes);
    if (err)
        return err;
    save_states(prefix, seq);
    prefix->n_registered = seq->n_shared; /* shared blocks are registered already */
    /* Counted on success only: a prompt that waits for free blocks tries many times. */
    cache->n_looked_up_tokens += (uint64_t)n_hashes * BLOCK;
    cache->n_hit_tokens += (uint64_t)seq->n_shared * BLOCK;
    return BATON_OK;
}

void baton_prefix_register(struct baton_prefix *prefix, struct baton_seq *seq, int n_complete)
{
    int n = n_complete < prefix->n_hashes ? n_complete : prefix->n_hashes;
    if (n <= prefix->n_registered)
        return;
    baton_seq_register(seq, prefix->n_registered, prefix->hashes + prefix->n_registered,
                       n - prefix->n_registered);
    prefix->n_registered = n;
}
