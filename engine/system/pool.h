/* The compute pool: helpers that share the items of one parallel loop with the calling thread.
 *
 * Items are handed out by a counter, so that a helper that lost its core delays one item only;
 * which thread runs an item never changes its result. Helpers spin briefly for the next loop, offer
 * their core to others for a while, then sleep. The owner of the cores may say at any time how many
 * threads take part and on which processors (set_share); the others sleep, and take no item.
 *
 * Ownership: created and destroyed by the engine thread.
 * Threading: run is called by one thread at a time, never from inside an item.
 * Errors:    create: NO_MEMORY, INVALID (n_threads outside 1..BATON_POOL_MAX_THREADS), IO (no
 * thread).
 */
#ifndef BATON_ENGINE_SYSTEM_POOL_H
#define BATON_ENGINE_SYSTEM_POOL_H

#include <stdbool.h>

#include "common/base/error.h"

enum { BATON_POOL_MAX_THREADS = 256 };

struct baton_pool;

/* worker is 0..n_threads-1, the caller's own being 0: it picks scratch memory. */
typedef void (*baton_item_fn)(void *arg, int item, int worker);

enum baton_err baton_pool_create(int n_threads, struct baton_pool **pool,
                                 struct baton_why *why) BATON_MUST_CHECK;
void baton_pool_destroy(struct baton_pool *pool);

int baton_pool_n_threads(const struct baton_pool *pool);

/* Threads 0..n-1 take part, thread 0 being the caller, i on processors[i], pinned; with NULL each
 * runs wherever the system puts it. One function always tells NULL, or never. */
struct baton_share {
    int n;
    const int *processors; /* [n], borrowed until the next call of the function that told it */
};

/* False while nothing has changed since the last call, which should then cost next to nothing: it
 * is called before every loop and between the caller's items. */
typedef bool (*baton_share_fn)(void *arg, struct baton_share *share);

/* The calling thread must be the one that will call run, and the only one that ever does. Without a
 * share all threads take part, and run wherever the system puts them. */
void baton_pool_set_share(struct baton_pool *pool, baton_share_fn fn, void *arg);

/* Runs fn for items 0..n_items-1 and returns when all are done. Allocates nothing. */
void baton_pool_run(struct baton_pool *pool, int n_items, baton_item_fn fn, void *arg);

#endif
