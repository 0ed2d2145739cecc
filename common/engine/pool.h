/* The compute pool: helpers that share the items of one parallel loop with the calling thread.
 *
 * Items are handed out by a counter, so that a helper that lost its core delays one item only;
 * which thread runs an item never changes its result. Helpers spin briefly for the next loop, offer
 * their core to others for a while, then sleep.
 *
 * Ownership: created and destroyed by the engine thread.
 * Threading: run is called by one thread at a time, never from inside an item.
 * Errors:    create: NO_MEMORY, INVALID (n_threads outside 1..BATON_POOL_MAX_THREADS), IO (no
 * thread).
 */
#ifndef BATON_ENGINE_POOL_H
#define BATON_ENGINE_POOL_H

#include "common/base/error.h"

enum { BATON_POOL_MAX_THREADS = 256 };

struct baton_pool;

/* worker is 0..n_threads-1, the caller's own being 0: it picks scratch memory. */
typedef void (*baton_item_fn)(void *arg, int item, int worker);

enum baton_err baton_pool_create(int n_threads, struct baton_pool **pool,
                                 struct baton_why *why) BATON_MUST_CHECK;
void baton_pool_destroy(struct baton_pool *pool);

int baton_pool_n_threads(const struct baton_pool *pool);

/* Gives the calling thread, which is the one that will call run, and every helper a processor of
 * its own among those the caller may run on. Does nothing when there are not enough. */
void baton_pool_pin(struct baton_pool *pool);

/* Runs fn for items 0..n_items-1 and returns when all are done. Allocates nothing. */
void baton_pool_run(struct baton_pool *pool, int n_items, baton_item_fn fn, void *arg);

#endif
