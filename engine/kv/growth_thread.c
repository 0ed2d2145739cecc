#include "engine/kv/growth_thread.h"

#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum { REST_PARTS = 19 /* of twenty */ };

/* Waits so long that the thread uses a twentieth of one processor, unless a claim waits. */
static void rest(struct baton_kv_growth *growth, int64_t worked_ns)
{
    int64_t until_ns = baton_now_ns() + REST_PARTS * worked_ns;
    struct timespec until = {.tv_sec = until_ns / BATON_SECOND, .tv_nsec = until_ns % BATON_SECOND};
    pthread_mutex_lock(&growth->lock);
    while (!growth->is_urgent && !growth->stopping &&
           !pthread_cond_timedwait(&growth->work, &growth->lock, &until))
        ;
    pthread_mutex_unlock(&growth->lock);
}

struct range {
    size_t at, n;
};

/* The memory of steps first..end - 1 in one layer. */
static struct range range_of(const struct baton_kv_growth *growth, const struct kv_class *class,
                             int layer, int first, int end)
{
    const struct kv_layer *in = &growth->kv->layers[class->layers[layer]];
    const char *base = baton_reserve_memory(growth->kv->reserve);
    int n_before = first * class->blocks->step_blocks,
        n_until = (end - 1) * class->blocks->step_blocks +
                  baton_kv_blocks_in_step(class->blocks, end - 1);
    return (struct range){.at = (size_t)(in->memory - base) + (size_t)n_before * in->block_bytes,
                          .n = (size_t)(n_until - n_before) * in->block_bytes};
}

static enum baton_err back_range(struct baton_kv_growth *growth, struct range range, bool rests)
{
    enum baton_err err = BATON_OK;
    for (size_t past = 0; past < range.n && !err; past += KV_PIECE_BYTES) {
        size_t n = range.n - past < KV_PIECE_BYTES ? range.n - past : KV_PIECE_BYTES;
        int64_t begin_ns = baton_thread_cpu_ns();
        err = baton_reserve_back(growth->kv->reserve, range.at + past, n);
        if (rests)
            rest(growth, baton_thread_cpu_ns() - begin_ns);
    }
    return err;
}

enum baton_err baton_kv_growth_back_step(struct baton_kv_growth *growth,
                                         const struct kv_class *class, int step, bool rests)
{
    enum baton_err err = BATON_OK;
    for (int i = 0; i < class->n_layers && !err; i++)
        err = back_range(growth, range_of(growth, class, i, step, step + 1), rests);
    return err;
}

/* Gives a step back, with the unbacked ones around it: alone it may not fill its huge pages. */
static void give_back_step(struct baton_kv_growth *growth, const struct kv_class *class, int step)
{
    int first = step, end = step + 1;
    pthread_mutex_lock(&growth->lock);
    while (first > 0 && (class->states[first - 1] == KV_STEP_UNBACKED ||
                         class->states[first - 1] == KV_STEP_WANTED))
        first--;
    while (end < class->blocks->n_steps &&
           (class->states[end] == KV_STEP_UNBACKED || class->states[end] == KV_STEP_WANTED))
        end++;
    pthread_mutex_unlock(&growth->lock);
    for (int i = 0; i < class->n_layers; i++) {
        struct range range = range_of(growth, class, i, first, end);
        baton_reserve_give_back(growth->kv->reserve, range.at, range.n);
    }
}

static void log_failure(const struct kv_class *class, int step, const char *reason)
{
    static struct baton_log_limit limit;
    size_t n_bytes = (size_t)baton_kv_blocks_in_step(class->blocks, step) * class->block_bytes;
    baton_log_limited(&limit, BATON_LOG_WARN, "kv_not_backed",
                      BATON_F("mib", (double)n_bytes / (1 << 20)), BATON_S("reason", reason),
                      BATON_S("consequence", "requests wait for blocks that are backed"));
}

/* Never touches memory that the caller of may_take would miss: where a control group's limit is
 * reached, the kernel kills instead of refusing. */
static enum kv_step_state make_step(struct baton_kv_growth *growth, const struct kv_class *class,
                                    int step)
{
    size_t n_bytes = (size_t)baton_kv_blocks_in_step(class->blocks, step) * class->block_bytes;
    const struct baton_kv_growth_options *options = &growth->options;
    if (options->may_take && !options->may_take(options->arg, n_bytes)) {
        log_failure(class, step, "too little memory is left");
        return KV_STEP_FAILED;
    }
    if (!baton_kv_growth_back_step(growth, class, step, true))
        return KV_STEP_MADE;
    give_back_step(growth, class, step);
    log_failure(class, step, "the kernel refuses it");
    return KV_STEP_FAILED;
}

/* The first step in that state; false: there is none. Under the lock. */
static bool find(struct baton_kv_growth *growth, enum kv_step_state state, struct kv_class **class,
                 int *step)
{
    for (int i = 0; i < growth->n_classes; i++)
        for (int k = 0; k < growth->classes[i].blocks->n_steps; k++)
            if (growth->classes[i].states[k] == (uint8_t)state) {
                *class = &growth->classes[i];
                *step = k;
                return true;
            }
    return false;
}

/* Growth comes before return, because a claim may wait for it. Under the lock, which it leaves. */
static bool do_next(struct baton_kv_growth *growth)
{
    struct kv_class *class;
    int step;
    bool grows = find(growth, KV_STEP_WANTED, &class, &step);
    growth->is_urgent = grows && growth->is_urgent;
    if (!grows && !find(growth, KV_STEP_RETURNING, &class, &step))
        return false;
    pthread_mutex_unlock(&growth->lock);
    enum kv_step_state state = grows ? make_step(growth, class, step) : KV_STEP_RETURNED;
    if (!grows)
        give_back_step(growth, class, step);
    pthread_mutex_lock(&growth->lock);
    class->states[step] = (uint8_t)state;
    atomic_fetch_add(&growth->n_failures, state == KV_STEP_FAILED);
    growth->n_done++;
    pthread_cond_broadcast(&growth->done);
    return true;
}

void *baton_kv_growth_run(void *arg)
{
    struct baton_kv_growth *growth = arg;
    (void)pthread_setname_np(pthread_self(), "baton-kv-back");
    pthread_mutex_lock(&growth->lock);
    while (!growth->stopping) {
        if (!do_next(growth)) {
            pthread_cond_wait(&growth->work, &growth->lock);
            continue;
        }
        pthread_mutex_unlock(&growth->lock);
        if (growth->options.grown)
            growth->options.grown(growth->options.arg);
        pthread_mutex_lock(&growth->lock);
    }
    pthread_mutex_unlock(&growth->lock);
    return NULL;
}
