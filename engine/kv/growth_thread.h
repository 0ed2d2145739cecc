/* The thread of a pool that grows (growth.h): it backs the steps that the pool's owner wants, and
 * gives back those that the owner returns.
 *
 * Private to the growth: growth.c decides which steps, growth_thread.c does it.
 *
 * Ownership: the growth owns everything here.
 * Threading: the owner's thread, and the one that runs baton_kv_growth_run.
 * Errors:    back_step: those of baton_reserve_back.
 */
#ifndef BATON_ENGINE_KV_GROWTH_THREAD_H
#define BATON_ENGINE_KV_GROWTH_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/kv/pool.h"
#include "engine/system/reserve.h"

enum { KV_PIECE_BYTES = BATON_RESERVE_ALIGNMENT /* backed at a time */ };

enum kv_step_state {
    KV_STEP_UNBACKED,
    KV_STEP_WANTED,
    KV_STEP_MADE,
    KV_STEP_FAILED,
    KV_STEP_BACKED,
    KV_STEP_RETURNING,
    KV_STEP_RETURNED
};

/* The blocks of all layers that keep all positions, or of those that keep windows. */
struct kv_class {
    struct baton_kv_blocks *blocks;
    pthread_mutex_t *blocks_lock; /* NULL: only the pool's owner uses them */
    const int *layers;            /* [n_layers] that hold them */
    int n_layers;
    bool keeps_saved; /* it grows by the blocks that are cached: states, saved for prompts */
    uint8_t *states;  /* [n_steps] enum kv_step_state, under the growth's lock */

    /* The owner's. */
    int n_in_flight, n_wanted_blocks; /* steps that the thread has; their blocks */
    int ahead;                        /* blocks that stay backed and empty, at least */
    size_t block_bytes;
};

struct baton_kv_growth {
    struct baton_kv *kv;
    struct baton_kv_growth_options options;
    struct kv_class classes[2]; /* of all positions, of windows */
    int n_classes;
    int64_t starved_until_ns; /* 0: it is not starved */
    int64_t starved_ns;       /* how long it was, or is; 0: its last step was backed */
    int64_t shrink_next_ns;
    pthread_t thread;
    bool has_thread, has_lock;

    pthread_mutex_t lock; /* over what follows, and the states */
    pthread_cond_t work, done;
    bool stopping, is_urgent;
    uint64_t n_done;

    atomic_uint_least64_t n_failures;
};

/* Backs a step before it returns, without rests in between if rests is false. */
enum baton_err baton_kv_growth_back_step(struct baton_kv_growth *growth,
                                         const struct kv_class *class, int step,
                                         bool rests) BATON_MUST_CHECK;

/* Runs until growth->stopping; arg is the growth. */
void *baton_kv_growth_run(void *arg);

#endif
