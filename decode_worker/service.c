#include "decode_worker/service.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/policy/reservations.h"
#include "common/worker/kv_report.h"
#include "decode_worker/context.h"
#include "decode_worker/draft_model.h"
#include "decode_worker/engine.h"
#include "decode_worker/reserve.h"
#include "decode_worker/scheduler.h"

struct dc_service {
    struct baton_host *host;
    struct baton_kv *kv;
    struct dc_engine *engine;
    const struct dc_draft_model *draft; /* NULL: there is none */
    struct baton_kv_receiver *receiver;
    struct baton_kv_sender *sender; /* of sequences that are handed over */
    struct dc_contexts contexts;
    struct baton_prefix_cache prefix_cache;
    struct dc_reserve reserve;
    struct baton_kv_report kv_report;
    uint64_t n_shared, n_wired; /* contexts received */
};

void dc_service_size(struct baton_kv_options *kv, int64_t max_batch, int64_t colocated_chunk)
{
    kv->n_sequences = baton_reservations_max((int)max_batch);
    kv->n_step_rows = dc_scheduler_max_sequence_rows((int)colocated_chunk);
}

static enum baton_err create_pool(struct dc_service *service,
                                  const struct dc_service_options *options, struct baton_why *why)
{
    struct baton_host *host = options->host;
    struct baton_kv_options kv = options->kv;
    kv.draft = options->draft ? options->draft->model : NULL;
    dc_service_size(&kv, options->max_batch, options->colocated_chunk);
    enum baton_err err = baton_kv_budget_create(&kv, host->model, host->options->kv_dtype, true,
                                                host->claim, &service->kv, why);
    service->reserve = (struct dc_reserve){.host = options->host,
                                           .contexts = &service->contexts,
                                           .cache = &service->prefix_cache,
                                           .max_batch = (int)options->max_batch};
    bool is_on = options->prefix_cache && options->kv.prefix_cache_tokens;
    if (!err && options->draft)
        err = dc_draft_model_reserve(options->draft, host->options->kv_dtype,
                                     baton_kv_n_blocks(service->kv), why);
    if (!err)
        err = baton_host_measure(host, service->kv, why);
    if (!err)
        err = baton_prefix_cache_init(&service->prefix_cache, service->kv,
                                      baton_model_dtype(host->model), &host->fingerprint,
                                      &host->numeric_class, is_on, why);
    if (!err && baton_kv_report_init(&service->kv_report, service->kv))
        err = baton_fail(why, BATON_NO_MEMORY, "no memory for the account of the KV cache");
    return err;
}

/* ---- contexts that arrive ---- */

static struct dc_context *context_of(struct baton_kv_receive *receive)
{
    return (struct dc_context *)((char *)receive - offsetof(struct dc_context, receive));
}

/* No block may arrive for a context that the engine thread has: that thread uses the blocks. */
static struct baton_kv_receive *find_receive(void *arg, const baton_envelope *envelope)
{
    struct dc_service *service = arg;
    struct dc_context *context = dc_contexts_find_request(&service->contexts, envelope);
    return context && !dc_context_is_in_engine(context) ? &context->receive : NULL;
}

static bool begin_receive(void *arg, struct baton_kv_receive *receive)
{
    struct dc_context *context = context_of(receive);
    (void)arg;
    if (context->state != DC_RESERVED || context->prompt.tokens)
        return false;
    dc_context_set_state(context, DC_RECEIVING);
    return true;
}

static void complete_receive(void *arg, struct baton_kv_receive *receive)
{
    struct dc_service *service = arg;
    if (receive->shared_bytes == receive->total_bytes)
        service->n_shared++;
    else
        service->n_wired++;
    dc_context_finish_receive(context_of(receive));
}

static void fail_receive(void *arg, struct baton_kv_receive *receive)
{
    (void)arg;
    atomic_store(&context_of(receive)->canceled, true);
}

static enum baton_err create_receiver(struct dc_service *service,
                                      const struct dc_service_options *options,
                                      struct baton_why *why)
{
    struct baton_host *host = service->host;
    enum baton_err err = baton_kv_receiver_create(
        &(struct baton_kv_receiver_options){.bulk_url = options->bulk_url,
                                            .epoch = host->epoch,
                                            .path = (enum baton_kv_path)options->kv.path,
                                            .kv = service->kv,
                                            .connect_ns = baton_host_silence_ns(host),
                                            .wake = baton_host_wake,
                                            .wake_arg = host,
                                            .arg = service,
                                            .find = find_receive,
                                            .begin = begin_receive,
                                            .complete = complete_receive,
                                            .failed = fail_receive},
        &service->receiver, why);
    service->reserve.receiver = service->receiver;
    return err;
}

/* ---- create, destroy ---- */

static enum baton_err create_parts(struct dc_service *service,
                                   const struct dc_service_options *options, struct baton_why *why)
{
    struct baton_host *host = options->host;
    enum baton_err err = create_pool(service, options, why);
    if (!err) /* every context holds a block, so there are at most as many contexts */
        err = dc_engine_start(
            &(struct dc_engine_options){.model = host->model,
                                        .draft = service->draft,
                                        .cores = &host->cores,
                                        .max_batch = (int)options->max_batch,
                                        .colocated_chunk = (int)options->colocated_chunk,
                                        .max_contexts = baton_kv_n_blocks(service->kv),
                                        .stall_s = host->options->stall_s,
                                        .kv_dtype = baton_kv_dtype(service->kv),
                                        .canary_s = host->options->canary_s,
                                        .wake = baton_host_wake,
                                        .wake_arg = host},
            &service->engine, why);
    if (!err)
        err = create_receiver(service, options, why);
    if (!err &&
        !(service->sender = baton_host_create_sender(host, BATON_OVERLAP_ON, BATON_KV_PATH_WIRE)))
        err = BATON_NO_MEMORY;
    return err;
}

enum baton_err dc_service_create(const struct dc_service_options *options, struct dc_service **out,
                                 struct baton_why *why)
{
    struct dc_service *service = calloc(1, sizeof *service);
    if (!service)
        return BATON_NO_MEMORY;
    service->host = options->host;
    service->draft = options->draft;
    dc_contexts_init(&service->contexts);
    enum baton_err err = create_parts(service, options, why);
    if (err)
        dc_service_destroy(service);
    else
        *out = service;
    return err;
}

static void free_context(struct dc_service *service, struct dc_context *context)
{
    dc_contexts_remove(&service->contexts, context);
    dc_context_destroy(context);
}

void dc_service_destroy(struct dc_service *service)
{
    if (!service)
        return;
    dc_engine_stop(service->engine); /* first: its thread uses the contexts and their blocks */
    for (struct dc_context *context; (context = dc_context_list_first(&service->contexts.list));)
        free_context(service, context);
    baton_kv_receiver_destroy(service->receiver);
    baton_kv_sender_destroy(service->sender);
    baton_kv_report_fini(&service->kv_report);
    baton_kv_destroy(service->kv);
    free(service);
}

const struct baton_kv *dc_service_kv(const struct dc_service *service)
{
    return service->kv;
}

const char *dc_service_bulk_url(const struct dc_service *service)
{
    return baton_kv_receiver_url(service->receiver);
}

/* ---- what the engine thread hands back ---- */

static void run(struct dc_service *service, struct dc_context *context)
{
    dc_context_set_state(context, DC_RUNNING);
    dc_context_publish(context);
    dc_engine_submit(service->engine, context);
}

static void refuse(struct dc_service *service, struct dc_context *context,
                   Baton__V1__Failed__Code code, const char *reason)
{
    baton_origin_fail(&context->origin, code, reason);
    atomic_store(&context->canceled, true);
    if (dc_context_is_in_engine(context))
        dc_engine_wake(service->engine);
}

/* Whether the grammar is made, if there is one. Refuses a request whose grammar cannot be made. */
static bool has_grammar(struct dc_service *service, struct dc_context *context,
                        const struct baton_sampling_state *sampling)
{
    enum baton_err err = baton_sampling_state_ready(sampling);
    if (err && err != BATON_AGAIN)
        refuse(service, context,
               err == BATON_NO_MEMORY ? BATON__V1__FAILED__CODE__NO_MEMORY
                                      : BATON__V1__FAILED__CODE__INVALID,
               "the request's grammar could not be made ready");
    return !err;
}

/* A context runs once its prompt is complete here and DecodeStart came, which may come in either
 * order since they travel over different links, and once its grammar is made. */
static void run_if_ready(struct dc_service *service, struct dc_context *context)
{
    if (context->state != DC_PREFILLED || !context->started ||
        !has_grammar(service, context, &context->sampling))
        return;
    context->ready_ns = baton_now_ns();
    run(service, context);
}

/* So does a prompt that runs here. */
static void prefill_if_ready(struct dc_service *service, struct dc_context *context)
{
    if (context->state != DC_RESERVED || !context->prompt.tokens ||
        !has_grammar(service, context, &context->prompt.sampling))
        return;
    dc_context_set_state(context, DC_PREFILLING);
    dc_engine_submit(service->engine, context);
}

static void log_sequence(const struct dc_context *context)
{
    baton_log(BATON_LOG_INFO, "sequence", BATON_ORIGIN(&context->origin),
              BATON_I("attempt", context->origin.attempt), BATON_I("tokens", context->n_steps),
              BATON_F("queue_s", context->queue_s), BATON_F("decode_s", context->decode_s),
              BATON_F("sample_s", context->sample_s));
}

/* A sequence that stopped to be handed over. If that was given up meanwhile, it goes on. */
static void stop(struct dc_service *service, struct dc_context *context)
{
    dc_context_set_state(context, DC_STOPPED);
    if (atomic_load(&context->hand_over.stops))
        dc_hand_over_stopped(context);
    else
        run(service, context);
}

/* A context that the engine thread is done with. */
static void take_back(struct dc_service *service, struct dc_context *context)
{
    bool canceled = atomic_load(&context->canceled);
    if (context->state == DC_PREFILLING && !canceled)
        baton_first_token_log(&context->prompt.first, &context->origin);
    if (context->n_steps && (context->over || canceled))
        log_sequence(context);
    if (context->over || canceled) {
        free_context(service, context); /* the main thread alone frees blocks: it owns the pool */
    } else if (context->state == DC_RUNNING) {
        stop(service, context);
    } else {
        dc_context_finish_prompt(context);
        run_if_ready(service, context);
    }
}

static void take_done(struct dc_service *service)
{
    for (struct dc_context *context; (context = dc_engine_take_done(service->engine));)
        take_back(service, context);
}

/* ---- the account of the pool ---- */

/* query is NULL for a check alone. */
static void account(struct dc_service *service, struct baton_link *gateway,
                    const Baton__V1__KvQuery *query)
{
    baton_kv_report_begin(&service->kv_report, query);
    for (struct dc_context *context = dc_context_list_first(&service->contexts.list); context;
         context = dc_context_list_next(&service->contexts.list, context))
        baton_kv_report_add(&service->kv_report,
                            &(struct baton_kv_owner){.origin = &context->origin,
                                                     .seq = &context->seq,
                                                     .reason = dc_context_kv_reason(context),
                                                     .since_ns = context->reserved_ns,
                                                     .reason_ns = context->state_ns,
                                                     .canceled = atomic_load(&context->canceled)});
    baton_kv_report_end(&service->kv_report, gateway);
}

/* ---- what gateways ask ---- */

static void take_reserve(struct dc_service *service, struct baton_link *gateway,
                         const baton_envelope *envelope)
{
    take_done(service); /* first, so that finished contexts no longer hold blocks and slots */
    dc_reserve_answer(&service->reserve, (int)dc_engine_stats(service->engine).n_paused, gateway,
                      envelope);
}

/* Blocks that this worker computes must not be found under the hashes of another class. */
static void drop_foreign_hashes(const struct dc_service *service, struct dc_context *context,
                                const Baton__V1__PrefillRequest *request)
{
    if (baton_prefix_cache_made(&service->prefix_cache, &context->prefix, request->tokens))
        return;
    baton_log(BATON_LOG_WARN, "foreign_block_hashes", BATON_ORIGIN(&context->origin));
    baton_prefix_fini(&context->prefix);
}

static void take_prompt(struct dc_service *service, struct dc_context *context,
                        const Baton__V1__PrefillRequest *request)
{
    enum baton_err err = dc_context_take_prompt(context, request, service->host->facts.n_vocab,
                                                &service->host->grammars);
    if (!err) {
        drop_foreign_hashes(service, context, request);
        prefill_if_ready(service, context);
    } else if (err == BATON_INVALID) {
        refuse(service, context, BATON__V1__FAILED__CODE__INVALID,
               "prefill_request contradicts what was reserved, or is more than is done here");
    } else {
        refuse(service, context, BATON__V1__FAILED__CODE__NO_MEMORY, "no memory for the prompt");
    }
}

static void take_start(struct dc_service *service, struct dc_context *context,
                       const Baton__V1__DecodeStart *start)
{
    enum baton_err err = dc_context_take_start(context, start, service->host->facts.n_vocab,
                                               &service->host->grammars, service->draft);
    if (!err)
        run_if_ready(service, context);
    else if (err == BATON_INVALID)
        refuse(service, context, BATON__V1__FAILED__CODE__INVALID,
               "decode_start contradicts what was reserved");
    else
        refuse(service, context, BATON__V1__FAILED__CODE__NO_MEMORY, "no memory for the sampling");
}

static void cancel(struct dc_service *service, struct dc_context *context, const char *reason)
{
    baton_log(BATON_LOG_INFO, "canceled", BATON_ORIGIN(&context->origin),
              BATON_I("attempt", context->origin.attempt), BATON_S("reason", reason));
    atomic_store(&context->canceled, true);
    if (dc_context_is_in_engine(context))
        dc_engine_wake(service->engine);
}

static void take_hand_over(struct dc_context *context, const baton_envelope *envelope)
{
    struct baton_origin receiver = context->origin; /* borrowed */
    receiver.attempt = envelope->hand_over->attempt;
    if (!dc_hand_over_take(context, envelope))
        baton_origin_fail(&receiver, BATON__V1__FAILED__CODE__INVALID,
                          "hand_over contradicts what runs here");
}

/* The hand-over is over without success: the sequence goes on here. */
static void give_up_hand_over(struct dc_service *service, struct dc_context *context)
{
    dc_hand_over_drop(&context->hand_over);
    if (context->state == DC_STOPPED)
        run(service, context);
}

/* A gateway also cancels what it has begun a second time, by the number of that attempt. */
static void cancel_hand_over(struct dc_service *service, const baton_envelope *envelope)
{
    struct dc_context *context = dc_contexts_find_hand_over(&service->contexts, envelope);
    if (!context || atomic_load(&context->canceled))
        return;
    baton_log(BATON_LOG_INFO, "hand_over_canceled", BATON_X("req", envelope->request_id),
              BATON_O("id", envelope->client_id), BATON_O("trace", envelope->trace_id),
              BATON_I("attempt", envelope->attempt), BATON_S("reason", envelope->cancel->reason));
    give_up_hand_over(service, context);
}

static void from_gateway(void *arg, struct baton_link *gateway, const struct baton_message *message)
{
    static struct baton_log_limit unexpected;
    struct dc_service *service = arg;
    const baton_envelope *envelope = message->envelope;
    struct dc_context *context = dc_contexts_find(&service->contexts, envelope);
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_QUERY) {
        account(service, gateway, envelope->kv_query);
        return;
    }
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_RESERVE && !context) {
        take_reserve(service, gateway, envelope);
        return;
    }
    if (!context && envelope->body_case == BATON__V1__ENVELOPE__BODY_CANCEL)
        cancel_hand_over(service, envelope);
    if (!context || atomic_load(&context->canceled))
        return; /* over meanwhile */
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST:
        take_prompt(service, context, envelope->prefill_request);
        break;
    case BATON__V1__ENVELOPE__BODY_DECODE_START:
        take_start(service, context, envelope->decode_start);
        break;
    case BATON__V1__ENVELOPE__BODY_TOKEN_ACK:
        atomic_store(&context->credit_end,
                     envelope->token_ack->next_index + envelope->token_ack->credit_tokens);
        dc_engine_wake(service->engine); /* it may be idle for want of credit */
        break;
    case BATON__V1__ENVELOPE__BODY_HAND_OVER:
        take_hand_over(context, envelope);
        break;
    case BATON__V1__ENVELOPE__BODY_CANCEL:
        cancel(service, context, envelope->cancel->reason);
        break;
    default:
        baton_log_limited(&unexpected, BATON_LOG_WARN, "unexpected_message",
                          BATON_S("message", baton_envelope_kind(envelope)));
        break;
    }
}

static void from_peer(void *arg, const struct baton_message *message)
{
    struct dc_service *service = arg;
    baton_host_take_ack(service->host, service->sender, message);
}

/* ---- sequences that are handed over ---- */

static void end_hand_over(struct dc_service *service, struct dc_context *context)
{
    if (context->hand_over.send.state != BATON_KV_SEND_ACKED) {
        give_up_hand_over(service, context);
    } else if (dc_hand_over_tell(context) != BATON_AGAIN) {
        log_sequence(context);
        free_context(service, context);
    }
    baton_host_wake(service->host); /* it is another one's turn */
}

/* The transfers under way, and what of them is on the way. */
struct moving {
    int n;
    uint64_t n_bytes;
};

static struct moving count_moving(const struct dc_service *service)
{
    struct moving moving = {0};
    for (struct dc_context *context = dc_context_list_first(&service->contexts.list); context;
         context = dc_context_list_next(&service->contexts.list, context)) {
        moving.n += context->hand_over.send.state != BATON_KV_SEND_IDLE;
        moving.n_bytes += dc_hand_over_bytes(&context->hand_over);
    }
    return moving;
}

static bool open_hand_over(struct dc_service *service, struct dc_context *context,
                           const struct moving *moving)
{
    if (context->state != DC_RUNNING || moving->n >= DC_MAX_HAND_OVERS ||
        moving->n_bytes > DC_HAND_OVER_BYTES)
        return false;
    if (!dc_hand_over_open(context, service->sender))
        return true;
    baton_origin_fail(&context->hand_over.origin, BATON__V1__FAILED__CODE__NO_MEMORY,
                      "no memory to send the context");
    give_up_hand_over(service, context);
    return false;
}

static void step_hand_over(struct dc_service *service, struct dc_context *context,
                           struct moving *moving)
{
    struct dc_hand_over *hand_over = &context->hand_over;
    bool opens = hand_over->send.state == BATON_KV_SEND_IDLE;
    if (opens && !open_hand_over(service, context, moving))
        return;
    bool is_over = dc_hand_over_pump(context, service->sender);
    if (opens) {
        moving->n++;
        moving->n_bytes += dc_hand_over_bytes(hand_over);
    }
    if (is_over)
        end_hand_over(service, context);
    else if (atomic_load(&hand_over->stops) && dc_context_is_in_engine(context))
        dc_engine_wake(service->engine);
}

/* Those that come first in the table have their turn first. */
static void step_hand_overs(struct dc_service *service)
{
    struct moving moving = count_moving(service);
    for (struct dc_context *context = dc_context_list_first(&service->contexts.list), *next;
         context; context = next) {
        next = dc_context_list_next(&service->contexts.list, context);
        if (context->hand_over.wanted && !atomic_load(&context->canceled))
            step_hand_over(service, context, &moving);
    }
    baton_kv_sender_tidy(service->sender);
}

static bool is_late(const struct dc_context *context, int64_t now_ns)
{
    return context->deadline_ns && now_ns >= context->deadline_ns &&
           !atomic_load(&context->canceled);
}

/* Fails, starts or frees the context. A context that the engine thread has is freed only once the
 * thread hands it back: until then the thread uses its blocks. */
static void look_after(struct dc_service *service, struct dc_context *context, int64_t now_ns)
{
    if (is_late(context, now_ns))
        refuse(service, context, BATON__V1__FAILED__CODE__DEADLINE,
               "the request's deadline passed");
    if (dc_context_is_in_engine(context))
        return;
    if (!atomic_load(&context->canceled)) {
        prefill_if_ready(service, context);
        run_if_ready(service, context);
    }
    if (atomic_load(&context->canceled) && !dc_context_is_in_engine(context))
        free_context(service, context);
}

static int64_t work(void *arg, int64_t now_ns)
{
    struct dc_service *service = arg;
    int64_t next_ns = now_ns + BATON_SECOND;
    dc_engine_look(service->engine, now_ns);
    take_done(service);
    baton_kv_receiver_work(service->receiver, now_ns);
    baton_kv_sender_look(service->sender, now_ns);
    step_hand_overs(service);
    for (struct dc_context *context = dc_context_list_first(&service->contexts.list), *next;
         context; context = next) {
        next = dc_context_list_next(&service->contexts.list, context);
        if (context->deadline_ns > now_ns && context->deadline_ns < next_ns)
            next_ns = context->deadline_ns;
        look_after(service, context, now_ns);
    }
    if (baton_kv_report_is_due(&service->kv_report, service->contexts.list.n, now_ns))
        account(service, NULL, NULL);
    return next_ns;
}

static void status(void *arg, Baton__V1__Status *out)
{
    struct dc_service *service = arg;
    struct dc_engine_stats stats = dc_engine_stats(service->engine);
    struct baton_inbox_stats bulk;
    out->n_running = stats.n_running;
    out->n_queued = (uint32_t)service->contexts.list.n > stats.n_running
                        ? (uint32_t)service->contexts.list.n - stats.n_running
                        : 0;
    out->n_requests_max = (uint32_t)service->contexts.n_most;
    for (struct dc_context *context = dc_context_list_first(&service->contexts.list); context;
         context = dc_context_list_next(&service->contexts.list, context))
        if (context->state == DC_PREFILLING)
            out->n_queued_tokens +=
                (uint32_t)(context->n_prompt - context->seq.n_shared * BATON_KV_BLOCK_TOKENS);
    out->kv_blocks_total = (uint32_t)baton_kv_n_blocks(service->kv);
    out->kv_blocks_free = (uint32_t)baton_kv_n_reservable(service->kv);
    out->kv_blocks_reserved = out->kv_blocks_total - out->kv_blocks_free;
    out->kv_blocks_cached = (uint32_t)baton_kv_n_cached(service->kv);
    if (out->kv_blocks_cached > out->kv_blocks_free) /* windows may be what bounds those free */
        out->kv_blocks_cached = out->kv_blocks_free;
    out->last_step_s = stats.steps.last_step_s;
    out->busy_s = stats.steps.busy_s;
    out->tokens_per_s = stats.steps.tokens_per_s;
    out->step_base_s = stats.steps.step_base_s;
    out->step_row_s = stats.steps.step_row_s;
    out->step_max_rows = stats.step_max_rows;
    out->stalled_s = stats.steps.stalled_s;
    out->n_canaries = stats.steps.n_canaries;
    out->n_canary_failures = stats.steps.n_canary_failures;
    out->prefix_tokens = service->prefix_cache.n_looked_up_tokens;
    out->prefix_hit_tokens = service->prefix_cache.n_hit_tokens;
    out->n_contexts_shared = service->n_shared;
    out->n_contexts_wired = service->n_wired;
    out->kv_account_faults = service->kv_report.n_faults;
    baton_kv_receiver_get_stats(service->receiver, &bulk);
    baton_host_count_inbox(out, &bulk);
}

static void lost(void *arg, uint64_t gateway_epoch)
{
    struct dc_service *service = arg;
    for (struct dc_context *context = dc_context_list_first(&service->contexts.list); context;
         context = dc_context_list_next(&service->contexts.list, context))
        if (context->origin.gateway_epoch == gateway_epoch && !atomic_load(&context->canceled))
            cancel(service, context, "the gateway is gone");
    baton_host_wake(service->host);
}

static bool is_idle(void *arg)
{
    const struct dc_service *service = arg;
    return !service->contexts.list.n;
}

struct baton_host_hooks dc_service_hooks(struct dc_service *service)
{
    return (struct baton_host_hooks){.arg = service,
                                     .from_gateway = from_gateway,
                                     .from_peer = from_peer,
                                     .work = work,
                                     .status = status,
                                     .lost = lost,
                                     .is_idle = is_idle};
}
