#include "decode_worker/engine.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "decode_worker/drafter.h"
#include "decode_worker/sample_batch.h"
#include "decode_worker/scheduler.h"
#include "decode_worker/stream.h"
#include "engine/engine.h"

/* The pause before a context whose link is full steps again: short enough for no reader to
 * notice. */
#define RETRY_NS (2 * BATON_MS)

struct dc_engine {
    struct baton_service *service;
    struct baton_engine *engine;
    struct dc_scheduler scheduler;
    struct dc_sample_batch *sampling;
    struct dc_drafter *drafter; /* NULL: no draft model */
    struct dc_stream *stream;
    struct dc_event *events; /* [max_batch] */
    float *hidden; /* [dc_scheduler_max_logits][C] final states; NULL: no head of its own drafts */
    float *logits; /* [dc_scheduler_max_logits][V] */
    bool warm;     /* a token was generated */
    atomic_uint n_running, n_paused; /* read by other threads */
};

/* ---- one step; the engine thread ---- */

struct step_times {
    int64_t begin_ns, drafted_ns, computed_ns, sampled_ns;
};

static void leave(struct dc_engine *engine, struct dc_context *context, bool over)
{
    context->over = over;
    dc_scheduler_remove(&engine->scheduler, context);
    baton_engine_thread_hand_back(engine->service->thread, context);
}

/* Undoes a sequence's step because the link's queue was full. Draws are keyed by seed and position,
 * so a later step generates the same tokens again. */
static void undo(struct dc_context *context, const struct baton_chunk *chunk, int64_t now_ns)
{
    context->seq.n_tokens -= chunk->n_logits;
    context->held_until_ns = now_ns + RETRY_NS;
}

/* Ends the sequence's wait for a slot at its first step. */
static void begin_sequence(const struct dc_engine *engine, struct dc_context *context,
                           int64_t begin_ns)
{
    if (context->n_steps)
        return;
    context->cold = !engine->warm;
    context->queue_s = baton_seconds(begin_ns - context->ready_ns);
}

static void note_speculation(struct dc_engine *engine, struct dc_context *context,
                             const struct dc_sampled *sampled, const float *hidden)
{
    uint32_t made[1 + BATON_MAX_DRAFTS];
    if (!context->speculation.max_tokens)
        return;
    for (int i = 0; i < sampled->n; i++)
        made[i] = sampled->tokens[i].token;
    dc_speculation_note(&context->speculation, made, sampled->n, hidden);
    dc_speculation_share_odds(&context->speculation, &engine->scheduler.draft);
}

/* Advances a sequence by the sampled tokens, and gives the positions of rejected drafts back. */
static void advance(struct dc_engine *engine, struct dc_context *context,
                    const struct baton_chunk *chunk, const struct dc_sampled *sampled,
                    const struct dc_step_times *times)
{
    uint32_t last = sampled->tokens[sampled->n - 1].token;
    /* Their K and V stay in the blocks and are overwritten when the positions are used again. */
    context->seq.n_tokens -= chunk->n_logits - sampled->n;
    context->decode_s += times->compute_s;
    context->sample_s += times->sample_s;
    context->n_steps++;
    context->next_token = last;
    context->n_output += (uint64_t)sampled->n;
    for (int i = 0; i < sampled->n; i++)
        dc_output_blocks_add(&context->output_blocks, sampled->tokens[i].token);
    baton_sampling_state_accept(&context->sampling, last);
    note_speculation(engine, context, sampled, chunk->hidden);
    dc_context_publish(context);
}

/* Fails a sequence whose token cannot be sent, unless its gateway is gone. */
static void give_up(const struct dc_context *context, enum baton_err err)
{
    if (err != BATON_CLOSED)
        baton_origin_fail(&context->origin, BATON__V1__FAILED__CODE__INTERNAL,
                          "a token could not be sent: the worker's log says why");
}

static void fill_event(struct dc_event *event, const struct dc_context *context,
                       const struct dc_sampled *sampled)
{
    uint32_t last = sampled->tokens[sampled->n - 1].token;
    bool stopped = baton_sampling_params_is_stop(&context->sampling.params, last);
    bool full = context->n_output + (uint64_t)sampled->n >= context->n_output_max;
    *event = (struct dc_event){
        .context = context, .sampled = sampled, .stopped = stopped, .last = stopped || full};
}

/* Hands back the sequences at their end. */
static void end_sequences(struct dc_engine *engine)
{
    const struct dc_step *step = &engine->scheduler.step;
    for (int i = 0; i < step->n_sequences; i++) {
        const struct dc_event *event = &engine->events[i];
        if (event->err != BATON_AGAIN && (event->last || event->err))
            leave(engine, step->contexts[i], true);
    }
}

/* Sends the tokens of the step's sequences. Returns the number of tokens sent. */
static int send_tokens(struct dc_engine *engine, const struct dc_sampled *sampled,
                       const struct step_times *times)
{
    const struct dc_step *step = &engine->scheduler.step;
    struct dc_context *const *contexts = step->contexts;
    const struct dc_step_times durations = {
        .compute_s = baton_seconds(times->computed_ns - times->begin_ns),
        .sample_s = baton_seconds(times->sampled_ns - times->computed_ns)};
    int n_sent = 0, n = step->n_sequences;
    for (int i = 0; i < n; i++) {
        begin_sequence(engine, contexts[i], times->begin_ns);
        fill_event(&engine->events[i], contexts[i], &sampled[i]);
    }
    /* One message per gateway for the whole step. A sequence advances only after its message is
     * queued: tokens that do not fit into the queue must be generated again. */
    dc_stream_send(engine->stream, engine->events, n, &durations);
    for (int i = 0; i < n; i++) {
        const struct dc_event *event = &engine->events[i];
        if (event->err == BATON_AGAIN) {
            dc_sample_batch_forget(&sampled[i], contexts[i]);
            undo(contexts[i], &step->chunks[i], times->sampled_ns);
            continue;
        }
        n_sent += event->err ? 0 : sampled[i].n;
        advance(engine, contexts[i], &step->chunks[i], &sampled[i], &durations);
        if (event->err)
            give_up(contexts[i], event->err);
    }
    return n_sent;
}

/* Sends the first token of a prompt whose last chunk was in this step. Returns the number of tokens
 * sent. */
static int send_first(struct dc_engine *engine, int i, struct baton_sampled_message *sampled,
                      const struct step_times *times)
{
    struct dc_context *context = engine->scheduler.step.contexts[i];
    struct dc_prompt *prompt = &context->prompt;
    prompt->first = (struct baton_first_token){
        .queue_s = baton_seconds(prompt->begin_ns - prompt->received_ns),
        .compute_s = baton_seconds(times->computed_ns - prompt->begin_ns),
        .sample_s = baton_seconds(times->sampled_ns - times->computed_ns),
        .n_cached_tokens = context->seq.n_shared * BATON_KV_BLOCK_TOKENS,
        .n_stateless_tokens =
            (context->seq.n_found - context->seq.n_shared) * BATON_KV_BLOCK_TOKENS,
        .cold = !engine->warm,
        .stopped = baton_sampling_params_is_stop(&prompt->sampling.params, sampled->token)};
    enum baton_err err = dc_stream_send_first(context, sampled);
    if (err == BATON_AGAIN) {
        undo(context, &engine->scheduler.step.chunks[i], times->sampled_ns);
        return 0;
    }
    if (err)
        give_up(context, err);
    leave(engine, context, prompt->first.stopped || prompt->is_all || err);
    return !err;
}

static void begin_prompts(const struct dc_step *step, int64_t begin_ns)
{
    for (int i = step->n_sequences; i < step->n_chunks; i++)
        if (!step->contexts[i]->prompt.begin_ns)
            step->contexts[i]->prompt.begin_ns = begin_ns;
}

static void fail_all(const struct dc_step *step, enum baton_err err)
{
    for (int i = 0; i < step->n_chunks; i++) {
        baton_origin_fail(&step->contexts[i]->origin, BATON__V1__FAILED__CODE__INTERNAL,
                          baton_err_text(err));
        atomic_store(&step->contexts[i]->canceled, true);
    }
}

/* Status reports the cost of a step by its sequences' rows, so steps with prompt rows do not
 * count. */
static int rows_of_cost(const struct dc_step *step)
{
    return step->n_chunks == step->n_sequences ? step->n_logits : 0;
}

/* The model's own head reads final hidden states. */
static void want_hidden(struct dc_engine *engine)
{
    struct dc_step *step = &engine->scheduler.step;
    size_t n_embd = (size_t)baton_model_info(engine->service->host->model)->n_embd;
    for (int i = 0; i < step->n_sequences; i++)
        if (step->contexts[i]->speculation.hidden)
            step->chunks[i].hidden = engine->hidden + (size_t)step->first_logits[i] * n_embd;
}

static bool run_step(void *arg, int64_t begin_ns, struct baton_step_report *report)
{
    struct dc_engine *engine = arg;
    struct dc_step *step = &engine->scheduler.step;
    struct step_times times = {.begin_ns = begin_ns};
    begin_prompts(step, begin_ns);
    if (engine->drafter)
        dc_drafter_run(engine->drafter, step);
    want_hidden(engine);
    times.drafted_ns = baton_now_ns();
    enum baton_err err = baton_engine_forward(engine->engine, step->chunks, step->n_chunks, NULL,
                                              NULL, engine->logits);
    if (err) {
        fail_all(step, err);
        return false;
    }
    times.computed_ns = baton_now_ns();
    const struct dc_sampled *sampled =
        dc_sample_batch_run(engine->sampling, engine->engine, step, engine->logits);
    times.sampled_ns = baton_now_ns();
    report->computed_ns = times.computed_ns;
    report->n_rows = rows_of_cost(step);
    report->before_ns = times.drafted_ns - begin_ns;
    report->n_tokens = send_tokens(engine, sampled, &times);
    int64_t sent_ns = baton_now_ns();
    /* The sequences' states go through the tokens that were kept, before any of them leaves. */
    baton_engine_settle(engine->engine);
    report->computed_ns += baton_now_ns() - sent_ns;
    end_sequences(engine);
    for (int i = step->n_sequences; i < step->n_chunks; i++)
        if (sampled[i].n)
            report->n_tokens += send_first(engine, i, sampled[i].tokens, &times);
    engine->warm |= report->n_tokens > 0;
    return true;
}

/* ---- between steps ---- */

static void add(void *arg, void *item)
{
    struct dc_engine *engine = arg;
    dc_scheduler_add(&engine->scheduler, item);
}

/* Hands leaving contexts back and fills the next step. */
static bool schedule(void *arg, int64_t *wait_ns)
{
    struct dc_engine *engine = arg;
    int64_t now_ns = baton_now_ns();
    for (struct dc_context *context; (context = dc_scheduler_take_leaver(&engine->scheduler));)
        baton_engine_thread_hand_back(engine->service->thread, context);
    struct baton_engine_stats costs = baton_engine_thread_stats(engine->service->thread);
    engine->scheduler.base_s = costs.step_base_s;
    engine->scheduler.row_s = costs.step_row_s;
    if (engine->drafter)
        dc_drafter_costs(engine->drafter, &engine->scheduler.draft.base_s,
                         &engine->scheduler.draft.row_s);
    int64_t until_ns = dc_scheduler_fill(&engine->scheduler, now_ns);
    *wait_ns = until_ns ? until_ns - now_ns : -1;
    atomic_store(&engine->n_running, (unsigned)engine->scheduler.step.n_chunks);
    atomic_store(&engine->n_paused, (unsigned)engine->scheduler.n_paused);
    return engine->scheduler.step.n_chunks > 0;
}

/* ---- the main thread ---- */

static enum baton_err reserve_memory(struct dc_engine *engine,
                                     const struct dc_engine_options *options, struct baton_why *why)
{
    const struct baton_host *host = engine->service->host;
    size_t n_vocab = (size_t)baton_model_info(host->model)->n_vocab;
    size_t n_sequences = (size_t)options->max_batch;
    size_t n_logits = (size_t)dc_scheduler_max_logits(options->max_batch);
    enum baton_err err =
        dc_scheduler_init(&engine->scheduler, options->max_batch, options->colocated_chunk);
    engine->logits = calloc(n_logits, n_vocab * sizeof *engine->logits);
    engine->sampling =
        dc_sample_batch_create(options->max_batch, host->cores.n_threads, (int)n_vocab);
    engine->stream = dc_stream_create(options->max_batch);
    engine->events = calloc(n_sequences, sizeof *engine->events);
    if (options->draft && options->draft->is_head)
        engine->hidden = calloc(n_logits, (size_t)options->draft->n_embd * sizeof *engine->hidden);
    if (options->draft && options->draft->is_head && !engine->hidden)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for the states of %zu rows", n_logits);
    if (err || !engine->logits || !engine->sampling || !engine->stream || !engine->events)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for a batch of %zu", n_sequences);
    return BATON_OK;
}

static enum baton_err create_drafter(struct dc_engine *engine,
                                     const struct dc_engine_options *options, struct baton_why *why)
{
    const struct baton_host *host = engine->service->host;
    return dc_drafter_create(
        &(struct dc_drafter_options){.draft = options->draft,
                                     .beside = engine->engine,
                                     .n_vocab = baton_model_info(host->model)->n_vocab,
                                     .max_batch = options->max_batch,
                                     .n_threads = host->cores.n_threads},
        &engine->drafter, why);
}

static enum baton_err start_thread(struct dc_engine *engine, struct baton_why *why)
{
    struct baton_service *service = engine->service;
    /* Every context holds at least one block, which bounds their number. */
    int max_contexts = baton_kv_n_blocks(service->kv);
    return baton_service_start_thread(
        service,
        (struct baton_engine_thread_options){
            .hooks = {.arg = engine, .add = add, .schedule = schedule, .run = run_step},
            .engine = engine->engine,
            .max_queued = max_contexts,
            .max_held = max_contexts + 1, /* never full, so wake-ups are always read */
            .max_rows = engine->scheduler.max_batch},
        why);
}

enum baton_err dc_engine_start(struct baton_service *service,
                               const struct dc_engine_options *options, struct dc_engine **out,
                               struct baton_why *why)
{
    const struct baton_host *host = service->host;
    struct baton_engine_options compute = {
        .max_rows = dc_scheduler_max_rows(options->max_batch, options->colocated_chunk),
        .max_trial_rows = dc_scheduler_max_trial_rows(options->max_batch),
        .n_threads = host->cores.n_threads,
        .adapts = baton_adapters_are_on(host->adapters)};
    struct dc_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return BATON_NO_MEMORY;
    engine->service = service;
    enum baton_err err = baton_engine_create(host->model, &compute, &engine->engine, why);
    if (!err)
        err = reserve_memory(engine, options, why);
    if (!err && options->draft)
        err = create_drafter(engine, options, why);
    if (!err)
        err = start_thread(engine, why);
    if (err)
        dc_engine_stop(engine);
    else
        *out = engine;
    return err;
}

void dc_engine_stop(struct dc_engine *engine)
{
    if (!engine)
        return;
    baton_service_stop_thread(engine->service);
    free(engine->logits);
    free(engine->hidden);
    free(engine->events);
    dc_stream_destroy(engine->stream);
    dc_sample_batch_destroy(engine->sampling);
    dc_scheduler_fini(&engine->scheduler);
    dc_drafter_destroy(engine->drafter);
    baton_engine_destroy(engine->engine);
    free(engine);
}

void dc_engine_submit(struct dc_engine *engine, struct dc_context *context)
{
    if (baton_engine_thread_submit(engine->service->thread, context))
        baton_log(BATON_LOG_ERROR, "engine_queue_full", BATON_ORIGIN(&context->origin));
}

struct dc_engine_stats dc_engine_stats(const struct dc_engine *engine)
{
    return (struct dc_engine_stats){.n_running = atomic_load(&engine->n_running),
                                    .n_paused = atomic_load(&engine->n_paused)};
}
