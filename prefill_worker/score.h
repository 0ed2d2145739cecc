/* A prompt's log-probabilities: one for each of its tokens except the first.
 *
 * They are sent in messages of TOKENS_PER_MESSAGE tokens during a step. The last message is sent
 * before the first token.
 *
 * Ownership: a score owns the message that it fills.
 * Threading: engine thread.
 * Errors:    create: NULL without memory. CANCELED if the gateway accepts no messages.
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

/* Runs the next n_tokens of the job's prompt, and sends the log-probability of every prompt token
 * that they predict to the origin. logits [BATON_SCORE_ROWS][V]; after the prompt's last chunk the
 * first row is that of its last position. */
enum baton_err pf_score_chunk(struct pf_score *score, struct baton_engine *engine,
                              struct pf_job *job, int n_tokens, baton_layer_fn on_layer,
                              void *layer_arg, float *logits) BATON_MUST_CHECK;

#endif
