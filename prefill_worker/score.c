#include "prefill_worker/score.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "worker/sampling_messages.h"

enum { TOKENS_PER_MESSAGE = 64 };

/* How long the link's queue may stay full, and the pause between two tries. The engine thread
 * waits, because the log-probabilities are stored nowhere else and cannot be sent later. */
#define PATIENCE_NS (2 * BATON_SECOND)
#define PAUSE_NS    (1 * BATON_MS)

struct pf_score {
    struct baton_sampler *sampler;
    size_t n_vocab;
    const struct pf_job *job;
    int first_position; /* of the chunk's first row */
    int first_index, n; /* the gathered tokens */
    enum baton_err err;
    float *logits; /* the caller's, for the last row */
    struct baton_logprobs_message gathered[TOKENS_PER_MESSAGE];
    Baton__V1__Logprobs *listed[TOKENS_PER_MESSAGE];
};

struct pf_score *pf_score_create(struct baton_sampler *sampler, int n_vocab)
{
    struct pf_score *score = calloc(1, sizeof *score);
    if (!score)
        return NULL;
    score->sampler = sampler;
    score->n_vocab = (size_t)n_vocab;
    for (int i = 0; i < TOKENS_PER_MESSAGE; i++)
        score->listed[i] = &score->gathered[i].message;
    return score;
}

void pf_score_destroy(struct pf_score *score)
{
    free(score);
}

static enum baton_err send(const struct pf_score *score, baton_envelope *envelope)
{
    int64_t until_ns = baton_now_ns() + PATIENCE_NS;
    enum baton_err err;
    while ((err = baton_origin_send(&score->job->origin, envelope)) == BATON_AGAIN &&
           baton_now_ns() < until_ns && !atomic_load(&score->job->canceled))
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    /* A message that can never be sent fails the job. A gateway that is gone or full cancels it
     * without a Failed, which could not be sent either. */
    return err == BATON_AGAIN || err == BATON_CLOSED || err == BATON_NO_MEMORY ? BATON_CANCELED
                                                                               : err;
}

static void flush(struct pf_score *score)
{
    Baton__V1__PromptLogprobs prompt = BATON__V1__PROMPT_LOGPROBS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    if (!score->n || score->err)
        return;
    prompt.first_index = (uint32_t)score->first_index;
    prompt.logprobs = score->listed;
    prompt.n_logprobs = (size_t)score->n;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS;
    envelope.prompt_logprobs = &prompt;
    score->err = send(score, &envelope);
    score->first_index += score->n;
    score->n = 0;
}

static void on_row(void *arg, int row, const float *logits)
{
    struct pf_score *score = arg;
    const struct pf_job *job = score->job;
    int next = score->first_position + row + 1;
    if (next == job->n_prompt) {
        /* The last row predicts the first output token. The rows may overlap, hence memmove. */
        memmove(score->logits, logits, score->n_vocab * sizeof *logits);
        return;
    }
    baton_logprobs_message_make(&score->gathered[score->n++], score->sampler, logits,
                                job->tokens[next], (int)job->sampling.params.top_logprobs);
    if (score->n == TOKENS_PER_MESSAGE)
        flush(score);
}

enum baton_err pf_score_chunk(struct pf_score *score, struct baton_engine *engine,
                              struct pf_job *job, int n_tokens, baton_layer_fn on_layer,
                              void *layer_arg, float *logits)
{
    int first = job->seq.n_tokens;
    score->job = job;
    score->logits = logits;
    score->first_position = first;
    score->first_index = first + 1;
    score->n = 0;
    score->err = BATON_OK;
    enum baton_err err = baton_engine_score(engine, &job->seq, job->tokens + first, n_tokens,
                                            on_layer, layer_arg, on_row, score, logits);
    if (!err)
        flush(score);
    return err ? err : score->err;
}
