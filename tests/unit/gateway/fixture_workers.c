#include "tests/unit/gateway/fixture_parts.h"

#include <string.h>

struct far_worker *far[MAX_FAR];
size_t n_far;
static uint64_t last_link;

static struct far_worker worker_of(const char *id, Baton__V1__Role role)
{
    struct far_worker worker = {.id = id,
                                .token = "secret",
                                .dtype = "f32",
                                .config = "c",
                                .role = role,
                                .epoch = 100 + last_link,
                                .kv_block_tokens = BLOCK_TOKENS,
                                .n_context_tokens = 1024};
    baton__v1__status__init(&worker.status);
    worker.status.kv_blocks_total = worker.status.kv_blocks_free = KV_BLOCKS;
    return worker;
}

struct far_worker prefill_worker(const char *id)
{
    return worker_of(id, BATON__V1__ROLE__ROLE_PREFILL);
}

struct far_worker decode_worker(const char *id)
{
    return worker_of(id, BATON__V1__ROLE__ROLE_DECODE);
}

struct far_worker prefill, decode, decode_1;

void open_with_spare(void)
{
    gateway_open(NULL);
    prefill = prefill_worker("prefill-0");
    decode = decode_worker("decode-0");
    decode_1 = decode_worker("decode-1");
    join(&prefill);
    join(&decode);
}

struct gw_worker *known(const struct far_worker *worker)
{
    struct gw_worker *at = gw_worker_list_first(&fleet.workers);
    while (at && at->link->id != worker->link)
        at = gw_worker_list_next(&fleet.workers, at);
    return at;
}

/* Everything is pumped as gateway.c does it: after each message. */
static void say(const struct far_worker *worker, baton_envelope *envelope)
{
    struct baton_message message = {.envelope = envelope, .peer_host = "127.0.0.1"};
    envelope->src_epoch = worker->epoch;
    envelope->link = worker->link;
    gw_fleet_receive(&fleet, &message, clock_ns);
    gw_dispatcher_pump(&dispatcher);
}

static void remember(struct far_worker *worker)
{
    for (size_t i = 0; i < n_far; i++)
        if (far[i] == worker)
            return;
    assert_true(n_far < MAX_FAR);
    far[n_far++] = worker;
}

void show_token(struct far_worker *worker)
{
    Baton__V1__Hello says = BATON__V1__HELLO__INIT;
    Baton__V1__Fingerprint theirs = BATON__V1__FINGERPRINT__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    theirs.config = baton_envelope_text(worker->config);
    theirs.tokenizer = baton_envelope_text("t");
    theirs.weights = baton_envelope_text("w");
    says.role = worker->role;
    says.worker_id = baton_envelope_text(worker->id);
    says.inbox_url = baton_envelope_text("tcp://127.0.0.1:1");
    says.bulk_url = baton_envelope_text("tcp://127.0.0.1:2");
    says.model = baton_envelope_text("tale");
    says.dtype = baton_envelope_text(worker->dtype);
    says.kv_dtype = baton_envelope_text("f32");
    says.kv_layout = baton_envelope_text(worker->kv_layout ? worker->kv_layout : "");
    says.numeric_class = baton_envelope_text(worker->numeric_class);
    says.kv_block_tokens = worker->kv_block_tokens;
    says.n_context_tokens = worker->n_context_tokens;
    says.cluster_token = baton_envelope_text(worker->token);
    says.hands_over = worker->role == BATON__V1__ROLE__ROLE_DECODE && !worker->is_old;
    says.max_beat_s = worker->is_old ? 0 : 60;
    says.fingerprint = &theirs;
    says.status = &worker->status;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_HELLO;
    envelope.hello = &says;
    say(worker, &envelope);
}

struct gw_worker *hello(struct far_worker *worker)
{
    worker->link = ++last_link;
    remember(worker);
    show_token(worker);
    return known(worker);
}

void withdraw_first_token(void)
{
    cluster_token.n = 1;
    memcpy(cluster_token.texts[0], cluster_token.texts[1], sizeof cluster_token.texts[0]);
    gw_fleet_token_changed(&fleet);
}

struct gw_worker *join(struct far_worker *worker)
{
    assert_non_null(hello(worker));
    say_status(worker);
    return known(worker);
}

void join_each(struct far_worker **workers)
{
    for (; *workers; workers++)
        join(*workers);
}

void say_status(struct far_worker *worker)
{
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_STATUS;
    envelope.status = &worker->status;
    say(worker, &envelope);
}

void say_goodbye(struct far_worker *worker)
{
    Baton__V1__Goodbye goodbye = BATON__V1__GOODBYE__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    goodbye.reason = baton_envelope_text("it is told to stop");
    envelope.body_case = BATON__V1__ENVELOPE__BODY_GOODBYE;
    envelope.goodbye = &goodbye;
    say(worker, &envelope);
}

void break_link(struct far_worker *worker)
{
    struct baton_link *link = known(worker)->link;
    link->state = BATON_OUTBOX_DOWN;
    link->wake(link->wake_arg);
    worker->is_silent = true;
}

void cut_link(struct far_worker *worker)
{
    break_link(worker);
    tick();
}

int told_beat_ms(const struct far_worker *worker)
{
    return (int)(known(worker)->link->beat_s * 1000 + 0.5);
}

void lose_a_message(struct far_worker *worker)
{
    known(worker)->link->is_gap = true;
    say_status(worker);
}

/* ---- about requests ---- */

void say_anything(struct far_worker *worker, baton_envelope *envelope)
{
    say(worker, envelope);
}

static void say_about(struct far_worker *worker, const struct gw_choice *client,
                      baton_envelope *envelope)
{
    envelope->request_id = client->id;
    for (size_t i = 0; i < n_all_sent; i++)
        if (sent[i].link == worker->link && sent[i].request_id == client->id &&
            sent[i].kind != BATON__V1__ENVELOPE__BODY_CANCEL)
            envelope->attempt = sent[i].attempt;
    assert_true(envelope->attempt > 0); /* a worker speaks of what it was told of */
    say(worker, envelope);
}

static uint32_t hand_over_attempt(const struct far_worker *worker, const struct gw_choice *client)
{
    uint32_t attempt = 0;
    for (size_t i = 0; i < n_all_sent; i++)
        if (sent[i].link == worker->link && sent[i].request_id == client->id && sent[i].to_attempt)
            attempt = sent[i].to_attempt;
    assert_true(attempt > 0);
    return attempt;
}

void say_handed_over(struct far_worker *worker, const struct gw_choice *client, uint64_t n_tokens)
{
    Baton__V1__HandedOver handed_over = BATON__V1__HANDED_OVER__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    handed_over.n_output_tokens = n_tokens;
    handed_over.attempt = hand_over_attempt(worker, client);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_HANDED_OVER;
    envelope.handed_over = &handed_over;
    say_about(worker, client, &envelope);
}

void say_reserved(struct far_worker *worker, const struct gw_choice *client)
{
    Baton__V1__Reserved reserved = BATON__V1__RESERVED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_ticket ticket = {{0}};
    reserved.ticket = (ProtobufCBinaryData){sizeof ticket.bytes, ticket.bytes};
    envelope.body_case = BATON__V1__ENVELOPE__BODY_RESERVED;
    envelope.reserved = &reserved;
    say_about(worker, client, &envelope);
}

void say_rejected(struct far_worker *worker, const struct gw_choice *client)
{
    Baton__V1__Rejected rejected = BATON__V1__REJECTED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_REJECTED;
    envelope.rejected = &rejected;
    say_about(worker, client, &envelope);
}

void say_first(struct far_worker *worker, const struct gw_choice *client)
{
    Baton__V1__FirstToken first = BATON__V1__FIRST_TOKEN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    first.token = FIRST_TOKEN + (client->request ? (uint32_t)client->request->output.tokens.n : 0);
    first.prefill_compute_s = 0.001;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FIRST_TOKEN;
    envelope.first_token = &first;
    say_about(worker, client, &envelope);
}

void say_tokens(struct far_worker *worker, const struct gw_choice *client, uint64_t index, size_t n)
{
    Baton__V1__Tokens tokens = BATON__V1__TOKENS__INIT;
    Baton__V1__DecodeBegan began = BATON__V1__DECODE_BEGAN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    uint32_t ids[32];
    assert_true(n <= 32);
    for (size_t i = 0; i < n; i++)
        ids[i] = FIRST_TOKEN + (uint32_t)(index + i);
    tokens.first_index = index;
    tokens.tokens = ids;
    tokens.n_tokens = n;
    tokens.step_s = 0.010;
    tokens.began = index == 1 ? &began : NULL;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_TOKENS;
    envelope.tokens = &tokens;
    say_about(worker, client, &envelope);
}

void say_finished(struct far_worker *worker, const struct gw_choice *client, uint64_t n_tokens)
{
    Baton__V1__Finished finished = BATON__V1__FINISHED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    finished.reason = BATON__V1__FINISHED__REASON__LENGTH;
    finished.n_tokens = n_tokens;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FINISHED;
    envelope.finished = &finished;
    say_about(worker, client, &envelope);
}

void say_failed(struct far_worker *worker, const struct gw_choice *client,
                Baton__V1__Failed__Code code)
{
    Baton__V1__Failed failed = BATON__V1__FAILED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    failed.code = code;
    failed.message = baton_envelope_text("it broke");
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FAILED;
    envelope.failed = &failed;
    say_about(worker, client, &envelope);
}
