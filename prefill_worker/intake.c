#include "prefill_worker/intake.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "worker/prompt.h"

/* Rejects a job that the whole pool cannot hold: it would wait for ever, and others behind it. */
static enum baton_err check_pool(const struct baton_kv *kv,
                                 const Baton__V1__PrefillRequest *request, struct baton_why *why)
{
    int64_t n_output = request->naive ? (int64_t)request->max_new_tokens - 1 : 0;
    int64_t n_held = (int64_t)baton_kv_n_blocks(kv) * BATON_KV_BLOCK_TOKENS;
    if (request->in_parts && baton_kv_has_states(kv))
        return baton_fail(why, BATON_INVALID,
                          "in_parts: layers of this model keep a state, for which each part of a "
                          "prompt would wait; start the gateway without --prefill-split");
    if ((int64_t)request->n_tokens + n_output <= n_held)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "tokens: %zu with an output of %" PRId64 " are more than the %" PRId64
                      " that this worker's KV cache holds",
                      request->n_tokens, n_output, n_held);
}

static enum baton_err check(const struct baton_model_facts *facts,
                            const Baton__V1__PrefillRequest *request, struct baton_why *why)
{
    size_t n = request->n_tokens, context = (size_t)facts->n_context_tokens;
    if (n < 1 || n > context || !baton_prompt_is_valid(request->tokens, n, facts->n_vocab))
        return baton_fail(why, BATON_INVALID,
                          "tokens: must be 1..context ids below the vocabulary size");
    if (facts->is_encoder && !request->pooling)
        return baton_fail(why, BATON_INVALID, "pooling: an encoder generates no tokens");
    if (!facts->is_encoder && request->pooling == BATON__V1__POOLING__POOLING_CLS)
        return baton_fail(why, BATON_INVALID, "pooling: cls is for encoders alone");
    if (facts->is_encoder && request->n_logit_ids)
        return baton_fail(why, BATON_INVALID, "logit_ids: an encoder has no logits");
    if (!baton_prompt_is_valid(request->logit_ids, request->n_logit_ids, facts->n_vocab))
        return baton_fail(why, BATON_INVALID, "logit_ids: must be ids below the vocabulary size");
    if (request->naive &&
        (request->max_new_tokens < 1 || request->max_new_tokens > context - n + 1))
        return baton_fail(why, BATON_INVALID, "max_new_tokens: must be 1..%zu", context - n + 1);
    size_t n_hashes = baton_block_hash_count(n, BATON_KV_BLOCK_TOKENS);
    if (request->deliver_to && request->deliver_to->first_block > n_hashes)
        return baton_fail(why, BATON_INVALID, "deliver_to.first_block: must be 0..%zu", n_hashes);
    return BATON_OK;
}

/* Copies the prompt, with space for the output in naive mode. */
static enum baton_err copy_tokens(struct pf_job *job, const Baton__V1__PrefillRequest *request)
{
    size_t n_positions = request->n_tokens + (request->naive ? request->max_new_tokens : 0);
    job->tokens = malloc(n_positions * sizeof *job->tokens);
    if (!job->tokens)
        return BATON_NO_MEMORY;
    memcpy(job->tokens, request->tokens, request->n_tokens * sizeof *job->tokens);
    return BATON_OK;
}

/* Sets the hashes by which the prompt shares blocks; without memory for them it shares none. A
 * naive job rewrites its blocks in each step, so it must not share them, and an encoder's layers
 * rewrite each other's. Hashes that do not match
 * the tokens would register blocks under wrong content, so they are dropped. */
static enum baton_err set_prefix(struct pf_job *job, const struct baton_prefix_cache *cache,
                                 bool is_encoder, const Baton__V1__PrefillRequest *request,
                                 struct baton_why *why)
{
    size_t n_hashes = baton_block_hash_count(request->n_tokens, BATON_KV_BLOCK_TOKENS);
    if (baton_prefix_init(&job->prefix, cache, &request->block_hashes, request->n_tokens) ==
        BATON_INVALID)
        return baton_fail(why, BATON_INVALID, "block_hashes: must be 0..%zu hashes", n_hashes);
    baton_prefix_set_borders(&job->prefix, request, &job->seq);
    bool is_ours = baton_prefix_cache_made(cache, &job->prefix, request);
    if (!is_ours)
        baton_log(BATON_LOG_WARN, "foreign_block_hashes", BATON_ORIGIN(&job->origin));
    if (!is_ours || request->naive || request->skip_prefix_cache || is_encoder)
        baton_prefix_fini(&job->prefix);
    return BATON_OK;
}

_Static_assert((int)BATON_POOLING_LAST == (int)BATON__V1__POOLING__POOLING_LAST &&
                   (int)BATON_POOLING_MEAN == (int)BATON__V1__POOLING__POOLING_MEAN &&
                   (int)BATON_POOLING_CLS == (int)BATON__V1__POOLING__POOLING_CLS,
               "the poolings have the numbers that travel");

static enum baton_err set_pooling(struct pf_job *job, int n_embd,
                                  const Baton__V1__PrefillRequest *request)
{
    if (!request->pooling)
        return BATON_OK;
    job->pooling = (enum baton_pooling)request->pooling;
    job->n_first_part = (int)request->n_first_part;
    job->n_logit_ids = (int)request->n_logit_ids;
    if (job->n_logit_ids)
        memcpy(job->logit_ids, request->logit_ids, request->n_logit_ids * sizeof *job->logit_ids);
    job->pooled = calloc((size_t)n_embd, sizeof *job->pooled);
    return job->pooled ? BATON_OK : BATON_NO_MEMORY;
}

static struct pf_job *new_job(const struct pf_intake *intake,
                              const Baton__V1__PrefillRequest *request)
{
    struct pf_job *job = pf_job_create();
    if (!job)
        return NULL;
    if (copy_tokens(job, request) || set_pooling(job, intake->n_embd, request) ||
        baton_prompt_sampling(request, request->max_new_tokens, intake->grammars, &job->sampling)) {
        pf_job_destroy(job);
        return NULL;
    }
    job->deadline_ns =
        request->deadline_ms ? job->received_ns + request->deadline_ms * BATON_MS : 0;
    job->n_prompt = job->n_tokens = (int)request->n_tokens;
    job->n_resumed = (int)request->n_output_tokens;
    job->naive = request->naive;
    job->parts.is_wanted = request->in_parts;
    job->priority = baton_prompt_priority(request->priority);
    job->prompt_logprobs = request->prompt_logprobs;
    job->prompt_progress = request->prompt_progress;
    job->max_new_tokens = (int)request->max_new_tokens;
    atomic_store(&job->credit_end, (uint64_t)request->n_output_tokens + request->credit_tokens);
    job->is_delivered = request->deliver_to != NULL;
    if (job->is_delivered)
        baton_kv_target_set(&job->target, request->deliver_to);
    return job;
}

struct pf_job *pf_intake_job(const struct pf_intake *intake, struct baton_link *gateway,
                             const baton_envelope *envelope)
{
    const Baton__V1__PrefillRequest *request = envelope->prefill_request;
    struct baton_origin origin;
    struct baton_why why = {""};
    struct baton_adapter_hold hold = {0};
    baton_origin_init(&origin, gateway, envelope);
    struct pf_job *job = NULL;
    if (check(intake->facts, request, &why) || check_pool(intake->cache->kv, request, &why))
        baton_origin_fail(&origin, BATON__V1__FAILED__CODE__INVALID, why.text);
    else if (!baton_adapters_hold(intake->adapters, request->adapters, request->n_adapters, &hold))
        baton_origin_fail(&origin, BATON__V1__FAILED__CODE__NO_ADAPTER, BATON_NO_ADAPTER);
    else if (!(job = new_job(intake, request)))
        baton_origin_fail(&origin, BATON__V1__FAILED__CODE__NO_MEMORY, "no memory for the request");
    if (!job) {
        baton_adapter_hold_release(&hold);
        baton_origin_fini(&origin);
        return NULL;
    }
    job->origin = origin; /* moved, as the hold */
    job->adapters = hold;
    if (!set_prefix(job, intake->cache, intake->facts->is_encoder, request, &why))
        return job;
    baton_origin_fail(&job->origin, BATON__V1__FAILED__CODE__INVALID, why.text);
    pf_job_destroy(job);
    return NULL;
}
