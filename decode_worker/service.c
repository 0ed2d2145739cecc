#include "decode_worker/service.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/policy/reservations.h"
#include "decode_worker/context_steps.h"
#include "decode_worker/scheduler.h"

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
                                      baton_model_info(host->model)->dtype, &host->fingerprint,
                                      &host->numeric_class, is_on, why);
    baton_kv_report_init(&service->kv_report, service->kv);
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

void dc_service_destroy(struct dc_service *service)
{
    if (!service)
        return;
    dc_engine_stop(service->engine); /* first: its thread uses the contexts and their blocks */
    for (struct dc_context *context; (context = dc_context_list_first(&service->contexts.list));)
        dc_service_free_context(service, context);
    baton_kv_receiver_destroy(service->receiver);
    baton_kv_sender_destroy(service->sender);
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
    /* First, so that finished contexts no longer hold blocks and slots. */
    dc_service_take_done(service);
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
        dc_service_prefill_if_ready(service, context);
    } else if (err == BATON_INVALID) {
        dc_service_refuse(
            service, context, BATON__V1__FAILED__CODE__INVALID,
            "prefill_request contradicts what was reserved, or is more than is done here");
    } else {
        dc_service_refuse(service, context, BATON__V1__FAILED__CODE__NO_MEMORY,
                          "no memory for the prompt");
    }
}

static void take_start(struct dc_service *service, struct dc_context *context,
                       const Baton__V1__DecodeStart *start)
{
    enum baton_err err = dc_context_take_start(context, start, service->host->facts.n_vocab,
                                               &service->host->grammars, service->draft);
    if (!err)
        dc_service_run_if_ready(service, context);
    else if (err == BATON_INVALID)
        dc_service_refuse(service, context, BATON__V1__FAILED__CODE__INVALID,
                          "decode_start contradicts what was reserved");
    else
        dc_service_refuse(service, context, BATON__V1__FAILED__CODE__NO_MEMORY,
                          "no memory for the sampling");
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

/* A gateway also cancels what it has begun a second time, by the number of that attempt. */
static void cancel_hand_over(struct dc_service *service, const baton_envelope *envelope)
{
    struct dc_context *context = dc_contexts_find_hand_over(&service->contexts, envelope);
    if (!context || atomic_load(&context->canceled))
        return;
    baton_log(BATON_LOG_INFO, "hand_over_canceled", BATON_X("req", envelope->request_id),
              BATON_O("id", envelope->client_id), BATON_O("trace", envelope->trace_id),
              BATON_I("attempt", envelope->attempt), BATON_S("reason", envelope->cancel->reason));
    dc_service_give_up_hand_over(service, context);
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

static int64_t work(void *arg, int64_t now_ns)
{
    struct dc_service *service = arg;
    int64_t next_ns = now_ns + BATON_SECOND;
    dc_engine_look(service->engine, now_ns);
    dc_service_take_done(service);
    baton_kv_receiver_work(service->receiver, now_ns);
    baton_kv_sender_look(service->sender, now_ns);
    dc_service_step_hand_overs(service);
    for (struct dc_context *context = dc_context_list_first(&service->contexts.list), *next;
         context; context = next) {
        next = dc_context_list_next(&service->contexts.list, context);
        if (context->deadline_ns > now_ns && context->deadline_ns < next_ns)
            next_ns = context->deadline_ns;
        dc_service_look_after(service, context, now_ns);
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
