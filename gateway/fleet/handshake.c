#include "gateway/fleet/handshake.h"

#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"

struct verdict {
    Baton__V1__Refused__Code code;
    char reason[256];
};

static bool refuse(struct verdict *verdict, Baton__V1__Refused__Code code, const char *fmt, ...)
    BATON_PRINTF(3, 4);

static bool refuse(struct verdict *verdict, Baton__V1__Refused__Code code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    verdict->code = code;
    (void)vsnprintf(verdict->reason, sizeof verdict->reason, fmt, args);
    va_end(args);
    return false;
}

static bool token_matches(const char *ours, const char *theirs)
{
    size_t n = strlen(ours);
    return n == strlen(theirs) && !CRYPTO_memcmp(ours, theirs, n);
}

static bool same_model(const struct gw_fleet *fleet, const Baton__V1__Hello *hello,
                       struct verdict *verdict)
{
    const struct baton_fingerprint *ours = fleet->options.fingerprint;
    const char *weights = *ours->weights ? ours->weights : fleet->terms.weights;
    const Baton__V1__Fingerprint *theirs = hello->fingerprint;
    const char *part = strcmp(ours->config, theirs->config) != 0           ? "config.json"
                       : strcmp(ours->tokenizer, theirs->tokenizer) != 0   ? "the tokenizer"
                       : *weights && strcmp(weights, theirs->weights) != 0 ? "the weights"
                                                                           : NULL;
    if (!part)
        return true;
    return refuse(verdict, BATON__V1__REFUSED__CODE__OTHER_MODEL,
                  "%s differs: this fleet serves \"%s\", the worker has \"%s\"", part,
                  fleet->options.facts->name, hello->model);
}

static bool same_terms(const struct gw_fleet *fleet, const Baton__V1__Hello *hello,
                       struct verdict *verdict)
{
    const struct gw_fleet_terms *terms = &fleet->terms;
    if (hello->n_context_tokens != (uint64_t)fleet->options.facts->n_context_tokens)
        return refuse(verdict, BATON__V1__REFUSED__CODE__OTHER_CONTEXT,
                      "the worker's context is %u tokens, this fleet's %lld",
                      hello->n_context_tokens, (long long)fleet->options.facts->n_context_tokens);
    if (!fleet->workers.n)
        return true;
    if (strcmp(terms->dtype, hello->dtype) != 0 || strcmp(terms->kv_dtype, hello->kv_dtype) != 0)
        return refuse(verdict, BATON__V1__REFUSED__CODE__OTHER_DTYPE,
                      "dtype %s with KV in %s: this fleet has %s with %s", hello->dtype,
                      hello->kv_dtype, terms->dtype, terms->kv_dtype);
    if (terms->kv_block_tokens != hello->kv_block_tokens)
        return refuse(verdict, BATON__V1__REFUSED__CODE__OTHER_BLOCK_SIZE,
                      "KV blocks of %u tokens: this fleet has %u", hello->kv_block_tokens,
                      terms->kv_block_tokens);
    return true;
}

static struct gw_worker *find_id(const struct gw_fleet *fleet, const char *id)
{
    struct gw_worker *worker = gw_worker_list_first(&fleet->workers);
    while (worker && strcmp(worker->id, id) != 0)
        worker = gw_worker_list_next(&fleet->workers, worker);
    return worker;
}

/* A name is taken while its bearer answers; a bearer that does not, or the same process coming back
 * on a new link, makes room. */
static bool id_is_free(struct gw_fleet *fleet, const baton_envelope *envelope,
                       struct verdict *verdict)
{
    struct gw_worker *other = find_id(fleet, envelope->hello->worker_id);
    if (!other)
        return true;
    if (other->epoch != envelope->src_epoch && other->state != GW_WORKER_SUSPECT &&
        baton_link_state(other->link) != BATON_OUTBOX_DOWN)
        return refuse(verdict, BATON__V1__REFUSED__CODE__DUPLICATE_ID,
                      "another worker called \"%s\" is here (pid %u at %s)", other->id, other->pid,
                      other->address);
    gw_fleet_lose(fleet, other, "joined anew");
    return true;
}

static bool may_join(struct gw_fleet *fleet, const baton_envelope *envelope,
                     struct verdict *verdict)
{
    const Baton__V1__Hello *hello = envelope->hello;
    if (!token_matches(fleet->options.cluster_token, hello->cluster_token))
        return refuse(verdict, BATON__V1__REFUSED__CODE__BAD_TOKEN, "wrong cluster token");
    if (hello->role != BATON__V1__ROLE__ROLE_PREFILL && hello->role != BATON__V1__ROLE__ROLE_DECODE)
        return refuse(verdict, BATON__V1__REFUSED__CODE__BAD_HELLO, "no such role");
    if (fleet->workers.n >= GW_MAX_WORKERS)
        return refuse(verdict, BATON__V1__REFUSED__CODE__FULL, "%d workers are enough",
                      GW_MAX_WORKERS);
    return same_model(fleet, hello, verdict) && same_terms(fleet, hello, verdict) &&
           id_is_free(fleet, envelope, verdict);
}

static void copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from);
}

static struct gw_worker *new_worker(const struct gw_fleet *fleet,
                                    const struct baton_message *message, struct baton_why *why)
{
    const baton_envelope *envelope = message->envelope;
    const Baton__V1__Hello *hello = envelope->hello;
    struct gw_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return NULL;
    struct baton_link_options link = {.url = worker->address,
                                      .local_epoch = fleet->options.epoch,
                                      .peer_epoch = envelope->src_epoch,
                                      .id = envelope->link,
                                      .wake = fleet->options.wake,
                                      .wake_arg = fleet->options.wake_arg};
    enum baton_err err = baton_link_resolve_url(hello->inbox_url, message->peer_host,
                                                worker->address, sizeof worker->address, why);
    if (!err && *hello->bulk_url)
        err = baton_link_resolve_url(hello->bulk_url, message->peer_host, worker->bulk_url,
                                     sizeof worker->bulk_url, why);
    if (!err)
        err = baton_link_open(&link, &worker->link, why);
    if (err) {
        free(worker);
        return NULL;
    }
    worker->role = hello->role;
    worker->epoch = envelope->src_epoch;
    worker->pid = hello->pid;
    worker->n_cores = hello->n_cores;
    worker->start_to_ready_s = hello->start_to_ready_s;
    worker->model_load_s = hello->model_load_s;
    copy(worker->id, sizeof worker->id, hello->worker_id);
    copy(worker->model, sizeof worker->model, hello->model);
    copy(worker->fingerprint.config, BATON_SHA256_HEX, hello->fingerprint->config);
    copy(worker->fingerprint.tokenizer, BATON_SHA256_HEX, hello->fingerprint->tokenizer);
    copy(worker->fingerprint.weights, BATON_SHA256_HEX, hello->fingerprint->weights);
    gw_worker_take_status(worker, hello->status);
    return worker;
}

static void send_welcome(const struct gw_fleet *fleet, struct gw_worker *worker)
{
    Baton__V1__Welcome welcome = BATON__V1__WELCOME__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    welcome.gateway_id = baton_envelope_text(fleet->options.gateway_id);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_WELCOME;
    envelope.welcome = &welcome;
    gw_worker_send(worker, &envelope);
}

static void send_refused(struct gw_worker *worker, struct verdict *verdict)
{
    Baton__V1__Refused refused = BATON__V1__REFUSED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    refused.code = verdict->code;
    refused.reason = verdict->reason;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_REFUSED;
    envelope.refused = &refused;
    gw_worker_send(worker, &envelope);
}

static void agree(struct gw_fleet *fleet, const Baton__V1__Hello *hello)
{
    struct gw_fleet_terms *terms = &fleet->terms;
    struct baton_block_salt salt = {.config = hello->fingerprint->config,
                                    .weights = hello->fingerprint->weights,
                                    .dtype = hello->dtype,
                                    .kv_dtype = hello->kv_dtype,
                                    .block_tokens = hello->kv_block_tokens};
    copy(terms->weights, sizeof terms->weights, hello->fingerprint->weights);
    copy(terms->dtype, sizeof terms->dtype, hello->dtype);
    copy(terms->kv_dtype, sizeof terms->kv_dtype, hello->kv_dtype);
    terms->kv_block_tokens = hello->kv_block_tokens;
    terms->has_root = !baton_block_hash_root(&salt, &terms->root);
}

static void log_joined(const struct gw_worker *worker)
{
    baton_log(BATON_LOG_INFO, "worker_joined", BATON_S("worker", worker->id),
              BATON_S("role", gw_worker_role_name(worker->role)), BATON_I("peer_pid", worker->pid),
              BATON_S("address", worker->address), BATON_I("cores", worker->n_cores),
              BATON_I("kv_blocks", worker->status.kv_blocks_total),
              BATON_F("start_to_ready_s", worker->start_to_ready_s),
              BATON_F("model_load_s", worker->model_load_s));
}

void gw_handshake_greet(struct gw_fleet *fleet, const struct baton_message *message, int64_t now_ns)
{
    const baton_envelope *envelope = message->envelope;
    struct verdict verdict = {0};
    struct baton_why why = {""};
    bool welcome = may_join(fleet, envelope, &verdict);
    struct gw_worker *worker = new_worker(fleet, message, &why);
    if (!worker || baton_link_accept(worker->link, envelope, now_ns) != BATON_LINK_FRESH) {
        baton_log(BATON_LOG_WARN, "hello_dropped", BATON_S("peer", message->peer_host),
                  BATON_S("reason", worker ? "not the first message of its link" : why.text));
        if (worker)
            gw_worker_free(worker);
        baton_inbox_reject(fleet->options.inbox, message);
        return;
    }
    if (!welcome) {
        baton_log(BATON_LOG_WARN, "worker_refused", BATON_S("worker", worker->id),
                  BATON_S("address", worker->address), BATON_S("reason", verdict.reason));
        send_refused(worker, &verdict);
        worker->beat_due_ns = now_ns + BATON_SECOND; /* time for the Refused to leave */
        gw_worker_list_push_back(&fleet->refused, worker);
        return;
    }
    if (!fleet->workers.n)
        agree(fleet, envelope->hello);
    worker->tag = ++fleet->last_tag;
    gw_worker_list_push_back(&fleet->workers, worker);
    send_welcome(fleet, worker);
    log_joined(worker);
}
