#include "tests/unit/decode_worker/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/engine/compute/engine.h"
#include "common/sampling/philox.h"
#include "common/sampling/sampler.h"
#include "common/sampling/state.h"
#include "common/worker/kv_receive.h"
#include "tests/support/mailbox.h"
#include "tests/support/random_gpt2.h"

enum {
    GATEWAY = 1001,
    WORKER = 2002,
    PREFILL = 4004,
    STRANGER = 5005,
    TO_GATEWAY = 3003,
    PATIENCE_MS = 60000
};

static const struct baton_gpt2_sizes sizes = {SMALL_GPT2, .n_layers = N_LAYERS, .n_vocab = N_VOCAB,
                                              .n_context = N_CONTEXT};

/* Layers of two sizes; the last one reads the first one's K and V, and none of its own come. */
static enum baton_err make_model(struct baton_model **model)
{
    struct baton_spec spec;
    baton_gpt2_spec(&sizes, &spec);
    spec.layers[1].n_kv_heads = 1;
    spec.layers[N_LAYERS - 1].kv_from = 0;
    return baton_model_random(&spec, 1, NULL, model, NULL);
}

struct heard heard[MAX_REQUESTS];
size_t most_events;
bool counts_alone;
int n_counted, n_reserved;

static struct baton_host host;
static struct baton_worker_options host_options;
static struct dc_service *service;
static struct baton_host_hooks hooks;
static struct mailbox gateway, prefill;
static bool has_gateway;
static const char *gateway_url;
static struct baton_link *to_gateway, *to_bulk;

bool bulk_may_end;

static void dial_bulk(void);

/* ---- the worker ---- */

static void open_host(const struct worker_options *wanted)
{
    int n_threads = wanted->n_threads;
    host_options =
        (struct baton_worker_options){.kv_dtype = "auto", .silence_s = wanted->silence_s};
    host = (struct baton_host){.options = &host_options,
                               .epoch = WORKER,
                               .cores = {.n = 1, .n_threads = n_threads ? n_threads : 2},
                               .facts = {.n_vocab = N_VOCAB, .n_context_tokens = N_CONTEXT}};
    assert_int_equal(baton_doorbell_init(&host.bell), BATON_OK);
    assert_int_equal(make_model(&host.model), BATON_OK);
}

void open_gateway(void)
{
    assert_int_equal(mailbox_open(&gateway, gateway_url, 4096), BATON_OK);
    has_gateway = true;
}

static void open_links(size_t max_queued)
{
    struct baton_link_options options = {.url = gateway_url ? gateway_url
                                                            : baton_inbox_url(gateway.inbox),
                                         .local_epoch = WORKER,
                                         .peer_epoch = GATEWAY,
                                         .id = TO_GATEWAY,
                                         .max_queued = max_queued,
                                         .wake = baton_host_wake,
                                         .wake_arg = &host};
    assert_int_equal(baton_link_open(&options, &to_gateway, NULL), BATON_OK);
    assert_int_equal(mailbox_open(&prefill, NULL, 64), BATON_OK);
    dial_bulk();
}

void worker_open(const struct worker_options *wanted)
{
    struct baton_why why = {""};
    memset(heard, 0, sizeof heard);
    most_events = 0;
    counts_alone = bulk_may_end = false;
    gateway_url = wanted->gateway_url;
    has_gateway = false;
    open_host(wanted);
    struct dc_service_options options = {
        .host = &host,
        .bulk_url = "tcp://127.0.0.1:0",
        .kv = {.tokens = wanted->kv_tokens, .prefix_cache_tokens = -1},
        .max_batch = wanted->max_batch ? wanted->max_batch : 4,
        .colocated_chunk = wanted->chunk ? wanted->chunk : 8,
        .prefix_cache = !wanted->no_prefix_cache};
    if (dc_service_create(&options, &service, &why))
        fail_msg("%s", why.text);
    hooks = dc_service_hooks(service);
    if (!gateway_url)
        open_gateway();
    open_links(wanted->max_queued);
}

Baton__V1__Status worker_status(void)
{
    Baton__V1__Status status = BATON__V1__STATUS__INIT;
    hooks.status(hooks.arg, &status);
    return status;
}

void check_account(void)
{
    Baton__V1__KvQuery query = BATON__V1__KV_QUERY__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_message message = {.envelope = &envelope};
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_QUERY;
    envelope.kv_query = &query;
    hooks.from_gateway(hooks.arg, to_gateway, &message);
    assert_int_equal(worker_status().kv_account_faults, 0);
}

void worker_close(void)
{
    await_status_idle();
    check_account();
    Baton__V1__Status status = worker_status();
    assert_int_equal(status.kv_blocks_free, status.kv_blocks_total);
    assert_int_equal(status.kv_blocks_reserved, 0);
    dc_service_destroy(service);
    baton_link_release(to_bulk);
    baton_link_release(to_gateway);
    mailbox_close(&prefill);
    if (has_gateway)
        mailbox_close(&gateway);
    baton_model_close(host.model);
    baton_doorbell_fini(&host.bell);
}

/* ---- listening ---- */

static void hear_began(struct heard *about, const Baton__V1__DecodeBegan *began)
{
    about->kv_bytes = began->kv_bytes;
    about->kv_chunks = began->kv_chunks;
    about->transfer_s = began->kv_transfer_s;
    about->crc_s = began->kv_crc_s;
    about->overlap_s = began->kv_overlap_s;
    about->exposed_s = began->kv_exposed_s;
}

static void hear_tokens(struct heard *about, const Baton__V1__Tokens *tokens)
{
    if (counts_alone) {
        n_counted += (int)tokens->n_tokens;
        return;
    }
    assert_int_equal(tokens->first_index, about->n_tokens);
    assert_true(about->n_tokens + tokens->n_tokens <= N_CONTEXT);
    for (size_t i = 0; i < tokens->n_tokens; i++)
        about->tokens[about->n_tokens++] = tokens->tokens[i];
    if (tokens->began)
        hear_began(about, tokens->began);
    about->has_decision |= tokens->n_decisions > 0;
}

static void hear_events(const Baton__V1__StepEvents *message)
{
    if (message->n_events > most_events)
        most_events = message->n_events;
    for (size_t i = 0; i < message->n_events; i++) {
        const Baton__V1__StepEvent *event = message->events[i];
        struct heard *about = &heard[event->request_id];
        assert_true(counts_alone || !about->n_finished);
        if (event->tokens)
            hear_tokens(about, event->tokens);
        if (!event->finished)
            continue;
        about->n_finished++;
        about->stopped = event->finished->reason == BATON__V1__FINISHED__REASON__STOP_TOKEN;
        if (counts_alone)
            continue;
        assert_int_equal(event->finished->n_tokens, about->n_tokens);
        assert_int_equal(event->finished->n_steps, about->n_tokens - about->n_resumed - 1);
    }
}

static void hear_first(struct heard *about, const Baton__V1__FirstToken *first)
{
    about->n_first++;
    if (counts_alone)
        return;
    about->tokens[about->n_tokens++] = first->token;
    about->cached_tokens = first->cached_tokens;
    about->stopped = first->stopped;
    about->has_decision |= first->decision != NULL;
}

static void hear(const baton_envelope *envelope)
{
    struct heard *about = &heard[envelope->request_id];
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_RESERVED:
        about->n_reserved++;
        n_reserved++;
        about->n_cached_blocks = envelope->reserved->n_cached_blocks;
        assert_int_equal(envelope->reserved->ticket.len, sizeof about->ticket.bytes);
        if (!counts_alone) /* heard[] may be of another life of the id */
            assert_memory_equal(envelope->reserved->ticket.data, about->ticket.bytes,
                                sizeof about->ticket.bytes);
        break;
    case BATON__V1__ENVELOPE__BODY_REJECTED:
        about->n_rejected++;
        break;
    case BATON__V1__ENVELOPE__BODY_FIRST_TOKEN:
        hear_first(about, envelope->first_token);
        break;
    case BATON__V1__ENVELOPE__BODY_STEP_EVENTS:
        hear_events(envelope->step_events);
        break;
    case BATON__V1__ENVELOPE__BODY_FAILED:
        about->n_failed++;
        about->failure = envelope->failed->code;
        break;
    case BATON__V1__ENVELOPE__BODY_KV_ACCOUNT:
        break; /* what it says is in the Status as well */
    case BATON__V1__ENVELOPE__BODY_KV_ACK:
        about->n_received += envelope->kv_ack->complete;
        break;
    default:
        fail_msg("unexpected %s", baton_envelope_kind(envelope));
    }
}

static void listen_to(struct mailbox *box)
{
    struct baton_message message;
    while (baton_inbox_take(box->inbox, &message)) {
        hear(message.envelope);
        baton_message_fini(&message);
    }
}

void work_now(void)
{
    (void)hooks.work(hooks.arg, baton_now_ns());
    if (has_gateway)
        listen_to(&gateway);
    listen_to(&prefill);
}

/* What a worker's main thread does, and what its peers do, once. */
static void work_once(void)
{
    work_now();
    baton_doorbell_wait(&host.bell, BATON_MS);
}

void work_for_ms(int ms)
{
    for (int64_t end_ns = baton_now_ns() + ms * BATON_MS; baton_now_ns() < end_ns;)
        work_once();
}

void await(const int *counter, int n)
{
    for (int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS; *counter < n;) {
        assert_true(baton_now_ns() < end_ns);
        work_once();
    }
    assert_int_equal(*counter, n);
}

void await_tokens(const struct request_params *params, size_t n)
{
    for (int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
         heard[params->id].n_tokens < n;) {
        assert_true(baton_now_ns() < end_ns);
        work_once();
    }
}

void await_prompts_back(void)
{
    for (int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
         worker_status().n_queued_tokens;) {
        assert_true(baton_now_ns() < end_ns);
        work_once();
    }
}

void await_status_idle(void)
{
    for (int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS; !hooks.is_idle(hooks.arg);) {
        assert_true(baton_now_ns() < end_ns);
        work_once();
    }
}

/* ---- speaking ---- */

static void tell(const struct request_params *params, baton_envelope *envelope)
{
    struct baton_message message = {.envelope = envelope};
    envelope->src_epoch = GATEWAY;
    envelope->request_id = params->id;
    envelope->attempt = 1;
    hooks.from_gateway(hooks.arg, to_gateway, &message);
}

static void fill_prompt(const struct request_params *params, uint32_t *tokens)
{
    for (int i = 0; i < params->n_prompt; i++)
        tokens[i] = (uint32_t)(baton_philox_uniform(params->words, (uint64_t)i) * N_VOCAB);
}

/* The prompt, and what the earlier attempt made. Returns how many. */
static size_t fill_context(const struct request_params *params, uint32_t *tokens)
{
    fill_prompt(params, tokens);
    memcpy(tokens + params->n_prompt, heard[params->id].tokens,
           (size_t)params->n_resumed * sizeof *tokens);
    return (size_t)(params->n_prompt + params->n_resumed);
}

void resume(const struct request_params *params)
{
    struct heard *about = &heard[params->id];
    uint32_t tokens[N_CONTEXT];
    (void)single_run(params, tokens);
    memcpy(about->tokens, tokens, (size_t)params->n_resumed * sizeof *tokens);
    about->n_tokens = about->n_resumed = (size_t)params->n_resumed;
}

static void fill_hashes(const struct request_params *params, struct baton_block_hash *hashes,
                        size_t *n)
{
    const struct baton_block_hash root = {{1}};
    uint32_t tokens[N_CONTEXT];
    size_t n_tokens = fill_context(params, tokens);
    *n = params->with_hashes ? baton_block_hash_count(n_tokens, BATON_KV_BLOCK_TOKENS) : 0;
    assert_int_equal(baton_block_hash_tokens(&root, tokens, BATON_KV_BLOCK_TOKENS, hashes, *n),
                     BATON_OK);
}

void say_reserve(const struct request_params *params)
{
    Baton__V1__Reserve reserve = BATON__V1__RESERVE__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_block_hash hashes[N_CONTEXT];
    size_t n_hashes;
    fill_hashes(params, hashes, &n_hashes);
    reserve.n_prompt_tokens = (uint32_t)(params->n_prompt + params->n_resumed);
    reserve.max_new_tokens = (uint32_t)(params->n_new - params->n_resumed);
    reserve.block_hashes.data = hashes[0].bytes;
    reserve.block_hashes.len = n_hashes * BATON_BLOCK_HASH_BYTES;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_RESERVE;
    envelope.reserve = &reserve;
    tell(params, &envelope);
}

static void fill_sampling(const struct request_params *params, Baton__V1__Sampling *sampling)
{
    static uint32_t stop;
    baton__v1__sampling__init(sampling);
    stop = params->stop;
    sampling->temperature = params->temperature;
    sampling->top_p = 1;
    sampling->seed = params->id;
    sampling->explain = params->explain;
    sampling->presence_penalty = sampling->frequency_penalty = params->penalty;
    sampling->repetition_penalty = 1 + params->penalty;
    sampling->stop_token_ids = &stop;
    sampling->n_stop_token_ids = stop != STOP_NONE;
}

void say_prompt(const struct request_params *params)
{
    Baton__V1__PrefillRequest request = BATON__V1__PREFILL_REQUEST__INIT;
    Baton__V1__Sampling sampling;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    uint32_t tokens[N_CONTEXT];
    fill_sampling(params, &sampling);
    request.tokens = tokens;
    request.n_tokens = fill_context(params, tokens);
    request.n_output_tokens = (uint32_t)params->n_resumed;
    request.sampling = &sampling;
    request.deadline_ms = params->deadline_ms;
    request.max_new_tokens = (uint32_t)(params->n_new - params->n_resumed);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST;
    envelope.prefill_request = &request;
    tell(params, &envelope);
}

void say_start(const struct request_params *params)
{
    Baton__V1__DecodeStart start = BATON__V1__DECODE_START__INIT;
    Baton__V1__Sampling sampling;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct heard *about = &heard[params->id];
    uint32_t prompt[N_CONTEXT];
    if (about->n_tokens == about->n_resumed) { /* the prefill worker's first token */
        uint32_t tokens[N_CONTEXT];
        (void)single_run(params, tokens);
        about->tokens[about->n_tokens++] = tokens[params->n_resumed];
    }
    fill_prompt(params, prompt);
    fill_sampling(params, &sampling);
    start.first_token = about->tokens[params->n_resumed];
    start.n_prompt_tokens = (uint32_t)(params->n_prompt + params->n_resumed);
    start.max_new_tokens = (uint32_t)(params->n_new - params->n_resumed);
    start.n_output_tokens = (uint32_t)params->n_resumed;
    if (params->penalty > 0) {
        start.prompt = prompt;
        start.n_prompt = (size_t)params->n_prompt;
        start.output = about->tokens;
        start.n_output = about->n_resumed;
    }
    start.sampling = &sampling;
    start.credit_tokens = params->credit ? params->credit : N_CONTEXT;
    start.deadline_ms = params->deadline_ms;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_DECODE_START;
    envelope.decode_start = &start;
    tell(params, &envelope);
}

void say_ack(const struct request_params *params, uint64_t next_index, uint32_t credit)
{
    Baton__V1__TokenAck ack = BATON__V1__TOKEN_ACK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    ack.next_index = next_index;
    ack.credit_tokens = credit;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_TOKEN_ACK;
    envelope.token_ack = &ack;
    tell(params, &envelope);
}

void say_cancel(const struct request_params *params)
{
    Baton__V1__Cancel cancel = BATON__V1__CANCEL__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    cancel.reason = baton_envelope_text("the test says so");
    envelope.body_case = BATON__V1__ENVELOPE__BODY_CANCEL;
    envelope.cancel = &cancel;
    tell(params, &envelope);
}

void lose_gateway(void)
{
    hooks.lost(hooks.arg, GATEWAY);
}

/* ---- the prefill worker ---- */

static void send_over(struct baton_link *link, const struct request_params *params,
                      baton_envelope *envelope, const void *payload, size_t n_bytes)
{
    envelope->request_id = params->id;
    envelope->attempt = 1;
    enum baton_err err = baton_link_send(link, envelope, payload, n_bytes);
    assert_true(!err || (bulk_may_end && err == BATON_CLOSED));
}

/* Issued while the test says Reserve, and so known before the answer has crossed the socket. */
struct baton_ticket __real_baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                                    const struct baton_origin *origin);
struct baton_ticket __wrap_baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                                    const struct baton_origin *origin);

struct baton_ticket __wrap_baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                                    const struct baton_origin *origin)
{
    struct heard *about = &heard[origin->request_id];
    about->ticket = __real_baton_kv_receiver_ticket(receiver, origin);
    about->has_ticket = true;
    return about->ticket;
}

static void dial_bulk(void)
{
    to_bulk = mailbox_dial(&prefill, dc_service_bulk_url(service), PREFILL, WORKER, 0);
    assert_non_null(to_bulk);
}

/* A link never recovers. */
static void renew_bulk(void)
{
    if (!bulk_may_end || baton_link_state(to_bulk) != BATON_OUTBOX_DOWN)
        return;
    baton_link_release(to_bulk);
    dial_bulk();
}

static void send_bulk(const struct request_params *params, baton_envelope *envelope,
                      const void *payload, size_t n_bytes)
{
    send_over(to_bulk, params, envelope, payload, n_bytes);
}

struct shipment {
    const struct request_params *params;
    struct baton_seq seq;
    uint32_t first_block, n_blocks, n_chunks;
    uint64_t n_bytes;
};

static const char *reply_url; /* of the next KvBegin; NULL: the prefill worker's inbox */

static void send_begin(const struct shipment *shipment, struct baton_link *link, bool with_ticket)
{
    Baton__V1__KvBegin begin = BATON__V1__KV_BEGIN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    begin.reply_url = baton_envelope_text(reply_url ? reply_url : baton_inbox_url(prefill.inbox));
    begin.n_layers = N_LAYERS;
    begin.n_tokens = (uint32_t)(shipment->params->n_prompt + shipment->params->n_resumed);
    begin.block_tokens = BATON_KV_BLOCK_TOKENS;
    begin.first_block = shipment->first_block;
    begin.total_bytes = (uint64_t)(shipment->n_blocks - shipment->first_block) *
                        baton_kv_all_block_bytes(shipment->seq.kv);
    begin.kv_dtype = baton_envelope_text(baton_kv_dtype(shipment->seq.kv));
    const char *layout = shipment->params->kv_layout;
    begin.kv_layout = baton_envelope_text(layout ? layout : baton_kv_layout_name(shipment->seq.kv));
    if (with_ticket) {
        begin.ticket.data = heard[shipment->params->id].ticket.bytes;
        begin.ticket.len = BATON_TICKET_BYTES;
    }
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    envelope.kv_begin = &begin;
    send_over(link, shipment->params, &envelope, NULL, 0);
}

static void send_block(struct shipment *shipment, uint32_t layer, uint32_t block)
{
    Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    size_t n_bytes = baton_kv_block_bytes(shipment->seq.kv, (int)layer);
    chunk.offset = shipment->n_bytes;
    chunk.layer = layer;
    chunk.first_block = block;
    chunk.n_blocks = 1;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    envelope.kv_chunk = &chunk;
    send_bulk(shipment->params, &envelope, baton_seq_block(&shipment->seq, (int)layer, (int)block),
              n_bytes);
    shipment->n_bytes += n_bytes;
    shipment->n_chunks++;
}

static void send_end(const struct shipment *shipment)
{
    Baton__V1__KvEnd end = BATON__V1__KV_END__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    end.total_bytes = shipment->n_bytes;
    end.n_chunks = shipment->n_chunks;
    end.overlap_s = SAID_OVERLAP_S;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_END;
    envelope.kv_end = &end;
    send_bulk(shipment->params, &envelope, NULL, 0);
}

static void send_segment(struct shipment *shipment, uint32_t block, uint32_t end)
{
    for (uint32_t layer = N_HELD; layer-- > 0;) /* any order of layers will do */
        for (uint32_t b = block; b < end; b++)
            send_block(shipment, layer, b);
}

/* A model's run apart from the worker's: engine, blocks and one sequence. */
struct run {
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct baton_sampler *sampler;
    struct baton_seq seq;
    float logits[N_VOCAB];
};

static void open_run(struct run *run, const uint32_t *tokens, int n)
{
    const struct baton_engine_options options = {.max_rows = N_CONTEXT, .n_threads = 1};
    run->sampler = baton_sampler_create(N_VOCAB);
    assert_non_null(run->sampler);
    assert_int_equal(
        baton_kv_create(baton_model_kv_layout(host.model), NULL, N_CONTEXT, &run->kv, NULL),
        BATON_OK);
    assert_int_equal(baton_engine_create(host.model, &options, &run->engine, NULL), BATON_OK);
    assert_int_equal(baton_seq_init(&run->seq, run->kv, N_CONTEXT), BATON_OK);
    assert_int_equal(
        baton_engine_prefill(run->engine, &run->seq, tokens, n, NULL, NULL, run->logits), BATON_OK);
}

static void close_run(struct run *run)
{
    baton_seq_fini(&run->seq);
    baton_engine_destroy(run->engine);
    baton_kv_destroy(run->kv);
    baton_sampler_destroy(run->sampler);
}

void ship_nothing(const struct request_params *params)
{
    const struct shipment shipment = {.params = params,
                                      .seq.kv = (struct baton_kv *)dc_service_kv(service),
                                      .n_blocks = (uint32_t)baton_kv_blocks_for(params->n_prompt)};
    renew_bulk();
    send_begin(&shipment, to_bulk, true);
}

void ship(const struct request_params *params, uint32_t first_block, uint32_t segment, int rounds)
{
    struct run run;
    uint32_t tokens[N_CONTEXT];
    int n_tokens = (int)fill_context(params, tokens);
    open_run(&run, tokens, n_tokens);
    struct shipment shipment = {.params = params,
                                .seq = run.seq,
                                .first_block = first_block,
                                .n_blocks = (uint32_t)baton_kv_blocks_for(n_tokens)};
    send_begin(&shipment, to_bulk, true);
    for (; rounds > 1; rounds--)
        send_block(&shipment, N_HELD - 1, first_block);
    for (uint32_t block = first_block; block < shipment.n_blocks; block += segment) {
        uint32_t end = block + segment;
        send_segment(&shipment, block, end < shipment.n_blocks ? end : shipment.n_blocks);
    }
    send_end(&shipment);
    close_run(&run);
}

static struct baton_link *claim(const struct request_params *params, bool with_ticket)
{
    struct run run;
    uint32_t tokens[N_CONTEXT];
    int n_tokens = (int)fill_context(params, tokens);
    open_run(&run, tokens, n_tokens);
    struct shipment shipment = {
        .params = params, .seq = run.seq, .n_blocks = (uint32_t)baton_kv_blocks_for(n_tokens)};
    struct baton_link *link =
        mailbox_dial(&prefill, dc_service_bulk_url(service), STRANGER, WORKER, 0);
    assert_non_null(link);
    send_begin(&shipment, link, with_ticket);
    close_run(&run);
    return link;
}

void claim_and_lose(const struct request_params *params, bool with_ticket)
{
    struct baton_link *link = claim(params, with_ticket);
    for (int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
         baton_link_state(link) != BATON_OUTBOX_DOWN;) {
        assert_true(baton_now_ns() < end_ns);
        work_once();
    }
    baton_link_release(link);
}

void claim_from_nowhere(const struct request_params *params)
{
    struct mailbox nowhere;
    char url[64];
    assert_int_equal(mailbox_open(&nowhere, NULL, 4), BATON_OK);
    (void)snprintf(url, sizeof url, "%s", baton_inbox_url(nowhere.inbox));
    mailbox_close(&nowhere); /* its port refuses from now on */
    reply_url = url;
    struct baton_link *link = claim(params, true);
    reply_url = NULL;
    await(&heard[params->id].n_failed, 1);
    baton_link_release(link);
}

/* ---- what it should have been ---- */

size_t single_run(const struct request_params *params, uint32_t *tokens)
{
    struct baton_sampling_state state;
    Baton__V1__Sampling sampling;
    uint32_t prompt[N_CONTEXT];
    struct run run;
    struct baton_seq *seqs[] = {&run.seq};
    size_t n = 0;
    fill_prompt(params, prompt);
    fill_sampling(params, &sampling);
    assert_int_equal(
        baton_sampling_state_init(&state, &sampling, prompt, (size_t)params->n_prompt, N_CONTEXT),
        BATON_OK);
    open_run(&run, prompt, params->n_prompt);
    for (;;) {
        uint32_t token = baton_sampler_pick(run.sampler, run.logits, &state.params, &state.history,
                                            (uint64_t)run.seq.n_tokens);
        tokens[n++] = token;
        baton_sampling_state_note(&state, token);
        if (token == params->stop || n == (size_t)params->n_new)
            break;
        assert_int_equal(baton_engine_decode(run.engine, seqs, &token, 1, run.logits), BATON_OK);
    }
    baton_sampling_state_fini(&state);
    close_run(&run);
    return n;
}

void assert_equals_single_run(const struct request_params *params)
{
    uint32_t tokens[N_CONTEXT];
    size_t n = single_run(params, tokens);
    assert_int_equal(heard[params->id].n_tokens, n);
    assert_memory_equal(heard[params->id].tokens, tokens, n * sizeof *tokens);
}
