#include "decode_worker/drafter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"

struct dc_drafter {
    const struct dc_draft_model *draft;
    struct baton_engine *engine;
    int n_threads, n_vocab, max_chunks;
    struct baton_sampler **samplers; /* [n_threads] */
    float **rows;                    /* [n_threads][n_vocab]; only for a shorter vocabulary */
    float *hidden; /* [max_chunks][C] of the step's sequences, with the model's own head */
    float *logits; /* [max_chunks][V of the draft model] */
    struct baton_chunk *chunks;   /* [max_chunks] of a round */
    struct dc_context **contexts; /* [max_chunks] */
    int n_chunks, n_logits;
    int i_draft; /* the index of the round's drafts */
    struct baton_step_line line;
};

static int max_rows(const struct dc_drafter_options *options)
{
    return dc_draft_model_lag(options->draft) * options->max_batch + DC_CATCH_UP_ALONE;
}

static bool reserve_samplers(struct dc_drafter *drafter)
{
    size_t n = (size_t)drafter->n_threads, n_vocab = (size_t)drafter->n_vocab;
    bool pads = drafter->draft->n_vocab < drafter->n_vocab;
    drafter->samplers = calloc(n, sizeof(struct baton_sampler *));
    drafter->rows = calloc(n, sizeof(float *));
    if (!drafter->samplers || !drafter->rows)
        return false;
    for (size_t i = 0; i < n; i++) {
        drafter->samplers[i] = baton_sampler_create(drafter->n_vocab);
        drafter->rows[i] = pads ? malloc(n_vocab * sizeof(float)) : NULL;
        if (!drafter->samplers[i] || (pads && !drafter->rows[i]))
            return false;
        for (size_t id = (size_t)drafter->draft->n_vocab; pads && id < n_vocab; id++)
            drafter->rows[i][id] = -INFINITY;
    }
    return true;
}

static bool reserve_memory(struct dc_drafter *drafter)
{
    size_t n = (size_t)drafter->max_chunks;
    drafter->logits = calloc(n, (size_t)drafter->draft->n_vocab * sizeof *drafter->logits);
    drafter->chunks = calloc(n, sizeof *drafter->chunks);
    drafter->contexts = calloc(n, sizeof(struct dc_context *));
    if (drafter->draft->is_head)
        drafter->hidden = calloc(n, (size_t)drafter->draft->n_embd * sizeof *drafter->hidden);
    if (drafter->draft->is_head && !drafter->hidden)
        return false;
    return drafter->logits && drafter->chunks && drafter->contexts && reserve_samplers(drafter);
}

enum baton_err dc_drafter_create(const struct dc_drafter_options *options, struct dc_drafter **out,
                                 struct baton_why *why)
{
    const struct baton_engine_options compute = {
        .max_rows = max_rows(options), .n_threads = options->n_threads, .beside = options->beside};
    struct dc_drafter *drafter = calloc(1, sizeof *drafter);
    if (!drafter)
        return baton_fail(why, BATON_NO_MEMORY, "draft-model: no memory");
    drafter->draft = options->draft;
    drafter->n_threads = options->n_threads;
    drafter->n_vocab = options->n_vocab;
    drafter->max_chunks = options->max_batch;
    enum baton_err err =
        baton_engine_create(options->draft->model, &compute, &drafter->engine, why);
    if (!err && !reserve_memory(drafter))
        err = baton_fail(why, BATON_NO_MEMORY, "draft-model: no memory for a batch of %d",
                         options->max_batch);
    if (err)
        dc_drafter_destroy(drafter);
    else
        *out = drafter;
    return err;
}

void dc_drafter_destroy(struct dc_drafter *drafter)
{
    if (!drafter)
        return;
    for (int i = 0; i < drafter->n_threads; i++) {
        if (drafter->samplers)
            baton_sampler_destroy(drafter->samplers[i]);
        if (drafter->rows)
            free(drafter->rows[i]);
    }
    baton_engine_destroy(drafter->engine);
    free(drafter->samplers);
    free(drafter->rows);
    free(drafter->logits);
    free(drafter->hidden);
    free(drafter->chunks);
    free(drafter->contexts);
    free(drafter);
}

/* ---- a round ---- */

static void add(struct dc_drafter *drafter, struct dc_context *context,
                const struct baton_chunk *chunk)
{
    drafter->contexts[drafter->n_chunks] = context;
    drafter->chunks[drafter->n_chunks] = *chunk;
    drafter->chunks[drafter->n_chunks++].seq = &context->speculation.draft;
    drafter->n_logits += chunk->n_logits;
}

/* The hidden state of the step's i-th sequence after a round of the model's own head, which the
 * next round reads; NULL for another draft model. */
static float *hidden_of(const struct dc_drafter *drafter, int i)
{
    return drafter->hidden ? drafter->hidden + (size_t)i * (size_t)drafter->draft->n_embd : NULL;
}

/* Adds sequences to the first round: called first for those with drafts, whose logits so come
 * first, then for those that only catch up. */
static void fill_first(struct dc_drafter *drafter, const struct dc_step *step, bool with_drafts)
{
    for (int i = 0; i < step->n_sequences; i++) {
        struct dc_speculation *speculation = &step->contexts[i]->speculation;
        bool has_drafts = speculation->n_drafts > 0;
        const struct baton_chunk chunk = {.tokens = dc_speculation_fed(speculation),
                                          .states = speculation->hidden,
                                          .hidden = hidden_of(drafter, i),
                                          .n_tokens = speculation->n_fed,
                                          .n_logits = has_drafts};
        if (speculation->n_fed && has_drafts == with_drafts)
            add(drafter, step->contexts[i], &chunk);
    }
}

static void fill_next(struct dc_drafter *drafter, const struct dc_step *step)
{
    int i_draft = drafter->i_draft;
    for (int i = 0; i < step->n_sequences; i++) {
        struct dc_speculation *speculation = &step->contexts[i]->speculation;
        const struct baton_chunk chunk = {.tokens = &speculation->tokens[i_draft - 1],
                                          .states = hidden_of(drafter, i),
                                          .hidden = hidden_of(drafter, i),
                                          .n_tokens = 1,
                                          .n_logits = 1};
        if (!speculation->n_fed || speculation->n_drafts < i_draft)
            continue;
        if (i_draft == 2) /* what came before is the text, which stays */
            baton_seq_keep_state(&speculation->draft);
        add(drafter, step->contexts[i], &chunk);
    }
}

/* The logits of a row, padded with -INFINITY if the draft model's vocabulary is shorter, so that
 * missing tokens are never drafted. */
static const float *row_of(const struct dc_drafter *drafter, int i, int worker)
{
    size_t n_vocab = (size_t)drafter->draft->n_vocab;
    const float *logits = drafter->logits + (size_t)i * n_vocab;
    if (!drafter->rows[worker])
        return logits;
    memcpy(drafter->rows[worker], logits, n_vocab * sizeof *logits);
    return drafter->rows[worker];
}

/* A baton_item_fn. Penalties ignore the drafts before this one, which costs at most a wrong
 * draft. */
static void choose(void *arg, int i, int worker)
{
    struct dc_drafter *drafter = arg;
    struct dc_context *context = drafter->contexts[i];
    const struct baton_sampling_state *sampling = &context->sampling;
    context->speculation.tokens[drafter->i_draft] = baton_sampler_pick(
        drafter->samplers[worker], row_of(drafter, i, worker), &sampling->params,
        &sampling->history, (uint64_t)(context->seq.n_tokens + drafter->i_draft));
}

/* Handles a failed round. The missing drafts get an arbitrary token and are rejected like any wrong
 * draft, so the output is not affected. */
static void give_up(struct dc_drafter *drafter, enum baton_err err)
{
    baton_log(BATON_LOG_ERROR, "draft_model_failed", BATON_S("err", baton_err_name(err)),
              BATON_I("sequences", drafter->n_chunks));
    for (int i = 0; i < drafter->n_chunks; i++)
        dc_speculation_give_up(&drafter->contexts[i]->speculation, drafter->i_draft);
}

static bool run_round(struct dc_drafter *drafter)
{
    enum baton_err err = baton_engine_forward(drafter->engine, drafter->chunks, drafter->n_chunks,
                                              NULL, NULL, drafter->logits);
    if (err)
        give_up(drafter, err);
    else if (drafter->n_logits)
        baton_engine_share(drafter->engine, drafter->n_logits, choose, drafter);
    return !err;
}

/* The rows of a round whose duration measures the cost of drafting; 0 if some sequence catches up,
 * because that is a different kind of work. */
static int rows_of_cost(const struct dc_drafter *drafter)
{
    int n_rows = 0;
    for (int i = 0; i < drafter->n_chunks; i++) {
        if (drafter->chunks[i].n_tokens > dc_draft_model_lag(drafter->draft) ||
            !drafter->chunks[i].n_logits)
            return 0;
        n_rows += drafter->chunks[i].n_tokens;
    }
    return n_rows;
}

void dc_drafter_run(struct dc_drafter *drafter, const struct dc_step *step)
{
    drafter->i_draft = 1;
    drafter->n_chunks = drafter->n_logits = 0;
    fill_first(drafter, step, true);
    fill_first(drafter, step, false);
    while (drafter->n_chunks) {
        int64_t begin_ns = baton_now_ns();
        int n_rows = rows_of_cost(drafter);
        if (!run_round(drafter))
            return;
        if (n_rows)
            baton_step_line_add(&drafter->line, n_rows, baton_seconds(baton_now_ns() - begin_ns));
        drafter->i_draft++;
        drafter->n_chunks = drafter->n_logits = 0;
        fill_next(drafter, step);
    }
}

void dc_drafter_costs(const struct dc_drafter *drafter, double *base_s, double *row_s)
{
    baton_step_line_fit(&drafter->line, base_s, row_s);
}
