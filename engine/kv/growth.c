#include "engine/kv/growth.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "engine/kv/growth_thread.h"

enum {
    AHEAD_TOKENS = 1024, /* kept backed and empty, at least */
    AHEAD_PART = 4,      /* and at least this part of the blocks in use */
    STATES_AHEAD = 6     /* of the next sequence, and those that its prompt saves */
};

/* A pool that finds no memory asks again after a second, and then ever more rarely: while it
 * expects to grow, more requests are sent to it than it can take. */
#define LEAST_STARVED_NS BATON_SECOND
#define MOST_STARVED_NS  (16 * BATON_SECOND)
#define SHRINK_NS        BATON_SECOND

static void lock_blocks(const struct kv_class *class)
{
    if (class->blocks_lock)
        pthread_mutex_lock(class->blocks_lock);
}

static void unlock_blocks(const struct kv_class *class)
{
    if (class->blocks_lock)
        pthread_mutex_unlock(class->blocks_lock);
}

static void starve(struct baton_kv_growth *growth, int64_t now_ns)
{
    int64_t twice_ns = 2 * growth->starved_ns;
    if (!growth->starved_until_ns)
        growth->starved_ns = twice_ns < LEAST_STARVED_NS  ? LEAST_STARVED_NS
                             : twice_ns > MOST_STARVED_NS ? MOST_STARVED_NS
                                                          : twice_ns;
    growth->starved_until_ns = now_ns + growth->starved_ns;
}

/* Takes over one step that the thread is done with. Under both locks. */
static void collect_step(struct baton_kv_growth *growth, struct kv_class *class, int step,
                         int64_t now_ns)
{
    enum kv_step_state state = class->states[step];
    if (state != KV_STEP_MADE && state != KV_STEP_FAILED && state != KV_STEP_RETURNED)
        return;
    if (state == KV_STEP_MADE)
        baton_kv_blocks_back(class->blocks, step, now_ns);
    if (state == KV_STEP_FAILED)
        starve(growth, now_ns);
    if (state == KV_STEP_MADE)
        growth->starved_ns = 0;
    if (state != KV_STEP_RETURNED)
        class->n_wanted_blocks -= baton_kv_blocks_in_step(class->blocks, step);
    class->states[step] = state == KV_STEP_MADE ? KV_STEP_BACKED : KV_STEP_UNBACKED;
    class->n_in_flight--;
}

static void collect(struct baton_kv_growth *growth)
{
    int64_t now_ns = baton_now_ns();
    for (int i = 0; i < growth->n_classes; i++) {
        struct kv_class *class = &growth->classes[i];
        if (!class->n_in_flight)
            continue;
        lock_blocks(class);
        pthread_mutex_lock(&growth->lock);
        for (int k = 0; k < class->blocks->n_steps; k++)
            collect_step(growth, class, k, now_ns);
        pthread_mutex_unlock(&growth->lock);
        unlock_blocks(class);
    }
}

/* Asks for n_blocks more than are backed, of the first steps that are not. */
static void want(struct baton_kv_growth *growth, struct kv_class *class, int n_blocks)
{
    if (n_blocks <= class->n_wanted_blocks)
        return;
    pthread_mutex_lock(&growth->lock);
    for (int k = 0; k < class->blocks->n_steps && class->n_wanted_blocks < n_blocks; k++) {
        if (class->states[k] != KV_STEP_UNBACKED)
            continue;
        class->states[k] = KV_STEP_WANTED;
        class->n_in_flight++;
        class->n_wanted_blocks += baton_kv_blocks_in_step(class->blocks, k);
    }
    pthread_cond_signal(&growth->work);
    pthread_mutex_unlock(&growth->lock);
}

static void hurry(struct baton_kv_growth *growth)
{
    pthread_mutex_lock(&growth->lock);
    growth->is_urgent = true;
    pthread_cond_signal(&growth->work);
    pthread_mutex_unlock(&growth->lock);
}

/* The empty blocks that a class lacks for its next sequences, after n_taken are allocated. Of
 * windows as many blocks must be backed as are set aside, whatever they hold, and beside them as
 * many as states are saved. */
static int count_lacking(const struct kv_class *class, int n_taken, int n_set_aside)
{
    const struct baton_kv_blocks *blocks = class->blocks;
    int n_backed = blocks->n_blocks - blocks->n_unbacked;
    if (class->blocks_lock)
        return n_set_aside + (class->keeps_saved ? blocks->n_cached : 0) + class->ahead - n_backed;
    int n_used = n_backed - blocks->n_empty + n_taken,
        n_free = n_used / AHEAD_PART > class->ahead ? n_used / AHEAD_PART : class->ahead;
    return n_free - (blocks->n_empty - n_taken);
}

static void grow_ahead(struct baton_kv_growth *growth, int n_taken)
{
    for (int i = 0; i < growth->n_classes; i++) {
        struct kv_class *class = &growth->classes[i];
        if (!baton_kv_growth_n_growable(growth, i))
            continue;
        lock_blocks(class);
        int n = count_lacking(class, n_taken, baton_kv_n_set_aside(growth->kv));
        unlock_blocks(class);
        want(growth, class, n);
    }
}

static int more(int a, int b)
{
    return a > b ? a : b;
}

/* The blocks that must be backed before n_blocks can be allocated: of all positions, unless cached
 * ones have to be evicted anyway; and of windows. */
static enum baton_err count_short(const struct baton_kv_growth *growth, const struct baton_kv *kv,
                                  int n_blocks, int n_short[2])
{
    const struct baton_kv_blocks *blocks = &kv->blocks;
    int n_growable = baton_kv_growth_n_growable(growth, false);
    if (n_blocks > baton_kv_blocks_n_free(blocks) + n_growable)
        return BATON_LIMIT;
    n_short[0] = n_growable ? more(n_blocks - blocks->n_empty, 0) : 0;
    n_short[1] = 0;
    if (!kv->windows)
        return BATON_OK;
    const struct baton_kv_blocks *windows = &kv->windows->blocks;
    n_short[1] = more(kv->windows->n_set_aside - (windows->n_blocks - windows->n_unbacked), 0);
    return n_short[1] > baton_kv_growth_n_growable(growth, true) ? BATON_LIMIT : BATON_OK;
}

static enum baton_err claim(struct baton_kv_growth *growth, struct baton_kv *kv, int n_blocks)
{
    int n_short[2];
    enum baton_err err = count_short(growth, kv, n_blocks, n_short);
    if (err)
        return err;
    if (!n_short[0] && !n_short[1]) {
        grow_ahead(growth, n_blocks);
        return BATON_OK;
    }
    for (int i = 0; i < growth->n_classes; i++)
        want(growth, &growth->classes[i], n_short[i]);
    hurry(growth);
    return BATON_AGAIN;
}

static void wait_for_thread(struct baton_kv_growth *growth, uint64_t n_done)
{
    pthread_mutex_lock(&growth->lock);
    while (growth->n_done == n_done)
        pthread_cond_wait(&growth->done, &growth->lock);
    pthread_mutex_unlock(&growth->lock);
}

static uint64_t count_done(struct baton_kv_growth *growth)
{
    pthread_mutex_lock(&growth->lock);
    uint64_t n = growth->n_done;
    pthread_mutex_unlock(&growth->lock);
    return n;
}

enum baton_err baton_kv_growth_claim(struct baton_kv_growth *growth, struct baton_kv *kv,
                                     int n_blocks)
{
    if (!growth)
        return n_blocks > baton_kv_blocks_n_free(&kv->blocks) ? BATON_LIMIT : BATON_OK;
    for (;;) {
        uint64_t n_done = count_done(growth); /* before collect, or the wait could miss a step */
        collect(growth);
        enum baton_err err = claim(growth, kv, n_blocks);
        if (err != BATON_AGAIN || !growth->options.waits)
            return err;
        wait_for_thread(growth, n_done);
    }
}

int baton_kv_growth_n_growable(const struct baton_kv_growth *growth, bool of_windows)
{
    if (!growth || of_windows >= growth->n_classes || growth->starved_until_ns)
        return 0;
    return growth->classes[of_windows].blocks->n_unbacked;
}

uint64_t baton_kv_growth_n_failures(const struct baton_kv_growth *growth)
{
    return growth ? atomic_load(&growth->n_failures) : 0;
}

/* Readers in other processes may copy a block that its owner has given up: its stamp tells them
 * that the contents are gone. */
static void stamp_step(struct baton_kv *kv, int step)
{
    int first = step * kv->blocks.step_blocks, n = baton_kv_blocks_in_step(&kv->blocks, step);
    kv->clock++;
    for (int i = 0; i < n; i++)
        atomic_store_explicit(&kv->stamps[first + i], kv->clock, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

/* Gives the last steps back that nobody has used since before_ns, as far as enough stays ahead.
 * Under the lock of the blocks. */
static void shrink(struct baton_kv_growth *growth, struct kv_class *class, int64_t before_ns)
{
    int n_set_aside = baton_kv_n_set_aside(growth->kv);
    for (int k = class->blocks->n_steps - 1; k >= 0; k--) {
        int n = baton_kv_blocks_in_step(class->blocks, k);
        if (count_lacking(class, 0, n_set_aside) + n > 0)
            return;
        if (!baton_kv_blocks_is_unused(class->blocks, k, before_ns))
            continue;
        baton_kv_blocks_unback(class->blocks, k);
        if (!class->blocks_lock)
            stamp_step(growth->kv, k);
        pthread_mutex_lock(&growth->lock);
        class->states[k] = KV_STEP_RETURNING;
        class->n_in_flight++;
        pthread_cond_signal(&growth->work);
        pthread_mutex_unlock(&growth->lock);
    }
}

static void give_back_unused(struct baton_kv_growth *growth, int64_t before_ns)
{
    for (int i = 0; i < growth->n_classes; i++) {
        struct kv_class *class = &growth->classes[i];
        lock_blocks(class);
        baton_kv_blocks_expire(class->blocks, before_ns);
        shrink(growth, class, before_ns);
        unlock_blocks(class);
    }
}

void baton_kv_growth_tick(struct baton_kv_growth *growth, int64_t now_ns)
{
    if (!growth)
        return;
    collect(growth);
    if (now_ns >= growth->starved_until_ns)
        growth->starved_until_ns = 0;
    if (growth->options.idle_ns && now_ns >= growth->shrink_next_ns) {
        give_back_unused(growth, now_ns - growth->options.idle_ns);
        growth->shrink_next_ns = now_ns + SHRINK_NS;
    }
    grow_ahead(growth, 0);
}

/* ---- create ---- */

int baton_kv_growth_step_blocks(size_t block_bytes)
{
    return block_bytes < KV_PIECE_BYTES ? (int)(KV_PIECE_BYTES / block_bytes) : 1;
}

static size_t sum_block_bytes(const struct baton_kv *kv, const struct kv_class *class)
{
    size_t n = 0;
    for (int i = 0; i < class->n_layers; i++)
        n += kv->layers[class->layers[i]].block_bytes;
    return n;
}

/* Backs the first steps, and takes the others away. */
static enum baton_err init_class(struct baton_kv_growth *growth, struct kv_class *class)
{
    struct baton_kv_blocks *blocks = class->blocks;
    int n_backed = (class->ahead + blocks->step_blocks - 1) / blocks->step_blocks;
    enum baton_err err = BATON_OK;
    class->block_bytes = sum_block_bytes(growth->kv, class);
    class->states = calloc((size_t)blocks->n_steps, sizeof *class->states);
    if (!class->states)
        return BATON_NO_MEMORY;
    for (int k = 0; k < blocks->n_steps && !err; k++) {
        if (k < n_backed)
            err = baton_kv_growth_back_step(growth, class, k, false);
        else
            baton_kv_blocks_unback(blocks, k);
        class->states[k] = k < n_backed ? KV_STEP_BACKED : KV_STEP_UNBACKED;
    }
    return err;
}

static enum baton_err init_classes(struct baton_kv_growth *growth)
{
    struct baton_kv *kv = growth->kv;
    struct baton_kv_windows *windows = kv->windows;
    growth->n_classes = windows ? 2 : 1;
    growth->classes[0] = (struct kv_class){.blocks = &kv->blocks,
                                           .layers = windows ? kv->of[false] : kv->held,
                                           .n_layers = windows ? kv->n_of[false] : kv->n_held,
                                           .ahead = AHEAD_TOKENS / BATON_KV_BLOCK_TOKENS};
    if (windows)
        growth->classes[1] =
            (struct kv_class){.blocks = &windows->blocks,
                              .blocks_lock = &windows->mutex,
                              .layers = kv->of[true],
                              .n_layers = kv->n_of[true],
                              .keeps_saved = kv->has_states,
                              .ahead = kv->has_states ? STATES_AHEAD : windows->per_sequence};
    enum baton_err err = BATON_OK;
    for (int i = 0; i < growth->n_classes && !err; i++)
        err = init_class(growth, &growth->classes[i]);
    return err;
}

static bool init_lock(struct baton_kv_growth *growth)
{
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr))
        return false;
    growth->has_lock = !pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) &&
                       !pthread_mutex_init(&growth->lock, NULL) &&
                       !pthread_cond_init(&growth->work, &attr) &&
                       !pthread_cond_init(&growth->done, NULL);
    pthread_condattr_destroy(&attr);
    return growth->has_lock;
}

enum baton_err baton_kv_growth_create(struct baton_kv *kv,
                                      const struct baton_kv_growth_options *options,
                                      struct baton_kv_growth **out)
{
    struct baton_kv_growth *growth = calloc(1, sizeof *growth);
    if (!growth)
        return BATON_NO_MEMORY;
    growth->kv = kv;
    growth->options = *options;
    enum baton_err err = init_lock(growth) ? init_classes(growth) : BATON_NO_MEMORY;
    growth->has_thread =
        !err && !pthread_create(&growth->thread, NULL, baton_kv_growth_run, growth);
    if (!growth->has_thread) {
        baton_kv_growth_destroy(growth);
        return BATON_NO_MEMORY;
    }
    *out = growth;
    return BATON_OK;
}

static void stop(struct baton_kv_growth *growth)
{
    pthread_mutex_lock(&growth->lock);
    growth->stopping = true;
    pthread_cond_signal(&growth->work);
    pthread_mutex_unlock(&growth->lock);
    pthread_join(growth->thread, NULL);
}

void baton_kv_growth_destroy(struct baton_kv_growth *growth)
{
    if (!growth)
        return;
    if (growth->has_thread)
        stop(growth);
    if (growth->has_lock) {
        pthread_cond_destroy(&growth->done);
        pthread_cond_destroy(&growth->work);
        pthread_mutex_destroy(&growth->lock);
    }
    for (int i = 0; i < growth->n_classes; i++)
        free(growth->classes[i].states);
    free(growth);
}
