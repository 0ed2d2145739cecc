#include "gateway/fleet/handshake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

bool gw_handshake_refuse(struct gw_refusal *refusal, Baton__V1__Refused__Code code, const char *fmt,
                         ...)
{
    va_list args;
    va_start(args, fmt);
    refusal->code = code;
    (void)vsnprintf(refusal->reason, sizeof refusal->reason, fmt, args);
    va_end(args);
    return false;
}

/* A gateway without the weights compares with the weights' digest of the fleet's first worker. The
 * parts are compared in this order because the first difference explains the others. */
static bool same_model(const struct gw_identity *identity, const struct gw_fleet_terms *terms,
                       const Baton__V1__Hello *hello, struct gw_refusal *refusal)
{
    const struct baton_fingerprint *ours = identity->fingerprint;
    const char *weights = *ours->weights ? ours->weights : terms->weights;
    const Baton__V1__Fingerprint *theirs = hello->fingerprint;
    const char *part = strcmp(ours->config, theirs->config) != 0           ? "config.json"
                       : strcmp(ours->tokenizer, theirs->tokenizer) != 0   ? "the tokenizer"
                       : *weights && strcmp(weights, theirs->weights) != 0 ? "the weights"
                                                                           : NULL;
    if (!part)
        return true;
    return gw_handshake_refuse(refusal, BATON__V1__REFUSED__CODE__OTHER_MODEL,
                               "%s differs: this fleet serves \"%s\", the worker has \"%s\"", part,
                               identity->facts->name, hello->model);
}

static bool same_terms(const struct gw_identity *identity, const struct gw_fleet_terms *terms,
                       const Baton__V1__Hello *hello, struct gw_refusal *refusal)
{
    if (hello->n_context_tokens != (uint64_t)identity->facts->n_context_tokens)
        return gw_handshake_refuse(refusal, BATON__V1__REFUSED__CODE__OTHER_CONTEXT,
                                   "the worker's context is %u tokens, this fleet's %lld",
                                   hello->n_context_tokens,
                                   (long long)identity->facts->n_context_tokens);
    if (!terms->kv_block_tokens)
        return true;
    if (strcmp(terms->dtype, hello->dtype) != 0 || strcmp(terms->kv_dtype, hello->kv_dtype) != 0)
        return gw_handshake_refuse(refusal, BATON__V1__REFUSED__CODE__OTHER_DTYPE,
                                   "dtype %s with KV in %s: this fleet has %s with %s",
                                   hello->dtype, hello->kv_dtype, terms->dtype, terms->kv_dtype);
    if (terms->kv_block_tokens != hello->kv_block_tokens)
        return gw_handshake_refuse(refusal, BATON__V1__REFUSED__CODE__OTHER_BLOCK_SIZE,
                                   "KV blocks of %u tokens: this fleet has %u",
                                   hello->kv_block_tokens, terms->kv_block_tokens);
    if (strcmp(terms->kv_layout, hello->kv_layout) != 0)
        return gw_handshake_refuse(refusal, BATON__V1__REFUSED__CODE__OTHER_LAYOUT,
                                   "the layout of K and V is %.12s: this fleet has %.12s (layers, "
                                   "heads, windows or the rotation of positions differ)",
                                   hello->kv_layout, terms->kv_layout);
    return true;
}

bool gw_handshake_has_token(const struct gw_identity *identity, const Baton__V1__Hello *hello)
{
    return baton_cluster_token_accepts(identity->token, hello->cluster_token);
}

bool gw_handshake_judge(const struct gw_identity *identity, const struct gw_fleet_terms *terms,
                        const Baton__V1__Hello *hello, struct gw_refusal *refusal)
{
    if (hello->role != BATON__V1__ROLE__ROLE_PREFILL && hello->role != BATON__V1__ROLE__ROLE_DECODE)
        return gw_handshake_refuse(refusal, BATON__V1__REFUSED__CODE__BAD_HELLO, "no such role");
    return same_model(identity, terms, hello, refusal) &&
           same_terms(identity, terms, hello, refusal);
}

static void copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from);
}

struct gw_worker *gw_handshake_worker(const struct gw_identity *identity,
                                      const struct baton_message *message, void (*wake)(void *arg),
                                      void *wake_arg, struct baton_why *why)
{
    const baton_envelope *envelope = message->envelope;
    const Baton__V1__Hello *hello = envelope->hello;
    struct gw_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return NULL;
    struct baton_link_options link = {.url = worker->address,
                                      .local_epoch = identity->epoch,
                                      .peer_epoch = envelope->src_epoch,
                                      .id = envelope->link,
                                      .connect_ns = identity->connect_ns,
                                      .wake = wake,
                                      .wake_arg = wake_arg};
    enum baton_err err = baton_link_resolve_url(hello->inbox_url, message->peer_host,
                                                worker->address, sizeof worker->address, why);
    /* A decode worker announces an inbox for contexts, a prefill worker one for parts of
     * prompts. */
    const char *bulk_url = *hello->bulk_url ? hello->bulk_url : hello->parts_url;
    if (!err && *bulk_url)
        err = baton_link_resolve_url(bulk_url, message->peer_host, worker->bulk_url,
                                     sizeof worker->bulk_url, why);
    if (!err)
        err = baton_link_open(&link, &worker->link, why);
    if (err) {
        free(worker);
        return NULL;
    }
    worker->role = hello->role;
    worker->state_ns = baton_now_ns();
    worker->epoch = envelope->src_epoch;
    worker->pid = hello->pid;
    worker->n_cores = hello->n_cores;
    worker->embeds = hello->embeds;
    worker->hands_over = hello->hands_over;
    worker->adapts = hello->adapts;
    worker->state_interval = hello->state_interval;
    gw_adapters_set(&worker->adapters, hello->adapters, hello->n_adapters);
    worker->max_beat_ns = (int64_t)(hello->max_beat_s * (double)BATON_SECOND);
    worker->start_to_ready_s = hello->start_to_ready_s;
    worker->model_load_s = hello->model_load_s;
    worker->pipe = message->pipe;
    copy(worker->token, sizeof worker->token, hello->cluster_token);
    copy(worker->id, sizeof worker->id, hello->worker_id);
    copy(worker->model, sizeof worker->model, hello->model);
    copy(worker->kernels, sizeof worker->kernels, hello->kernels);
    copy(worker->numa, sizeof worker->numa, hello->numa);
    copy(worker->draft_model, sizeof worker->draft_model, hello->draft_model);
    copy(worker->fingerprint.config, BATON_SHA256_HEX, hello->fingerprint->config);
    copy(worker->fingerprint.tokenizer, BATON_SHA256_HEX, hello->fingerprint->tokenizer);
    copy(worker->fingerprint.weights, BATON_SHA256_HEX, hello->fingerprint->weights);
    gw_worker_set_status(worker, hello->status);
    return worker;
}

void gw_handshake_send_welcome(const struct gw_identity *identity, struct gw_worker *worker)
{
    Baton__V1__Welcome welcome = BATON__V1__WELCOME__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    welcome.gateway_id = baton_envelope_text(identity->gateway_id);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_WELCOME;
    envelope.welcome = &welcome;
    (void)gw_worker_send(worker, &envelope);
}

void gw_handshake_send_refused(struct gw_worker *worker, struct gw_refusal *refusal)
{
    Baton__V1__Refused refused = BATON__V1__REFUSED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    refused.code = refusal->code;
    refused.reason = refusal->reason;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_REFUSED;
    envelope.refused = &refused;
    (void)gw_worker_send(worker, &envelope);
}

void gw_handshake_settle(struct gw_fleet_terms *terms, const Baton__V1__Hello *hello)
{
    copy(terms->weights, sizeof terms->weights, hello->fingerprint->weights);
    copy(terms->dtype, sizeof terms->dtype, hello->dtype);
    copy(terms->kv_dtype, sizeof terms->kv_dtype, hello->kv_dtype);
    copy(terms->kv_layout, sizeof terms->kv_layout, hello->kv_layout);
    terms->kv_block_tokens = hello->kv_block_tokens;
}
