#include "prefill_worker/passes.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/engine/compute/engine.h"
#include "prefill_worker/answer.h"
#include "prefill_worker/score.h"

enum {
    LOGITS_ROWS = (int)BATON_PREFILL_MAX_CHUNKS > (int)BATON_SCORE_ROWS ? BATON_PREFILL_MAX_CHUNKS
                                                                        : BATON_SCORE_ROWS
};

struct pf_passes {
    struct pf_passes_options options;
    struct baton_engine *engine;
    struct baton_sampler *sampler;
    struct baton_sampled_token sampled; /* scratch: the token on its way out */
    struct pf_score *score;
    float *logits; /* [LOGITS_ROWS][V] */
    bool warm;

    /* the pass under way */
    const struct pf_pass_part *parts;
    int n_parts;
};

static enum baton_err create(struct pf_passes *passes, struct baton_why *why)
{
    const struct pf_passes_options *options = &passes->options;
    const struct baton_engine_options engine = {.max_rows = options->max_rows,
                                                .n_threads = options->cores->n_threads};
    int n_vocab = baton_model_shape(options->model)->n_vocab;
    enum baton_err err = baton_engine_create(options->model, &engine, &passes->engine, why);
    if (err)
        return err;
    passes->sampler = baton_sampler_create(n_vocab);
    passes->logits = calloc((size_t)LOGITS_ROWS * (size_t)n_vocab, sizeof *passes->logits);
    passes->score = pf_score_create(passes->sampler, n_vocab);
    if (!passes->sampler || !passes->logits || !passes->score)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for the engine thread");
    return BATON_OK;
}

enum baton_err pf_passes_create(const struct pf_passes_options *options, struct pf_passes **out,
                                struct baton_why *why)
{
    struct pf_passes *passes = calloc(1, sizeof *passes);
    if (!passes)
        return BATON_NO_MEMORY;
    passes->options = *options;
    enum baton_err err = create(passes, why);
    if (err)
        pf_passes_destroy(passes);
    else
        *out = passes;
    return err;
}

void pf_passes_destroy(struct pf_passes *passes)
{
    if (!passes)
        return;
    free(passes->logits);
    pf_score_destroy(passes->score);
    baton_sampler_destroy(passes->sampler);
    baton_engine_destroy(passes->engine);
    free(passes);
}

void pf_passes_attach(struct pf_passes *passes)
{
    baton_cores_attach(passes->options.cores, passes->engine);
}

/* ---- progress ---- */

static void begin_parts(struct pf_passes *passes)
{
    for (int i = 0; i < passes->n_parts; i++) {
        struct pf_job *job = passes->parts[i].job;
        int n_filled = job->seq.n_tokens;
        if (!job->naive)
            baton_kv_progress_publish(
                &job->progress,
                (struct baton_kv_progress){
                    .n_done = n_filled / BATON_KV_BLOCK_TOKENS,
                    .n_end = baton_kv_blocks_for(n_filled + passes->parts[i].n_tokens)});
    }
}

/* Goes on while anybody wants the pass. */
static bool on_layer(void *arg, int layer)
{
    struct pf_passes *passes = arg;
    bool any_leaves = false, any_wants = false;
    for (int i = 0; i < passes->n_parts; i++) {
        struct pf_job *job = passes->parts[i].job;
        struct baton_kv_progress progress = baton_kv_progress_read(&job->progress);
        progress.n_layers = layer + 1;
        baton_kv_progress_publish(&job->progress, progress);
        any_leaves = any_leaves || job->send.overlaps;
        any_wants = any_wants || !atomic_load_explicit(&job->canceled, memory_order_relaxed);
    }
    if (any_leaves)
        passes->options.wake(passes->options.wake_arg);
    return any_wants;
}

/* ---- computing ---- */

static bool ends_here(const struct pf_pass_part *part)
{
    return part->job->seq.n_tokens + part->n_tokens == part->job->n_prompt;
}

static enum baton_err run_packed(struct pf_passes *passes)
{
    struct baton_chunk parts[BATON_PREFILL_MAX_CHUNKS];
    for (int i = 0; i < passes->n_parts; i++) {
        const struct pf_pass_part *part = &passes->parts[i];
        struct pf_job *job = part->job;
        parts[i] = (struct baton_chunk){.seq = &job->seq,
                                        .tokens = job->tokens + job->seq.n_tokens,
                                        .n_tokens = part->n_tokens,
                                        .wants_logits = ends_here(part)};
    }
    return baton_engine_forward(passes->engine, parts, passes->n_parts, on_layer, passes,
                                passes->logits);
}

static enum baton_err compute(struct pf_passes *passes)
{
    const struct pf_pass_part *first = &passes->parts[0];
    struct pf_job *job = first->job;
    if (job->naive)
        return baton_engine_naive(passes->engine, &job->seq, job->tokens, job->n_tokens,
                                  passes->logits);
    if (job->prompt_logprobs)
        return pf_score_part(passes->score, passes->engine, job, first->n_tokens, on_layer, passes,
                             passes->logits);
    return run_packed(passes);
}

/* ---- tokens ---- */

/* A naive job goes on after its token, unless that was the last. */
static void add_token(struct pf_job *job, uint32_t token, bool stopped)
{
    job->tokens[job->n_tokens++] = token;
    baton_sampling_state_note(&job->sampling, token);
    job->finished = stopped || job->n_tokens - job->n_prompt >= job->max_new_tokens;
    if (job->finished)
        pf_answer_finished(job, stopped);
    job->runnable_ns = baton_now_ns();
    job->through =
        job->finished || (uint64_t)(job->n_tokens - job->n_prompt) >= atomic_load(&job->credit_end);
}

static void choose_token(struct pf_passes *passes, struct pf_job *job, const float *logits,
                         int64_t pass_ns, int64_t computed_ns)
{
    struct baton_sampled_token *sampled = &passes->sampled;
    struct pf_first_times times = {.computed_ns = computed_ns, .sampling_ns = baton_now_ns()};
    baton_sampled_token_make(sampled, passes->sampler, &job->sampling, logits,
                             (uint64_t)job->n_tokens);
    times.sampled_ns = baton_now_ns();
    double step_s = baton_seconds(times.sampled_ns - pass_ns);
    bool stopped = baton_sampling_params_is_stop(&job->sampling.params, sampled->token);
    if (!job->has_first_token) {
        atomic_store(&job->chosen_ns, times.sampled_ns);
        pf_answer_first(job, sampled, &times, stopped, !passes->warm);
        passes->warm = true;
    } else {
        job->decode_s += step_s;
        pf_answer_token(job, sampled, step_s);
    }
    job->has_first_token = job->through = true;
    if (job->naive)
        add_token(job, sampled->token, stopped);
    else if (stopped) /* no step follows, so nobody needs the context */
        atomic_store(&job->canceled, true);
}

static void fail(struct pf_job *job, enum baton_err err)
{
    if (err != BATON_CANCELED)
        baton_origin_fail(&job->origin, BATON__V1__FAILED__CODE__INTERNAL, baton_err_text(err));
    atomic_store(&job->canceled, true);
    job->through = true;
}

/* Sequences have advanced; each that is at its prompt's end has a row of logits. */
static void choose_tokens(struct pf_passes *passes, int64_t pass_ns, int64_t computed_ns)
{
    size_t n_vocab = (size_t)baton_model_shape(passes->options.model)->n_vocab;
    const float *logits = passes->logits;
    for (int i = 0; i < passes->n_parts; i++) {
        struct pf_job *job = passes->parts[i].job;
        if (!job->naive && job->seq.n_tokens < job->n_prompt)
            continue;
        if (!atomic_load(&job->canceled))
            choose_token(passes, job, logits, pass_ns, computed_ns);
        logits += n_vocab;
    }
}

int pf_passes_run(struct pf_passes *passes, const struct pf_pass_part *parts, int n_parts)
{
    int64_t pass_ns = baton_now_ns();
    int n_rows = 0;
    passes->parts = parts;
    passes->n_parts = n_parts;
    begin_parts(passes);
    for (int i = 0; i < n_parts; i++)
        n_rows += parts[i].job->naive ? parts[i].job->n_tokens : parts[i].n_tokens;
    enum baton_err err = compute(passes);
    if (!err)
        choose_tokens(passes, pass_ns, baton_now_ns());
    for (int i = 0; i < n_parts && err; i++)
        fail(parts[i].job, err);
    return n_rows;
}
