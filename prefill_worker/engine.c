#include "prefill_worker/engine.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "engine/engine.h"
#include "prefill_worker/answer.h"
#include "prefill_worker/scheduler.h"
#include "prefill_worker/score.h"

/* LOGITS_ROWS: one buffer serves both uses, because a step either samples the ends of its chunks or
 * scores one prompt. */
enum {
    MAX_QUEUED = 1024,
    LOGITS_ROWS = (int)BATON_PREFILL_MAX_CHUNKS > (int)BATON_SCORE_ROWS ? BATON_PREFILL_MAX_CHUNKS
                                                                        : BATON_SCORE_ROWS
};

struct pf_engine {
    struct baton_service *service;
    struct baton_engine *engine;
    struct pf_scheduler scheduler;
    struct baton_sampler *sampler;
    struct baton_sampled_message sampled; /* scratch for the token that is being sent */
    struct pf_score *score;
    float *logits;      /* [LOGITS_ROWS][V] */
    float *state;       /* [C] scratch: the pooled state of the embedding that is being sent */
    float *embedding;   /* [n_pooled] and the embedding */
    bool warm;          /* a first token was sent */
    atomic_int n_begun; /* submitted jobs whose first step has begun */
};

static const struct baton_model_info *info_of(const struct pf_engine *engine)
{
    return baton_model_info(engine->service->host->model);
}

/* ---- progress ---- */

/* Publishes that the blocks before the chunk are complete and that the chunk's blocks are being
 * computed. A naive job publishes nothing: each of its steps rewrites all blocks, so none is ever
 * ready. */
static void begin_chunk(struct pf_engine *engine, const struct pf_chunk *chunk, int64_t begin_ns)
{
    struct pf_job *job = chunk->job;
    int n_filled = job->seq.n_tokens;
    if (!job->begun_ns) {
        job->begun_ns = begin_ns;
        atomic_fetch_add(&engine->n_begun, 1);
    }
    if (pf_parts_are_several(&job->parts))
        pf_parts_begin(job, chunk->n_tokens);
    else if (!job->naive)
        baton_kv_progress_publish(
            &job->progress,
            (struct baton_kv_progress){.n_done = n_filled / BATON_KV_BLOCK_TOKENS,
                                       .n_end = baton_kv_blocks_for(n_filled + chunk->n_tokens)});
}

/* Publishes the layer's own K and V before it waits for those of other parts: they may wait for
 * them in turn. */
static bool await_parts(const struct pf_engine *engine, struct pf_job *job, int layer)
{
    if (!pf_parts_are_several(&job->parts))
        return true;
    pf_parts_publish(job, layer);
    baton_host_wake(engine->service->host);
    return pf_parts_await(job, layer);
}

/* A baton_layer_fn. Publishes the layer, so that its blocks are sent while the next layer is
 * computed. The step continues while at least one of its jobs is not canceled. */
static bool on_layer(void *arg, int layer)
{
    struct pf_engine *engine = arg;
    bool any_leaves = false, any_wants = false;
    for (int i = 0; i < engine->scheduler.step.n_chunks; i++) {
        struct pf_job *job = engine->scheduler.step.chunks[i].job;
        if (!await_parts(engine, job, layer)) /* such a job is alone in its step */
            return false;
        struct baton_kv_progress progress = baton_kv_progress_read(&job->progress);
        progress.n_layers = layer + 1;
        baton_kv_progress_publish(&job->progress, progress);
        any_leaves = any_leaves || job->send.overlaps;
        any_wants = any_wants || !atomic_load_explicit(&job->canceled, memory_order_relaxed);
    }
    if (any_leaves) /* a wake-up per layer costs the main thread time, so only if it sends blocks */
        baton_host_wake(engine->service->host);
    return any_wants;
}

/* ---- computing ---- */

static bool ends_here(const struct pf_chunk *chunk)
{
    return chunk->job->seq.n_tokens + chunk->n_tokens == chunk->job->n_prompt;
}

/* Whether the prompt's end has a row of logits, for a token or for a score. */
static bool wants_logits(const struct pf_job *job)
{
    return !job->pooling || job->n_logit_ids;
}

/* The number of the chunk's last rows that contribute to the job's embedding. */
static int n_pooled(const struct pf_chunk *chunk)
{
    if (chunk->job->pooling == BATON_POOLING_MEAN)
        return chunk->n_tokens;
    return chunk->job->pooling && !wants_logits(chunk->job) && ends_here(chunk);
}

static enum baton_err run_packed(struct pf_engine *engine)
{
    struct baton_chunk chunks[BATON_PREFILL_MAX_CHUNKS];
    for (int i = 0; i < engine->scheduler.step.n_chunks; i++) {
        const struct pf_chunk *chunk = &engine->scheduler.step.chunks[i];
        struct pf_job *job = chunk->job;
        chunks[i] = (struct baton_chunk){.seq = &job->seq,
                                         .tokens = job->tokens + job->seq.n_tokens,
                                         .n_tokens = chunk->n_tokens,
                                         .n_logits = wants_logits(job) && ends_here(chunk),
                                         .n_pooled = n_pooled(chunk),
                                         .pooled = job->pooled,
                                         .pools_first = job->pooling == BATON_POOLING_CLS,
                                         .n_first_part = job->n_first_part};
    }
    return baton_engine_forward(engine->engine, chunks, engine->scheduler.step.n_chunks, on_layer,
                                engine, engine->logits);
}

static enum baton_err compute(struct pf_engine *engine)
{
    const struct pf_chunk *first = &engine->scheduler.step.chunks[0];
    struct pf_job *job = first->job;
    if (job->naive)
        return baton_engine_naive(engine->engine, &job->seq, job->tokens, job->n_tokens,
                                  engine->logits);
    if (job->prompt_logprobs)
        return pf_score_chunk(engine->score, engine->engine, job, first->n_tokens, on_layer, engine,
                              engine->logits);
    return run_packed(engine);
}

/* ---- tokens ---- */

/* Adds a token to a naive job, which then continues unless this was the last. Without credit it is
 * done for now, and the service submits it again after a TokenAck. */
static void add_token(struct pf_job *job, uint32_t token, bool stopped)
{
    job->tokens[job->n_tokens++] = token;
    baton_sampling_state_accept(&job->sampling, token);
    job->finished = stopped || job->n_tokens - job->n_prompt >= job->max_new_tokens;
    if (job->finished)
        pf_answer_finished(job, stopped);
    job->runnable_ns = baton_now_ns();
    job->done = job->finished || pf_job_n_output(job) >= atomic_load(&job->credit_end);
}

/* Samples and sends a token. The first token is sent at once, whatever the state of the transfer,
 * because the client waits for it. */
static void sample_token(struct pf_engine *engine, struct pf_job *job, const float *logits,
                         int64_t begin_ns, int64_t computed_ns)
{
    struct baton_sampled_message *sampled = &engine->sampled;
    struct pf_first_times times = {.computed_ns = computed_ns, .sampling_ns = baton_now_ns()};
    baton_sampled_message_make(sampled, engine->sampler, &job->sampling, logits,
                               (uint64_t)job->n_tokens);
    times.sampled_ns = baton_now_ns();
    double step_s = baton_seconds(times.sampled_ns - begin_ns);
    bool stopped = baton_sampling_params_is_stop(&job->sampling.params, sampled->token);
    if (!job->has_first_token) {
        atomic_store(&job->chosen_ns, times.sampled_ns);
        pf_answer_first(job, sampled, &times, stopped, !engine->warm);
        engine->warm = true;
    } else {
        job->decode_s += step_s;
        pf_answer_token(job, sampled, step_s);
    }
    job->has_first_token = job->done = true;
    if (job->naive)
        add_token(job, sampled->token, stopped);
    else if (stopped) /* no decode step follows, so the context need not be sent */
        atomic_store(&job->canceled, true);
}

static void send_values(struct pf_job *job, const float *values, int n, int64_t computed_ns)
{
    bool is_finite = true;
    for (int i = 0; i < n; i++)
        is_finite = is_finite && isfinite(values[i]);
    if (is_finite)
        pf_answer_embedding(job, values, n, computed_ns);
    else
        baton_origin_fail(&job->origin, BATON__V1__FAILED__CODE__INTERNAL,
                          "the embedding is not finite");
    job->has_first_token = job->done = true;
}

static void send_embedding(struct pf_engine *engine, struct pf_job *job, int64_t computed_ns)
{
    int n_embd = info_of(engine)->n_embd;
    int n_rows = job->pooling == BATON_POOLING_MEAN ? job->n_prompt : 1;
    for (int i = 0; i < n_embd; i++)
        engine->state[i] = (float)(job->pooled[i] / n_rows);
    baton_engine_pool(engine->engine, engine->state, 1, engine->embedding);
    send_values(job, engine->embedding, info_of(engine)->n_pooled, computed_ns);
}

static void send_logits(struct pf_job *job, const float *logits, int64_t computed_ns)
{
    float values[BATON_MAX_LOGIT_IDS];
    for (int i = 0; i < job->n_logit_ids; i++)
        values[i] = logits[job->logit_ids[i]];
    send_values(job, values, job->n_logit_ids, computed_ns);
}

/* Whether the step gave way to other prompts. It is not a failure, and the step will run again. */
static bool gave_way(const struct pf_job *job, enum baton_err err)
{
    return err == BATON_CANCELED && job->parts.needs_all && !atomic_load(&job->canceled);
}

static void fail(struct pf_job *job, enum baton_err err)
{
    if (gave_way(job, err))
        return;
    if (err != BATON_CANCELED)
        baton_origin_fail(&job->origin, BATON__V1__FAILED__CODE__INTERNAL, baton_err_text(err));
    atomic_store(&job->canceled, true);
    job->done = true;
}

static bool reports_progress(struct pf_job *job)
{
    return job->prompt_progress && !pf_parts_are_several(&job->parts) &&
           !atomic_load(&job->canceled);
}

/* Handles the results of a step. Each sequence at its prompt's end has its embedding, or a row of
 * logits, in the order of the chunks. */
static void sample_tokens(struct pf_engine *engine, int64_t begin_ns, int64_t computed_ns)
{
    size_t n_vocab = (size_t)info_of(engine)->n_vocab;
    const float *logits = engine->logits;
    for (int i = 0; i < engine->scheduler.step.n_chunks; i++) {
        struct pf_job *job = engine->scheduler.step.chunks[i].job;
        if (pf_parts_are_several(&job->parts) && !pf_parts_end(job))
            job->done = true;
        if (!job->naive && job->seq.n_tokens < job->n_prompt) {
            if (reports_progress(job))
                pf_answer_progress(job);
            continue;
        }
        bool is_wanted = !atomic_load(&job->canceled); /* a canceled job has a row of logits too */
        if (is_wanted && job->n_logit_ids)
            send_logits(job, logits, computed_ns);
        else if (is_wanted && job->pooling)
            send_embedding(engine, job, computed_ns);
        else if (is_wanted)
            sample_token(engine, job, logits, begin_ns, computed_ns);
        if (wants_logits(job)) /* an embedding has none */
            logits += n_vocab;
    }
}

/* ---- hooks of the engine thread ---- */

static void add(void *arg, void *item)
{
    struct pf_engine *engine = arg;
    pf_scheduler_add(&engine->scheduler, item);
}

static bool schedule(void *arg, int64_t *wait_ns)
{
    struct pf_engine *engine = arg;
    for (struct pf_job *job; (job = pf_scheduler_take_done(&engine->scheduler));)
        baton_engine_thread_hand_back(engine->service->thread, job);
    atomic_store(&engine->n_begun, pf_scheduler_count_begun(&engine->scheduler));
    *wait_ns = -1;
    return pf_scheduler_fill(&engine->scheduler, baton_now_ns(),
                             baton_engine_thread_stats(engine->service->thread).tokens_per_s);
}

static bool run_step(void *arg, int64_t begin_ns, struct baton_step_report *report)
{
    struct pf_engine *engine = arg;
    const struct pf_step *step = &engine->scheduler.step;
    int n_rows = 0;
    int64_t waited_ns = 0;
    for (int i = 0; i < step->n_chunks; i++) {
        const struct pf_chunk *chunk = &step->chunks[i];
        begin_chunk(engine, chunk, begin_ns);
        n_rows += chunk->job->naive ? chunk->job->n_tokens : chunk->n_tokens;
    }
    enum baton_err err = compute(engine);
    if (!err)
        sample_tokens(engine, begin_ns, baton_now_ns());
    for (int i = 0; i < step->n_chunks && err; i++)
        fail(step->chunks[i].job, err);
    for (int i = 0; i < step->n_chunks; i++)
        waited_ns += pf_parts_are_several(&step->chunks[i].job->parts)
                         ? step->chunks[i].job->parts.waited_ns
                         : 0;
    baton_engine_thread_notify(
        engine->service->thread); /* complete blocks can be sent and shared */
    *report =
        (struct baton_step_report){.n_tokens = n_rows, .n_rows = n_rows, .before_ns = waited_ns};
    return true;
}

/* ---- the main thread ---- */

static enum baton_err reserve_memory(struct pf_engine *engine, struct baton_why *why)
{
    const struct baton_model_info *info = info_of(engine);
    int n_vocab = info->n_vocab;
    engine->state = calloc((size_t)info->n_embd, sizeof *engine->state);
    engine->embedding = calloc((size_t)info->n_pooled, sizeof *engine->embedding);
    engine->sampler = baton_sampler_create(n_vocab);
    engine->logits = calloc((size_t)LOGITS_ROWS * (size_t)n_vocab, sizeof *engine->logits);
    engine->score = pf_score_create(engine->sampler, n_vocab);
    if (!engine->state || !engine->embedding || !engine->sampler || !engine->logits ||
        !engine->score)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for the engine thread");
    return BATON_OK;
}

/* An encoder's text is not cut, so a step may be as long as a context. */
static int most_rows(const struct pf_engine *engine)
{
    const struct baton_model_info *info = info_of(engine);
    int n = engine->scheduler.limits.max_tokens;
    return info->is_encoder && info->n_context > n ? info->n_context : n;
}

static enum baton_err start_thread(struct pf_engine *engine, struct baton_why *why)
{
    return baton_service_start_thread(
        engine->service,
        (struct baton_engine_thread_options){
            .hooks = {.arg = engine, .add = add, .schedule = schedule, .run = run_step},
            .engine = engine->engine,
            .max_queued = MAX_QUEUED,
            .max_held = PF_MAX_HELD,
            .max_rows = most_rows(engine)},
        why);
}

enum baton_err pf_engine_start(struct baton_service *service, int chunk, struct pf_engine **out,
                               struct baton_why *why)
{
    const struct baton_host *host = service->host;
    struct pf_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return BATON_NO_MEMORY;
    engine->service = service;
    pf_scheduler_init(&engine->scheduler, chunk, info_of(engine)->is_encoder);
    const struct baton_engine_options options = {.max_rows = most_rows(engine),
                                                 .n_threads = host->cores.n_threads,
                                                 .adapts = baton_adapters_are_on(host->adapters)};
    enum baton_err err = baton_engine_create(host->model, &options, &engine->engine, why);
    if (!err)
        err = reserve_memory(engine, why);
    if (!err)
        err = start_thread(engine, why);
    if (err)
        pf_engine_stop(engine);
    else
        *out = engine;
    return err;
}

void pf_engine_stop(struct pf_engine *engine)
{
    if (!engine)
        return;
    baton_service_stop_thread(engine->service);
    free(engine->logits);
    free(engine->state);
    free(engine->embedding);
    pf_score_destroy(engine->score);
    baton_sampler_destroy(engine->sampler);
    baton_engine_destroy(engine->engine);
    free(engine);
}

enum baton_err pf_engine_submit(struct pf_engine *engine, struct pf_job *job)
{
    job->runnable_ns = job->has_first_token ? baton_now_ns() : job->received_ns;
    job->done = false;
    return baton_engine_thread_submit(engine->service->thread, job);
}

int pf_engine_n_begun(const struct pf_engine *engine)
{
    return atomic_load(&engine->n_begun);
}
