/* baton_envelope_check: the range of every field of every message. Each message has one function
 * that reads like its part of proto/baton.proto; the first failure sticks and names the field. */
#include <math.h>

#include "common/base/block_hash.h"
#include "common/base/fingerprint.h"
#include "common/base/request_tag.h"
#include "common/base/ticket.h"
#include "common/params/speculation.h"
#include "common/wire/envelope/check_fields.h"

enum {
    MAX_LAYERS = 1024,
    MAX_BLOCK_TOKENS = 1 << 16,
    MAX_CORES = 1 << 16,
    MAX_POOL_BLOCKS = 1 << 24
};

static const uint64_t max_kv_bytes = 1ULL << 44; /* of one request */
static const double max_tokens_per_s = 1e12;

/* ---- membership ---- */

static void check_fingerprint(struct checker *c, const Baton__V1__Fingerprint *m)
{
    sha256(c, "fingerprint.config", m->config);
    sha256(c, "fingerprint.tokenizer", m->tokenizer);
    sha256(c, "fingerprint.weights", m->weights);
}

static void check_status(struct checker *c, const Baton__V1__Status *m)
{
    range(c, "kv_blocks_free", m->kv_blocks_free, 0, m->kv_blocks_total);
    range(c, "kv_blocks_reserved", m->kv_blocks_reserved, 0, m->kv_blocks_total);
    seconds(c, "last_step_s", m->last_step_s);
    seconds(c, "busy_s", m->busy_s);
    seconds(c, "stalled_s", m->stalled_s);
    seconds(c, "beat_s", m->beat_s);
    range(c, "n_canary_failures", m->n_canary_failures, 0, m->n_canaries);
    range(c, "kv_blocks_cached", m->kv_blocks_cached, 0, m->kv_blocks_free);
    real(c, "tokens_per_s", m->tokens_per_s, max_tokens_per_s);
    seconds(c, "step_base_s", m->step_base_s);
    seconds(c, "step_row_s", m->step_row_s);
    range(c, "prefix_hit_tokens", m->prefix_hit_tokens, 0, m->prefix_tokens);
    range(c, "kv_disk_hit_tokens", m->kv_disk_hit_tokens, 0, m->prefix_hit_tokens);
    seconds(c, "kv_disk_read_s", m->kv_disk_read_s);
    seconds(c, "kv_disk_write_s", m->kv_disk_write_s);
    range(c, "kv_states_free", m->kv_states_free, 0, m->kv_states_total);
    range(c, "kv_states_cached", m->kv_states_cached, 0, m->kv_states_free);
}

static void numeric_class(struct checker *c, const char *value)
{
    charset(c, "numeric_class", value, "0123456789abcdef", BATON_NUMERIC_CLASS_HEX - 1,
            BATON_NUMERIC_CLASS_HEX - 1);
}

static void check_hello_urls(struct checker *c, const Baton__V1__Hello *m)
{
    url(c, "inbox_url", m->inbox_url, HOST_OR_STAR);
    if (m->role == BATON__V1__ROLE__ROLE_DECODE)
        url(c, "bulk_url", m->bulk_url, HOST_OR_STAR);
    else
        absent(c, "bulk_url", m->bulk_url && *m->bulk_url, "only a decode worker has one");
    if (m->parts_url && *m->parts_url)
        url(c, "parts_url", m->parts_url, HOST_OR_STAR);
}

static void check_hello(struct checker *c, const Baton__V1__Hello *m)
{
    known(c, "role", (int)m->role, &baton__v1__role__descriptor);
    name(c, "worker_id", m->worker_id);
    range(c, "pid", m->pid, 1, INT32_MAX);
    check_hello_urls(c, m);
    present(c, "fingerprint", m->fingerprint);
    if (m->fingerprint)
        check_fingerprint(c, m->fingerprint);
    text(c, "model", m->model, BATON_MAX_TEXT_BYTES);
    name(c, "dtype", m->dtype);
    name(c, "kv_dtype", m->kv_dtype);
    sha256(c, "kv_layout", m->kv_layout);
    numeric_class(c, m->numeric_class);
    name(c, "kernels", m->kernels);
    if (m->numa && *m->numa)
        text(c, "numa", m->numa, BATON_MAX_ID_BYTES);
    if (m->draft_model && *m->draft_model)
        text(c, "draft_model", m->draft_model, BATON_MAX_TEXT_BYTES);
    range(c, "kv_block_tokens", m->kv_block_tokens, 1, MAX_BLOCK_TOKENS);
    range(c, "n_context_tokens", m->n_context_tokens, 1, MAX_TOKENS);
    range(c, "n_cores", m->n_cores, 1, MAX_CORES);
    text(c, "cluster_token", m->cluster_token, BATON_MAX_TEXT_BYTES);
    seconds(c, "max_beat_s", m->max_beat_s);
    present(c, "status", m->status);
    if (m->status)
        check_status(c, m->status);
    seconds(c, "start_to_ready_s", m->start_to_ready_s);
    seconds(c, "model_load_s", m->model_load_s);
    baton_check_adapters(c, m->adapters, m->n_adapters);
    range(c, "state_interval", m->state_interval, 0, MAX_TOKENS);
}

static void check_refused(struct checker *c, const Baton__V1__Refused *m)
{
    known(c, "code", (int)m->code, &baton__v1__refused__code__descriptor);
    text(c, "reason", m->reason, BATON_MAX_TEXT_BYTES);
}

static void ticket(struct checker *c, const char *field, const ProtobufCBinaryData *value)
{
    if (value->len != BATON_TICKET_BYTES)
        FAIL(c, field, "%zu bytes are not %d", value->len, BATON_TICKET_BYTES);
}

/* ---- prefill ---- */

static void check_deliver_to(struct checker *c, const Baton__V1__DeliverTo *m)
{
    url(c, "deliver_to.bulk_url", m->bulk_url, HOST_ONLY);
    range(c, "deliver_to.epoch", m->epoch, 1, UINT64_MAX);
    name(c, "deliver_to.worker_id", m->worker_id);
    range(c, "deliver_to.first_block", m->first_block, 0, MAX_TOKENS - 1);
    ticket(c, "deliver_to.ticket", &m->ticket);
}

/* How many of them a prompt may have is up to the worker, which knows its blocks. */
static void block_hashes(struct checker *c, const ProtobufCBinaryData *hashes, size_t n_tokens)
{
    if (hashes->len % BATON_BLOCK_HASH_BYTES || hashes->len / BATON_BLOCK_HASH_BYTES >= n_tokens)
        FAIL(c, "block_hashes", "%zu bytes are no hashes of blocks of %zu tokens", hashes->len,
             n_tokens);
}

static void prefix_salt(struct checker *c, const ProtobufCBinaryData *salt)
{
    if (salt->len && salt->len != BATON_BLOCK_HASH_BYTES)
        FAIL(c, "prefix_salt", "%zu bytes are no salt", salt->len);
}

/* An embedding is all that comes back: nothing follows it. */
static void check_pooling(struct checker *c, const Baton__V1__PrefillRequest *m)
{
    known(c, "pooling", (int)m->pooling, &baton__v1__pooling__descriptor);
    absent(c, "naive", m->naive, "an embedding makes no tokens");
    absent(c, "deliver_to", m->deliver_to, "nothing is decoded after an embedding");
    absent(c, "prompt_logprobs", m->prompt_logprobs, "an embedding makes no logits");
    absent(c, "prompt_progress", m->prompt_progress, "an embedding is not streamed");
    absent(c, "n_output_tokens", m->n_output_tokens, "an embedding resumes no output");
}

static void borders(struct checker *c, const uint32_t *borders, size_t n, size_t n_tokens)
{
    range(c, "borders", n, 0, BATON_MAX_BORDERS);
    for (size_t i = 0; !c->err && i < n; i++)
        range(c, "borders", borders[i], i ? (uint64_t)borders[i - 1] + 1 : 1, n_tokens);
}

static void check_prefill_request(struct checker *c, const Baton__V1__PrefillRequest *m)
{
    token_ids(c, "tokens", m->tokens, m->n_tokens, 1, BATON_MAX_PROMPT_TOKENS);
    baton_check_sampling(c, m->sampling);
    if (m->deliver_to)
        check_deliver_to(c, m->deliver_to);
    range(c, "max_new_tokens", m->max_new_tokens, m->naive ? 1 : 0, MAX_TOKENS);
    absent(c, "deliver_to", m->naive && m->deliver_to, "naive mode delivers no context");
    block_hashes(c, &m->block_hashes, m->n_tokens);
    prefix_salt(c, &m->prefix_salt);
    baton_check_adapter_uses(c, m->adapters, m->n_adapters);
    range(c, "n_output_tokens", m->n_output_tokens, 0, m->n_tokens - 1);
    absent(c, "prompt_logprobs", m->n_output_tokens && m->prompt_logprobs,
           "they came before the output that is resumed");
    absent(c, "in_parts", m->in_parts && (m->naive || m->pooling || m->prompt_logprobs),
           "each position's end is wanted, and one worker has it");
    if (m->pooling)
        check_pooling(c, m);
    token_ids(c, "logit_ids", m->logit_ids, m->n_logit_ids, 0,
              m->pooling == BATON__V1__POOLING__POOLING_LAST ? BATON_MAX_LOGIT_IDS : 0);
    range(c, "n_first_part", m->n_first_part, 0, m->pooling ? m->n_tokens - 1 : 0);
    borders(c, m->borders, m->n_borders, m->n_tokens);
}

static void check_parts_start(struct checker *c, const Baton__V1__PartsStart *m)
{
    if (!m->n_parts)
        return;
    range(c, "parts", m->n_parts, 2, BATON_MAX_PARTS);
    range(c, "first_block", m->first_block, 0, MAX_TOKENS - 1);
    range(c, "stripe_blocks", m->stripe_blocks, 1, MAX_TOKENS);
    range(c, "holder", m->holder, 0, m->n_parts - 1);
    range(c, "part", m->part, 0, m->n_parts - 1);
    for (size_t i = 0; !c->err && i < m->n_parts; i++)
        check_deliver_to(c, m->parts[i]);
}

/* A value that is no number would spoil every distance that it is part of. */
static void check_embedding(struct checker *c, const Baton__V1__Embedding *m)
{
    range(c, "values", m->n_values, 1, BATON_MAX_EMBEDDING);
    for (size_t i = 0; !c->err && i < m->n_values; i++)
        if (!isfinite(m->values[i]))
            FAIL(c, "values", "value %zu is not finite", i);
    seconds(c, "prefill_queue_s", m->prefill_queue_s);
    seconds(c, "prefill_compute_s", m->prefill_compute_s);
    range(c, "cached_tokens", m->cached_tokens, 0, BATON_MAX_PROMPT_TOKENS);
    range(c, "disk_tokens", m->disk_tokens, 0, m->cached_tokens);
}

static void check_first_token(struct checker *c, const Baton__V1__FirstToken *m)
{
    range(c, "token", m->token, 0, MAX_TOKEN_ID);
    seconds(c, "prefill_queue_s", m->prefill_queue_s);
    seconds(c, "prefill_compute_s", m->prefill_compute_s);
    seconds(c, "sample_s", m->sample_s);
    range(c, "cached_tokens", m->cached_tokens, 0, BATON_MAX_PROMPT_TOKENS);
    range(c, "disk_tokens", m->disk_tokens, 0, m->cached_tokens);
    range(c, "stateless_tokens", m->stateless_tokens, 0, BATON_MAX_PROMPT_TOKENS);
    seconds(c, "process_age_s", m->process_age_s);
    if (m->decision)
        baton_check_decision(c, m->decision);
    if (m->logprobs)
        baton_check_logprobs(c, m->logprobs);
}

static void check_prompt_logprobs(struct checker *c, const Baton__V1__PromptLogprobs *m)
{
    range(c, "first_index", m->first_index, 1, BATON_MAX_PROMPT_TOKENS);
    range(c, "logprobs", m->n_logprobs, 1, BATON_MAX_TOKENS_IN_MESSAGE);
    for (size_t i = 0; !c->err && i < m->n_logprobs; i++)
        baton_check_logprobs(c, m->logprobs[i]);
}

static void check_prompt_progress(struct checker *c, const Baton__V1__PromptProgress *m)
{
    range(c, "n_tokens", m->n_tokens, 1, BATON_MAX_PROMPT_TOKENS);
    range(c, "cached_tokens", m->cached_tokens, 0, m->n_tokens);
}

/* ---- decode ---- */

static void check_reserve(struct checker *c, const Baton__V1__Reserve *m)
{
    range(c, "n_prompt_tokens", m->n_prompt_tokens, 1, BATON_MAX_PROMPT_TOKENS);
    range(c, "max_new_tokens", m->max_new_tokens, 1, MAX_TOKENS);
    block_hashes(c, &m->block_hashes, m->n_prompt_tokens);
    baton_check_adapter_uses(c, m->adapters, m->n_adapters);
}

static void check_reserved(struct checker *c, const Baton__V1__Reserved *m)
{
    range(c, "n_blocks", m->n_blocks, 1, MAX_TOKENS);
    range(c, "n_cached_blocks", m->n_cached_blocks, 0, m->n_blocks - 1);
    ticket(c, "ticket", &m->ticket);
}

/* The text that drafts are looked up in is the whole context. */
static void check_speculation(struct checker *c, const Baton__V1__DecodeStart *m)
{
    known(c, "mode", (int)m->speculation->mode, &baton__v1__speculation__mode__descriptor);
    range(c, "max_tokens", m->speculation->max_tokens, 1, BATON_MAX_DRAFTS);
    range(c, "min_tokens", m->speculation->min_tokens, 0, m->speculation->max_tokens);
    if (m->n_prompt + m->n_output != m->n_prompt_tokens)
        FAIL(c, "speculation", "%zu tokens of the context are there, not n_prompt_tokens: %u",
             m->n_prompt + m->n_output, m->n_prompt_tokens);
}

static void check_decode_start(struct checker *c, const Baton__V1__DecodeStart *m)
{
    range(c, "first_token", m->first_token, 0, MAX_TOKEN_ID);
    range(c, "n_prompt_tokens", m->n_prompt_tokens, 1, BATON_MAX_PROMPT_TOKENS);
    range(c, "max_new_tokens", m->max_new_tokens, 1, MAX_TOKENS);
    baton_check_sampling(c, m->sampling);
    token_ids(c, "prompt", m->prompt, m->n_prompt, 0, BATON_MAX_PROMPT_TOKENS);
    range(c, "n_output_tokens", m->n_output_tokens, 0, m->n_prompt_tokens - 1);
    token_ids(c, "output", m->output, m->n_output, 0, BATON_MAX_PROMPT_TOKENS);
    token_ids(c, "tail", m->tail, m->n_tail, 0, m->n_prompt_tokens);
    if (m->n_output && m->n_output != m->n_output_tokens)
        FAIL(c, "output", "%zu tokens where n_output_tokens is %u", m->n_output,
             m->n_output_tokens);
    if (m->speculation)
        check_speculation(c, m);
}

static void check_began(struct checker *c, const Baton__V1__DecodeBegan *m)
{
    seconds(c, "began.kv_transfer_s", m->kv_transfer_s);
    seconds(c, "began.decode_queue_s", m->decode_queue_s);
    range(c, "began.kv_bytes", m->kv_bytes, 0, max_kv_bytes);
    range(c, "began.kv_shared_bytes", m->kv_shared_bytes, 0, m->kv_bytes);
    seconds(c, "began.kv_crc_s", m->kv_crc_s);
    seconds(c, "began.kv_overlap_s", m->kv_overlap_s);
    seconds(c, "began.kv_exposed_s", m->kv_exposed_s);
}

static void each_or_none(struct checker *c, const char *field, size_t n, size_t n_tokens)
{
    if (n && n != n_tokens)
        FAIL(c, field, "%zu of them for %zu tokens", n, n_tokens);
}

static void check_tokens(struct checker *c, const Baton__V1__Tokens *m)
{
    range(c, "first_index", m->first_index, 0, MAX_TOKENS);
    token_ids(c, "tokens", m->tokens, m->n_tokens, 1, BATON_MAX_TOKENS_IN_MESSAGE);
    seconds(c, "step_s", m->step_s);
    if (m->began)
        check_began(c, m->began);
    each_or_none(c, "decisions", m->n_decisions, m->n_tokens);
    each_or_none(c, "logprobs", m->n_logprobs, m->n_tokens);
    for (size_t i = 0; !c->err && i < m->n_decisions; i++)
        baton_check_decision(c, m->decisions[i]);
    for (size_t i = 0; !c->err && i < m->n_logprobs; i++)
        baton_check_logprobs(c, m->logprobs[i]);
}

static void check_finished(struct checker *c, const Baton__V1__Finished *m)
{
    known(c, "reason", (int)m->reason, &baton__v1__finished__reason__descriptor);
    range(c, "n_tokens", m->n_tokens, 0, MAX_TOKENS);
    seconds(c, "decode_s", m->decode_s);
}

static void check_hand_over(struct checker *c, const Baton__V1__HandOver *m)
{
    if (m->deliver_to)
        check_deliver_to(c, m->deliver_to);
    else
        FAIL(c, "deliver_to", "it is missing");
    range(c, "attempt", m->attempt, 1, UINT32_MAX);
}

static void check_handed_over(struct checker *c, const Baton__V1__HandedOver *m)
{
    range(c, "n_output_tokens", m->n_output_tokens, 1, MAX_TOKENS);
    range(c, "attempt", m->attempt, 1, UINT32_MAX);
}

static void check_step_event(struct checker *c, const Baton__V1__StepEvent *m)
{
    range(c, "events.request_id", m->request_id, 1, UINT64_MAX);
    range(c, "events.attempt", m->attempt, 1, UINT32_MAX);
    if (!m->tokens && !m->finished)
        FAIL(c, "events", "one of them says nothing");
    if (m->tokens)
        check_tokens(c, m->tokens);
    token_ids(c, "drafts", m->drafts, m->n_drafts, 0, BATON_MAX_DRAFTS);
    if (m->finished)
        check_finished(c, m->finished);
}

static void check_step_events(struct checker *c, const Baton__V1__StepEvents *m)
{
    range(c, "events", m->n_events, 1, BATON_MAX_STEP_EVENTS);
    seconds(c, "sample_s", m->sample_s);
    for (size_t i = 0; !c->err && i < m->n_events; i++)
        check_step_event(c, m->events[i]);
}

/* ---- context ---- */

static void check_kv_begin(struct checker *c, const Baton__V1__KvBegin *m)
{
    url(c, "reply_url", m->reply_url, HOST_OR_STAR);
    range(c, "n_layers", m->n_layers, 1, MAX_LAYERS);
    range(c, "n_tokens", m->n_tokens, 1, BATON_MAX_PROMPT_TOKENS);
    range(c, "block_tokens", m->block_tokens, 1, MAX_BLOCK_TOKENS);
    range(c, "total_bytes", m->total_bytes, 1, max_kv_bytes);
    name(c, "kv_dtype", m->kv_dtype);
    sha256(c, "kv_layout", m->kv_layout);
    range(c, "first_block", m->first_block, 0, m->n_tokens - 1);
    ticket(c, "ticket", &m->ticket);
}

static void check_kv_chunk(struct checker *c, const Baton__V1__KvChunk *m)
{
    range(c, "offset", m->offset, 0, max_kv_bytes);
    range(c, "layer", m->layer, 0, MAX_LAYERS - 1);
    range(c, "first_block", m->first_block, 0, MAX_TOKENS - 1);
    range(c, "n_blocks", m->n_blocks, 1, MAX_TOKENS);
    if (m->place)
        range(c, "place.block", m->place->block, 0, MAX_POOL_BLOCKS - 1);
}

static void check_kv_end(struct checker *c, const Baton__V1__KvEnd *m)
{
    range(c, "total_bytes", m->total_bytes, 1, max_kv_bytes);
    range(c, "n_chunks", m->n_chunks, 1, UINT32_MAX);
    seconds(c, "overlap_s", m->overlap_s);
    range(c, "n_tokens", m->n_tokens, 0, BATON_MAX_PROMPT_TOKENS);
}

static void check_kv_ack(struct checker *c, const Baton__V1__KvAck *m)
{
    range(c, "offset", m->offset, 0, max_kv_bytes);
    range(c, "credit_bytes", m->credit_bytes, 0, max_kv_bytes);
}

/* ---- the account of the KV pool ---- */

static void check_kv_query(struct checker *c, const Baton__V1__KvQuery *m)
{
    range(c, "max_owners", m->max_owners, 0, BATON_MAX_KV_OWNERS);
}

static void check_kv_held(struct checker *c, const Baton__V1__KvHeld *m, uint32_t n_blocks)
{
    known(c, "held.reason", (int)m->reason, &baton__v1__kv_reason__descriptor);
    range(c, "held.blocks", m->blocks, 0, n_blocks);
    seconds(c, "held.oldest_s", m->oldest_s);
}

static void check_kv_owner(struct checker *c, const Baton__V1__KvOwner *m, uint32_t n_blocks)
{
    range(c, "owners.request_id", m->request_id, 1, UINT64_MAX);
    known(c, "owners.reason", (int)m->reason, &baton__v1__kv_reason__descriptor);
    range(c, "owners.blocks", m->blocks, 0, n_blocks);
    range(c, "owners.shared_blocks", m->shared_blocks, 0, n_blocks);
    seconds(c, "owners.age_s", m->age_s);
    seconds(c, "owners.reason_s", m->reason_s);
}

static void check_kv_account(struct checker *c, const Baton__V1__KvAccount *m)
{
    range(c, "free_blocks", m->free_blocks, 0, m->blocks);
    range(c, "held", m->n_held, BATON_N_KV_REASONS, BATON_N_KV_REASONS);
    range(c, "owners", m->n_owners, 0, BATON_MAX_KV_OWNERS);
    for (size_t i = 0; !c->err && i < m->n_held; i++) {
        check_kv_held(c, m->held[i], m->blocks);
        if (m->held[i]->reason != i + 1)
            FAIL(c, "held", "reason %zu is not in its place", i + 1);
    }
    for (size_t i = 0; !c->err && i < m->n_owners; i++)
        check_kv_owner(c, m->owners[i], m->blocks);
}

/* ---- the envelope ---- */

static void check_failed(struct checker *c, const Baton__V1__Failed *m)
{
    known(c, "code", (int)m->code, &baton__v1__failed__code__descriptor);
    text(c, "message", m->message, BATON_MAX_TEXT_BYTES);
}

static void check_body(struct checker *c, const baton_envelope *e)
{
    switch (e->body_case) {
    case BATON__V1__ENVELOPE__BODY_HELLO:
        return check_hello(c, e->hello);
    case BATON__V1__ENVELOPE__BODY_WELCOME:
        return text(c, "gateway_id", e->welcome->gateway_id, BATON_MAX_TEXT_BYTES);
    case BATON__V1__ENVELOPE__BODY_REFUSED:
        return check_refused(c, e->refused);
    case BATON__V1__ENVELOPE__BODY_STATUS:
        return check_status(c, e->status);
    case BATON__V1__ENVELOPE__BODY_DRAIN:
        return text(c, "reason", e->drain->reason, BATON_MAX_TEXT_BYTES);
    case BATON__V1__ENVELOPE__BODY_GOODBYE:
        return text(c, "reason", e->goodbye->reason, BATON_MAX_TEXT_BYTES);
    case BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST:
        return check_prefill_request(c, e->prefill_request);
    case BATON__V1__ENVELOPE__BODY_FIRST_TOKEN:
        return check_first_token(c, e->first_token);
    case BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS:
        return check_prompt_logprobs(c, e->prompt_logprobs);
    case BATON__V1__ENVELOPE__BODY_PROMPT_PROGRESS:
        return check_prompt_progress(c, e->prompt_progress);
    case BATON__V1__ENVELOPE__BODY_EMBEDDING:
        return check_embedding(c, e->embedding);
    case BATON__V1__ENVELOPE__BODY_PARTS_START:
        return check_parts_start(c, e->parts_start);
    case BATON__V1__ENVELOPE__BODY_RESERVE:
        return check_reserve(c, e->reserve);
    case BATON__V1__ENVELOPE__BODY_RESERVED:
        return check_reserved(c, e->reserved);
    case BATON__V1__ENVELOPE__BODY_REJECTED: /* any number of blocks */
        return;
    case BATON__V1__ENVELOPE__BODY_DECODE_START:
        return check_decode_start(c, e->decode_start);
    case BATON__V1__ENVELOPE__BODY_TOKENS:
        return check_tokens(c, e->tokens);
    case BATON__V1__ENVELOPE__BODY_TOKEN_ACK:
        return range(c, "next_index", e->token_ack->next_index, 0, MAX_TOKENS);
    case BATON__V1__ENVELOPE__BODY_FINISHED:
        return check_finished(c, e->finished);
    case BATON__V1__ENVELOPE__BODY_STEP_EVENTS:
        return check_step_events(c, e->step_events);
    case BATON__V1__ENVELOPE__BODY_HAND_OVER:
        return check_hand_over(c, e->hand_over);
    case BATON__V1__ENVELOPE__BODY_HANDED_OVER:
        return check_handed_over(c, e->handed_over);
    case BATON__V1__ENVELOPE__BODY_KV_BEGIN:
        return check_kv_begin(c, e->kv_begin);
    case BATON__V1__ENVELOPE__BODY_KV_CHUNK:
        return check_kv_chunk(c, e->kv_chunk);
    case BATON__V1__ENVELOPE__BODY_KV_END:
        return check_kv_end(c, e->kv_end);
    case BATON__V1__ENVELOPE__BODY_KV_ACK:
        return check_kv_ack(c, e->kv_ack);
    case BATON__V1__ENVELOPE__BODY_CANCEL:
        return text(c, "reason", e->cancel->reason, BATON_MAX_TEXT_BYTES);
    case BATON__V1__ENVELOPE__BODY_FAILED:
        return check_failed(c, e->failed);
    case BATON__V1__ENVELOPE__BODY_KV_QUERY:
        return check_kv_query(c, e->kv_query);
    case BATON__V1__ENVELOPE__BODY_KV_ACCOUNT:
        return check_kv_account(c, e->kv_account);
    case BATON__V1__ENVELOPE__BODY_LOAD_ADAPTER:
        return baton_check_load_adapter(c, e->load_adapter);
    case BATON__V1__ENVELOPE__BODY_DROP_ADAPTER:
        return baton_check_adapter_name(c, "name", e->drop_adapter->name);
    case BATON__V1__ENVELOPE__BODY_ADAPTER_LIST:
        return baton_check_adapter_list(c, e->adapter_list);
    case BATON__V1__ENVELOPE__BODY__NOT_SET:
    default:
        return;
    }
}

/* Membership, and what speaks of several requests or of none. */
static bool names_no_request(const baton_envelope *e)
{
    return (e->body_case >= BATON__V1__ENVELOPE__BODY_HELLO &&
            e->body_case <= BATON__V1__ENVELOPE__BODY_DRAIN) ||
           e->body_case == BATON__V1__ENVELOPE__BODY_STEP_EVENTS ||
           (e->body_case >= BATON__V1__ENVELOPE__BODY_KV_QUERY &&
            e->body_case <= BATON__V1__ENVELOPE__BODY_ADAPTER_LIST);
}

static void check_addressing(struct checker *c, const baton_envelope *e)
{
    bool is_hello = e->body_case == BATON__V1__ENVELOPE__BODY_HELLO;
    uint64_t max_request = names_no_request(e) ? 0 : UINT64_MAX;
    range(c, "src_epoch", e->src_epoch, 1, UINT64_MAX);
    range(c, "dst_epoch", e->dst_epoch, is_hello ? 0 : 1, UINT64_MAX);
    range(c, "link", e->link, 1, UINT64_MAX);
    range(c, "link_seq", e->link_seq, 1, UINT64_MAX);
    range(c, "request_id", e->request_id, max_request ? 1 : 0, max_request);
    range(c, "attempt", e->attempt, max_request ? 1 : 0, max_request ? UINT32_MAX : 0);
    if (e->client_id && *e->client_id && !baton_is_client_id(e->client_id))
        FAIL(c, "client_id", "it is not 1 to %d visible characters", BATON_CLIENT_ID_BYTES);
    if (e->trace_id && *e->trace_id && !baton_is_trace_id(e->trace_id))
        FAIL(c, "trace_id", "it is not %d hexadecimal digits", BATON_TRACE_ID_BYTES);
}

/* Blocks travel behind the KvChunk that names them, unless it says where they lie. */
static bool has_data(const baton_envelope *envelope)
{
    return envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_CHUNK && !envelope->kv_chunk->place;
}

enum baton_err baton_envelope_check(const baton_envelope *envelope, size_t payload_bytes,
                                    struct baton_why *why)
{
    struct checker c = {.why = why, .message = "envelope"};
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY__NOT_SET || !envelope->hello)
        FAIL(&c, "body", "it is missing or unknown to this version");
    check_addressing(&c, envelope);
    c.message = baton_envelope_kind(envelope);
    if (!c.err)
        check_body(&c, envelope);
    if (!c.err && has_data(envelope) != (payload_bytes > 0))
        FAIL(&c, "payload", "%zu bytes where %s", payload_bytes,
             has_data(envelope) ? "data must follow" : "nothing may follow");
    return c.err;
}
