/* The engine thread of a worker: takes items that the main thread submits, runs step after step
 * while there is something to run, hands back items that are done, and measures.
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
 * An idle thread runs a canary at start and now and then. So one that stands still is noticed
 * before a request comes, and so is an engine whose results changed. A canary gives way to what is
 * submitted, and is tried again later.
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

/* What a step tells of itself. */
struct baton_step_report {
    int n_tokens;        /* for the worker's rate: computed (prefill) or made (decode) */
    int n_rows;          /* that the step's cost is fitted to; 0: this step tells nothing of it */
    int64_t before_ns;   /* that it took before what its rows cost: a draft model's part */
    int64_t computed_ns; /* when the engine was through, if that is not the step's end; else 0 */
};

struct baton_engine_hooks {
    void *arg;
    /* An item that was submitted. */
    void (*add)(void *arg, void *item);
    /* Hands back items that are done, and chooses the next step. False: there is none. *wait_ns
     * is then when to be asked again at the latest, in nanoseconds; -1: when something is
     * submitted. */
    bool (*schedule)(void *arg, int64_t *wait_ns);
    /* Runs the step that schedule chose. False when it failed and tells nothing. */
    bool (*run)(void *arg, int64_t begin_ns, struct baton_step_report *report);
};

struct baton_canary_hook {
    /* As baton_canary_run; NULL: there is none. */
    enum baton_err (*run)(void *arg, baton_layer_fn goes_on, void *goes_on_arg);
    void *arg;
    double period_s; /* from the end of one to the next */
};

struct baton_engine_thread_options {
    struct baton_engine_hooks hooks;
    struct baton_cores *cores;
    struct baton_engine *engine; /* what computes on them */
    struct baton_canary_hook canary;
    int max_queued, max_held; /* items that wait for the thread; that it has taken */
    int max_rows;             /* of a step, for Status */
    double stall_s;           /* with work and without progress for so long: stalled; 0: never */
    void (*wake)(void *arg);  /* rings the main thread */
    void *wake_arg;
};

struct baton_engine_stats {
    int n_inside; /* items submitted and not handed back */
    double last_step_s;
    double busy_s;                  /* spent in steps, since the start */
    double tokens_per_s;            /* while it works, over the last steps; 0: not known yet */
    double step_base_s, step_row_s; /* as Status tells them */
    int step_max_rows;
    double stalled_s;           /* without progress, as of the last look; 0: it moves */
    unsigned n_canaries;        /* that came to their end */
    unsigned n_canary_failures; /* of them, with other bits than the first, or an error */
};

/* Makes the queues but no thread, so that the hooks' state can be completed before start. */
enum baton_err baton_engine_thread_create(const struct baton_engine_thread_options *options,
                                          struct baton_engine_thread **thread,
                                          struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_engine_thread_start(struct baton_engine_thread *thread,
                                         struct baton_why *why) BATON_MUST_CHECK;

/* Waits for the step that runs and forgets the items still inside. No other call may follow.
 * Harmless with NULL. */
void baton_engine_thread_destroy(struct baton_engine_thread *thread);

enum baton_err baton_engine_thread_submit(struct baton_engine_thread *thread,
                                          void *item) BATON_MUST_CHECK;

/* Something that an item inside waits for may have changed: schedule is called soon. */
void baton_engine_thread_wake(struct baton_engine_thread *thread);

/* Sees whether the thread makes progress, and logs when it stalls or goes on. It is stalled when it
 * has work and neither a layer nor a step ends for stall_s, and for many times its usual. Call it a
 * few times a second. */
void baton_engine_thread_look(struct baton_engine_thread *thread, int64_t now_ns);

/* An item that was handed back; NULL when there is none. */
void *baton_engine_thread_take_done(struct baton_engine_thread *thread);

/* Puts an item that was added into the main thread's hands, which is woken before the next step. */
void baton_engine_thread_hand_back(struct baton_engine_thread *thread, void *item);

/* The main thread has something to look at, and is woken before the next step. */
void baton_engine_thread_notify(struct baton_engine_thread *thread);

struct baton_engine_stats baton_engine_thread_stats(struct baton_engine_thread *thread);

#endif
