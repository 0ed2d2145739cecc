#include "decode_worker/sample_batch.h"

#include <stdlib.h>

/* One thread reads fewer logits than this in less time than it takes to wake a helper. */
enum { MIN_SHARED_LOGITS = 1 << 15 };

struct dc_sample_batch {
    int n_threads, n_vocab;
    struct baton_sampler **samplers;      /* [n_threads] */
    struct baton_sampled_message *tokens; /* [n_logits] */
    struct dc_sampled *sampled;           /* [n_chunks] */
    /* of the current call */
    const struct dc_step *step;
    const float *logits;
};

struct dc_sample_batch *dc_sample_batch_create(int max_batch, int n_threads, int n_vocab)
{
    struct dc_sample_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return NULL;
    batch->n_vocab = n_vocab;
    batch->n_threads = n_threads;
    batch->tokens = calloc((size_t)dc_scheduler_max_logits(max_batch), sizeof *batch->tokens);
    batch->sampled = calloc((size_t)max_batch + DC_MAX_PROMPTS, sizeof *batch->sampled);
    batch->samplers = calloc((size_t)n_threads, sizeof(struct baton_sampler *));
    bool complete = batch->tokens && batch->sampled && batch->samplers;
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
    free(batch->sampled);
    free(batch);
}

/* A colocated prompt's first token uses the sampling state of its PrefillRequest, other tokens use
 * that of DecodeStart. */
static struct baton_sampling_state *sampling_of(struct dc_context *context)
{
    return context->state == DC_PREFILLING ? &context->prompt.sampling : &context->sampling;
}

/* A baton_item_fn. Draws are keyed by seed and position, so any thread's sampler may sample the
 * chunk. Its tokens are sampled in order, because each may count in the penalties of the next. */
static void choose(void *arg, int i, int worker)
{
    struct dc_sample_batch *batch = arg;
    const struct baton_chunk *chunk = &batch->step->chunks[i];
    struct dc_sampled *sampled = &batch->sampled[i];
    struct baton_sampling_state *state = sampling_of(batch->step->contexts[i]);
    int row = batch->step->first_logits[i], first = chunk->seq->n_tokens - chunk->n_logits + 1;
    *sampled = (struct dc_sampled){.tokens = &batch->tokens[row]};
    while (sampled->n < chunk->n_logits) {
        struct baton_sampled_message *made = &sampled->tokens[sampled->n];
        baton_sampled_message_make(made, batch->samplers[worker], state,
                                   batch->logits +
                                       (size_t)(row + sampled->n) * (size_t)batch->n_vocab,
                                   (uint64_t)(first + sampled->n));
        sampled->n++;
        /* The rows after a wrong draft were computed from a wrong input, so they are not used. */
        if (sampled->n == chunk->n_logits || made->token != chunk->tokens[sampled->n] ||
            baton_sampling_params_is_stop(&state->params, made->token))
            break;
        baton_sampling_state_accept(state, made->token);
    }
}

const struct dc_sampled *dc_sample_batch_run(struct dc_sample_batch *batch,
                                             struct baton_engine *engine,
                                             const struct dc_step *step, const float *logits)
{
    batch->step = step;
    batch->logits = logits;
    if (step->n_chunks > 1 && (int64_t)step->n_logits * batch->n_vocab >= MIN_SHARED_LOGITS)
        baton_engine_share(engine, step->n_chunks, choose, batch);
    else
        for (int i = 0; i < step->n_chunks; i++)
            choose(batch, i, 0);
    return batch->sampled;
}

void dc_sample_batch_forget(const struct dc_sampled *sampled, struct dc_context *context)
{
    for (int i = sampled->n - 1; i-- > 0;)
        baton_sampling_state_drop(&context->sampling, sampled->tokens[i].token);
}
