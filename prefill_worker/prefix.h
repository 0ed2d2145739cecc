/* The prefix cache as a prefill worker uses it: prompts that begin alike compute their beginning
 * once. Whole KV blocks are registered under their hashes (common/base/block_hash.h), as soon as
 * all layers of them are there; later prompts look up the longest run from the first block on and
 * start behind it. Two that run at the same time both compute.
 *
 * Ownership: a prefix owns its counters; the blocks belong to the KV pool.
 * Threading: main thread.
 * Errors:    init: INVALID with the reason. take_blocks: as baton_seq_init. A prompt without memory
 *            for its hashes goes without.
 */
#ifndef BATON_PREFILL_PREFIX_H
#define BATON_PREFILL_PREFIX_H

#include "common/base/fingerprint.h"
#include "common/engine/model/model.h"
#include "prefill_worker/job.h"

struct pf_prefix {
    struct baton_kv *kv;
    struct baton_block_hash root;
    bool on;
    int n_layers;
    uint64_t n_looked_up_tokens, n_found_tokens;
};

/* The fingerprint and model say what hashes stand for besides tokens. With `on` false nothing is
 * kept. */
enum baton_err pf_prefix_init(struct pf_prefix *prefix, struct baton_kv *kv,
                              const struct baton_model *model,
                              const struct baton_fingerprint *fingerprint, bool on,
                              struct baton_why *why) BATON_MUST_CHECK;

/* Gives the job blocks for n_positions, those of its prompt that are there already first, and sets
 * its progress and n_cached_tokens. May be tried again after an error. */
enum baton_err pf_prefix_take_blocks(struct pf_prefix *prefix, struct pf_job *job,
                                     int n_positions) BATON_MUST_CHECK;

/* Offers the job's blocks that are complete by now to others. */
void pf_prefix_offer(const struct pf_prefix *prefix, struct pf_job *job);

#endif
