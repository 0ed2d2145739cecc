#include "common/worker/engine_thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/queue.h"
#include "common/worker/rate.h"
#include "common/worker/step_line.h"

struct baton_engine_thread {
    struct baton_engine_thread_options options;
    struct baton_queue *submitted, *done; /* a NULL among the submitted is a bare wake-up */
    atomic_bool is_woken;                 /* a wake-up is queued; so there is at most one */
    atomic_bool stopping;
    bool started;
    pthread_t thread;

    /* engine thread */
    int n_held;
    bool has_news; /* the main thread is still to be woken for it */
    bool warm;     /* a step has made something */
    struct baton_rate rate;
    struct baton_step_line line;

    /* for others to see */
    atomic_int n_inside;
    _Atomic double last_step_s, busy_s, tokens_per_s, step_base_s, step_row_s;
};

/* ---- the engine thread ---- */

void baton_engine_thread_notify(struct baton_engine_thread *thread)
{
    thread->has_news = true;
}

void baton_engine_thread_hand_back(struct baton_engine_thread *thread, void *item)
{
    thread->n_held--;
    atomic_fetch_sub(&thread->n_inside, 1);
    if (baton_queue_put(thread->done, item)) /* never: it has capacity for every item */
        baton_log(BATON_LOG_ERROR, "done_queue_full", BATON_I("held", thread->n_held));
    thread->has_news = true;
}

/* Takes all that was submitted, waiting up to wait_ns for the first. False: stopping. At max_held
 * items stay in the queue, which then refuses submissions: back-pressure for the main thread. */
static bool take_submitted(struct baton_engine_thread *thread, int64_t wait_ns)
{
    for (; thread->n_held < thread->options.max_held; wait_ns = 0) {
        void *item;
        enum baton_err err = baton_queue_take(thread->submitted, wait_ns, &item);
        if (err)
            break;
        if (item) {
            thread->n_held++;
            thread->options.hooks.add(thread->options.hooks.arg, item);
        } else { /* an exchange, so that the waker's earlier writes are seen from here on */
            (void)atomic_exchange(&thread->is_woken, false);
        }
    }
    return !atomic_load(&thread->stopping);
}

/* Wakes the main thread after the hook, once for everything that the step left: a wake-up per item
 * would make it run beside the engine for nothing. */
static bool schedule(struct baton_engine_thread *thread, int64_t *wait_ns)
{
    bool has_step = thread->options.hooks.schedule(thread->options.hooks.arg, wait_ns);
    if (thread->has_news)
        thread->options.wake(thread->options.wake_arg);
    thread->has_news = false;
    return has_step;
}

static void note_cost(struct baton_engine_thread *thread, int n_rows, double seconds)
{
    double base_s, row_s;
    baton_step_line_note(&thread->line, n_rows, seconds);
    baton_step_line_fit(&thread->line, &base_s, &row_s);
    atomic_store(&thread->step_base_s, base_s);
    atomic_store(&thread->step_row_s, row_s);
}

static void note_step(struct baton_engine_thread *thread, const struct baton_step_report *report,
                      int64_t begin_ns, int64_t end_ns)
{
    double seconds = baton_seconds(end_ns - begin_ns);
    int64_t computed_ns = report->computed_ns ? report->computed_ns : end_ns;
    atomic_store(&thread->last_step_s, baton_seconds(computed_ns - begin_ns));
    baton_rate_note(&thread->rate, report->n_tokens, seconds);
    atomic_store(&thread->busy_s, thread->rate.busy_s);
    atomic_store(&thread->tokens_per_s, baton_rate_per_s(&thread->rate));
    if (thread->warm && report->n_rows) /* the first step reads the weights from cold memory */
        note_cost(thread, report->n_rows, seconds);
    thread->warm |= report->n_tokens > 0;
}

static void run_step(struct baton_engine_thread *thread)
{
    struct baton_step_report report = {0};
    int64_t begin_ns = baton_now_ns();
    if (thread->options.hooks.run(thread->options.hooks.arg, begin_ns, &report))
        note_step(thread, &report, begin_ns, baton_now_ns());
}

/* Idle -> busy: returns when there is a step to run. False: stopping. */
static bool await_work(struct baton_engine_thread *thread)
{
    int64_t wait_ns = 0; /* the first look does not wait: schedule says how long the next one may */
    while (take_submitted(thread, wait_ns))
        if (schedule(thread, &wait_ns))
            return true;
    return false;
}

/* Busy -> idle: returns when nothing can be run, or when stopping. */
static void work(struct baton_engine_thread *thread)
{
    int64_t wait_ns;
    do
        run_step(thread);
    while (take_submitted(thread, 0) && schedule(thread, &wait_ns));
}

static void *engine_thread(void *arg)
{
    struct baton_engine_thread *thread = arg;
    struct baton_cores *cores = thread->options.cores;
    /* From here, because the pool pins the thread that attaches as its caller. */
    baton_cores_attach(cores, thread->options.engine);
    while (await_work(thread)) {
        baton_cores_busy(cores, true);
        work(thread);
        baton_cores_busy(cores, false);
    }
    return NULL;
}

/* ---- the main thread ---- */

enum baton_err baton_engine_thread_create(const struct baton_engine_thread_options *options,
                                          struct baton_engine_thread **out, struct baton_why *why)
{
    struct baton_engine_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return BATON_NO_MEMORY;
    thread->options = *options;
    size_t n_queued = (size_t)options->max_queued + 1; /* and a wake-up */
    thread->submitted = baton_queue_create(n_queued);
    /* All that is queued or held may be handed back before the main thread looks. */
    thread->done = baton_queue_create(n_queued + (size_t)options->max_held);
    if (!thread->submitted || !thread->done) {
        baton_engine_thread_destroy(thread);
        return baton_fail(why, BATON_NO_MEMORY, "no memory for the engine's queues");
    }
    *out = thread;
    return BATON_OK;
}

enum baton_err baton_engine_thread_start(struct baton_engine_thread *thread, struct baton_why *why)
{
    if (pthread_create(&thread->thread, NULL, engine_thread, thread))
        return baton_fail(why, BATON_IO, "no thread for the engine");
    thread->started = true;
    return BATON_OK;
}

void baton_engine_thread_destroy(struct baton_engine_thread *thread)
{
    if (!thread)
        return;
    if (thread->started) {
        atomic_store(&thread->stopping, true); /* first: the close wakes the thread to see it */
        baton_queue_close(thread->submitted);
        pthread_join(thread->thread, NULL);
    }
    baton_queue_destroy(thread->done);
    baton_queue_destroy(thread->submitted);
    free(thread);
}

enum baton_err baton_engine_thread_submit(struct baton_engine_thread *thread, void *item)
{
    /* Before the put: the thread may hand the item back at once, and the count must not go below
     * 0. */
    atomic_fetch_add(&thread->n_inside, 1);
    enum baton_err err = baton_queue_put(thread->submitted, item);
    if (err)
        atomic_fetch_sub(&thread->n_inside, 1);
    return err;
}

void baton_engine_thread_wake(struct baton_engine_thread *thread)
{
    if (!atomic_exchange(&thread->is_woken, true) && baton_queue_put(thread->submitted, NULL))
        baton_log(BATON_LOG_ERROR, "engine_queue_full", BATON_S("message", "wake-up"));
}

void *baton_engine_thread_take_done(struct baton_engine_thread *thread)
{
    void *item;
    return baton_queue_take(thread->done, 0, &item) ? NULL : item;
}

struct baton_engine_stats baton_engine_thread_stats(struct baton_engine_thread *thread)
{
    return (struct baton_engine_stats){.n_inside = atomic_load(&thread->n_inside),
                                       .last_step_s = atomic_load(&thread->last_step_s),
                                       .busy_s = atomic_load(&thread->busy_s),
                                       .tokens_per_s = atomic_load(&thread->tokens_per_s),
                                       .step_base_s = atomic_load(&thread->step_base_s),
                                       .step_row_s = atomic_load(&thread->step_row_s)};
}
