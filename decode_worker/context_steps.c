#include "decode_worker/context_steps.h"

#include "common/base/clock.h"
#include "common/base/log.h"

void dc_service_free_context(struct dc_service *service, struct dc_context *context)
{
    baton_request_table_remove(&service->base.requests, &context->in_requests);
    dc_context_destroy(context);
}

/* ---- contexts that the engine thread hands back ---- */

static void run(struct dc_service *service, struct dc_context *context)
{
    dc_context_set_state(context, DC_RUNNING);
    dc_context_publish(context);
    dc_engine_submit(service->engine, context);
}

void dc_service_refuse(struct dc_service *service, struct dc_context *context,
                       Baton__V1__Failed__Code code, const char *reason)
{
    baton_origin_fail(&context->origin, code, reason);
    atomic_store(&context->canceled, true);
    if (dc_context_is_in_engine(context))
        baton_engine_thread_wake(service->base.thread);
}

/* Whether the request's grammar, if any, is compiled. Fails a request whose grammar cannot be. */
static bool has_grammar(struct dc_service *service, struct dc_context *context,
                        const struct baton_sampling_state *sampling)
{
    enum baton_err err = baton_sampling_state_ready(sampling);
    if (err && err != BATON_AGAIN)
        dc_service_refuse(service, context,
                          err == BATON_NO_MEMORY ? BATON__V1__FAILED__CODE__NO_MEMORY
                                                 : BATON__V1__FAILED__CODE__INVALID,
                          "the request's grammar could not be compiled");
    return !err;
}

void dc_service_run_if_ready(struct dc_service *service, struct dc_context *context)
{
    if (context->state != DC_PREFILLED || !context->started ||
        !has_grammar(service, context, &context->sampling))
        return;
    context->ready_ns = baton_now_ns();
    if (context->output_blocks.tokens)
        baton_seq_save_output(&context->seq, DC_STATE_EVERY);
    run(service, context);
}

void dc_service_prefill_if_ready(struct dc_service *service, struct dc_context *context)
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

/* Handles a sequence that stopped to be handed over. It continues if the hand-over was given up
 * meanwhile. */
static void stop(struct dc_service *service, struct dc_context *context)
{
    dc_context_set_state(context, DC_STOPPED);
    if (atomic_load(&context->hand_over.stops))
        dc_hand_over_stopped(context);
    else
        run(service, context);
}

/* Handles a context that the engine thread handed back. */
static void take_back(struct dc_service *service, struct dc_context *context)
{
    bool canceled = atomic_load(&context->canceled);
    if (context->state == DC_PREFILLING && !canceled)
        baton_first_token_log(&context->prompt.first, &context->origin);
    if (context->n_steps && (context->over || canceled))
        log_sequence(context);
    if (context->over || canceled) { /* here, as the main thread owns the pool */
        dc_output_blocks_register(&context->output_blocks, &context->seq);
        dc_service_free_context(service, context);
    } else if (context->state == DC_RUNNING) {
        stop(service, context);
    } else {
        dc_context_finish_prompt(context);
        dc_service_run_if_ready(service, context);
    }
}

void dc_service_take_done(struct dc_service *service)
{
    struct dc_context *context;
    while ((context = baton_engine_thread_take_done(service->base.thread)))
        take_back(service, context);
}

/* ---- sequences that are handed over ---- */

void dc_service_give_up_hand_over(struct dc_service *service, struct dc_context *context)
{
    dc_hand_over_drop(&context->hand_over);
    if (context->state == DC_STOPPED)
        run(service, context);
}

static void end_hand_over(struct dc_service *service, struct dc_context *context)
{
    if (context->hand_over.send.state != BATON_KV_SEND_ACKED) {
        dc_service_give_up_hand_over(service, context);
    } else if (dc_hand_over_report(context) != BATON_AGAIN) {
        log_sequence(context);
        dc_service_free_context(service, context);
    }
    baton_host_wake(service->base.host); /* the next hand-over may begin */
}

/* The number of open transfers, and their bytes without an acknowledgement. */
struct moving {
    int n;
    uint64_t n_bytes;
};

static struct moving count_moving(const struct dc_service *service)
{
    const struct baton_request_table *requests = &service->base.requests;
    struct moving moving = {0};
    for (struct dc_context *context = dc_context_first(requests); context;
         context = dc_context_next(requests, context)) {
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
    if (!dc_hand_over_open(context, service->base.sender))
        return true;
    baton_origin_fail(&context->hand_over.origin, BATON__V1__FAILED__CODE__NO_MEMORY,
                      "no memory to send the context");
    dc_service_give_up_hand_over(service, context);
    return false;
}

static void step_hand_over(struct dc_service *service, struct dc_context *context,
                           struct moving *moving)
{
    struct dc_hand_over *hand_over = &context->hand_over;
    bool opens = hand_over->send.state == BATON_KV_SEND_IDLE;
    if (opens && !open_hand_over(service, context, moving))
        return;
    bool is_over = dc_hand_over_pump(context, service->base.sender);
    if (opens) {
        moving->n++;
        moving->n_bytes += dc_hand_over_bytes(hand_over);
    }
    if (is_over)
        end_hand_over(service, context);
    else if (atomic_load(&hand_over->stops) && dc_context_is_in_engine(context))
        baton_engine_thread_wake(service->base.thread);
}

void dc_service_step_hand_overs(struct dc_service *service)
{
    struct moving moving = count_moving(service);
    const struct baton_request_table *requests = &service->base.requests;
    for (struct dc_context *context = dc_context_first(requests), *next; context; context = next) {
        next = dc_context_next(requests, context);
        if (context->hand_over.wanted && !atomic_load(&context->canceled))
            step_hand_over(service, context, &moving);
    }
}

/* ---- one context's next step ---- */

static bool is_late(const struct dc_context *context, int64_t now_ns)
{
    return context->deadline_ns && now_ns >= context->deadline_ns &&
           !atomic_load(&context->canceled);
}

void dc_service_step_context(struct dc_service *service, struct dc_context *context, int64_t now_ns)
{
    if (is_late(context, now_ns))
        dc_service_refuse(service, context, BATON__V1__FAILED__CODE__DEADLINE,
                          "the request's deadline passed");
    if (dc_context_is_in_engine(context))
        return;
    if (!atomic_load(&context->canceled)) {
        dc_service_prefill_if_ready(service, context);
        dc_service_run_if_ready(service, context);
    }
    if (atomic_load(&context->canceled) && !dc_context_is_in_engine(context))
        dc_service_free_context(service, context);
}
