#include "decode_worker/sample_batch.h"

#include <stdlib.h>

/* One thread reads fewer logits than this in less time than it takes to wake a helper. */
enum { MIN_SHARED_LOGITS = 1 << 15 };

struct dc_sample_batch {
    int n_threads, n_vocab;
    struct baton_sampler **samplers;    /* [n_threads] */
    struct baton_sampled_token *tokens; /* [n_rows] */
    /* of the current call */
    const struct dc_step *step;
    const float *logits;
};

struct dc_sample_batch *dc_sample_batch_create(int n_rows, int n_threads, int n_vocab)
{
    struct dc_sample_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return NULL;
    batch->n_vocab = n_vocab;
    batch->n_threads = n_threads;
    batch->tokens = calloc((size_t)n_rows, sizeof *batch->tokens);
    batch->samplers = calloc((size_t)n_threads, sizeof(struct baton_sampler *));
    bool complete = batch->tokens && batch->samplers;
    for (int i = 0; i < n_threads && complete; i++)
        complete = (batch->samplers[i] = baton_sampler_create(n_vocab)) != NULL;
    if (complete)
        return batch;
    dc_sample_batch_destroy(batch);
    return NULL;
}

void dc_sample_batch_destroy(struct dc_sample_batch *batch)
{
    if (!batch)
        return;
    for (int i = 0; i < batch->n_threads && batch->samplers; i++)
        baton_sampler_destroy(batch->samplers[i]);
    free(batch->samplers);
    free(batch->tokens);
    free(batch);
}

/* The first token is sampled by the state that came with the prompt, the others by that of
 * DecodeStart. */
static const struct baton_sampling_state *sampling_of(const struct dc_context *context)
{
    return context->state == DC_PREFILLING ? &context->prompt.sampling : &context->sampling;
}

/* A baton_item_fn. Draws are keyed by seed and position, so any thread's sampler may take the
 * row. */
static void choose_row(void *arg, int row, int worker)
{
    struct dc_sample_batch *batch = arg;
    const struct dc_context *context = batch->step->contexts[row];
    baton_sampled_token_make(&batch->tokens[row], batch->samplers[worker], sampling_of(context),
                             batch->logits + (size_t)row * (size_t)batch->n_vocab,
                             (uint64_t)context->seq.n_tokens);
}

struct baton_sampled_token *dc_sample_batch_run(struct dc_sample_batch *batch,
                                                struct baton_engine *engine,
                                                const struct dc_step *step, const float *logits)
{
    batch->step = step;
    batch->logits = logits;
    if (step->n_rows > 1 && (int64_t)step->n_rows * batch->n_vocab >= MIN_SHARED_LOGITS)
        baton_engine_share(engine, step->n_rows, choose_row, batch);
    else
        for (int row = 0; row < step->n_rows; row++)
            choose_row(batch, row, 0);
    return batch->tokens;
}
