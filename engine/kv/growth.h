/* The memory of a pool that grows with its use and shrinks again, by steps of blocks (blocks.h).
 *
 * A thread of its own backs steps before they are used, so that nobody who uses a block waits for
 * the kernel:
 *
 *     unbacked --claim, ahead of use--> wanted --thread--> backed --tick, unused--> returning
 *        ^                                | no memory                                   |
 *        +--------------------------------+---------------------------------------------+
 *
 * A sequence gets blocks of backed steps only. When these are too few, its claim asks for more, and
 * it is made again once they are there. The thread works at a twentieth of a processor unless a
 * claim waits: it holds the lock of the address space (mmap_lock) while it backs a huge page, and
 * takes processor time from steps that run.
 *
 * When the memory is not there, the pool counts unbacked blocks as not free for a second, and for
 * up to 16 when it fails again.
 * Private to the KV cache.
 *
 * Ownership: a growth belongs to its pool, which outlives it.
 * Threading: as the pool's owner; the thread is internal.
 * Errors:    create: NO_MEMORY. claim: LIMIT and AGAIN.
 */
#ifndef BATON_ENGINE_KV_GROWTH_H
#define BATON_ENGINE_KV_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct baton_kv;
struct baton_kv_growth;
struct baton_kv_growth_options;

/* The blocks of a step, for blocks of a layer of at most so many bytes: as many as a huge page
 * holds in the layer with the largest, at least one. */
int baton_kv_growth_step_blocks(size_t block_bytes);

/* For a pool that has its memory, of which nothing is backed: backs the blocks of the first
 * requests before it returns. */
enum baton_err baton_kv_growth_create(struct baton_kv *kv,
                                      const struct baton_kv_growth_options *options,
                                      struct baton_kv_growth **growth) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_kv_growth_destroy(struct baton_kv_growth *growth);

/* Whether n_blocks can be allocated now, and the windows that are set aside filled. LIMIT: there
 * are not so many; AGAIN: they are being backed, and options.grown is called afterwards. growth may
 * be NULL: all is backed. */
enum baton_err baton_kv_growth_claim(struct baton_kv_growth *growth, struct baton_kv *kv,
                                     int n_blocks) BATON_MUST_CHECK;

/* Unbacked blocks that may be backed, of all layers or of windows. growth may be NULL: none. */
int baton_kv_growth_n_growable(const struct baton_kv_growth *growth, bool of_windows);

/* Takes over what the thread has done, gives back what is unused, and grows ahead. growth may be
 * NULL. */
void baton_kv_growth_tick(struct baton_kv_growth *growth, int64_t now_ns);

/* How often memory for a step was not there. growth may be NULL. */
uint64_t baton_kv_growth_n_failures(const struct baton_kv_growth *growth);

#endif
