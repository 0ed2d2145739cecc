/* The prefix cache of a worker: prompts with a common prefix share its KV blocks.
 *
 * Whole blocks are registered in the KV pool under the prompt's block hashes, which the gateway
 * computes once and sends with its request (common/base/block_hash.h). Later prompts look up the
 * longest run of blocks from the first one on. Two prompts that run at the same time both compute.
 *
 * A pool holds blocks of one model. Hashes cover the model's identity, so those of another model
 * are never found unless a gateway errs; where the prompt's tokens are known,
 * baton_prefix_cache_made checks the hashes against them.
 *
 * Ownership: the cache owns its counters; blocks belong to the KV pool. A prefix owns its hashes.
 * Threading: main thread.
 * Errors:    init: INVALID with the reason. The others: see there.
 */
#ifndef BATON_WORKER_KV_PREFIX_CACHE_H
#define BATON_WORKER_KV_PREFIX_CACHE_H

#include "common/base/fingerprint.h"
#include "common/wire/envelope/envelope.h"
#include "engine/kv.h"

struct baton_prefix_cache {
    struct baton_kv *kv;
    struct baton_block_hash root; /* the model's identity */
    bool on;
    uint64_t n_looked_up_tokens, n_hit_tokens;
};

/* The block hashes of one prompt. Zeroed it has none: nothing is shared. */
struct baton_prefix {
    struct baton_block_hash *hashes; /* [n_hashes] */
    int n_hashes;
    int n_registered; /* blocks that others can find */
    uint32_t borders[BATON_MAX_BORDERS];
    int n_borders; /* positions before which a step saves a state (engine/kv.h) */
};

/* Hashes cover the fingerprint, the weights' dtype, the pool's layout and the numeric class besides
 * tokens. With `on` false no block is kept. */
enum baton_err baton_prefix_cache_init(struct baton_prefix_cache *cache, struct baton_kv *kv,
                                       const char *dtype,
                                       const struct baton_fingerprint *fingerprint,
                                       const struct baton_numeric_class *numeric_class, bool on,
                                       struct baton_why *why) BATON_MUST_CHECK;

/* Copies the hashes that came with a request of n_tokens prompt tokens; none when the cache is off.
 * INVALID: more of them than the prompt has whole blocks; NO_MEMORY. */
enum baton_err baton_prefix_init(struct baton_prefix *prefix,
                                 const struct baton_prefix_cache *cache,
                                 const ProtobufCBinaryData *hashes,
                                 size_t n_tokens) BATON_MUST_CHECK;

/* Drops the hashes. Harmless when called twice. */
void baton_prefix_fini(struct baton_prefix *prefix);

/* Whether the first hash is that of the first block of the request's tokens, by this cache's model
 * and the request's salt and adapters. True when there is none. */
bool baton_prefix_cache_made(const struct baton_prefix_cache *cache,
                             const struct baton_prefix *prefix,
                             const Baton__V1__PrefillRequest *request);

/* How a sequence uses the cache: not at all, to compute the rest of its prompt, or for a context
 * that arrives (engine/kv.h: baton_seq_init_arriving). */
enum baton_prefix_use { BATON_PREFIX_UNUSED, BATON_PREFIX_COMPUTED, BATON_PREFIX_ARRIVES };

/* Gives seq blocks for n_positions; those of the prefix that are cached come first and are counted,
 * unless unused. Errors as baton_seq_init_shared; may be tried again after one. */
enum baton_err baton_prefix_cache_take_blocks(struct baton_prefix_cache *cache,
                                              struct baton_prefix *prefix, struct baton_seq *seq,
                                              int n_positions,
                                              enum baton_prefix_use use) BATON_MUST_CHECK;

/* Registers the sequence's blocks below n_complete, which are complete, as far as they have hashes
 * and are not registered yet. */
void baton_prefix_register(struct baton_prefix *prefix, struct baton_seq *seq, int n_complete);

/* Copies the request's borders, and tells seq where states are saved; seq may have no blocks yet.
 * Call it again when seq has them. */
void baton_prefix_set_borders(struct baton_prefix *prefix, const Baton__V1__PrefillRequest *request,
                              struct baton_seq *seq);

#endif
