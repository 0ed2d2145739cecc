/* The engine thread of a worker: takes items that the main thread submits, runs step after step
 * while there is work, hands back items that are done, and measures.
 *
 *                          +------------ a step was found ------------+
 *                          |                                          v
 *     idle --submitted--> schedule --nothing to run--> idle    run --> take what was submitted
 *                          ^                                                      |
 *                          +------------------------------------------------------+
 *
 * The worker decides which items take part in a step and what the step does: three hooks. While
 * there are steps the worker's cores are busy; otherwise other workers may use them (worker/cores).
 *
 * An idle thread runs a canary at start and periodically. So a stalled thread, or an engine whose
 * results changed, is noticed before a request comes. An item that is submitted cancels the canary,
 * which runs again later.
 *
 * Ownership: items are borrowed from submit until take_done returns them.
 * Threading: create, start, stop, submit, wake, look and take_done from the main thread; hand_back
 *            and notify from the engine thread, in a hook; stats from any.
 * Errors:    submit: AGAIN when the queue is full.
 */
#ifndef BATON_WORKER_ENGINE_THREAD_H
#define BATON_WORKER_ENGINE_THREAD_H

#include "engine/engine.h"
#include "worker/cores/cores.h"

struct baton_engine_thread;

/* The report of a step. */
struct baton_step_report {
    int n_tokens;        /* for the worker's rate: computed (prefill) or made (decode) */
    int n_rows;          /* that the step's cost is fitted to; 0: the step is not fitted */
    int64_t before_ns;   /* spent before the rows were computed: a draft model's part */
    int64_t computed_ns; /* when the engine finished, if before the step's end; else 0 */
};

struct baton_engine_hooks {
    void *arg;
    /* Adds an item that was submitted. */
    void (*add)(void *arg, void *item);
    /* Hands back items that are done, and chooses the next step. False: there is none. *wait_ns is
     * then the longest time to the next call; -1: the next call comes with the next item. */
    bool (*schedule)(void *arg, int64_t *wait_ns);
    /* Runs the step that schedule chose. False when it failed and has no report. */
    bool (*run)(void *arg, int64_t begin_ns, struct baton_step_report *report);
};

struct baton_canary_hook {
    /* Runs the canary, with the contract of baton_canary_run; NULL: the thread has none. */
    enum baton_err (*run)(void *arg, baton_layer_fn goes_on, void *goes_on_arg);
    void *arg;
    double period_s; /* from the end of one to the next */
};

struct baton_engine_thread_options {
    struct baton_engine_hooks hooks;
    struct baton_cores *cores;
    struct baton_engine *engine; /* computes on the cores */
    struct baton_canary_hook canary;
    int max_queued, max_held; /* items that wait for the thread; that it has taken */
    int max_rows;             /* of a step, for Status */
    double stall_s;           /* with work and without progress for so long: stalled; 0: never */
    void (*wake)(void *arg);  /* wakes the main thread */
    void *wake_arg;
};

struct baton_engine_stats {
    int n_inside; /* items submitted and not handed back */
    double last_step_s;
    double busy_s;                  /* spent in steps, since the start */
    double tokens_per_s;            /* while it works, over the last steps; 0: not known yet */
    double step_base_s, step_row_s; /* of the cost of a step (Status) */
    int step_max_rows;
    double stalled_s;           /* without progress, as of the last check; 0: not stalled */
    unsigned n_canaries;        /* that came to their end */
    unsigned n_canary_failures; /* of them, with other bits than the first, or an error */
};

/* Makes the queues but no thread, so that the hooks' state can be completed before start. */
enum baton_err baton_engine_thread_create(const struct baton_engine_thread_options *options,
                                          struct baton_engine_thread **thread,
                                          struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_engine_thread_start(struct baton_engine_thread *thread,
                                         struct baton_why *why) BATON_MUST_CHECK;

/* Waits for the current step and drops the items still inside. No other call may follow. NULL is
 * harmless. */
void baton_engine_thread_destroy(struct baton_engine_thread *thread);

enum baton_err baton_engine_thread_submit(struct baton_engine_thread *thread,
                                          void *item) BATON_MUST_CHECK;

/* Makes the thread call schedule soon: a condition that an item inside waits for
 * may have changed. */
void baton_engine_thread_wake(struct baton_engine_thread *thread);

/* Checks whether the thread makes progress, and logs when it stalls or resumes. It is stalled when
 * it has work and neither a layer nor a step ends for stall_s and for many times the usual time.
 * Called a few times a second. */
void baton_engine_thread_check_stall(struct baton_engine_thread *thread, int64_t now_ns);

/* Takes an item that was handed back; NULL when there is none. */
void *baton_engine_thread_take_done(struct baton_engine_thread *thread);

/* Hands an added item back to the main thread, which is woken before the next step. */
void baton_engine_thread_hand_back(struct baton_engine_thread *thread, void *item);

/* Wakes the main thread before the next step: something other than an item needs its attention. */
void baton_engine_thread_notify(struct baton_engine_thread *thread);

struct baton_engine_stats baton_engine_thread_stats(struct baton_engine_thread *thread);

#endif
