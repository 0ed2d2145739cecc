/* The compute pool: helpers that share the items of one parallel loop with the calling thread.
 *
 * Items are handed out by a counter, so that a helper that lost its core delays one item only;
 * which thread runs an item never changes its result. Helpers spin briefly for the next loop, offer
 * their core to others for a while, then sleep. The owner of the cores may change at any time how
 * many threads take part and on which processors (set_share); the others sleep and take no item.
 *
 * Ownership: created and destroyed by the engine thread.
 * Threading: run is called by one thread at a time, never from inside an item.
 * Errors:    create: NO_MEMORY, INVALID (n_threads outside 1..BATON_POOL_MAX_THREADS), IO (no
 *            thread).
 */
#ifndef BATON_ENGINE_SYSTEM_POOL_H
#define BATON_ENGINE_SYSTEM_POOL_H

#include "engine/engine.h" /* baton_item_fn, baton_share_fn */

enum { BATON_POOL_MAX_THREADS = 256 };

struct baton_pool;

enum baton_err baton_pool_create(int n_threads, struct baton_pool **pool,
                                 struct baton_why *why) BATON_MUST_CHECK;
void baton_pool_destroy(struct baton_pool *pool);

int baton_pool_n_threads(const struct baton_pool *pool);

/* The calling thread must be the only one that ever calls run. Without a share all threads take
 * part, unpinned. */
void baton_pool_set_share(struct baton_pool *pool, baton_share_fn fn, void *arg);

/* Runs fn for items 0..n_items-1 and returns when all are done. Allocates nothing. */
void baton_pool_run(struct baton_pool *pool, int n_items, baton_item_fn fn, void *arg);

#endif
