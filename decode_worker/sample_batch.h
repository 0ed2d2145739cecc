/* Samples the tokens of a step on the compute pool, with one sampler per thread.
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

/* The tokens of a chunk: none if it wants no logits, else one, and one more for each correct
 * draft. */
struct dc_sampled {
    struct baton_sampled_message *tokens; /* [n] */
    int n;
};

/* Samples each chunk of the step from logits [step->n_logits][V] by the sampling state of its
 * context. Afterwards the state has accepted all of its tokens except the last. The result is valid
 * until the next call. */
const struct dc_sampled *dc_sample_batch_run(struct dc_sample_batch *batch,
                                             struct baton_engine *engine,
                                             const struct dc_step *step, const float *logits);

/* Undoes the tokens' notes in the sampling state, because they will be sampled again. */
void dc_sample_batch_forget(const struct dc_sampled *sampled, struct dc_context *context);

#endif
