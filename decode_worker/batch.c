#include "decode_worker/batch.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/queue.h"
#include "common/engine/engine.h"
#include "decode_worker/stream.h"

enum { QUEUE_CAPACITY = 4096 };

/* A pause so short that no reader notices, for when every link is full. */
#define RETRY_NS (2 * BATON_MS)

struct dc_batch {
    struct baton_engine *engine;
    struct baton_sampler *sampler;
    struct baton_choice choice; /* scratch: the token on its way out */
    int n_vocab, max_batch;
    float *logits;                /* [max_batch][V] */
    struct dc_context **running;  /* [max_batch] */
    struct dc_context **stepping; /* [max_batch]: those of running that take part in this step */
    struct baton_seq **seqs;      /* [max_batch] */
    uint32_t *inputs;             /* [max_batch] */
    int n_running;
    struct baton_queue *submitted, *done;
    void (*wake)(void *arg);
    void *wake_arg;
    pthread_t thread;
    bool pin, warm;
    atomic_bool stopping;
    atomic_uint n_running_now;
    _Atomic double last_step_s;
};

/* Puts the context at place i back into the main thread's hands; the last one takes its place. */
static void leave(struct dc_batch *batch, int i)
{
    struct dc_context *context = batch->running[i];
    batch->running[i] = batch->running[--batch->n_running];
    if (baton_queue_put(batch->done, context))
        baton_log(BATON_LOG_ERROR, "done_queue_full", BATON_X("req", context->asker.request_id));
    batch->wake(batch->wake_arg);
}

/* Takes new contexts while there is room. Waits when there is nothing else to do; false: closed. */
static bool join_new(struct dc_batch *batch, int64_t wait_ns)
{
    if (batch->n_running == batch->max_batch && wait_ns > 0)
        nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
    while (batch->n_running < batch->max_batch) {
        void *item = NULL;
        enum baton_err err = baton_queue_take(batch->submitted, wait_ns, &item);
        if (err)
            return err != BATON_CLOSED;
        wait_ns = 0;
        if (item) /* NULL is a bare wake-up */
            batch->running[batch->n_running++] = item;
    }
    return true;
}

/* Drops canceled contexts and lists those that may step. */
static int choose(struct dc_batch *batch)
{
    int n = 0;
    for (int i = batch->n_running - 1; i >= 0; i--)
        if (atomic_load_explicit(&batch->running[i]->canceled, memory_order_relaxed))
            leave(batch, i);
    for (int i = 0; i < batch->n_running; i++) {
        struct dc_context *context = batch->running[i];
        if (!dc_stream_has_credit(context))
            continue;
        batch->stepping[n] = context;
        batch->seqs[n] = &context->seq;
        batch->inputs[n++] = context->next_token;
    }
    return n;
}

/* The token goes out; true when the sequence has come to its end. */
static bool advance(struct dc_batch *batch, struct dc_context *context, const float *logits,
                    int64_t begin_ns, double step_s)
{
    struct baton_choice *choice = &batch->choice;
    baton_choice_make(choice, batch->sampler, &context->plan, logits,
                      (uint64_t)context->seq.n_tokens);
    if (!context->n_steps)
        context->cold = !batch->warm;
    enum baton_err err =
        dc_stream_token(context, choice, step_s, baton_seconds(begin_ns - context->ready_ns));
    if (err == BATON_AGAIN) { /* undo: the same step makes the same token when the link has room */
        context->seq.n_tokens--;
        return false;
    }
    if (err)
        return true; /* the gateway is gone */
    batch->warm = true;
    context->decode_s += step_s;
    context->n_steps++;
    context->next_token = choice->token;
    context->n_output++;
    baton_plan_note(&context->plan, choice->token);
    bool stopped = baton_plan_is_stop(&context->plan, choice->token);
    if (!stopped && context->n_output < (uint64_t)context->max_new_tokens)
        return false;
    dc_stream_finished(context, stopped);
    return true;
}

static void fail_all(struct dc_batch *batch, int n, enum baton_err err)
{
    for (int i = 0; i < n; i++) {
        baton_asker_fail(&batch->stepping[i]->asker, BATON__V1__FAILED__CODE__INTERNAL,
                         baton_err_text(err));
        atomic_store(&batch->stepping[i]->canceled, true);
    }
}

static void leave_context(struct dc_batch *batch, const struct dc_context *context)
{
    for (int i = 0; i < batch->n_running; i++)
        if (batch->running[i] == context) {
            leave(batch, i);
            return;
        }
}

static void step(struct dc_batch *batch, int n)
{
    int64_t begin_ns = baton_now_ns();
    enum baton_err err =
        baton_engine_decode(batch->engine, batch->seqs, batch->inputs, n, batch->logits);
    if (err) {
        fail_all(batch, n, err);
        return;
    }
    double step_s = baton_seconds(baton_now_ns() - begin_ns);
    atomic_store(&batch->last_step_s, step_s);
    for (int i = 0; i < n; i++)
        if (advance(batch, batch->stepping[i], batch->logits + (size_t)i * (size_t)batch->n_vocab,
                    begin_ns, step_s))
            leave_context(batch, batch->stepping[i]);
}

static void *engine_thread(void *arg)
{
    struct dc_batch *batch = arg;
    int64_t wait_ns = -1;
    if (batch->pin)
        baton_engine_pin(batch->engine);
    while (join_new(batch, wait_ns) && !atomic_load(&batch->stopping)) {
        int n = choose(batch);
        atomic_store(&batch->n_running_now, (unsigned)batch->n_running);
        if (n)
            step(batch, n);
        atomic_store(&batch->n_running_now, (unsigned)batch->n_running);
        wait_ns = n ? 0 : batch->n_running ? RETRY_NS : -1;
    }
    return NULL;
}

static void destroy(struct dc_batch *batch)
{
    baton_queue_destroy(batch->done);
    baton_queue_destroy(batch->submitted);
    free(batch->inputs);
    free(batch->seqs);
    free(batch->stepping);
    free(batch->running);
    free(batch->logits);
    baton_sampler_destroy(batch->sampler);
    baton_engine_destroy(batch->engine);
    free(batch);
}

static enum baton_err reserve_memory(struct dc_batch *batch, struct baton_why *why)
{
    size_t n = (size_t)batch->max_batch;
    batch->sampler = baton_sampler_create(batch->n_vocab);
    batch->logits = calloc(n * (size_t)batch->n_vocab, sizeof *batch->logits);
    batch->running = calloc(n, sizeof *batch->running);
    batch->stepping = calloc(n, sizeof *batch->stepping);
    batch->seqs = calloc(n, sizeof *batch->seqs);
    batch->inputs = calloc(n, sizeof *batch->inputs);
    batch->submitted = baton_queue_create(QUEUE_CAPACITY);
    batch->done = baton_queue_create(QUEUE_CAPACITY + n);
    if (!batch->sampler || !batch->logits || !batch->running || !batch->stepping || !batch->seqs ||
        !batch->inputs || !batch->submitted || !batch->done)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for a batch of %zu", n);
    return BATON_OK;
}

enum baton_err dc_batch_start(const struct dc_batch_options *options, struct dc_batch **out,
                              struct baton_why *why)
{
    struct dc_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return BATON_NO_MEMORY;
    batch->n_vocab = baton_model_shape(options->model)->n_vocab;
    batch->max_batch = options->max_batch;
    batch->pin = options->pin;
    batch->wake = options->wake;
    batch->wake_arg = options->wake_arg;
    enum baton_err err =
        baton_engine_create(options->model,
                            &(struct baton_engine_options){.max_rows = options->max_batch,
                                                           .n_threads = options->n_threads},
                            &batch->engine, why);
    if (!err)
        err = reserve_memory(batch, why);
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
    void *item;
    if (!batch)
        return;
    atomic_store(&batch->stopping, true);
    while (!baton_queue_take(batch->submitted, 0, &item))
        ;
    baton_queue_close(batch->submitted);
    pthread_join(batch->thread, NULL);
    destroy(batch);
}

enum baton_err dc_batch_submit(struct dc_batch *batch, struct dc_context *context)
{
    return baton_queue_put(batch->submitted, context);
}

void dc_batch_wake(struct dc_batch *batch)
{
    enum baton_err err = baton_queue_put(batch->submitted, NULL);
    (void)err; /* a full queue wakes by itself */
}

struct dc_context *dc_batch_take_done(struct dc_batch *batch)
{
    void *item;
    return baton_queue_take(batch->done, 0, &item) ? NULL : item;
}

struct dc_batch_stats dc_batch_stats(struct dc_batch *batch)
{
    return (struct dc_batch_stats){.n_running = atomic_load(&batch->n_running_now),
                                   .last_step_s = atomic_load(&batch->last_step_s)};
}
