/* Samples the token that follows each row of a step, on the compute pool, a sampler per thread.
 *
 * Ownership: owns the samplers and a token per row, all reserved at creation.
 * Threading: engine thread.
 * Errors:    create: NO_MEMORY.
 */
#ifndef BATON_DECODE_SAMPLE_BATCH_H
#define BATON_DECODE_SAMPLE_BATCH_H

#include "common/sampling/sampled_token.h"
#include "decode_worker/scheduler.h"

struct dc_sample_batch;

struct dc_sample_batch *dc_sample_batch_create(int n_rows, int n_threads, int n_vocab);
void dc_sample_batch_destroy(struct dc_sample_batch *batch);

/* A token per row of logits [step->n_rows][V], by the sampling state of the row's context. The
 * result is valid until the next call. */
struct baton_sampled_token *dc_sample_batch_run(struct dc_sample_batch *batch,
                                                struct baton_engine *engine,
                                                const struct dc_step *step, const float *logits);

#endif
