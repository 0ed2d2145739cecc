#include "decode_worker/service.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/policy/reservations.h"
#include "decode_worker/context_steps.h"
#include "decode_worker/reserve.h"
#include "decode_worker/scheduler.h"

void dc_service_size(struct baton_kv_options *kv, int64_t max_batch, int64_t colocated_chunk)
{
    kv->n_sequences = baton_reservations_max((int)max_batch);
    kv->n_step_rows = dc_scheduler_max_sequence_rows((int)colocated_chunk);
}

static struct dc_service *of(struct baton_service *base)
{
    return (struct dc_service *)base;
}

_Static_assert(offsetof(struct dc_service, base) == 0, "a service begins with its base");

/* ---- contexts that arrive ---- */

static struct dc_context *context_of(struct baton_kv_receive *receive)
{
    return (struct dc_context *)((char *)receive - offsetof(struct dc_context, receive));
}

/* Ignores blocks for a context that the engine thread has, because that thread uses its blocks. */
static struct baton_kv_receive *find_receive(void *arg, const baton_envelope *envelope)
{
    struct dc_service *service = arg;
    struct dc_context *context = dc_context_find_request(&service->base.requests, envelope);
    bool is_ready = context && !context->waiting && !dc_context_is_in_engine(context);
    return is_ready ? &context->receive : NULL;
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

/* ---- gateways' messages ---- */

static void handle_reserve(struct dc_service *service, struct baton_link *gateway,
                           const baton_envelope *envelope)
{
    /* First, so that finished contexts no longer hold blocks and slots. */
    dc_service_take_done(service);
    dc_reserve_answer(service, (int)dc_engine_stats(service->engine).n_paused, gateway, envelope);
}

/* Drops hashes that do not match the prompt, such as those of another class: this worker's blocks
 * must not be found under them. */
static void drop_foreign_hashes(const struct dc_service *service, struct dc_context *context,
                                const Baton__V1__PrefillRequest *request)
{
    if (baton_prefix_cache_made(&service->base.prefix_cache, &context->prefix, request))
        return;
    baton_log(BATON_LOG_WARN, "foreign_block_hashes", BATON_ORIGIN(&context->origin));
    dc_context_drop_prefix(context);
}

static void handle_prompt(struct dc_service *service, struct dc_context *context,
                          const Baton__V1__PrefillRequest *request)
{
    enum baton_err err = dc_context_take_prompt(context, request, service->base.host->facts.n_vocab,
                                                &service->base.host->grammars);
    if (!err) {
        drop_foreign_hashes(service, context, request);
        dc_service_prefill_if_ready(service, context);
    } else if (err == BATON_INVALID) {
        dc_service_refuse(
            service, context, BATON__V1__FAILED__CODE__INVALID,
            "prefill_request contradicts the reservation, or wants what decode workers cannot do");
    } else {
        dc_service_refuse(service, context, BATON__V1__FAILED__CODE__NO_MEMORY,
                          "no memory for the prompt");
    }
}

static void handle_start(struct dc_service *service, struct dc_context *context,
                         const Baton__V1__DecodeStart *start)
{
    enum baton_err err = dc_context_take_start(context, start, service->base.host->facts.n_vocab,
                                               &service->base.host->grammars, service->draft);
    if (!err)
        dc_service_run_if_ready(service, context);
    else if (err == BATON_INVALID)
        dc_service_refuse(service, context, BATON__V1__FAILED__CODE__INVALID,
                          "decode_start contradicts the reservation");
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
        baton_engine_thread_wake(service->base.thread);
}

static void handle_hand_over(struct dc_context *context, const baton_envelope *envelope)
{
    struct baton_origin receiver = context->origin; /* borrowed */
    receiver.attempt = envelope->hand_over->attempt;
    if (!dc_hand_over_accept(context, envelope))
        baton_origin_fail(&receiver, BATON__V1__FAILED__CODE__INVALID,
                          "hand_over contradicts the state of the sequence");
}

/* Handles a Cancel by the attempt number of the receiver: it cancels the hand-over, and not the
 * sequence. */
static void cancel_hand_over(struct dc_service *service, const baton_envelope *envelope)
{
    struct dc_context *context = dc_context_find_hand_over(&service->base.requests, envelope);
    if (!context || atomic_load(&context->canceled))
        return;
    baton_log(BATON_LOG_INFO, "hand_over_canceled", BATON_X("req", envelope->request_id),
              BATON_O("id", envelope->client_id), BATON_O("trace", envelope->trace_id),
              BATON_I("attempt", envelope->attempt), BATON_S("reason", envelope->cancel->reason));
    dc_service_give_up_hand_over(service, context);
}

static void from_gateway(struct baton_service *base, struct baton_link *gateway,
                         const struct baton_message *message)
{
    static struct baton_log_limit unexpected;
    struct dc_service *service = of(base);
    const baton_envelope *envelope = message->envelope;
    struct dc_context *context = dc_context_find(&base->requests, envelope);
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_RESERVE && !context) {
        handle_reserve(service, gateway, envelope);
        return;
    }
    if (!context && envelope->body_case == BATON__V1__ENVELOPE__BODY_CANCEL)
        cancel_hand_over(service, envelope);
    if (!context || atomic_load(&context->canceled))
        return; /* the context is over, but the gateway did not know yet */
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST:
        handle_prompt(service, context, envelope->prefill_request);
        break;
    case BATON__V1__ENVELOPE__BODY_DECODE_START:
        handle_start(service, context, envelope->decode_start);
        break;
    case BATON__V1__ENVELOPE__BODY_TOKEN_ACK:
        atomic_store(&context->credit_end,
                     envelope->token_ack->next_index + envelope->token_ack->credit_tokens);
        baton_engine_thread_wake(service->base.thread); /* it may be idle without credit */
        break;
    case BATON__V1__ENVELOPE__BODY_HAND_OVER:
        handle_hand_over(context, envelope);
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

/* ---- work ---- */

static int64_t work(struct baton_service *base, int64_t now_ns)
{
    struct dc_service *service = of(base);
    int64_t next_ns = now_ns + BATON_SECOND;
    if (service->draft)
        baton_kv_tick(service->draft->kv, now_ns);
    dc_service_take_done(service);
    dc_service_step_hand_overs(service);
    for (struct dc_context *context = dc_context_first(&base->requests), *next; context;
         context = next) {
        next = dc_context_next(&base->requests, context);
        if (context->deadline_ns > now_ns && context->deadline_ns < next_ns)
            next_ns = context->deadline_ns;
        if (context->waiting && !atomic_load(&context->canceled))
            dc_reserve_again(service, context);
        dc_service_step_context(service, context, now_ns);
    }
    return next_ns;
}

static struct baton_kv_owner owner(struct baton_request_node *request)
{
    struct dc_context *context = dc_context_of_node(request);
    return (struct baton_kv_owner){.origin = &context->origin,
                                   .seq = &context->seq,
                                   .reason = dc_context_kv_reason(context),
                                   .since_ns = context->reserved_ns,
                                   .reason_ns = context->state_ns,
                                   .canceled = atomic_load(&context->canceled)};
}

static void status(struct baton_service *base, Baton__V1__Status *out)
{
    const struct dc_service *service = of(base);
    uint32_t n_contexts = (uint32_t)base->requests.list.n;
    out->n_running = dc_engine_stats(service->engine).n_running;
    out->n_queued = n_contexts > out->n_running ? n_contexts - out->n_running : 0;
    for (struct dc_context *context = dc_context_first(&base->requests); context;
         context = dc_context_next(&base->requests, context))
        if (context->state == DC_PREFILLING)
            out->n_queued_tokens +=
                (uint32_t)(context->n_prompt - context->seq.n_shared * BATON_KV_BLOCK_TOKENS);
    out->n_contexts_shared = service->n_shared;
    out->n_contexts_wired = service->n_wired;
}

static void cancel_lost(struct baton_service *base, struct baton_request_node *request)
{
    struct dc_context *context = dc_context_of_node(request);
    if (!atomic_load(&context->canceled))
        cancel(of(base), context, "the gateway is gone");
}

/* ---- create ---- */

static void stop(struct baton_service *base)
{
    dc_engine_stop(of(base)->engine); /* first: its thread uses the contexts and their blocks */
    for (struct dc_context *context; (context = dc_context_first(&base->requests));)
        dc_service_free_context(of(base), context);
}

static const struct baton_service_ops ops = {.from_gateway = from_gateway,
                                             .work = work,
                                             .owner = owner,
                                             .status = status,
                                             .cancel = cancel_lost,
                                             .stop = stop};

static enum baton_err open_pool(struct dc_service *service,
                                const struct dc_service_options *options, struct baton_why *why)
{
    struct baton_service *base = &service->base;
    struct baton_kv_options kv = options->kv;
    kv.draft = service->draft ? service->draft->model : NULL;
    dc_service_size(&kv, options->max_batch, options->colocated_chunk);
    enum baton_err err = baton_service_open_pool(base, &kv, options->prefix_cache, why);
    if (err || !service->draft)
        return err;
    err = dc_draft_model_reserve(service->draft, base->host->options->kv_dtype,
                                 baton_kv_n_blocks(base->kv), &kv, why);
    base->host->draft_kv = &service->draft->kv;
    return err;
}

static enum baton_err open_receiver(struct dc_service *service,
                                    const struct dc_service_options *options, struct baton_why *why)
{
    return baton_service_open_receiver(
        &service->base,
        (struct baton_kv_receiver_options){.bulk_url = options->bulk_url,
                                           .path = (enum baton_kv_path)options->kv.path,
                                           .arg = service,
                                           .find = find_receive,
                                           .begin = begin_receive,
                                           .complete = complete_receive,
                                           .failed = fail_receive},
        why);
}

enum baton_err dc_service_create(const struct dc_service_options *options,
                                 struct baton_service **out, struct baton_why *why)
{
    const struct dc_engine_options engine = {.draft = options->draft,
                                             .max_batch = (int)options->max_batch,
                                             .colocated_chunk = (int)options->colocated_chunk};
    struct dc_service *service = calloc(1, sizeof *service);
    if (!service)
        return BATON_NO_MEMORY;
    struct baton_service *base = &service->base;
    baton_service_init(base, &ops, options->host);
    service->draft = options->draft;
    service->max_batch = (int)options->max_batch;
    enum baton_err err = open_pool(service, options, why);
    if (!err)
        err = dc_engine_start(base, &engine, &service->engine, why);
    if (!err)
        err = open_receiver(service, options, why);
    if (!err)
        err = baton_service_open_sender(base, BATON_OVERLAP_ON, BATON_KV_PATH_WIRE);
    if (err)
        baton_service_destroy(base);
    else
        *out = base;
    return err;
}
