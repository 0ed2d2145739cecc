#include "worker/engine_thread.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/queue.h"
#include "worker/pace.h"

/* The factor of slowest_s and most_rows from step to step: a half is left after 34 steps. */
static const double fading = 0.98;

/* A canceled canary runs again after this part of its period. */
static const double retry_share = 0.1;

struct baton_engine_thread {
    struct baton_engine_thread_options options;
    struct baton_queue *submitted, *done; /* a NULL among the submitted is a bare wake-up */
    atomic_bool is_woken;                 /* a wake-up is queued; so there is at most one */
    atomic_bool stopping;
    bool started;
    pthread_t thread;

    /* main thread */
    unsigned n_put; /* items and wake-ups */
    struct baton_progress progress;

    /* engine thread */
    int n_held;
    bool has_news; /* the main thread must be woken before the next step */
    bool warm;     /* a step has made something */
    struct baton_rate rate;
    struct baton_step_line line;
    double slowest_s, most_rows; /* of one layer; of a step; both fade */

    /* read by other threads */
    atomic_int n_inside;
    _Atomic double last_step_s, busy_s, tokens_per_s, step_base_s, step_row_s;
    atomic_bool has_work; /* false while it waits with nothing to run */
    atomic_uint n_taken;  /* of n_put */
    atomic_uint n_steps;
    _Atomic double usual_s, usual_rows; /* slowest_s, most_rows */
    _Atomic double stalled_s;
    _Atomic int64_t canary_due_ns; /* 0 at start: at once */
    atomic_uint n_canaries, n_canary_failures;
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
    if (baton_queue_put(thread->done, item)) /* never fails: it has capacity for every item */
        baton_log(BATON_LOG_ERROR, "done_queue_full", BATON_I("held", thread->n_held));
    thread->has_news = true;
}

/* Takes all submitted items, waiting up to wait_ns for the first. False: stopping. At max_held,
 * items stay in the queue, which then refuses submissions: back-pressure for the main thread. */
static bool take_submitted(struct baton_engine_thread *thread, int64_t wait_ns)
{
    atomic_store(&thread->has_work, !wait_ns);
    for (; thread->n_held < thread->options.max_held; wait_ns = 0) {
        void *item;
        enum baton_err err = baton_queue_take(thread->submitted, wait_ns, &item);
        if (err)
            break;
        /* Set before the count: an observer that sees the item taken also sees work. */
        atomic_store(&thread->has_work, true);
        (void)atomic_fetch_add(&thread->n_taken, 1);
        if (item) {
            thread->n_held++;
            thread->options.hooks.add(thread->options.hooks.arg, item);
        } else { /* an exchange acquires the waker's earlier writes */
            (void)atomic_exchange(&thread->is_woken, false);
        }
    }
    return !atomic_load(&thread->stopping);
}

/* Wakes the main thread after the hook, once for everything that the step produced: with a wake-up
 * per item it would compete with the engine for a core. */
static bool schedule(struct baton_engine_thread *thread, int64_t *wait_ns)
{
    bool has_step = thread->options.hooks.schedule(thread->options.hooks.arg, wait_ns);
    if (thread->has_news)
        thread->options.wake(thread->options.wake_arg);
    thread->has_news = false;
    return has_step;
}

static void record_cost(struct baton_engine_thread *thread, int n_rows, double seconds)
{
    double base_s, row_s;
    baton_step_line_add(&thread->line, n_rows, seconds);
    baton_step_line_fit(&thread->line, &base_s, &row_s);
    atomic_store(&thread->step_base_s, base_s);
    atomic_store(&thread->step_row_s, row_s);
}

static void record_step(struct baton_engine_thread *thread, const struct baton_step_report *report,
                        int64_t begin_ns, int64_t end_ns)
{
    double seconds = baton_seconds(end_ns - begin_ns);
    int64_t computed_ns = report->computed_ns ? report->computed_ns : end_ns;
    atomic_store(&thread->last_step_s, baton_seconds(computed_ns - begin_ns));
    baton_rate_add(&thread->rate, report->n_tokens, seconds);
    atomic_store(&thread->busy_s, thread->rate.busy_s);
    atomic_store(&thread->tokens_per_s, baton_rate_per_s(&thread->rate));
    if (thread->warm && report->n_rows) /* the first step reads the weights from cold memory */
        record_cost(thread, report->n_rows, seconds - baton_seconds(report->before_ns));
    thread->warm |= report->n_tokens > 0;
}

static struct baton_engine_pulse pulse(const struct baton_engine_thread *thread)
{
    return thread->options.engine ? baton_engine_pulse(thread->options.engine)
                                  : (struct baton_engine_pulse){0};
}

/* Records the time of a layer, from which the patience for the next one follows. */
static void record_pace(struct baton_engine_thread *thread, unsigned n_layers, int n_rows,
                        double seconds)
{
    thread->slowest_s = fmax(thread->slowest_s * fading, seconds / (n_layers ? n_layers : 1));
    thread->most_rows = fmax(thread->most_rows * fading, n_rows);
    atomic_store(&thread->usual_s, thread->slowest_s);
    atomic_store(&thread->usual_rows, thread->most_rows);
    (void)atomic_fetch_add(&thread->n_steps, 1);
}

static void run_step(struct baton_engine_thread *thread)
{
    struct baton_step_report report = {0};
    int64_t begin_ns = baton_now_ns();
    unsigned n_before = pulse(thread).n_layers;
    bool has_report = thread->options.hooks.run(thread->options.hooks.arg, begin_ns, &report);
    int64_t end_ns = baton_now_ns();
    record_pace(thread, pulse(thread).n_layers - n_before, pulse(thread).n_rows,
                baton_seconds(end_ns - begin_ns));
    if (has_report)
        record_step(thread, &report, begin_ns, end_ns);
}

/* ---- the canary ---- */

/* A baton_layer_fn: whether no item waits for the thread. */
static bool is_alone(void *arg, int layer)
{
    struct baton_engine_thread *thread = arg;
    (void)layer;
    return atomic_load(&thread->n_inside) == thread->n_held && !atomic_load(&thread->is_woken) &&
           !atomic_load(&thread->stopping);
}

/* Counts a canary that ran to its end; one that was canceled has no result. */
static void record_canary(struct baton_engine_thread *thread, enum baton_err err)
{
    if (err)
        baton_log(BATON_LOG_ERROR, "canary_failed", BATON_S("err", baton_err_name(err)),
                  BATON_S("reason", err == BATON_CORRUPT
                                        ? "the same tokens gave other logits than before: broken "
                                          "memory, weights or processor"
                                        : "the engine rejected the canary"));
    atomic_fetch_add(&thread->n_canary_failures, err != BATON_OK);
    atomic_fetch_add(&thread->n_canaries, 1); /* last: a reader of it also sees the failure */
}

static void run_canary(struct baton_engine_thread *thread)
{
    const struct baton_canary_hook *canary = &thread->options.canary;
    double period_s = canary->period_s;
    int64_t begin_ns = baton_now_ns();
    unsigned n_before = pulse(thread).n_layers;
    baton_cores_busy(thread->options.cores, true);
    enum baton_err err = canary->run(canary->arg, is_alone, thread);
    baton_cores_busy(thread->options.cores, false);
    int64_t end_ns = baton_now_ns();
    record_pace(thread, pulse(thread).n_layers - n_before, pulse(thread).n_rows,
                baton_seconds(end_ns - begin_ns));
    if (err == BATON_CANCELED)
        period_s *= retry_share;
    else
        record_canary(thread, err);
    atomic_store(&thread->canary_due_ns, end_ns + (int64_t)(period_s * (double)BATON_SECOND));
}

/* Runs the canary of an idle thread if it is due, else shortens *wait_ns to that time. A canary
 * takes time, so schedule is called again after it. */
static void tend_canary(struct baton_engine_thread *thread, int64_t *wait_ns)
{
    if (!thread->options.canary.run)
        return;
    int64_t left_ns = atomic_load(&thread->canary_due_ns) - baton_now_ns();
    if (left_ns <= 0) {
        run_canary(thread);
        *wait_ns = 0;
    } else if (*wait_ns < 0 || left_ns < *wait_ns) {
        *wait_ns = left_ns;
    }
}

/* ---- the loop ---- */

/* Idle -> busy: returns when there is a step to run. False: stopping. */
static bool await_work(struct baton_engine_thread *thread)
{
    int64_t wait_ns = 0; /* the first time is not waited for: schedule sets how long to wait */
    while (take_submitted(thread, wait_ns)) {
        if (schedule(thread, &wait_ns))
            return true;
        tend_canary(thread, &wait_ns);
    }
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
    (void)pthread_setname_np(pthread_self(), "baton-engine");
    /* Attached on this thread, because the pool pins the thread that attaches as its caller. */
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
    /* All queued and held items may be handed back before the main thread takes one. */
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
        return baton_fail(why, BATON_IO, "the engine's thread could not be started");
    thread->started = true;
    return BATON_OK;
}

void baton_engine_thread_destroy(struct baton_engine_thread *thread)
{
    if (!thread)
        return;
    if (thread->started) {
        atomic_store(&thread->stopping,
                     true); /* first: the close wakes the thread, which reads it */
        baton_queue_close(thread->submitted);
        pthread_join(thread->thread, NULL);
    }
    baton_queue_destroy(thread->done);
    baton_queue_destroy(thread->submitted);
    free(thread);
}

enum baton_err baton_engine_thread_submit(struct baton_engine_thread *thread, void *item)
{
    /* Counted before the put: the thread may hand the item back at once, and the count must not
     * fall below 0. */
    atomic_fetch_add(&thread->n_inside, 1);
    enum baton_err err = baton_queue_put(thread->submitted, item);
    if (err)
        atomic_fetch_sub(&thread->n_inside, 1);
    thread->n_put += !err;
    return err;
}

void baton_engine_thread_wake(struct baton_engine_thread *thread)
{
    if (atomic_exchange(&thread->is_woken, true))
        return;
    if (!baton_queue_put(thread->submitted, NULL)) {
        thread->n_put++;
        return;
    }
    /* A full queue wakes the thread as well; the next wake-up must be queued again. */
    atomic_store(&thread->is_woken, false);
    baton_log(BATON_LOG_ERROR, "engine_queue_full", BATON_S("message", "wake-up"));
}

/* A step with more rows than usual may take proportionally longer. */
static double patience_s(struct baton_engine_thread *thread, int n_rows)
{
    double rows = atomic_load(&thread->usual_rows);
    double usual_s = atomic_load(&thread->usual_s) * fmax(1, rows > 0 ? n_rows / rows : 1);
    return baton_progress_patience_s(thread->options.stall_s, usual_s);
}

static void set_stalled(struct baton_engine_thread *thread, double stalled_s)
{
    bool was_stalled = atomic_exchange(&thread->stalled_s, stalled_s) > 0;
    if (!was_stalled && stalled_s > 0)
        baton_log(BATON_LOG_ERROR, "engine_stalled", BATON_F("still_s", stalled_s),
                  BATON_I("items", atomic_load(&thread->n_inside)));
    else if (was_stalled && stalled_s <= 0)
        baton_log(BATON_LOG_WARN, "engine_resumed",
                  BATON_I("items", atomic_load(&thread->n_inside)));
}

/* A canary that is due counts as work: an idle thread that does not start it is stalled. */
static bool has_work(struct baton_engine_thread *thread, unsigned n_taken, int64_t now_ns)
{
    bool is_due = thread->options.canary.run && now_ns >= atomic_load(&thread->canary_due_ns);
    return is_due || atomic_load(&thread->has_work) || n_taken != thread->n_put;
}

void baton_engine_thread_check_stall(struct baton_engine_thread *thread, int64_t now_ns)
{
    if (thread->options.stall_s <= 0)
        return;
    unsigned n_taken = atomic_load(&thread->n_taken);
    struct baton_engine_pulse seen = pulse(thread);
    /* Any of the three shows life: items taken, steps ended, layers computed. */
    uint64_t n_done = (uint64_t)n_taken + atomic_load(&thread->n_steps) + seen.n_layers;
    double still_s =
        baton_progress_poll(&thread->progress, has_work(thread, n_taken, now_ns), n_done, now_ns);
    set_stalled(thread, still_s > patience_s(thread, seen.n_rows) ? still_s : 0);
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
                                       .step_row_s = atomic_load(&thread->step_row_s),
                                       .step_max_rows = thread->options.max_rows,
                                       .stalled_s = atomic_load(&thread->stalled_s),
                                       .n_canaries = atomic_load(&thread->n_canaries),
                                       .n_canary_failures =
                                           atomic_load(&thread->n_canary_failures)};
}
