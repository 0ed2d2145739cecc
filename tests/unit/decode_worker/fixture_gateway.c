/* The gateway: what it hears of its requests, and what it says of them. */
#include "tests/unit/decode_worker/fixture_parts.h"

#include <string.h>

#include "common/base/clock.h"

struct heard heard[MAX_REQUESTS];
size_t most_events;
bool counts_alone;
int n_counted, n_reserved;

void forget_heard(void)
{
    memset(heard, 0, sizeof heard);
    most_events = 0;
    counts_alone = false;
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

/* Every token but the last was guessed. */
static void hear_drafts(struct heard *about, const Baton__V1__StepEvent *event)
{
    size_t n_accepted = 0;
    while (n_accepted < event->n_drafts && n_accepted < event->tokens->n_tokens &&
           event->drafts[n_accepted] == event->tokens->tokens[n_accepted])
        n_accepted++;
    about->n_drafted += event->n_drafts;
    about->n_accepted += n_accepted;
    if (event->tokens && !about->stopped && event->n_drafts)
        assert_true(event->tokens->n_tokens <= n_accepted + 1);
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
        hear_drafts(about, event);
        if (!event->finished)
            continue;
        about->n_finished++;
        about->stopped = event->finished->reason == BATON__V1__FINISHED__REASON__STOP_TOKEN;
        if (counts_alone)
            continue;
        assert_int_equal(event->finished->n_tokens, about->n_tokens);
        if (!about->n_drafted)
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

void listen_to(struct mailbox *box)
{
    struct baton_message message;
    while (baton_inbox_take(box->inbox, &message)) {
        hear(message.envelope);
        baton_message_fini(&message);
    }
}

void work_for_ms(int ms)
{
    for (int64_t end_ns = baton_now_ns() + ms * BATON_MS; baton_now_ns() < end_ns;)
        work_once();
}

struct awaited_tokens {
    uint64_t id;
    size_t n;
};

static bool has_tokens(void *arg)
{
    const struct awaited_tokens *awaited = arg;
    return heard[awaited->id].n_tokens >= awaited->n;
}

void await_tokens(const struct request_params *params, size_t n)
{
    await_that(has_tokens, &(struct awaited_tokens){params->id, n});
}

static bool no_prompt_is_queued(void *arg)
{
    (void)arg;
    return !worker_status().n_queued_tokens;
}

void await_prompts_back(void)
{
    await_that(no_prompt_is_queued, NULL);
}

/* ---- speaking ---- */

static void tell_of(const struct request_params *params, baton_envelope *envelope)
{
    deliver(params->id, 1, envelope);
}

void fill_prompt(const struct request_params *params, uint32_t *tokens)
{
    fill_words(params->words, tokens, params->n_prompt);
}

size_t fill_context(const struct request_params *params, uint32_t *tokens)
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

/* By the identity of a host without a model directory. */
static void fill_hashes(const struct request_params *params, struct baton_block_hash *hashes,
                        size_t *n)
{
    const struct baton_kv *kv = service->kv;
    const struct baton_block_salt salt = {
        .config = host.fingerprint.config,
        .weights = host.fingerprint.weights,
        .dtype = baton_model_info(host.model)->dtype,
        .kv_dtype = baton_kv_dtype(kv),
        .block_tokens = BATON_KV_BLOCK_TOKENS,
        .kv_layout = baton_kv_layout_name(kv),
        .numeric_class = params->with_foreign_hashes ? "0123456789abcdef" : host.numeric_class.hex};
    struct baton_block_hash root;
    uint32_t tokens[N_CONTEXT];
    size_t n_tokens = fill_context(params, tokens);
    assert_ok(baton_block_hash_root(&salt, &root));
    *n = params->with_hashes ? baton_block_hash_count(n_tokens, BATON_KV_BLOCK_TOKENS) : 0;
    assert_ok(baton_block_hash_tokens(&root, tokens, BATON_KV_BLOCK_TOKENS, hashes, *n));
}

void say_reserve(const struct request_params *params)
{
    Baton__V1__Reserve reserve = BATON__V1__RESERVE__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_block_hash hashes[N_CONTEXT];
    size_t n_hashes;
    fill_hashes(params, hashes, &n_hashes);
    reserve.n_prompt_tokens = (uint32_t)(params->n_prompt + params->n_resumed - params->grew_by);
    reserve.max_new_tokens = (uint32_t)(params->n_new - params->n_resumed + params->grew_by);
    reserve.hand_over = params->grows;
    reserve.block_hashes.data = hashes[0].bytes;
    reserve.block_hashes.len = n_hashes * BATON_BLOCK_HASH_BYTES;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_RESERVE;
    envelope.reserve = &reserve;
    tell_of(params, &envelope);
}

void reserve_blocks(const struct request_params *params)
{
    say_reserve(params);
    await(&heard[params->id].n_reserved, 1);
}

void fill_sampling(const struct request_params *params, Baton__V1__Sampling *sampling)
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
    tell_of(params, &envelope);
}

void say_start(const struct request_params *params)
{
    Baton__V1__DecodeStart start = BATON__V1__DECODE_START__INIT;
    Baton__V1__Sampling sampling;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    Baton__V1__Speculation speculation = BATON__V1__SPECULATION__INIT;
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
    if (params->drafts) {
        speculation.mode = params->with_model ? BATON__V1__SPECULATION__MODE__DRAFT_MODEL
                                              : BATON__V1__SPECULATION__MODE__PROMPT_LOOKUP;
        speculation.min_tokens = params->min_drafts;
        speculation.max_tokens = params->drafts;
        start.speculation = &speculation;
    }
    if (params->penalty > 0 || params->drafts) {
        start.prompt = prompt;
        start.n_prompt = (size_t)params->n_prompt;
        start.output = about->tokens;
        start.n_output = about->n_resumed;
    }
    uint32_t context[N_CONTEXT];
    size_t n_context = fill_context(params, context);
    size_t n_hashed =
        baton_block_hash_count(n_context, BATON_KV_BLOCK_TOKENS) * BATON_KV_BLOCK_TOKENS +
        (size_t)params->tail_off;
    if (params->with_tail) {
        start.tail = context + n_hashed;
        start.n_tail = n_context - n_hashed;
    }
    start.sampling = &sampling;
    start.credit_tokens = params->credit ? params->credit : N_CONTEXT;
    start.deadline_ms = params->deadline_ms;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_DECODE_START;
    envelope.decode_start = &start;
    tell_of(params, &envelope);
}

void say_ack(const struct request_params *params, uint64_t next_index, uint32_t credit)
{
    deliver_ack(params->id, 1, next_index, credit);
}

void say_cancel(const struct request_params *params)
{
    deliver_cancel(params->id, 1);
}
