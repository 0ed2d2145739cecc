#include "gateway/request/commands.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/wire/envelope/sampling_codec.h"

_Static_assert((int)BATON_PRIORITY_BATCH == (int)BATON__V1__PRIORITY__BATCH,
               "the classes have the numbers that travel");

/* The tokens in flight when a client is paused must fit into the output that a connection may hold,
 * and an explained token takes kilobytes. */
enum { CREDIT_TOKENS = 256, CREDIT_LONG_TOKENS = 16 };

uint32_t gw_command_credit(const struct gw_request *request)
{
    const struct baton_sampling_params *sampling = &request->params.sampling;
    return sampling->explain || sampling->logprobs ? CREDIT_LONG_TOKENS : CREDIT_TOKENS;
}

static uint32_t credit_now(const struct gw_request *request)
{
    return request->paused ? 0 : gw_command_credit(request);
}

static enum baton_err send(struct gw_worker *worker, const struct gw_request *request,
                           baton_envelope *envelope)
{
    envelope->request_id = request->id;
    /* The tag is for logs only, and acknowledgements are frequent and not logged. */
    if (envelope->body_case != BATON__V1__ENVELOPE__BODY_TOKEN_ACK)
        baton_envelope_set_tag(envelope, &request->tag);
    envelope->attempt = request->attempt.number;
    return gw_worker_send(worker, envelope);
}

/* Sends a command that the request cannot continue without. */
static void command(struct gw_worker *worker, struct gw_request *request, baton_envelope *envelope)
{
    request->is_unsendable |= send(worker, request, envelope) != BATON_OK;
}

/* The time until the deadline, which workers count on their own clocks. At least 1, because 0 means
 * no deadline on the wire. */
static uint32_t left_ms(const struct gw_request *request)
{
    int64_t left_ns = request->deadline_ns - baton_now_ns();
    return request->deadline_ns ? (uint32_t)(left_ns > BATON_MS ? left_ns / BATON_MS : 1) : 0;
}

static ProtobufCBinaryData hashes_of(const struct gw_attempt *attempt)
{
    const struct gw_prompt_hashes *hashes = attempt->hashes;
    return hashes ? (ProtobufCBinaryData){.len = hashes->n * sizeof hashes->list[0],
                                          .data = (uint8_t *)hashes->list}
                  : (ProtobufCBinaryData){0};
}

/* The request's adapters as a message. */
struct adapters_message {
    Baton__V1__AdapterUse uses[BATON_MAX_BLENDED], *list[BATON_MAX_BLENDED];
};

/* Returns their number. */
static size_t put_adapters(const struct gw_request *request, struct adapters_message *message)
{
    const struct baton_adapter_uses *uses = &request->params.adapters;
    for (int i = 0; i < uses->n; i++) {
        message->list[i] = &message->uses[i];
        baton__v1__adapter_use__init(message->list[i]);
        message->uses[i].digest = baton_envelope_text(uses->list[i].digest);
        message->uses[i].scale = uses->list[i].scale;
    }
    return (size_t)uses->n;
}

static Baton__V1__Reserve reserve_for(const struct gw_request *request,
                                      const struct gw_attempt *attempt,
                                      struct adapters_message *adapters)
{
    Baton__V1__Reserve reserve = BATON__V1__RESERVE__INIT;
    reserve.n_adapters = put_adapters(request, adapters);
    reserve.adapters = adapters->list;
    reserve.n_prompt_tokens = (uint32_t)gw_request_input(request)->n;
    reserve.max_new_tokens = (uint32_t)gw_request_n_more(request);
    reserve.block_hashes = hashes_of(attempt);
    reserve.delivered = attempt->is_delivered;
    reserve.priority = (Baton__V1__Priority)request->params.priority;
    return reserve;
}

void gw_command_reserve(struct gw_request *request)
{
    struct adapters_message adapters;
    Baton__V1__Reserve reserve = reserve_for(request, &request->attempt, &adapters);
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_RESERVE;
    envelope.reserve = &reserve;
    command(request->attempt.decode, request, &envelope);
}

static Baton__V1__DeliverTo deliver_to(const struct gw_attempt *attempt)
{
    Baton__V1__DeliverTo to = BATON__V1__DELIVER_TO__INIT;
    to.first_block = attempt->n_cached_blocks;
    to.bulk_url = attempt->decode->bulk_url;
    to.epoch = attempt->decode->epoch;
    to.worker_id = attempt->decode->id;
    to.ticket.data = (uint8_t *)(uintptr_t)attempt->ticket.bytes;
    to.ticket.len = sizeof attempt->ticket.bytes;
    return to;
}

void gw_command_reserve_successor(const struct gw_request *request)
{
    struct adapters_message adapters;
    Baton__V1__Reserve reserve = reserve_for(request, &request->successor, &adapters);
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    reserve.hand_over = true;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_RESERVE;
    envelope.reserve = &reserve;
    envelope.request_id = request->id;
    baton_envelope_set_tag(&envelope, &request->tag);
    envelope.attempt = request->successor.number;
    (void)gw_worker_send(request->successor.decode, &envelope);
}

void gw_command_hand_over(const struct gw_request *request)
{
    Baton__V1__DeliverTo to = deliver_to(&request->successor);
    Baton__V1__HandOver order = BATON__V1__HAND_OVER__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    order.deliver_to = &to;
    order.attempt = request->successor.number;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_HAND_OVER;
    envelope.hand_over = &order;
    (void)send(request->attempt.decode, request, &envelope);
}

void gw_command_prefill(struct gw_request *request)
{
    Baton__V1__DeliverTo to;
    struct baton_sampling_message sampling;
    struct adapters_message adapters;
    Baton__V1__PrefillRequest prefill = BATON__V1__PREFILL_REQUEST__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    baton_sampling_encode(&sampling, &request->params.sampling);
    prefill.tokens = gw_request_input(request)->ids;
    prefill.n_tokens = gw_request_input(request)->n;
    prefill.n_output_tokens = (uint32_t)gw_request_n_resumed(request);
    prefill.sampling = &sampling.message;
    prefill.deadline_ms = left_ms(request);
    prefill.pooling = (Baton__V1__Pooling)request->params.pooling;
    prefill.n_first_part = request->params.n_first_part;
    prefill.logit_ids = request->params.logit_ids;
    prefill.n_logit_ids = request->params.asks ? GW_N_ANSWERS : 0;
    prefill.naive = !request->params.kv_cache;
    prefill.max_new_tokens = (uint32_t)gw_request_n_more(request);
    prefill.credit_tokens = credit_now(request);
    prefill.prompt_logprobs = request->params.prompt_logprobs && !prefill.n_output_tokens;
    prefill.prompt_progress = request->params.prompt_progress && !prefill.n_output_tokens;
    prefill.priority = (Baton__V1__Priority)request->params.priority;
    prefill.n_adapters = put_adapters(request, &adapters);
    prefill.adapters = adapters.list;
    prefill.borders = request->params.borders.at;
    prefill.n_borders = (size_t)request->params.borders.n;
    prefill.skip_prefix_cache = !request->params.cache_prompt;
    if (request->params.has_prefix_salt)
        prefill.prefix_salt = (ProtobufCBinaryData){.len = sizeof request->params.prefix_salt,
                                                    .data = (uint8_t *)request->params.prefix_salt};
    if (request->attempt.prompt_at == request->attempt.prefill) {
        /* A decode worker that runs the prompt has the hashes from Reserve. */
        prefill.block_hashes = hashes_of(&request->attempt);
    }
    if (request->attempt.prefill && request->attempt.decode) {
        to = deliver_to(&request->attempt);
        prefill.deliver_to = &to;
    }
    prefill.in_parts = request->attempt.n_parts > 0;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST;
    envelope.prefill_request = &prefill;
    command(request->attempt.prompt_at, request, &envelope);
    prefill.deliver_to = NULL; /* only the first part sends the context to the decode worker */
    for (uint32_t i = 1; i < request->attempt.n_parts; i++)
        command(request->attempt.parts[i].worker, request, &envelope);
}

void gw_command_start_part(struct gw_request *request, uint32_t part, const struct gw_split *split)
{
    struct gw_attempt *attempt = &request->attempt;
    Baton__V1__DeliverTo to[BATON_MAX_PARTS], *list[BATON_MAX_PARTS];
    Baton__V1__PartsStart start = BATON__V1__PARTS_START__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    for (uint32_t i = 0; i < split->n_parts; i++) {
        const struct gw_prompt_part *of = &attempt->parts[split->order[i]];
        list[i] = &to[i];
        baton__v1__deliver_to__init(list[i]);
        to[i].bulk_url = of->worker->bulk_url;
        to[i].epoch = of->worker->epoch;
        to[i].worker_id = of->worker->id;
        to[i].first_block = of->n_cached_blocks;
        to[i].ticket.data = (uint8_t *)(uintptr_t)of->ticket.bytes;
        to[i].ticket.len = sizeof of->ticket.bytes;
        if (split->order[i] == part)
            start.part = i;
        if (split->order[i] == split->holder)
            start.holder = i;
    }
    start.parts = list;
    start.n_parts = split->n_parts;
    start.first_block = split->first_block;
    start.stripe_blocks = split->stripe_blocks;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_PARTS_START;
    envelope.parts_start = &start;
    command(attempt->parts[part].worker, request, &envelope);
}

_Static_assert((int)BATON_SPECULATION_PROMPT_LOOKUP ==
                       (int)BATON__V1__SPECULATION__MODE__PROMPT_LOOKUP &&
                   (int)BATON_SPECULATION_DRAFT_MODEL ==
                       (int)BATON__V1__SPECULATION__MODE__DRAFT_MODEL,
               "the modes have the numbers that travel");

/* A worker without a draft model decodes as without speculation. */
static bool speculates(const struct gw_request *request)
{
    enum baton_speculation_mode mode = request->params.speculation.mode;
    return mode == BATON_SPECULATION_DRAFT_MODEL ? *request->attempt.decode->draft_model != '\0'
                                                 : mode != BATON_SPECULATION_NONE;
}

/* The output's blocks continue the prompt's hashes only if one class computes both. A context that
 * moved has an input of its own, without hashes. */
static void put_tail(const struct gw_request *request, Baton__V1__DecodeStart *start)
{
    const struct gw_prompt_hashes *hashes = request->attempt.hashes;
    const struct gw_numeric_class *own = request->attempt.decode->numeric_class;
    const struct baton_tokens *input = gw_request_input(request);
    if (!hashes || !hashes->n || memcmp(&hashes->root, &own->root, sizeof own->root) != 0)
        return;
    size_t n_hashed = hashes->n * hashes->block_tokens;
    start->tail = input->ids + n_hashed;
    start->n_tail = input->n - n_hashed;
}

void gw_command_start(struct gw_request *request, uint32_t first_token)
{
    struct baton_sampling_message sampling;
    Baton__V1__DecodeStart start = BATON__V1__DECODE_START__INIT;
    Baton__V1__Speculation speculation = BATON__V1__SPECULATION__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    baton_sampling_encode(&sampling, &request->params.sampling);
    start.first_token = first_token;
    start.n_prompt_tokens = (uint32_t)gw_request_input(request)->n;
    start.n_output_tokens = (uint32_t)gw_request_n_resumed(request);
    start.max_new_tokens = (uint32_t)gw_request_n_more(request);
    start.sampling = &sampling.message;
    start.credit_tokens = credit_now(request);
    start.deadline_ms = left_ms(request);
    if (speculates(request)) {
        speculation.mode = (Baton__V1__Speculation__Mode)request->params.speculation.mode;
        speculation.max_tokens = (uint32_t)request->params.speculation.max_tokens;
        speculation.min_tokens = (uint32_t)request->params.speculation.min_tokens;
        start.speculation = &speculation;
    }
    /* Prompt and output are long, so they are sent only for penalties and for drafts. */
    if (start.speculation || baton_sampling_needs_prompt(&request->params.sampling)) {
        start.prompt = request->params.prompt.ids;
        start.n_prompt = request->params.prompt.n;
    }
    if (start.speculation || baton_sampling_needs_output(&request->params.sampling)) {
        start.output = gw_request_input(request)->ids + request->params.prompt.n;
        start.n_output = start.n_output_tokens;
    }
    put_tail(request, &start);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_DECODE_START;
    envelope.decode_start = &start;
    command(request->attempt.decode, request, &envelope);
}

void gw_command_ack(const struct gw_request *request)
{
    struct gw_worker *worker =
        request->params.kv_cache ? request->attempt.decode : request->attempt.prefill;
    Baton__V1__TokenAck token_ack = BATON__V1__TOKEN_ACK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    if (!worker)
        return;
    token_ack.next_index = request->output.tokens.n;
    token_ack.credit_tokens = credit_now(request);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_TOKEN_ACK;
    envelope.token_ack = &token_ack;
    (void)send(worker, request, &envelope);
}

static void cancel_at(struct gw_worker *worker, const struct gw_request *request, uint32_t attempt,
                      const char *reason)
{
    Baton__V1__Cancel cancel = BATON__V1__CANCEL__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    if (!worker)
        return;
    cancel.reason = baton_envelope_text(reason);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_CANCEL;
    envelope.cancel = &cancel;
    envelope.request_id = request->id;
    baton_envelope_set_tag(&envelope, &request->tag);
    envelope.attempt = attempt;
    (void)gw_worker_send(worker, &envelope);
}

void gw_command_cancel_parts(const struct gw_request *request, const struct gw_attempt *attempt,
                             const char *reason)
{
    for (uint32_t i = 1; i < attempt->n_parts; i++)
        cancel_at(attempt->parts[i].worker, request, attempt->number, reason);
}

void gw_command_cancel(const struct gw_request *request, const char *reason)
{
    gw_command_cancel_attempt(request, &request->attempt, reason);
}

void gw_command_cancel_attempt(const struct gw_request *request, const struct gw_attempt *attempt,
                               const char *reason)
{
    gw_command_cancel_parts(request, attempt, reason);
    cancel_at(attempt->prefill, request, attempt->number, reason);
    cancel_at(attempt->decode, request, attempt->number, reason);
}

void gw_command_cancel_move(const struct gw_request *request, const char *reason)
{
    cancel_at(request->attempt.decode, request, request->successor.number, reason);
}
