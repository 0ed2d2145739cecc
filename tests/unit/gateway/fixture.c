#include "tests/unit/gateway/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAR = 24, MAX_SENT = 4096, TICK_MS = 25, FIRST_TOKEN = 400 };

/* The fixture's link: the gateway's half, with nothing at the other end. */
struct baton_link {
    uint64_t id;
    int64_t heard_ns;
    enum baton_outbox_state state;
    bool is_gap;
};

struct gw_requests requests;
struct gw_fleet fleet;
struct gw_metrics metrics;
struct gw_dispatcher dispatcher;
struct baton_model_facts facts;
int n_rejected_messages, n_ended_pipes, n_links_opened, absence_ms, migration_limit;

static struct baton_cluster_token cluster_token;

static const struct baton_fingerprint fingerprint = {.config = "c", .tokenizer = "t"};
static struct baton_tokenizer *tokenizer;
static int64_t clock_ns;
static struct far_worker *far[MAX_FAR];
static size_t n_far;
static struct sent sent[MAX_SENT];
static size_t n_all_sent;
static uint64_t last_link;
enum baton_err prompt_err;
bool workers_lie;

/* ---- in place of the clock and the link ---- */

int64_t __wrap_baton_now_ns(void);
enum baton_err __wrap_baton_link_open(const struct baton_link_options *options,
                                      struct baton_link **link, struct baton_why *why);
void __wrap_baton_link_close(struct baton_link *link);
void __wrap_baton_link_release(struct baton_link *link);
enum baton_err __wrap_baton_link_send(struct baton_link *link, baton_envelope *envelope,
                                      const void *payload, size_t payload_bytes);
enum baton_link_verdict __wrap_baton_link_accept(struct baton_link *link,
                                                 const baton_envelope *envelope, int64_t at_ns);
enum baton_outbox_state __wrap_baton_link_state(struct baton_link *link);
uint64_t __wrap_baton_link_id(const struct baton_link *link);
int64_t __wrap_baton_link_heard_ns(const struct baton_link *link);
void __wrap_baton_inbox_admit(struct baton_inbox *inbox, const struct baton_message *message);
void __wrap_baton_inbox_end_pipe(struct baton_inbox *inbox, uint32_t pipe);
void __wrap_baton_inbox_reject(struct baton_inbox *inbox, const struct baton_message *message);

int64_t __wrap_baton_now_ns(void)
{
    return clock_ns;
}

enum baton_err __wrap_baton_link_open(const struct baton_link_options *options,
                                      struct baton_link **link, struct baton_why *why)
{
    (void)why;
    n_links_opened++;
    *link = calloc(1, sizeof **link);
    assert_non_null(*link);
    **link = (struct baton_link){.id = options->id, .heard_ns = clock_ns, .state = BATON_OUTBOX_UP};
    return BATON_OK;
}

void __wrap_baton_link_close(struct baton_link *link)
{
    link->state = BATON_OUTBOX_DOWN;
}

void __wrap_baton_link_release(struct baton_link *link)
{
    free(link);
}

static void note_hashes(struct sent *note, const ProtobufCBinaryData *hashes)
{
    note->n_hashes = hashes->len / sizeof note->first_hash;
    if (hashes->len)
        memcpy(&note->first_hash, hashes->data, sizeof note->first_hash);
}

static void note_body(struct sent *note, const baton_envelope *envelope)
{
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST) {
        note->credit_tokens = envelope->prefill_request->credit_tokens;
        note->has_target = envelope->prefill_request->deliver_to != NULL;
        note->n_tokens = (uint32_t)envelope->prefill_request->n_tokens;
        note->n_output = envelope->prefill_request->n_output_tokens;
        note->n_more = envelope->prefill_request->max_new_tokens;
        note_hashes(note, &envelope->prefill_request->block_hashes);
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_RESERVE) {
        note->n_tokens = envelope->reserve->n_prompt_tokens;
        note->n_more = envelope->reserve->max_new_tokens;
        note->is_hand_over = envelope->reserve->hand_over;
        note_hashes(note, &envelope->reserve->block_hashes);
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_HAND_OVER) {
        note->to_attempt = envelope->hand_over->attempt;
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_DECODE_START) {
        note->credit_tokens = envelope->decode_start->credit_tokens;
        note->n_tokens = envelope->decode_start->n_prompt_tokens;
        note->n_output = envelope->decode_start->n_output_tokens;
        note->n_more = envelope->decode_start->max_new_tokens;
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_TOKEN_ACK) {
        note->credit_tokens = envelope->token_ack->credit_tokens;
        note->next_index = envelope->token_ack->next_index;
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_REFUSED) {
        note->code = envelope->refused->code;
    }
}

enum baton_err __wrap_baton_link_send(struct baton_link *link, baton_envelope *envelope,
                                      const void *payload, size_t payload_bytes)
{
    (void)payload;
    (void)payload_bytes;
    if (link->state == BATON_OUTBOX_DOWN)
        return BATON_CLOSED;
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_STATUS)
        return BATON_OK;
    if (prompt_err && envelope->body_case == BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST)
        return prompt_err;
    assert_true(n_all_sent < MAX_SENT);
    struct sent *note = &sent[n_all_sent++];
    *note = (struct sent){.link = link->id,
                          .kind = envelope->body_case,
                          .request_id = envelope->request_id,
                          .attempt = envelope->attempt};
    note_body(note, envelope);
    return BATON_OK;
}

enum baton_link_verdict __wrap_baton_link_accept(struct baton_link *link,
                                                 const baton_envelope *envelope, int64_t at_ns)
{
    (void)envelope;
    link->heard_ns = at_ns;
    return link->is_gap ? BATON_LINK_GAP : BATON_LINK_FRESH;
}

enum baton_outbox_state __wrap_baton_link_state(struct baton_link *link)
{
    return link->state;
}

uint64_t __wrap_baton_link_id(const struct baton_link *link)
{
    return link->id;
}

int64_t __wrap_baton_link_heard_ns(const struct baton_link *link)
{
    return link->heard_ns;
}

void __wrap_baton_inbox_admit(struct baton_inbox *inbox, const struct baton_message *message)
{
    (void)inbox;
    (void)message;
}

void __wrap_baton_inbox_end_pipe(struct baton_inbox *inbox, uint32_t pipe)
{
    (void)inbox;
    (void)pipe;
    n_ended_pipes++;
}

void __wrap_baton_inbox_reject(struct baton_inbox *inbox, const struct baton_message *message)
{
    (void)inbox;
    (void)message;
    n_rejected_messages++;
}

/* ---- the gateway ---- */

static void on_message(void *arg, struct gw_worker *worker, const baton_envelope *envelope)
{
    (void)arg;
    gw_worker_messages_take(&dispatcher, worker, envelope);
}

static void on_lost(void *arg, struct gw_worker *worker, const char *reason)
{
    (void)arg;
    (void)reason;
    gw_dispatcher_worker_lost(&dispatcher, worker);
}

static void on_unfit(void *arg, struct gw_worker *worker)
{
    (void)arg;
    gw_dispatcher_worker_unfit(&dispatcher, worker);
}

static void on_capacity(void *arg)
{
    (void)arg;
    dispatcher.lifecycle.wants_pump = true;
}

void gateway_open(const struct gw_routing_options *routing)
{
    struct gw_dispatcher_options options = {
        .lifecycle = {.requests = &requests,
                      .metrics = &metrics,
                      .detokenizer = {.facts = &facts},
                      .max_attempts = MAX_ATTEMPTS,
                      .migration_limit = migration_limit},
        .routing = {.prefill = BATON_ROUTING_LEAST_LOADED, .decode = BATON_ROUTING_LEAST_LOADED},
        .bounds = {.max_queued = 100, .max_queued_tokens = 100000},
        .fleet = &fleet};
    clock_ns = 1000 * BATON_SECOND;
    n_far = n_all_sent = 0;
    n_rejected_messages = n_ended_pipes = n_links_opened = 0;
    memset(&metrics, 0, sizeof metrics);
    cluster_token =
        (struct baton_cluster_token){.path = "", .n = 2, .texts = {"secret", "second secret"}};
    facts = (struct baton_model_facts){.n_context_tokens = 1024, .n_vocab = 2560};
    if (!tokenizer)
        assert_int_equal(baton_tokenizer_open("models/tale", &tokenizer, NULL), BATON_OK);
    options.lifecycle.detokenizer.tokenizer = tokenizer;
    if (routing)
        options.routing = *routing;
    gw_requests_init(&requests);
    gw_fleet_init(&fleet, &(struct gw_fleet_options){.identity = {.epoch = 1,
                                                                  .gateway_id = "gateway-0",
                                                                  .token = &cluster_token,
                                                                  .fingerprint = &fingerprint,
                                                                  .facts = &facts},
                                                     .beat_ns = BEAT_MS * BATON_MS,
                                                     .absence_ns = absence_ms * BATON_MS,
                                                     .on_message = on_message,
                                                     .on_lost = on_lost,
                                                     .on_unfit = on_unfit,
                                                     .on_capacity = on_capacity});
    assert_int_equal(gw_dispatcher_init(&dispatcher, &options), BATON_OK);
}

void gateway_close(void)
{
    for (int state = 0; state < GW_N_STATES; state++)
        for (struct gw_request *request;
             (request = gw_request_list_first(&requests.by_state[state]));)
            gw_request_destroy(&requests, request);
    gw_dispatcher_fini(&dispatcher);
    gw_fleet_fini(&fleet);
    if (workers_lie)
        return;
    baton_tokenizer_close(tokenizer);
    tokenizer = NULL;
}

int64_t now_ns(void)
{
    return clock_ns;
}

static void tick(void)
{
    gw_fleet_tick(&fleet, clock_ns, true);
    gw_dispatcher_tick(&dispatcher, clock_ns);
    gw_dispatcher_pump(&dispatcher);
}

void pass_ms(int ms)
{
    for (int passed = 0; passed < ms; passed += TICK_MS) {
        clock_ns += TICK_MS * BATON_MS;
        for (size_t i = 0; clock_ns / BATON_MS % BEAT_MS == 0 && i < n_far; i++)
            if (!far[i]->is_silent && known(far[i]))
                say_status(far[i]);
        tick();
    }
}

void freeze_ms(int ms)
{
    clock_ns += ms * BATON_MS;
    tick();
}

/* ---- what workers say ---- */

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
    known(worker)->link->state = BATON_OUTBOX_DOWN;
    worker->is_silent = true;
}

void cut_link(struct far_worker *worker)
{
    break_link(worker);
    tick();
}

void lose_a_message(struct far_worker *worker)
{
    known(worker)->link->is_gap = true;
    say_status(worker);
}

/* ---- about requests ---- */

const struct sent *last_sent(const struct far_worker *worker, const struct gw_choice *client,
                             Baton__V1__Envelope__BodyCase kind)
{
    for (size_t i = n_all_sent; i-- > 0;)
        if (sent[i].link == worker->link && sent[i].kind == kind &&
            (!client || sent[i].request_id == client->id))
            return &sent[i];
    return NULL;
}

int n_sent(const struct far_worker *worker, const struct gw_choice *client,
           Baton__V1__Envelope__BodyCase kind)
{
    int n = 0;
    for (size_t i = 0; i < n_all_sent; i++)
        n += sent[i].link == worker->link && sent[i].kind == kind &&
             (!client || sent[i].request_id == client->id);
    return n;
}

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

/* ---- clients ---- */

static void on_restart(struct gw_choice *client)
{
    client->n_restarts++;
    client->n_tokens = client->n_first = 0;
}

static void on_first(struct gw_choice *client)
{
    client->n_first++;
}

static void on_token(struct gw_choice *client, const struct gw_token *token)
{
    assert_true(workers_lie || token->id == (uint32_t)FIRST_TOKEN + (uint32_t)client->n_tokens);
    assert_int_equal(token->index, client->n_tokens);
    client->n_tokens++;
}

static void on_text(struct gw_choice *client, const char *text, size_t n)
{
    (void)client;
    (void)text;
    (void)n;
}

static void keep(struct gw_choice *client)
{
    client->decode_s = client->request->attempt.decode_times.decode_s;
    client->attempt = client->request->attempt.number;
    client->request = NULL;
}

static void on_finish(struct gw_choice *client)
{
    client->n_finished++;
    keep(client);
}

static void on_fail(struct gw_choice *client, const struct gw_failure *failure)
{
    client->n_failed++;
    client->status = failure->status;
    (void)snprintf(client->code, sizeof client->code, "%s", failure->code);
    (void)snprintf(client->message, sizeof client->message, "%s", failure->message);
    keep(client);
}

static const struct gw_response_writer writer = {.restart = on_restart,
                                                 .first = on_first,
                                                 .token = on_token,
                                                 .text = on_text,
                                                 .finish = on_finish,
                                                 .fail = on_fail};

void ask(struct gw_choice *client, const struct wanted *wanted)
{
    struct gw_request *request = gw_request_create(&requests, &writer, client, clock_ns);
    assert_non_null(request);
    *client = (struct gw_choice){.request = request, .id = request->id};
    request->params.kv_cache = true;
    request->params.cache_prompt = wanted->cache_prompt;
    request->params.streaming = wanted->streaming;
    request->params.max_new_tokens = wanted->n_new;
    request->params.sampling.repetition_penalty = 1;
    assert_int_equal(baton_tokens_reserve(&request->params.prompt, wanted->n_prompt), BATON_OK);
    for (size_t i = 0; i < wanted->n_prompt; i++)
        request->params.prompt.ids[request->params.prompt.n++] = (uint32_t)(300 + i);
    assert_int_equal(gw_output_reserve(&request->output, (size_t)wanted->n_new), BATON_OK);
    assert_int_equal(baton_text_stream_init(&request->output.text, NULL, NULL, 0), BATON_OK);
    if (wanted->timeout_ms)
        request->deadline_ns = clock_ns + wanted->timeout_ms * BATON_MS;
    gw_request_set_state(&requests, request, GW_TOKENIZING, "");
    gw_admission_queue(&dispatcher.admission, request);
    gw_dispatcher_pump(&dispatcher);
}

void leave(struct gw_choice *client)
{
    gw_lifecycle_cancel(&dispatcher.lifecycle, client->request, "the client left");
    client->request = NULL;
    gw_dispatcher_pump(&dispatcher);
}
