#include "tests/support/test.h"

#include "tests/unit/prefill_worker/fixture_shared.h"

#include <string.h>

#include "common/base/random.h"

#include "common/base/clock.h"
#include "engine/engine.h"
#include "tests/support/random_gpt2.h"

/* Random: offers of pools go by its name, and other tests may run on this host. */
uint64_t decode_epoch;

static const struct baton_gpt2_sizes sizes = {SMALL_GPT2, .n_layers = N_LAYERS, .n_vocab = N_VOCAB,
                                              .n_context = N_CONTEXT};

/* Layers of two sizes, and two that read their K and V: what travels differs from layer to
 * layer. */
static enum baton_err make_model(struct baton_model **model)
{
    struct baton_spec spec;
    baton_gpt2_spec(&sizes, &spec);
    spec.layers[1].n_kv_heads = 2;
    spec.layers[1].head_dim = 24;
    spec.layers[2].kv_from = 0;
    spec.layers[3] = spec.layers[1];
    spec.layers[3].kv_from = 1;
    return baton_model_random(&spec, 1, NULL, model, NULL);
}

struct heard heard[MAX_REQUESTS];
int n_received, n_lost, n_counted;
bool counts_alone;

static struct baton_worker_options host_options;
struct baton_service *service;
struct mailbox gateway;
static struct mailbox inbox; /* the worker's own */

/* The decode worker: one transfer per request. */
struct baton_kv_receiver *receiver;
struct baton_kv *decode_kv;
struct baton_seq seqs[MAX_REQUESTS];
struct baton_kv_receive receives[MAX_REQUESTS];
struct baton_origin origins[MAX_REQUESTS];

/* ---- the decode worker ---- */

static struct baton_kv_receive *find(void *arg, const baton_envelope *envelope)
{
    (void)arg;
    struct baton_kv_receive *receive = &receives[envelope->request_id];
    bool is_it = receive->origin && receive->origin->attempt == envelope->attempt;
    return is_it ? receive : NULL;
}

static void advanced(void *arg, struct baton_kv_receive *receive, int layer)
{
    (void)arg;
    (void)receive;
    (void)layer;
}

static void complete(void *arg, struct baton_kv_receive *receive)
{
    (void)arg;
    (void)receive;
    n_received++;
}

static void failed(void *arg, struct baton_kv_receive *receive)
{
    (void)arg;
    (void)receive;
    n_lost++;
}

static void open_decode_worker(enum baton_kv_path path)
{
    decode_epoch = baton_random_id();
    assert_ok(baton_kv_create(host.model, &(struct baton_kv_pool_options){.n_blocks = 400},
                              &decode_kv, NULL));
    const struct baton_kv_receiver_options options = {.bulk_url = "tcp://127.0.0.1:0",
                                                      .epoch = decode_epoch,
                                                      .path = path,
                                                      .kv = decode_kv,
                                                      .wake = baton_host_wake,
                                                      .wake_arg = &host,
                                                      .find = find,
                                                      .advanced = advanced,
                                                      .complete = complete,
                                                      .failed = failed};
    assert_ok(baton_kv_receiver_create(&options, &receiver, NULL));
    memset(seqs, 0, sizeof seqs);
    memset(receives, 0, sizeof receives);
}

uint32_t attempt_of(const struct request_params *params)
{
    return params->attempt ? params->attempt : 1;
}

void open_context(const struct request_params *params)
{
    origins[params->id] = (struct baton_origin){.gateway = to_gateway,
                                                .gateway_epoch = GATEWAY,
                                                .request_id = params->id,
                                                .attempt = attempt_of(params)};
    assert_ok(baton_seq_init(&seqs[params->id], decode_kv, params->n_prompt));
}

static void expect_context(const struct request_params *params)
{
    open_context(params);
    baton_kv_receive_expect(&receives[params->id], &origins[params->id], &seqs[params->id],
                            params->n_prompt, 0);
}

void drop_context(uint64_t id)
{
    baton_kv_receive_fini(&receives[id]);
    receives[id].origin = NULL; /* so that it is not found any more */
    baton_seq_fini(&seqs[id]);
}

void drop_decode_worker(void)
{
    for (int i = 0; i < MAX_REQUESTS; i++)
        drop_context((uint64_t)i);
    baton_kv_receiver_destroy(receiver);
    baton_kv_destroy(decode_kv);
    receiver = NULL;
    decode_kv = NULL;
}

/* ---- the worker ---- */

static void open_host(void)
{
    host_options = (struct baton_worker_options){.kv_dtype = "auto",
                                                 .advertise = baton_inbox_url(inbox.inbox)};
    host = (struct baton_host){.options = &host_options,
                               .inbox = inbox.inbox,
                               .role = BATON__V1__ROLE__ROLE_PREFILL,
                               .epoch = WORKER,
                               .cores = {.n = 1, .n_threads = 2},
                               .facts = {.n_vocab = N_VOCAB, .n_context_tokens = N_CONTEXT}};
    assert_ok(baton_doorbell_init(&host.bell));
    assert_ok(make_model(&host.model));
}

void worker_open(const struct worker_options *wanted)
{
    struct baton_why why = {""};
    memset(heard, 0, sizeof heard);
    n_received = n_lost = n_counted = 0;
    counts_alone = false;
    assert_ok(mailbox_open(&gateway, NULL, 4096));
    assert_ok(mailbox_open(&inbox, NULL, 64));
    open_host();
    const struct baton_link_options link = {.url = baton_inbox_url(gateway.inbox),
                                            .local_epoch = WORKER,
                                            .peer_epoch = GATEWAY,
                                            .id = TO_GATEWAY,
                                            .wake = baton_host_wake,
                                            .wake_arg = &host};
    assert_ok(baton_link_open(&link, &to_gateway, NULL));
    open_decode_worker(wanted->decode_path);
    const struct pf_service_options options = {
        .host = &host,
        .kv = {.tokens = wanted->kv_tokens, .prefix_cache_tokens = -1, .path = wanted->path},
        .chunk = STRIPE_BLOCKS * BATON_KV_BLOCK_TOKENS,
        .bulk_url = wanted->has_bulk ? "tcp://127.0.0.1:0" : NULL,
        .overlap = wanted->overlap,
        .prefix_cache = !wanted->no_prefix_cache,
        .kv_disk = {.dir = wanted->kv_disk.dir ? wanted->kv_disk.dir : "",
                    .bytes = wanted->kv_disk.bytes}};
    if (pf_service_create(&options, &service, &why))
        fail_msg("%s", why.text);
    hooks = baton_service_hooks(service);
}

void worker_close(void)
{
    await_idle();
    check_account();
    Baton__V1__Status status = worker_status();
    assert_int_equal(status.kv_blocks_free, status.kv_blocks_total);
    close_parts();
    baton_service_destroy(service);
    service = NULL;
    if (receiver)
        drop_decode_worker();
    baton_link_release(to_gateway);
    mailbox_close(&inbox);
    mailbox_close(&gateway);
    baton_model_close(host.model);
    baton_doorbell_fini(&host.bell);
}

int worker_end(void **state)
{
    (void)state;
    if (service)
        worker_close();
    return 0;
}

/* ---- listening ---- */

static void hear(const baton_envelope *envelope)
{
    if (counts_alone || envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_ACCOUNT) {
        n_counted += envelope->body_case == BATON__V1__ENVELOPE__BODY_FIRST_TOKEN ||
                     envelope->body_case == BATON__V1__ENVELOPE__BODY_TOKENS;
        return;
    }
    struct heard *about = &heard[envelope->request_id];
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_FIRST_TOKEN:
        about->n_first++;
        about->tokens[about->n_tokens++ % MAX_HEARD] = envelope->first_token->token;
        about->first_token = envelope->first_token->token;
        about->cached_tokens = envelope->first_token->cached_tokens;
        about->disk_tokens = envelope->first_token->disk_tokens;
        break;
    case BATON__V1__ENVELOPE__BODY_EMBEDDING:
        assert_int_equal(envelope->embedding->n_values, baton_model_info(host.model)->n_embd);
        assert_true(envelope->embedding->n_values <= MAX_EMBEDDING);
        memcpy(about->embedding, envelope->embedding->values,
               envelope->embedding->n_values * sizeof about->embedding[0]);
        about->cached_tokens = envelope->embedding->cached_tokens;
        about->n_embeddings++;
        break;
    case BATON__V1__ENVELOPE__BODY_PROMPT_PROGRESS:
        assert_int_equal(about->n_first, 0);
        assert_true((int)envelope->prompt_progress->n_tokens > about->last_progress);
        about->last_progress = (int)envelope->prompt_progress->n_tokens;
        about->n_progress++;
        break;
    case BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS:
        about->n_prompt_logprobs += (int)envelope->prompt_logprobs->n_logprobs;
        break;
    case BATON__V1__ENVELOPE__BODY_TOKENS:
        assert_int_equal(envelope->tokens->first_index, about->n_tokens);
        for (size_t i = 0; i < envelope->tokens->n_tokens; i++)
            about->tokens[about->n_tokens++ % MAX_HEARD] = envelope->tokens->tokens[i];
        break;
    case BATON__V1__ENVELOPE__BODY_FINISHED:
        about->n_finished++;
        assert_int_equal(envelope->finished->n_tokens, about->n_tokens);
        break;
    case BATON__V1__ENVELOPE__BODY_FAILED:
        about->n_failed++;
        about->failure = envelope->failed->code;
        break;
    case BATON__V1__ENVELOPE__BODY_RESERVED:
        assert_int_equal(envelope->reserved->ticket.len, sizeof about->ticket.bytes);
        memcpy(about->ticket.bytes, envelope->reserved->ticket.data, sizeof about->ticket.bytes);
        about->n_reserved++;
        break;
    case BATON__V1__ENVELOPE__BODY_REJECTED:
        about->n_rejected++;
        break;
    case BATON__V1__ENVELOPE__BODY_KV_ACK: /* to the other part */
        about->n_acks++;
        break;
    default:
        fail_msg("unexpected %s", baton_envelope_kind(envelope));
    }
}

void work_alone(void)
{
    struct baton_message message;
    while (baton_inbox_take(inbox.inbox, &message)) {
        hooks.from_peer(hooks.arg, &message);
        baton_message_fini(&message);
    }
    (void)hooks.work(hooks.arg, baton_now_ns());
}

void work_now(void)
{
    struct baton_message message;
    work_alone();
    if (receiver)
        baton_kv_receiver_work(receiver, baton_now_ns());
    pump_parts();
    while (baton_inbox_take(gateway.inbox, &message)) {
        hear(message.envelope);
        baton_message_fini(&message);
    }
}

/* ---- speaking ---- */

static void fill_prompt(const struct request_params *params, uint32_t *tokens)
{
    fill_words(params->words, tokens, params->n_prompt);
}

/* By the identity that a host without a model directory has, or by another one. */
static size_t fill_hashes(const struct request_params *params, const uint32_t *tokens,
                          struct baton_block_hash *hashes)
{
    const struct baton_block_salt salt = {
        .config = host.fingerprint.config,
        .weights = params->hashes == FOREIGN_HASHES ? "another" : host.fingerprint.weights,
        .dtype = baton_model_info(host.model)->dtype,
        .kv_dtype = baton_kv_dtype(service->kv),
        .block_tokens = BATON_KV_BLOCK_TOKENS,
        .kv_layout = baton_kv_layout_name(service->kv),
        .numeric_class = host.numeric_class.hex};
    struct baton_block_hash root;
    size_t n = baton_block_hash_count((size_t)params->n_prompt, BATON_KV_BLOCK_TOKENS);
    assert_ok(baton_block_hash_root(&salt, &root));
    assert_ok(baton_block_hash_tokens(&root, tokens, BATON_KV_BLOCK_TOKENS, hashes, n));
    return params->hashes == NO_HASHES ? 0 : params->hashes == TOO_MANY_HASHES ? n + 1 : n;
}

/* Sets the output of the earlier attempt: the first tokens of the other request. */
static void resume(const struct request_params *params, uint32_t *tokens)
{
    struct heard *about = &heard[params->id];
    for (; about->n_tokens < params->n_resumed; about->n_tokens++)
        tokens[about->n_tokens] = about->tokens[about->n_tokens] =
            heard[params->resumes].tokens[about->n_tokens];
}

void say_prompt(const struct request_params *params)
{
    Baton__V1__PrefillRequest request = BATON__V1__PREFILL_REQUEST__INIT;
    Baton__V1__Sampling sampling = BATON__V1__SAMPLING__INIT;
    Baton__V1__DeliverTo deliver_to = BATON__V1__DELIVER_TO__INIT;
    struct baton_ticket ticket;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_block_hash hashes[N_CONTEXT] = {{{0}}};
    uint32_t tokens[N_CONTEXT];
    fill_prompt(params, tokens);
    if (params->n_resumed)
        resume(params, tokens + params->n_prompt);
    sampling.top_p = 1;
    sampling.temperature = params->temperature;
    sampling.frequency_penalty = params->temperature; /* so that output counts */
    request.tokens = tokens;
    request.n_tokens = (size_t)(params->n_prompt + params->n_resumed);
    request.n_output_tokens = (uint32_t)params->n_resumed;
    request.sampling = &sampling;
    request.max_new_tokens = (uint32_t)(params->n_new - params->n_resumed);
    request.naive = params->naive;
    request.prompt_logprobs = params->prompt_logprobs;
    request.prompt_progress = params->prompt_progress;
    request.in_parts = params->in_parts;
    request.pooling = params->pooling;
    request.credit_tokens = params->credit;
    request.deadline_ms = params->deadline_ms;
    request.block_hashes.len = fill_hashes(params, tokens, hashes) * BATON_BLOCK_HASH_BYTES;
    request.block_hashes.data = hashes[0].bytes;
    if (params->delivers) {
        expect_context(params);
        deliver_to.bulk_url = (char *)baton_kv_receiver_url(receiver);
        deliver_to.epoch = decode_epoch;
        ticket = baton_kv_receiver_ticket(receiver, &origins[params->id]);
        deliver_to.ticket = (ProtobufCBinaryData){sizeof ticket.bytes, ticket.bytes};
        request.deliver_to = &deliver_to;
    }
    envelope.body_case = BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST;
    envelope.prefill_request = &request;
    deliver(params->id, attempt_of(params), &envelope);
}

bool came_shared(uint64_t id)
{
    return receives[id].shared_bytes && receives[id].shared_bytes == receives[id].total_bytes;
}

bool came_wired(uint64_t id)
{
    return receives[id].total_bytes && !receives[id].shared_bytes;
}

void say_cancel(const struct request_params *params)
{
    deliver_cancel(params->id, attempt_of(params));
}

void say_ack(const struct request_params *params, uint64_t next_index, uint32_t credit)
{
    deliver_ack(params->id, attempt_of(params), next_index, credit);
}

bool equals_own_run(const struct request_params *params)
{
    const struct baton_engine_options options = {.max_rows = N_CONTEXT, .n_threads = 1};
    struct baton_engine *engine;
    struct baton_kv *kv;
    struct baton_seq seq = {0};
    uint32_t tokens[N_CONTEXT];
    fill_prompt(params, tokens);
    assert_ok(
        baton_kv_create(host.model, &(struct baton_kv_pool_options){.n_blocks = 40}, &kv, NULL));
    assert_ok(baton_engine_create(host.model, &options, &engine, NULL));
    assert_ok(baton_seq_init(&seq, kv, params->n_prompt));
    assert_ok(baton_engine_prefill(engine, &seq, tokens, params->n_prompt, NULL, NULL, NULL));
    bool equal = seqs[params->id].n_tokens == params->n_prompt;
    int n_whole =
        params->n_prompt / BATON_KV_BLOCK_TOKENS; /* past the last token a block is unset */
    int n_held;
    const int *held = baton_kv_held_layers(kv, &n_held);
    for (int i = 0; i < n_held; i++)
        for (int block = 0; block < n_whole; block++)
            equal = equal && !memcmp(baton_seq_block(&seq, held[i], block),
                                     baton_seq_block(&seqs[params->id], held[i], block),
                                     baton_kv_block_bytes(kv, held[i]));
    baton_seq_fini(&seq);
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
    return equal;
}
