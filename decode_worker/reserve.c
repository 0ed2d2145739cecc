#include "decode_worker/reserve.h"

#include <stdlib.h>

#include "common/policy/reservations.h"

/* Whether the batch has no slot for the class. A canceled context does not count, even while the
 * engine thread still has it. */
static bool is_batch_full(const struct dc_service *service, int n_paused,
                          enum baton_priority priority)
{
    int n_active[BATON_N_PRIORITIES] = {0};
    const struct baton_request_table *requests = &service->base.requests;
    for (struct dc_context *context = dc_context_first(requests); context;
         context = dc_context_next(requests, context))
        n_active[context->priority] += !atomic_load(&context->canceled);
    return !baton_reservations_may(service->max_batch, priority, n_active, n_paused);
}

static void answer_rejected(const struct dc_service *service, const struct baton_origin *origin,
                            int n_blocks, bool batch_full)
{
    Baton__V1__Rejected rejected = BATON__V1__REJECTED__INIT;
    baton_envelope answer = BATON__V1__ENVELOPE__INIT;
    rejected.blocks_needed = (uint32_t)n_blocks;
    rejected.blocks_free = (uint32_t)baton_kv_n_reservable(service->base.kv);
    rejected.draining = service->base.host->draining;
    rejected.batch_full = batch_full;
    answer.body_case = BATON__V1__ENVELOPE__BODY_REJECTED;
    answer.rejected = &rejected;
    baton_origin_send_or_log(origin, &answer);
}

static void answer_reserved(const struct dc_service *service, const struct dc_context *context)
{
    struct baton_ticket ticket = baton_kv_receiver_ticket(service->base.receiver, &context->origin);
    Baton__V1__Reserved reserved = BATON__V1__RESERVED__INIT;
    baton_envelope answer = BATON__V1__ENVELOPE__INIT;
    reserved.n_blocks = (uint32_t)context->seq.n_blocks;
    reserved.n_cached_blocks = (uint32_t)context->seq.n_shared;
    reserved.ticket = (ProtobufCBinaryData){sizeof ticket.bytes, ticket.bytes};
    answer.body_case = BATON__V1__ENVELOPE__BODY_RESERVED;
    answer.reserved = &reserved;
    baton_origin_send_or_log(&context->origin, &answer);
}

static enum baton_err take_blocks(struct dc_service *service, struct dc_context *context,
                                  const Baton__V1__Reserve *wanted)
{
    if (!context || service->base.host->draining ||
        dc_positions_for(wanted) > service->base.host->facts.n_context_tokens)
        return BATON_LIMIT;
    return dc_context_reserve(context, &service->base.prefix_cache, wanted);
}

static enum baton_err hold_adapters(const struct dc_service *service, struct dc_context *context,
                                    const Baton__V1__Reserve *wanted)
{
    if (!context)
        return BATON_LIMIT;
    return baton_adapters_hold(service->base.host->adapters, wanted->adapters, wanted->n_adapters,
                               &context->adapters)
               ? BATON_OK
               : BATON_NOT_FOUND;
}

/* Keeps the Reserve with its context, whose blocks are not backed yet. */
static enum baton_err keep_waiting(struct dc_context *context, const Baton__V1__Reserve *wanted)
{
    size_t n = baton__v1__reserve__get_packed_size(wanted);
    uint8_t *bytes = malloc(n + 1);
    if (!bytes)
        return BATON_NO_MEMORY;
    (void)baton__v1__reserve__pack(wanted, bytes);
    context->waiting = baton__v1__reserve__unpack(NULL, n, bytes);
    free(bytes);
    context->priority = baton_prompt_priority(wanted->priority);
    return context->waiting ? BATON_OK : BATON_NO_MEMORY;
}

static int blocks_for(const Baton__V1__Reserve *wanted)
{
    return baton_kv_blocks_for(dc_positions_for(wanted));
}

void dc_reserve_again(struct dc_service *service, struct dc_context *context)
{
    baton_prefix_fini(&context->prefix); /* of the attempt before */
    enum baton_err err = take_blocks(service, context, context->waiting);
    if (err == BATON_AGAIN)
        return;
    if (err) {
        answer_rejected(service, &context->origin, blocks_for(context->waiting), false);
        atomic_store(&context->canceled, true);
    } else {
        answer_reserved(service, context);
    }
    dc_context_end_wait(context);
}

void dc_reserve_answer(struct dc_service *service, int n_paused, struct baton_link *gateway,
                       const baton_envelope *envelope)
{
    const Baton__V1__Reserve *wanted = envelope->reserve;
    struct baton_origin origin;
    struct dc_context *context = dc_context_create();
    baton_origin_init(&origin, gateway, envelope);
    /* The batch is checked first, because a lookup in the prefix cache makes its blocks recently
     * used, which a rejected request must not. */
    bool batch_full = is_batch_full(service, n_paused, baton_prompt_priority(wanted->priority));
    enum baton_err err = batch_full ? BATON_LIMIT : hold_adapters(service, context, wanted);
    if (!err)
        err = take_blocks(service, context, wanted);
    if (err == BATON_AGAIN)
        err = keep_waiting(context, wanted);
    if (!err) {
        context->origin = origin; /* moved */
        baton_request_table_add(&service->base.requests, &context->in_requests, &context->origin);
        if (!context->waiting)
            answer_reserved(service, context);
        return;
    }
    if (err == BATON_NOT_FOUND)
        baton_origin_fail(&origin, BATON__V1__FAILED__CODE__NO_ADAPTER, BATON_NO_ADAPTER);
    else if (err == BATON_INVALID)
        baton_origin_fail(&origin, BATON__V1__FAILED__CODE__INVALID,
                          "reserve: more block hashes than the prompt has whole blocks");
    else
        answer_rejected(service, &origin, blocks_for(wanted), batch_full);
    baton_origin_fini(&origin);
    dc_context_destroy(context);
}
