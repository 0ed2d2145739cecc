/* Sends the engine thread's results to the origin of a prompt: the first token, and in naive mode
 * the tokens after it; or its embedding.
 *
 * Ownership: all arguments are borrowed.
 * Threading: engine thread.
 * Errors:    none; a gateway that takes no messages is soon lost (baton_origin_send_or_log).
 */
#ifndef BATON_PREFILL_WORKER_ANSWER_H
#define BATON_PREFILL_WORKER_ANSWER_H

#include "prefill_worker/job.h"
#include "worker/sampling_messages.h"

struct pf_first_times {
    int64_t computed_ns, sampling_ns, sampled_ns; /* logits ready; its sampling begins, ends */
};

/* is_cold: the first token of this process. */
void pf_answer_first(const struct pf_job *job, const struct baton_sampled_message *sampled,
                     const struct pf_first_times *times, bool stopped, bool is_cold);

/* Reports how far the prompt is. Omits the message if the link's queue is full. */
void pf_answer_progress(const struct pf_job *job);

/* Sends values [n] instead of a first token. */
void pf_answer_embedding(const struct pf_job *job, const float *values, int n, int64_t computed_ns);

/* Sends the output token with index pf_job_n_output. */
void pf_answer_token(const struct pf_job *job, const struct baton_sampled_message *sampled,
                     double step_s);

void pf_answer_finished(const struct pf_job *job, bool stopped);

#endif
