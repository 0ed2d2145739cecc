/* A prompt's log-probabilities: one for each of its tokens but the first.
 *
 * They leave in messages of a few dozen tokens while a step goes on. The last message leaves before
 * the first token.
 *
 * Ownership: a score owns the message that it fills.
 * Threading: engine thread.
 * Errors:    create: NULL without memory. A gateway that takes no messages: CANCELED.
 */
#ifndef BATON_PREFILL_WORKER_SCORE_H
#define BATON_PREFILL_WORKER_SCORE_H

#include "engine/engine.h"
#include "engine/sampling/sampled_token.h"
#include "prefill_worker/job.h"

struct pf_score;

/* The sampler is borrowed. */
struct pf_score *pf_score_create(struct baton_sampler *sampler, int n_vocab);
void pf_score_destroy(struct pf_score *score);

/* Runs the next n_tokens of the job's prompt, and sends the origin the log-probability of every
 * token they predict but the first output. logits [BATON_SCORE_ROWS][V]; after the prompt's last
 * chunk the first row is its last position's. */
enum baton_err pf_score_chunk(struct pf_score *score, struct baton_engine *engine,
                              struct pf_job *job, int n_tokens, baton_layer_fn on_layer,
                              void *layer_arg, float *logits) BATON_MUST_CHECK;

#endif
