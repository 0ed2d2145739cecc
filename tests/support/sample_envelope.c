#include "tests/support/sample_envelope.h"

#include <math.h>
#include <string.h>

#include "common/base/array.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

const Baton__V1__Envelope__BodyCase sample_kinds[] = {
    BATON__V1__ENVELOPE__BODY_HELLO,           BATON__V1__ENVELOPE__BODY_WELCOME,
    BATON__V1__ENVELOPE__BODY_REFUSED,         BATON__V1__ENVELOPE__BODY_STATUS,
    BATON__V1__ENVELOPE__BODY_GOODBYE,         BATON__V1__ENVELOPE__BODY_DRAIN,
    BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST, BATON__V1__ENVELOPE__BODY_FIRST_TOKEN,
    BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS, BATON__V1__ENVELOPE__BODY_RESERVE,
    BATON__V1__ENVELOPE__BODY_RESERVED,        BATON__V1__ENVELOPE__BODY_REJECTED,
    BATON__V1__ENVELOPE__BODY_DECODE_START,    BATON__V1__ENVELOPE__BODY_TOKENS,
    BATON__V1__ENVELOPE__BODY_TOKEN_ACK,       BATON__V1__ENVELOPE__BODY_FINISHED,
    BATON__V1__ENVELOPE__BODY_STEP_EVENTS,     BATON__V1__ENVELOPE__BODY_KV_BEGIN,
    BATON__V1__ENVELOPE__BODY_KV_CHUNK,        BATON__V1__ENVELOPE__BODY_KV_END,
    BATON__V1__ENVELOPE__BODY_KV_ACK,          BATON__V1__ENVELOPE__BODY_CANCEL,
    BATON__V1__ENVELOPE__BODY_FAILED,          BATON__V1__ENVELOPE__BODY_KV_QUERY,
    BATON__V1__ENVELOPE__BODY_KV_ACCOUNT,      BATON__V1__ENVELOPE__BODY_HAND_OVER,
    BATON__V1__ENVELOPE__BODY_HANDED_OVER,     BATON__V1__ENVELOPE__BODY_EMBEDDING,
    BATON__V1__ENVELOPE__BODY_PARTS_START,     BATON__V1__ENVELOPE__BODY_PROMPT_PROGRESS,
    BATON__V1__ENVELOPE__BODY_LOAD_ADAPTER,    BATON__V1__ENVELOPE__BODY_DROP_ADAPTER,
    BATON__V1__ENVELOPE__BODY_ADAPTER_LIST,    BATON__V1__ENVELOPE__BODY__NOT_SET};

static void init_decision(struct sample_envelope *s)
{
    baton__v1__candidate__init(&s->candidate);
    s->candidate.token = 50256;
    s->candidate.logit = s->candidate.logit_penalized = -33.1F;
    s->candidate.prob_raw = 0.41;
    s->candidate.prob_shaped = 0.5;
    s->candidate.prob = s->candidate.interval_end = 0.594;
    s->candidates[0] = &s->candidate;
    baton__v1__decision__init(&s->decision);
    s->decision.chosen = &s->candidate;
    s->decision.rank = 1;
    s->decision.n_after = s->n_after;
    s->decision.n_n_after = BATON_N_FILTERS;
    s->decision.draw = 0.231;
    s->decision.entropy_bits = 1.7;
    s->decision.candidates = s->candidates;
    s->decision.n_candidates = 1;
    baton__v1__logprobs__init(&s->logprobs);
    s->top_logprobs[0] = s->logprobs.logprob = -0.52;
    s->top_logprobs[1] = -INFINITY;
    s->logprobs.top_tokens = s->tokens;
    s->logprobs.top_logprobs = s->top_logprobs;
    s->logprobs.n_top_tokens = s->logprobs.n_top_logprobs = 2;
    for (int i = 0; i < 4; i++) {
        s->decisions[i] = &s->decision;
        s->logprobs_list[i] = &s->logprobs;
    }
}

static void init_sampling(struct sample_envelope *s)
{
    baton__v1__logit_bias__init(&s->bias);
    s->bias.token = 7;
    s->bias.bias = -100;
    s->biases[0] = &s->bias;
    baton__v1__sampling__init(&s->sampling);
    s->sampling.temperature = 0.8;
    s->sampling.top_p = 0.95;
    s->sampling.min_p = 0.05;
    s->sampling.top_n_sigma = -1;
    s->sampling.typical_p = 0.9;
    s->sampling.repetition_penalty = 1.1;
    s->sampling.presence_penalty = -2;
    s->sampling.frequency_penalty = 2;
    s->sampling.min_tokens = INT32_MAX;
    s->sampling.logit_bias = s->biases;
    s->sampling.n_logit_bias = 1;
    s->sampling.explain = BATON_MAX_LISTED;
    s->sampling.seed = 7;
    s->sampling.stop_token_ids = s->stops;
    s->sampling.n_stop_token_ids = 1;
}

static void init_parts(struct sample_envelope *s)
{
    static const uint32_t tokens[4] = {1, 50256, 0, 300};
    memcpy(s->tokens, tokens, sizeof tokens);
    s->stops[0] = 50256;
    baton__v1__fingerprint__init(&s->fingerprint);
    s->fingerprint.config = s->fingerprint.tokenizer = s->fingerprint.weights =
        baton_envelope_text(DIGEST);
    baton__v1__status__init(&s->hello_status);
    s->hello_status.kv_blocks_total = s->hello_status.kv_blocks_free = 64;
    init_sampling(s);
    init_decision(s);
    baton__v1__deliver_to__init(&s->deliver_to);
    s->deliver_to.bulk_url = baton_envelope_text("tcp://10.0.0.7:7202");
    s->deliver_to.epoch = 99;
    s->deliver_to.ticket = (ProtobufCBinaryData){sizeof s->ticket, s->ticket};
    s->deliver_to.worker_id = baton_envelope_text("decode-0");
    baton__v1__decode_began__init(&s->began);
    s->began.kv_transfer_s = 0.0125;
}

static void init_hello(struct sample_envelope *s)
{
    Baton__V1__Hello *hello = &s->body.hello;
    baton__v1__hello__init(hello);
    hello->role = BATON__V1__ROLE__ROLE_DECODE;
    hello->worker_id = baton_envelope_text("decode-0");
    hello->pid = 4711;
    hello->inbox_url = baton_envelope_text("tcp://*:7201");
    hello->bulk_url = baton_envelope_text("tcp://*:7202");
    hello->fingerprint = &s->fingerprint;
    hello->model = baton_envelope_text("tale");
    hello->dtype = baton_envelope_text("f32");
    hello->kv_dtype = baton_envelope_text("f32");
    hello->kv_layout = baton_envelope_text(DIGEST);
    hello->numeric_class = baton_envelope_text("0123456789abcdef");
    hello->kernels = baton_envelope_text("avx512vnni");
    hello->numa = baton_envelope_text("node:1");
    hello->kv_block_tokens = 16;
    hello->n_context_tokens = 512;
    hello->n_cores = 1;
    hello->cluster_token = baton_envelope_text("s3cret");
    hello->status = &s->hello_status;
    hello->start_to_ready_s = 0.4;
}

static void init_prefill_request(struct sample_envelope *s)
{
    Baton__V1__PrefillRequest *request = &s->body.prefill_request;
    baton__v1__prefill_request__init(request);
    request->tokens = s->tokens;
    request->n_tokens = 4;
    request->sampling = &s->sampling;
    request->deliver_to = &s->deliver_to;
    request->deadline_ms = 30000;
    request->max_new_tokens = 60;
    request->block_hashes.data = s->block_hashes;
    request->block_hashes.len = sizeof s->block_hashes;
    request->n_output_tokens = 3;
    request->borders = s->borders;
    request->n_borders = 2;
    s->borders[0] = 1;
    s->borders[1] = 4;
}

static void init_decode_start(struct sample_envelope *s)
{
    Baton__V1__DecodeStart *start = &s->body.decode_start;
    baton__v1__decode_start__init(start);
    start->first_token = 11;
    start->n_prompt_tokens = 4;
    start->max_new_tokens = 60;
    start->sampling = &s->sampling;
    start->credit_tokens = 256;
    start->n_output_tokens = 3;
    start->n_output = 3;
    start->output = s->tokens;
}

static void init_tokens(struct sample_envelope *s, Baton__V1__Tokens *tokens)
{
    baton__v1__tokens__init(tokens);
    tokens->first_index = 1;
    tokens->tokens = s->tokens;
    tokens->n_tokens = 4;
    tokens->step_s = 0.002;
    tokens->began = &s->began;
    tokens->decisions = s->decisions;
    tokens->logprobs = s->logprobs_list;
    tokens->n_decisions = tokens->n_logprobs = 4;
}

static void init_step_events(struct sample_envelope *s)
{
    init_tokens(s, &s->step_tokens);
    baton__v1__finished__init(&s->step_finished);
    s->step_finished.reason = BATON__V1__FINISHED__REASON__LENGTH;
    baton__v1__step_event__init(&s->step_event);
    s->step_event.request_id = 42;
    s->step_event.attempt = 1;
    s->step_event.tokens = &s->step_tokens;
    s->step_event.finished = &s->step_finished;
    s->step_events[0] = &s->step_event;
    baton__v1__step_events__init(&s->body.step_events);
    s->body.step_events.events = s->step_events;
    s->body.step_events.n_events = 1;
}

static void init_kv_begin(struct sample_envelope *s)
{
    baton__v1__kv_begin__init(&s->body.kv_begin);
    s->body.kv_begin.reply_url = baton_envelope_text("tcp://10.0.0.6:7101");
    s->body.kv_begin.ticket = (ProtobufCBinaryData){sizeof s->ticket, s->ticket};
    s->body.kv_begin.n_layers = 6;
    s->body.kv_begin.n_tokens = 4;
    s->body.kv_begin.block_tokens = 16;
    s->body.kv_begin.total_bytes = 1 << 20;
    s->body.kv_begin.kv_dtype = baton_envelope_text("f32");
    s->body.kv_begin.kv_layout = baton_envelope_text(DIGEST);
}

static void init_kv_account(struct sample_envelope *s)
{
    Baton__V1__KvAccount *account = &s->body.kv_account;
    baton__v1__kv_account__init(account);
    account->blocks = 64;
    account->free_blocks = 60;
    for (int i = 0; i < BATON_N_KV_REASONS; i++) {
        baton__v1__kv_held__init(&s->kv_held[i]);
        s->kv_held[i].reason = (Baton__V1__KvReason)(i + 1);
        s->kv_held_list[i] = &s->kv_held[i];
    }
    account->held = s->kv_held_list;
    account->n_held = BATON_N_KV_REASONS;
    baton__v1__kv_owner__init(&s->kv_owner);
    s->kv_owner.gateway_epoch = 1001;
    s->kv_owner.request_id = 42;
    s->kv_owner.attempt = 1;
    s->kv_owner.reason = BATON__V1__KV_REASON__KV_RUNNING;
    s->kv_owner.blocks = 4;
    s->kv_owners[0] = &s->kv_owner;
    account->owners = s->kv_owners;
    account->n_owners = account->owners_in_all = 1;
}

/* Kinds of few fields; those of many have a function above. */
static void init_adapters(struct sample_envelope *s)
{
    baton__v1__adapter__init(&s->adapter);
    s->adapter.name = baton_envelope_text("sql");
    s->adapter.digest = baton_envelope_text(DIGEST);
    s->adapter.path = baton_envelope_text("/adapters/sql");
    s->adapter.scale = 1;
    s->adapters[0] = &s->adapter;
    baton__v1__adapter_use__init(&s->use);
    s->use.digest = baton_envelope_text(DIGEST);
    s->use.scale = -0.5F;
    s->uses[0] = &s->use;
}

static void init_small(struct sample_envelope *s, Baton__V1__Envelope__BodyCase kind)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(&baton__v1__envelope__descriptor, kind);
    protobuf_c_message_init(field->descriptor, &s->body);
    switch ((int)kind) {
    case BATON__V1__ENVELOPE__BODY_WELCOME:
        s->body.welcome.gateway_id = baton_envelope_text("gateway-0");
        break;
    case BATON__V1__ENVELOPE__BODY_REFUSED:
        s->body.refused.code = BATON__V1__REFUSED__CODE__OTHER_LAYOUT;
        break;
    case BATON__V1__ENVELOPE__BODY_FIRST_TOKEN:
        s->body.first_token.decision = &s->decision;
        s->body.first_token.logprobs = &s->logprobs;
        break;
    case BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS:
        s->body.prompt_logprobs.first_index = 1;
        s->body.prompt_logprobs.logprobs = s->logprobs_list;
        s->body.prompt_logprobs.n_logprobs = 4;
        break;
    case BATON__V1__ENVELOPE__BODY_EMBEDDING:
        s->values[0] = -1.5F;
        s->body.embedding.values = s->values;
        s->body.embedding.n_values = BATON_N_OF(s->values);
        break;
    case BATON__V1__ENVELOPE__BODY_PROMPT_PROGRESS:
        s->body.prompt_progress.n_tokens = 32;
        s->body.prompt_progress.cached_tokens = 16;
        break;
    case BATON__V1__ENVELOPE__BODY_PARTS_START:
        s->parts[0] = s->parts[1] = &s->deliver_to;
        s->body.parts_start.parts = s->parts;
        s->body.parts_start.n_parts = 2;
        s->body.parts_start.stripe_blocks = 8;
        s->body.parts_start.part = 1;
        break;
    case BATON__V1__ENVELOPE__BODY_RESERVE:
        s->body.reserve.n_prompt_tokens = 40;
        s->body.reserve.block_hashes.data = s->block_hashes;
        s->body.reserve.block_hashes.len = sizeof s->block_hashes;
        s->body.reserve.max_new_tokens = 60;
        s->body.reserve.adapters = s->uses;
        s->body.reserve.n_adapters = 1;
        break;
    case BATON__V1__ENVELOPE__BODY_RESERVED:
        s->body.reserved.n_blocks = 4;
        s->body.reserved.n_cached_blocks = 2;
        s->body.reserved.ticket = (ProtobufCBinaryData){sizeof s->ticket, s->ticket};
        break;
    case BATON__V1__ENVELOPE__BODY_FINISHED:
        s->body.finished.reason = BATON__V1__FINISHED__REASON__LENGTH;
        break;
    case BATON__V1__ENVELOPE__BODY_KV_CHUNK:
        s->body.kv_chunk.n_blocks = 1;
        break;
    case BATON__V1__ENVELOPE__BODY_KV_END:
        s->body.kv_end.total_bytes = 1 << 20;
        s->body.kv_end.n_chunks = 4;
        break;
    case BATON__V1__ENVELOPE__BODY_FAILED:
        s->body.failed.code = BATON__V1__FAILED__CODE__CONTEXT_LOST;
        break;
    case BATON__V1__ENVELOPE__BODY_HAND_OVER:
        baton__v1__hand_over__init(&s->body.hand_over);
        s->body.hand_over.deliver_to = &s->deliver_to;
        s->body.hand_over.attempt = 2;
        break;
    case BATON__V1__ENVELOPE__BODY_LOAD_ADAPTER:
        s->body.load_adapter.name = s->adapter.name;
        s->body.load_adapter.path = s->adapter.path;
        break;
    case BATON__V1__ENVELOPE__BODY_DROP_ADAPTER:
        s->body.drop_adapter.name = s->adapter.name;
        break;
    case BATON__V1__ENVELOPE__BODY_ADAPTER_LIST:
        s->body.adapter_list.adapters = s->adapters;
        s->body.adapter_list.n_adapters = 1;
        break;
    case BATON__V1__ENVELOPE__BODY_HANDED_OVER:
        baton__v1__handed_over__init(&s->body.handed_over);
        s->body.handed_over.n_output_tokens = 17;
        s->body.handed_over.attempt = 2;
        break;
    default:
        break;
    }
}

static void init_body(struct sample_envelope *s, Baton__V1__Envelope__BodyCase kind)
{
    switch ((int)kind) {
    case BATON__V1__ENVELOPE__BODY_HELLO:
        return init_hello(s);
    case BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST:
        return init_prefill_request(s);
    case BATON__V1__ENVELOPE__BODY_DECODE_START:
        return init_decode_start(s);
    case BATON__V1__ENVELOPE__BODY_TOKENS:
        return init_tokens(s, &s->body.tokens);
    case BATON__V1__ENVELOPE__BODY_STEP_EVENTS:
        return init_step_events(s);
    case BATON__V1__ENVELOPE__BODY_KV_BEGIN:
        return init_kv_begin(s);
    case BATON__V1__ENVELOPE__BODY_KV_ACCOUNT:
        return init_kv_account(s);
    default:
        return init_small(s, kind);
    }
}

void sample_envelope_init(struct sample_envelope *sample, Baton__V1__Envelope__BodyCase kind)
{
    memset(sample, 0, sizeof *sample);
    init_parts(sample);
    init_adapters(sample);
    init_body(sample, kind);
    baton_envelope *envelope = &sample->envelope;
    baton__v1__envelope__init(envelope);
    envelope->src_epoch = 1001;
    envelope->dst_epoch = 2002;
    envelope->link = 3003;
    envelope->link_seq = 1;
    envelope->body_case = kind;
    envelope->hello = &sample->body.hello; /* one pointer for all: the oneof is a union */
    if (kind > BATON__V1__ENVELOPE__BODY_DRAIN && kind != BATON__V1__ENVELOPE__BODY_STEP_EVENTS &&
        kind < BATON__V1__ENVELOPE__BODY_KV_QUERY) {
        envelope->request_id = 42;
        envelope->attempt = 1;
    }
}
