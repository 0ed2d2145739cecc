#include "decode_worker/batch.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/queue.h"
#include "common/engine/compute/engine.h"
#include "common/worker/rate.h"
#include "common/worker/step_line.h"
#include "decode_worker/sample_batch.h"
#include "decode_worker/scheduler.h"
#include "decode_worker/stream.h"

/* A pause so short that no reader notices, for contexts whose link is full. */
#define RETRY_NS (2 * BATON_MS)

struct dc_batch {
    struct baton_engine *engine;
    struct dc_scheduler scheduler;
    struct dc_sample_batch *sampling;
    struct dc_stream *stream;
    struct dc_event *events; /* [max_batch] */
    float *logits;           /* [max_batch + DC_MAX_PROMPTS][V] */
    struct baton_rate rate;
    struct baton_step_line line;
    struct baton_cores *cores;
    bool warm;
    bool has_done; /* contexts were handed back that the main thread was not woken for */
    struct baton_queue *submitted, *done; /* a NULL among the submitted is a bare wake-up */
    atomic_bool is_woken;                 /* and there is at most one */
    void (*wake)(void *arg);
    void *wake_arg;
    pthread_t thread;
    atomic_bool stopping;
    /* for others to see */
    atomic_uint n_running, n_paused;
    _Atomic double last_step_s, busy_s, tokens_per_s, step_base_s, step_row_s;
};

/* ---- one step; the engine thread ---- */

struct step_times {
    int64_t begin_ns, computed_ns, chosen_ns;
};

/* Puts a context back into the main thread's hands. */
static void hand_back(struct dc_batch *batch, struct dc_context *context)
{
    if (baton_queue_put(batch->done, context))
        baton_log(BATON_LOG_ERROR, "done_queue_full", BATON_X("req", context->origin.request_id));
    batch->has_done = true;
}

static void leave(struct dc_batch *batch, struct dc_context *context, bool over)
{
    context->over = over;
    dc_scheduler_remove(&batch->scheduler, context);
    hand_back(batch, context);
}

/* The same step makes the same token when the link has room. */
static void undo(struct dc_context *context, int64_t now_ns)
{
    context->seq.n_tokens--;
    context->held_until_ns = now_ns + RETRY_NS;
}

static void begin_sequence(const struct dc_batch *batch, struct dc_context *context,
                           int64_t begin_ns)
{
    if (context->n_steps)
        return;
    context->cold = !batch->warm;
    context->queue_s = baton_seconds(begin_ns - context->ready_ns);
}

static void advance(struct dc_context *context, uint32_t token, double step_s)
{
    context->decode_s += step_s;
    context->n_steps++;
    context->next_token = token;
    context->n_output++;
    baton_sampling_state_note(&context->sampling, token);
}

/* The first n rows are those of sequences: what they gave goes out, and those at their end leave.
 * Returns how many tokens went out. */
static int send_tokens(struct dc_batch *batch, struct baton_sampled_token *sampled, int n,
                       const struct step_times *times)
{
    struct dc_context *const *contexts = batch->scheduler.step.contexts;
    double step_s = baton_seconds(times->computed_ns - times->begin_ns);
    int n_sent = 0;
    for (int i = 0; i < n; i++) {
        struct dc_context *context = contexts[i];
        begin_sequence(batch, context, times->begin_ns);
        bool stopped = baton_sampling_params_is_stop(&context->sampling.params, sampled[i].token);
        bool full = context->n_output + 1 >= (uint64_t)context->max_new_tokens;
        batch->events[i] = (struct dc_event){.context = context,
                                             .sampled = &sampled[i],
                                             .stopped = stopped,
                                             .last = stopped || full};
    }
    dc_stream_send(batch->stream, batch->events, n, step_s);
    for (int i = 0; i < n; i++) {
        const struct dc_event *event = &batch->events[i];
        if (event->err == BATON_AGAIN) {
            undo(contexts[i], times->chosen_ns);
            continue;
        }
        n_sent += !event->err;
        advance(contexts[i], sampled[i].token, step_s);
        if (event->last || event->err)
            leave(batch, contexts[i], true);
    }
    return n_sent;
}

/* The first token of a prompt whose last part was in this step. Returns how many went out. */
static int send_first(struct dc_batch *batch, struct dc_context *context,
                      struct baton_sampled_token *sampled, const struct step_times *times)
{
    struct dc_prompt *prompt = &context->prompt;
    prompt->queue_s = baton_seconds(prompt->begin_ns - prompt->received_ns);
    prompt->compute_s = baton_seconds(times->computed_ns - prompt->begin_ns);
    prompt->sample_s = baton_seconds(times->chosen_ns - times->computed_ns);
    prompt->cold = !batch->warm;
    prompt->stopped = baton_sampling_params_is_stop(&prompt->sampling.params, sampled->token);
    enum baton_err err = dc_stream_send_first(context, sampled);
    if (err == BATON_AGAIN) {
        undo(context, times->chosen_ns);
        return 0;
    }
    leave(batch, context, prompt->stopped || prompt->is_all || err);
    return !err;
}

static void begin_prompts(const struct dc_step *step, int64_t begin_ns)
{
    for (int i = step->n_sequences; i < step->n_parts; i++)
        if (!step->contexts[i]->prompt.begin_ns)
            step->contexts[i]->prompt.begin_ns = begin_ns;
}

static void fail_all(const struct dc_step *step, enum baton_err err)
{
    for (int i = 0; i < step->n_parts; i++) {
        baton_origin_fail(&step->contexts[i]->origin, BATON__V1__FAILED__CODE__INTERNAL,
                          baton_err_text(err));
        atomic_store(&step->contexts[i]->canceled, true);
    }
}

/* Only of sequences: a prompt's rows beside them are others. */
static void note_cost(struct dc_batch *batch, double seconds)
{
    const struct dc_step *step = &batch->scheduler.step;
    double base_s, row_s;
    if (step->n_parts != step->n_sequences)
        return;
    baton_step_line_note(&batch->line, step->n_sequences, seconds);
    baton_step_line_fit(&batch->line, &base_s, &row_s);
    atomic_store(&batch->step_base_s, base_s);
    atomic_store(&batch->step_row_s, row_s);
}

static void note_step(struct dc_batch *batch, const struct step_times *times, int n_tokens)
{
    double seconds = baton_seconds(baton_now_ns() - times->begin_ns);
    atomic_store(&batch->last_step_s, baton_seconds(times->computed_ns - times->begin_ns));
    baton_rate_note(&batch->rate, n_tokens, seconds);
    atomic_store(&batch->busy_s, batch->rate.busy_s);
    atomic_store(&batch->tokens_per_s, baton_rate_per_s(&batch->rate));
    if (batch->warm) /* the first step's reads are the memory's first, too */
        note_cost(batch, seconds);
    batch->warm |= n_tokens > 0;
}

static void run_step(struct dc_batch *batch)
{
    struct dc_step *step = &batch->scheduler.step;
    struct step_times times = {.begin_ns = baton_now_ns()};
    begin_prompts(step, times.begin_ns);
    enum baton_err err =
        baton_engine_forward(batch->engine, step->parts, step->n_parts, NULL, NULL, batch->logits);
    if (err) {
        fail_all(step, err);
        return;
    }
    times.computed_ns = baton_now_ns();
    struct baton_sampled_token *sampled =
        dc_sample_batch_run(batch->sampling, batch->engine, step, batch->logits);
    times.chosen_ns = baton_now_ns();
    int n_tokens = send_tokens(batch, sampled, step->n_sequences, &times);
    for (int row = step->n_sequences; row < step->n_rows; row++)
        n_tokens += send_first(batch, step->contexts[row], &sampled[row], &times);
    note_step(batch, &times, n_tokens);
}

/* ---- between steps ---- */

/* Takes all that was submitted, waiting for the first. False: closed. */
static bool take_submitted(struct dc_batch *batch, int64_t wait_ns)
{
    for (;; wait_ns = 0) {
        void *item;
        enum baton_err err = baton_queue_take(batch->submitted, wait_ns, &item);
        if (err)
            return err != BATON_CLOSED && !atomic_load(&batch->stopping);
        if (item)
            dc_scheduler_add(&batch->scheduler, item);
        else /* an exchange, so that what the waker wrote before is seen from here on */
            (void)atomic_exchange(&batch->is_woken, false);
    }
}

/* Fills the next step, and hands back what was canceled. *wait_ns is how long to sleep if the step
 * is empty. */
static bool schedule(struct dc_batch *batch, int64_t *wait_ns)
{
    int64_t now_ns = baton_now_ns();
    for (struct dc_context *context; (context = dc_scheduler_take_canceled(&batch->scheduler));)
        hand_back(batch, context);
    int64_t until_ns = dc_scheduler_fill(&batch->scheduler, now_ns);
    *wait_ns = until_ns ? until_ns - now_ns : -1;
    atomic_store(&batch->n_running, (unsigned)batch->scheduler.step.n_parts);
    atomic_store(&batch->n_paused, (unsigned)batch->scheduler.n_paused);
    if (batch->has_done)
        batch->wake(batch->wake_arg);
    batch->has_done = false;
    return batch->scheduler.step.n_parts > 0;
}

/* Idle -> busy: returns when there is a step to run. False: stopping. */
static bool await_work(struct dc_batch *batch)
{
    int64_t wait_ns = 0;
    while (take_submitted(batch, wait_ns))
        if (schedule(batch, &wait_ns))
            return true;
    return false;
}

/* Busy -> idle: returns when no context can step, or when stopping. */
static void work(struct dc_batch *batch)
{
    int64_t wait_ns;
    do
        run_step(batch);
    while (take_submitted(batch, 0) && schedule(batch, &wait_ns));
}

static void *engine_thread(void *arg)
{
    struct dc_batch *batch = arg;
    baton_cores_attach(batch->cores, batch->engine);
    while (await_work(batch)) {
        baton_cores_busy(batch->cores, true);
        work(batch);
        baton_cores_busy(batch->cores, false);
    }
    return NULL;
}

/* ---- the main thread ---- */

static void destroy(struct dc_batch *batch)
{
    baton_queue_destroy(batch->done);
    baton_queue_destroy(batch->submitted);
    free(batch->logits);
    free(batch->events);
    dc_stream_destroy(batch->stream);
    dc_sample_batch_destroy(batch->sampling);
    dc_scheduler_fini(&batch->scheduler);
    baton_engine_destroy(batch->engine);
    free(batch);
}

static enum baton_err reserve_memory(struct dc_batch *batch, const struct dc_batch_options *options,
                                     struct baton_why *why)
{
    size_t n_vocab = (size_t)baton_model_shape(options->model)->n_vocab;
    size_t n_sequences = (size_t)options->max_batch, n_rows = n_sequences + DC_MAX_PROMPTS;
    size_t n_queued = (size_t)options->max_contexts + 1; /* and a wake-up */
    enum baton_err err =
        dc_scheduler_init(&batch->scheduler, options->max_batch, options->colocated_chunk);
    batch->logits = calloc(n_rows, n_vocab * sizeof *batch->logits);
    batch->sampling = dc_sample_batch_create((int)n_rows, options->cores->n_threads, (int)n_vocab);
    batch->stream = dc_stream_create(options->max_batch);
    batch->events = calloc(n_sequences, sizeof *batch->events);
    batch->submitted = baton_queue_create(n_queued);
    batch->done = baton_queue_create(n_queued);
    if (err || !batch->logits || !batch->sampling || !batch->stream || !batch->events ||
        !batch->submitted || !batch->done)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for a batch of %zu", n_sequences);
    return BATON_OK;
}

enum baton_err dc_batch_start(const struct dc_batch_options *options, struct dc_batch **out,
                              struct baton_why *why)
{
    struct baton_engine_options engine = {
        .max_rows = dc_scheduler_max_rows(options->max_batch, options->colocated_chunk),
        .n_threads = options->cores->n_threads};
    struct dc_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return BATON_NO_MEMORY;
    batch->cores = options->cores;
    batch->wake = options->wake;
    batch->wake_arg = options->wake_arg;
    enum baton_err err = baton_engine_create(options->model, &engine, &batch->engine, why);
    if (!err)
        err = reserve_memory(batch, options, why);
    if (!err && pthread_create(&batch->thread, NULL, engine_thread, batch))
        err = baton_fail(why, BATON_IO, "no thread for the engine");
    if (err)
        destroy(batch);
    else
        *out = batch;
    return err;
}

void dc_batch_stop(struct dc_batch *batch)
{
    if (!batch)
        return;
    atomic_store(&batch->stopping, true);
    baton_queue_close(batch->submitted);
    pthread_join(batch->thread, NULL);
    destroy(batch);
}

void dc_batch_submit(struct dc_batch *batch, struct dc_context *context)
{
    if (baton_queue_put(batch->submitted, context))
        baton_log(BATON_LOG_ERROR, "batch_queue_full", BATON_X("req", context->origin.request_id));
}

void dc_batch_wake(struct dc_batch *batch)
{
    if (!atomic_exchange(&batch->is_woken, true) && baton_queue_put(batch->submitted, NULL))
        baton_log(BATON_LOG_ERROR, "batch_queue_full", BATON_S("message", "wake-up"));
}

struct dc_context *dc_batch_take_done(struct dc_batch *batch)
{
    void *item;
    return baton_queue_take(batch->done, 0, &item) ? NULL : item;
}

struct dc_batch_stats dc_batch_stats(struct dc_batch *batch)
{
    return (struct dc_batch_stats){.n_running = atomic_load(&batch->n_running),
                                   .n_paused = atomic_load(&batch->n_paused),
                                   .last_step_s = atomic_load(&batch->last_step_s),
                                   .busy_s = atomic_load(&batch->busy_s),
                                   .tokens_per_s = atomic_load(&batch->tokens_per_s),
                                   .step_base_s = atomic_load(&batch->step_base_s),
                                   .step_row_s = atomic_load(&batch->step_row_s),
                                   .step_max_rows = (uint32_t)batch->scheduler.max_batch};
}
