#include "prefill_worker/schedule.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/queue.h"
#include "common/policy/prefill_scheduler.h"
#include "common/worker/rate.h"
#include "common/worker/step_line.h"
#include "prefill_worker/passes.h"

enum { QUEUE_CAPACITY = 1024, MAX_HELD = 1024 };

struct pf_schedule {
    struct pf_passes *passes;
    struct baton_prefill_limits limits;
    struct baton_queue *submitted, *done;
    void (*wake)(void *arg);
    void *wake_arg;
    pthread_t thread;
    struct baton_cores *cores;

    /* engine thread */
    struct pf_job *held[MAX_HELD]; /* in the order in which they came */
    struct baton_prefill_candidate candidates[MAX_HELD];
    int n_held;
    struct baton_rate rate;
    struct baton_step_line line;

    /* shared */
    atomic_int n_inside, n_begun; /* submitted, not done; of them, after their first pass began */
    _Atomic double last_pass_s, busy_s, tokens_per_s, step_base_s, step_row_s;
};

/* ---- one pass ---- */

static bool is_alone(const struct pf_job *job)
{
    return job->naive || job->prompt_logprobs;
}

/* Naive steps run everything so far again, however long; they come by waiting alone, each in turn.
 */
static int count_remaining(const struct pf_job *job)
{
    return job->naive ? 1 : job->n_prompt - job->seq.n_tokens;
}

static int plan(struct pf_schedule *schedule, int64_t now_ns, struct pf_pass_part *parts)
{
    struct baton_prefill_chunk chunks[BATON_PREFILL_MAX_CHUNKS];
    for (int i = 0; i < schedule->n_held; i++) {
        const struct pf_job *job = schedule->held[i];
        schedule->candidates[i] =
            (struct baton_prefill_candidate){.n_remaining = count_remaining(job),
                                             .waited_s = baton_seconds(now_ns - job->runnable_ns),
                                             .alone = is_alone(job)};
    }
    int n =
        baton_prefill_schedule(schedule->candidates, schedule->n_held, &schedule->limits, chunks);
    for (int i = 0; i < n; i++)
        parts[i] = (struct pf_pass_part){.job = schedule->held[chunks[i].candidate],
                                         .n_tokens = chunks[i].n_tokens};
    schedule->limits.others_turn = is_alone(parts[0].job);
    return n;
}

static void note_rate(struct pf_schedule *schedule, int n_rows, double pass_s)
{
    baton_rate_note(&schedule->rate, n_rows, pass_s);
    schedule->limits.tokens_per_s = baton_rate_per_s(&schedule->rate);
    atomic_store(&schedule->last_pass_s, pass_s);
    atomic_store(&schedule->busy_s, schedule->rate.busy_s);
    atomic_store(&schedule->tokens_per_s, schedule->limits.tokens_per_s);
}

static void note_cost(struct pf_schedule *schedule, int n_rows, double pass_s)
{
    double base_s, row_s;
    baton_step_line_note(&schedule->line, n_rows, pass_s);
    baton_step_line_fit(&schedule->line, &base_s, &row_s);
    atomic_store(&schedule->step_base_s, base_s);
    atomic_store(&schedule->step_row_s, row_s);
}

static void note_begun(struct pf_schedule *schedule, const struct pf_pass_part *parts, int n_parts,
                       int64_t now_ns)
{
    for (int i = 0; i < n_parts; i++)
        if (!parts[i].job->begun_ns) {
            parts[i].job->begun_ns = now_ns;
            atomic_fetch_add(&schedule->n_begun, 1);
        }
}

static void run_pass(struct pf_schedule *schedule)
{
    struct pf_pass_part parts[BATON_PREFILL_MAX_CHUNKS];
    int64_t begin_ns = baton_now_ns();
    int n_parts = plan(schedule, begin_ns, parts);
    note_begun(schedule, parts, n_parts, begin_ns);
    int n_rows = pf_passes_run(schedule->passes, parts, n_parts);
    double pass_s = baton_seconds(baton_now_ns() - begin_ns);
    if (schedule->rate.n > 0) /* the first pass reads much for the first time */
        note_cost(schedule, n_rows, pass_s);
    note_rate(schedule, n_rows, pass_s);
}

/* ---- the engine thread ---- */

/* Takes what was submitted; waits for the first one if asked to. False when there will be none. */
static bool take_new(struct pf_schedule *schedule, bool wait)
{
    void *item;
    while (schedule->n_held < MAX_HELD) {
        enum baton_err err = baton_queue_take(schedule->submitted, wait ? -1 : 0, &item);
        if (err)
            return err != BATON_CLOSED;
        schedule->held[schedule->n_held++] = item;
        wait = false;
    }
    return true;
}

/* Jobs that are through or not wanted any more go back to the main thread. */
static void let_go(struct pf_schedule *schedule)
{
    int n_kept = 0, n_begun = 0;
    for (int i = 0; i < schedule->n_held; i++) {
        struct pf_job *job = schedule->held[i];
        if (!job->through && !atomic_load(&job->canceled)) {
            n_begun += job->begun_ns != 0;
            schedule->held[n_kept++] = job;
        } else {
            atomic_fetch_sub(&schedule->n_inside, 1);
            if (baton_queue_put(schedule->done, job))
                baton_log(BATON_LOG_ERROR, "done_queue_full",
                          BATON_X("req", job->origin.request_id));
        }
    }
    schedule->n_held = n_kept;
    atomic_store(&schedule->n_begun, n_begun);
    schedule->wake(schedule->wake_arg);
}

/* From the first job that came to the last one that left. */
static void work_while_held(struct pf_schedule *schedule)
{
    let_go(schedule);
    while (schedule->n_held) {
        run_pass(schedule);
        (void)take_new(schedule, false);
        let_go(schedule);
    }
}

static void *engine_thread(void *arg)
{
    struct pf_schedule *schedule = arg;
    pf_passes_attach(schedule->passes);
    while (take_new(schedule, true)) {
        baton_cores_busy(schedule->cores, true);
        work_while_held(schedule);
        baton_cores_busy(schedule->cores, false);
    }
    return NULL;
}

/* ---- the main thread's side ---- */

static void destroy(struct pf_schedule *schedule)
{
    baton_queue_destroy(schedule->done);
    baton_queue_destroy(schedule->submitted);
    pf_passes_destroy(schedule->passes);
    free(schedule);
}

static enum baton_err start(struct pf_schedule *schedule, const struct pf_schedule_options *options,
                            struct baton_why *why)
{
    int chunk = options->chunk / BATON_KV_BLOCK_TOKENS * BATON_KV_BLOCK_TOKENS;
    const struct pf_passes_options passes = {.model = options->model,
                                             .cores = options->cores,
                                             .max_rows = chunk,
                                             .wake = options->wake,
                                             .wake_arg = options->wake_arg};
    schedule->limits = (struct baton_prefill_limits){.max_tokens = chunk,
                                                     .block_tokens = BATON_KV_BLOCK_TOKENS,
                                                     .max_chunks = BATON_PREFILL_MAX_CHUNKS};
    enum baton_err err = pf_passes_create(&passes, &schedule->passes, why);
    if (err)
        return err;
    schedule->submitted = baton_queue_create(QUEUE_CAPACITY);
    schedule->done = baton_queue_create(QUEUE_CAPACITY + MAX_HELD); /* all there can be */
    if (!schedule->submitted || !schedule->done)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for the engine's queues");
    if (pthread_create(&schedule->thread, NULL, engine_thread, schedule))
        return baton_fail(why, BATON_IO, "no thread for the engine");
    return BATON_OK;
}

enum baton_err pf_schedule_start(const struct pf_schedule_options *options,
                                 struct pf_schedule **out, struct baton_why *why)
{
    struct pf_schedule *schedule = calloc(1, sizeof *schedule);
    if (!schedule)
        return BATON_NO_MEMORY;
    schedule->wake = options->wake;
    schedule->wake_arg = options->wake_arg;
    schedule->cores = options->cores;
    enum baton_err err = start(schedule, options, why);
    if (err)
        destroy(schedule);
    else
        *out = schedule;
    return err;
}

void pf_schedule_stop(struct pf_schedule *schedule)
{
    void *item;
    if (!schedule)
        return;
    while (!baton_queue_take(schedule->submitted, 0, &item))
        ;
    baton_queue_close(schedule->submitted);
    pthread_join(schedule->thread, NULL);
    destroy(schedule);
}

enum baton_err pf_schedule_submit(struct pf_schedule *schedule, struct pf_job *job)
{
    job->runnable_ns = job->has_first_token ? baton_now_ns() : job->received_ns;
    job->through = false;
    atomic_fetch_add(&schedule->n_inside, 1);
    enum baton_err err = baton_queue_put(schedule->submitted, job);
    if (err)
        atomic_fetch_sub(&schedule->n_inside, 1);
    return err;
}

struct pf_job *pf_schedule_take_done(struct pf_schedule *schedule)
{
    void *item;
    return baton_queue_take(schedule->done, 0, &item) ? NULL : item;
}

struct pf_schedule_stats pf_schedule_stats(struct pf_schedule *schedule)
{
    int n_begun = atomic_load(&schedule->n_begun), n_inside = atomic_load(&schedule->n_inside);
    return (struct pf_schedule_stats){
        .n_queued = n_inside > n_begun ? (uint32_t)(n_inside - n_begun) : 0,
        .n_running = (uint32_t)n_begun,
        .last_pass_s = atomic_load(&schedule->last_pass_s),
        .busy_s = atomic_load(&schedule->busy_s),
        .tokens_per_s = atomic_load(&schedule->tokens_per_s),
        .step_base_s = atomic_load(&schedule->step_base_s),
        .step_row_s = atomic_load(&schedule->step_row_s),
        .step_max_rows = (uint32_t)schedule->limits.max_tokens,
    };
}
