/* Samples the tokens that a step makes, on the compute pool, a sampler per thread.
 *
 * Ownership: owns the samplers and a token per row of logits, all reserved at creation.
 * Threading: engine thread.
 * Errors:    create: NO_MEMORY.
 */
#ifndef BATON_DECODE_WORKER_SAMPLE_BATCH_H
#define BATON_DECODE_WORKER_SAMPLE_BATCH_H

#include "decode_worker/scheduler.h"
#include "worker/sampling_messages.h"

struct dc_sample_batch;

struct dc_sample_batch *dc_sample_batch_create(int max_batch, int n_threads, int n_vocab);
void dc_sample_batch_destroy(struct dc_sample_batch *batch);

/* What a chunk makes: nothing, if it wants no logits; else one token, and one more for each draft
 * that it turned out to be. */
struct dc_sampled {
    struct baton_sampled_message *tokens; /* [n] */
    int n;
};

/* For each chunk of the step, from logits [step->n_logits][V], by the sampling state of its
 * context. The state has noted all tokens but the last. The result is valid until the next call. */
const struct dc_sampled *dc_sample_batch_run(struct dc_sample_batch *batch,
                                             struct baton_engine *engine,
                                             const struct dc_step *step, const float *logits);

/* The tokens will be made again: the sequence's state is as before the step. */
void dc_sample_batch_forget(const struct dc_sampled *sampled, struct dc_context *context);

#endif
