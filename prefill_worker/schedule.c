#include "prefill_worker/schedule.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/queue.h"
#include "common/engine/engine.h"
#include "common/worker/choice.h"
#include "prefill_worker/score.h"

enum { QUEUE_CAPACITY = 1024 };

struct pf_schedule {
    struct baton_engine *engine;
    struct baton_sampler *sampler;
    struct baton_choice choice; /* scratch: the token on its way out */
    struct pf_score *score;
    float *logits; /* [BATON_SCORE_ROWS][V]; the last position's are in the first row */
    struct baton_queue *submitted, *done;
    void (*wake)(void *arg);
    void *wake_arg;
    pthread_t thread;
    bool pin, warm;
    atomic_bool running;
    _Atomic double last_pass_s;
};

struct layer_call {
    struct pf_schedule *schedule;
    struct pf_job *job;
};

/* Release pairs with the hand-off's acquire: the layer's K and V are visible before its number. */
static bool on_layer(void *arg, int layer)
{
    const struct layer_call *call = arg;
    atomic_store_explicit(&call->job->layers_ready, layer + 1, memory_order_release);
    if (call->job->handoff.wanted)
        call->schedule->wake(call->schedule->wake_arg);
    return !atomic_load_explicit(&call->job->canceled, memory_order_relaxed);
}

struct pass_times {
    int64_t begin_ns, computed_ns, sampled_ns;
};

static void send_first_token(struct pf_schedule *schedule, struct pf_job *job, bool stopped,
                             const struct pass_times *times)
{
    Baton__V1__FirstToken first = BATON__V1__FIRST_TOKEN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    first.token = schedule->choice.token;
    first.decision = schedule->choice.decision;
    first.logprobs = schedule->choice.logprobs;
    first.prefill_queue_s = baton_seconds(times->begin_ns - job->received_ns);
    first.prefill_compute_s = baton_seconds(times->computed_ns - times->begin_ns);
    first.sample_s = baton_seconds(times->sampled_ns - times->computed_ns);
    first.cold = !schedule->warm;
    first.stopped = stopped;
    first.process_age_s = baton_process_age_s();
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FIRST_TOKEN;
    envelope.first_token = &first;
    baton_asker_tell(&job->asker, &envelope);
    baton_asker_log_stage(&job->asker, BATON_STAGE_prefill_queue, first.prefill_queue_s);
    baton_asker_log_stage(&job->asker, BATON_STAGE_prefill_compute, first.prefill_compute_s);
    baton_asker_log_stage(&job->asker, BATON_STAGE_first_token, first.sample_s);
    if (first.cold)
        baton_log(BATON_LOG_INFO, "cold_start", BATON_X("req", job->asker.request_id),
                  BATON_F("process_start_to_first_token_s", first.process_age_s));
    schedule->warm = true;
}

static void send_token(struct pf_job *job, struct baton_choice *choice, double step_s)
{
    Baton__V1__Tokens tokens = BATON__V1__TOKENS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    tokens.first_index = (uint64_t)(job->n_tokens - job->n_prompt);
    baton_choice_into_tokens(choice, &tokens);
    tokens.step_s = step_s;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_TOKENS;
    envelope.tokens = &tokens;
    baton_asker_tell(&job->asker, &envelope);
}

static void send_finished(struct pf_job *job, bool stopped)
{
    Baton__V1__Finished finished = BATON__V1__FINISHED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    finished.reason =
        stopped ? BATON__V1__FINISHED__REASON__STOP_TOKEN : BATON__V1__FINISHED__REASON__LENGTH;
    finished.n_tokens = (uint64_t)(job->n_tokens - job->n_prompt);
    finished.n_steps = (uint32_t)finished.n_tokens - 1;
    finished.decode_s = job->decode_s;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FINISHED;
    envelope.finished = &finished;
    baton_asker_tell(&job->asker, &envelope);
    baton_asker_log_stage(&job->asker, BATON_STAGE_decode, job->decode_s);
}

static enum baton_err compute(struct pf_schedule *schedule, struct pf_job *job)
{
    struct layer_call call = {.schedule = schedule, .job = job};
    if (atomic_load(&job->canceled))
        return BATON_CANCELED;
    if (job->naive)
        return baton_engine_naive(schedule->engine, &job->seq, job->tokens, job->n_tokens,
                                  schedule->logits);
    if (job->prompt_logprobs)
        return pf_score_prompt(schedule->score, schedule->engine, job, on_layer, &call,
                               schedule->logits);
    return baton_engine_prefill(schedule->engine, &job->seq, job->tokens, job->n_tokens, on_layer,
                                &call, schedule->logits);
}

/* One pass over the job's tokens and one token more. Returns false when the job is over. */
static bool run_pass(struct pf_schedule *schedule, struct pf_job *job)
{
    struct pass_times times = {.begin_ns = baton_now_ns()};
    enum baton_err err = compute(schedule, job);
    if (err) {
        if (err != BATON_CANCELED)
            baton_asker_fail(&job->asker, BATON__V1__FAILED__CODE__INTERNAL, baton_err_text(err));
        atomic_store(&job->canceled, true);
        return false;
    }
    times.computed_ns = baton_now_ns();
    struct baton_choice *choice = &schedule->choice;
    baton_choice_make(choice, schedule->sampler, &job->plan, schedule->logits,
                      (uint64_t)job->n_tokens);
    times.sampled_ns = baton_now_ns();
    double pass_s = baton_seconds(times.sampled_ns - times.begin_ns);
    atomic_store(&schedule->last_pass_s, pass_s);
    bool stopped = baton_plan_is_stop(&job->plan, choice->token), first = !job->has_first_token;
    if (first)
        send_first_token(schedule, job, stopped, &times);
    else
        send_token(job, choice, pass_s);
    job->has_first_token = true;
    if (!job->naive) {
        if (stopped) /* no step follows, so nobody needs the context */
            atomic_store(&job->canceled, true);
        return false;
    }
    job->decode_s += first ? 0 : pass_s;
    job->tokens[job->n_tokens++] = choice->token;
    baton_plan_note(&job->plan, choice->token);
    job->finished = stopped || job->n_tokens - job->n_prompt >= job->max_new_tokens;
    if (job->finished)
        send_finished(job, stopped);
    return !job->finished;
}

static bool has_credit(const struct pf_job *job)
{
    return (uint64_t)(job->n_tokens - job->n_prompt) < atomic_load(&job->credit_end);
}

static void *engine_thread(void *arg)
{
    struct pf_schedule *schedule = arg;
    void *item;
    if (schedule->pin)
        baton_engine_pin(schedule->engine);
    while (!baton_queue_take(schedule->submitted, -1, &item)) {
        struct pf_job *job = item;
        atomic_store(&schedule->running, true);
        bool more = run_pass(schedule, job);
        atomic_store(&schedule->running, false);
        /* Naive steps take turns with other prompts: back to the end of the queue. */
        if (more && has_credit(job) && !baton_queue_put(schedule->submitted, job))
            continue;
        if (baton_queue_put(schedule->done, job))
            baton_log(BATON_LOG_ERROR, "done_queue_full", BATON_X("req", job->asker.request_id));
        schedule->wake(schedule->wake_arg);
    }
    return NULL;
}

static void destroy(struct pf_schedule *schedule)
{
    baton_queue_destroy(schedule->done);
    baton_queue_destroy(schedule->submitted);
    free(schedule->logits);
    pf_score_destroy(schedule->score);
    baton_sampler_destroy(schedule->sampler);
    baton_engine_destroy(schedule->engine);
    free(schedule);
}

enum baton_err pf_schedule_start(const struct pf_schedule_options *options,
                                 struct pf_schedule **out, struct baton_why *why)
{
    const struct baton_model_shape *shape = baton_model_shape(options->model);
    struct baton_engine_options engine = {.max_rows = shape->n_context,
                                          .n_threads = options->n_threads};
    struct pf_schedule *schedule = calloc(1, sizeof *schedule);
    if (!schedule)
        return BATON_NO_MEMORY;
    schedule->wake = options->wake;
    schedule->wake_arg = options->wake_arg;
    schedule->pin = options->pin;
    enum baton_err err = baton_engine_create(options->model, &engine, &schedule->engine, why);
    if (!err) {
        schedule->sampler = baton_sampler_create(shape->n_vocab);
        schedule->logits =
            calloc((size_t)BATON_SCORE_ROWS * (size_t)shape->n_vocab, sizeof *schedule->logits);
        schedule->score = pf_score_create(schedule->sampler, shape->n_vocab);
        schedule->submitted = baton_queue_create(QUEUE_CAPACITY);
        schedule->done =
            baton_queue_create(QUEUE_CAPACITY + 1); /* all submitted, and the running one */
        if (!schedule->sampler || !schedule->logits || !schedule->score || !schedule->submitted ||
            !schedule->done)
            err = baton_fail(why, BATON_NO_MEMORY, "no memory for the engine thread");
    }
    if (!err && pthread_create(&schedule->thread, NULL, engine_thread, schedule))
        err = baton_fail(why, BATON_IO, "no thread for the engine");
    if (err) {
        destroy(schedule);
        return err;
    }
    *out = schedule;
    return BATON_OK;
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
    return baton_queue_put(schedule->submitted, job);
}

struct pf_job *pf_schedule_take_done(struct pf_schedule *schedule)
{
    void *item;
    return baton_queue_take(schedule->done, 0, &item) ? NULL : item;
}

struct pf_schedule_stats pf_schedule_stats(struct pf_schedule *schedule)
{
    return (struct pf_schedule_stats){
        .n_queued = (uint32_t)baton_queue_length(schedule->submitted),
        .n_running = atomic_load(&schedule->running),
        .last_pass_s = atomic_load(&schedule->last_pass_s),
    };
}
