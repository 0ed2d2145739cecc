#include "decode_worker/admit.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "decode_worker/batch.h"
#include "decode_worker/contexts.h"
#include "decode_worker/place.h"
#include "decode_worker/room.h"

struct dc_admit {
    struct baton_host *host;
    struct baton_kv *kv;
    struct dc_batch *batch;
    struct dc_place *place;
    struct dc_contexts contexts;
    struct dc_room room;
};

static enum baton_err create_room(struct dc_admit *admit, const struct dc_admit_options *options,
                                  struct baton_why *why)
{
    const struct baton_host *host = options->host;
    bool is_on = !strcmp(options->prefix_cache, "on");
    if (!is_on && strcmp(options->prefix_cache, "off") != 0)
        return baton_fail(why, BATON_INVALID, "prefix-cache: \"%s\" is none of on, off",
                          options->prefix_cache);
    enum baton_err err = baton_kv_budget_create(&options->kv, host->model, host->options->kv_dtype,
                                                DC_KV_CONTEXTS, &admit->kv, why);
    admit->room = (struct dc_room){.host = options->host,
                                   .contexts = &admit->contexts,
                                   .kv = admit->kv,
                                   .max_batch = (int)options->max_batch,
                                   .shares_prefixes = is_on && options->kv.prefix_cache_tokens};
    return err;
}

static enum baton_err create_parts(struct dc_admit *admit, const struct dc_admit_options *options,
                                   struct baton_why *why)
{
    struct baton_host *host = options->host;
    enum baton_err err = create_room(admit, options, why);
    if (!err) /* every context holds a block, so there are no more of them */
        err =
            dc_batch_start(&(struct dc_batch_options){.model = host->model,
                                                      .cores = &host->cores,
                                                      .max_batch = (int)options->max_batch,
                                                      .local_chunk = (int)options->local_chunk,
                                                      .max_contexts = baton_kv_n_blocks(admit->kv),
                                                      .wake = baton_host_wake,
                                                      .wake_arg = host},
                           &admit->batch, why);
    if (!err)
        err = dc_place_create(
            &(struct dc_place_options){.bulk_url = options->bulk_url,
                                       .contexts = &admit->contexts,
                                       .epoch = host->epoch,
                                       .n_layers = baton_model_shape(host->model)->n_layers,
                                       .wake = baton_host_wake,
                                       .wake_arg = host},
            &admit->place, why);
    return err;
}

enum baton_err dc_admit_create(const struct dc_admit_options *options, struct dc_admit **out,
                               struct baton_why *why)
{
    struct dc_admit *admit = calloc(1, sizeof *admit);
    if (!admit)
        return BATON_NO_MEMORY;
    admit->host = options->host;
    dc_contexts_init(&admit->contexts);
    enum baton_err err = create_parts(admit, options, why);
    if (err)
        dc_admit_destroy(admit);
    else
        *out = admit;
    return err;
}

static void free_context(struct dc_admit *admit, struct dc_context *context)
{
    dc_contexts_remove(&admit->contexts, context);
    dc_context_destroy(context);
}

void dc_admit_destroy(struct dc_admit *admit)
{
    if (!admit)
        return;
    dc_batch_stop(admit->batch);
    for (struct dc_context *context; (context = dc_context_list_first(&admit->contexts.list));)
        free_context(admit, context);
    dc_place_destroy(admit->place);
    baton_kv_destroy(admit->kv);
    free(admit);
}

const char *dc_admit_kv_dtype(const struct dc_admit *admit)
{
    return baton_kv_dtype(admit->kv);
}

const char *dc_admit_bulk_url(const struct dc_admit *admit)
{
    return dc_place_url(admit->place);
}

/* ---- what the engine thread hands back ---- */

/* A context runs once its blocks are placed and its gateway said start, in whichever order. */
static void run_if_ready(struct dc_admit *admit, struct dc_context *context)
{
    if (context->state != DC_PLACED || !context->started)
        return;
    context->ready_ns = baton_now_ns();
    context->state = DC_RUNNING;
    dc_batch_submit(admit->batch, context);
}

static void log_prompt(const struct dc_context *context)
{
    const struct dc_prompt *prompt = &context->prompt;
    baton_origin_log_stage(&context->origin, BATON_STAGE_prefill_queue, prompt->queue_s);
    baton_origin_log_stage(&context->origin, BATON_STAGE_prefill_compute, prompt->compute_s);
    baton_origin_log_stage(&context->origin, BATON_STAGE_first_token, prompt->sample_s);
}

static void log_sequence(const struct dc_context *context)
{
    baton_origin_log_stage(&context->origin, BATON_STAGE_decode_queue, context->queue_s);
    baton_origin_log_stage(&context->origin, BATON_STAGE_decode, context->decode_s);
}

/* A context that the engine thread is through with. */
static void take_back(struct dc_admit *admit, struct dc_context *context)
{
    bool canceled = atomic_load(&context->canceled);
    if (context->state == DC_PROMPTING && !canceled)
        log_prompt(context);
    if (context->n_steps)
        log_sequence(context);
    if (context->over || canceled) {
        free_context(admit, context); /* blocks come back here, in the one place that owns them */
    } else {
        dc_context_place(context);
        run_if_ready(admit, context);
    }
}

static void take_done(struct dc_admit *admit)
{
    for (struct dc_context *context; (context = dc_batch_take_done(admit->batch));)
        take_back(admit, context);
}

/* ---- what gateways ask ---- */

static void take_reserve(struct dc_admit *admit, struct baton_link *gateway,
                         const baton_envelope *envelope)
{
    take_done(admit); /* their room is free */
    dc_room_ask(&admit->room, (int)dc_batch_stats(admit->batch).n_paused, gateway, envelope);
}

static void refuse(struct dc_admit *admit, struct dc_context *context, Baton__V1__Failed__Code code,
                   const char *reason)
{
    baton_origin_fail(&context->origin, code, reason);
    atomic_store(&context->canceled, true);
    if (dc_context_is_lent(context))
        dc_batch_wake(admit->batch);
}

static void take_prompt(struct dc_admit *admit, struct dc_context *context,
                        const Baton__V1__PrefillRequest *request)
{
    enum baton_err err = dc_context_take_prompt(context, request, admit->host->facts.n_vocab);
    if (!err)
        dc_batch_submit(admit->batch, context);
    else if (err == BATON_INVALID)
        refuse(admit, context, BATON__V1__FAILED__CODE__INVALID,
               "prefill_request contradicts what was reserved, or is more than is done here");
    else
        refuse(admit, context, BATON__V1__FAILED__CODE__NO_MEMORY, "no memory for the prompt");
}

static void take_start(struct dc_admit *admit, struct dc_context *context,
                       const Baton__V1__DecodeStart *start)
{
    enum baton_err err = dc_context_take_start(context, start, admit->host->facts.n_vocab);
    if (!err)
        run_if_ready(admit, context);
    else if (err == BATON_INVALID)
        refuse(admit, context, BATON__V1__FAILED__CODE__INVALID,
               "decode_start contradicts what was reserved");
    else
        refuse(admit, context, BATON__V1__FAILED__CODE__NO_MEMORY, "no memory for the sampling");
}

static void cancel(struct dc_admit *admit, struct dc_context *context, const char *reason)
{
    baton_log(BATON_LOG_INFO, "canceled", BATON_X("req", context->origin.request_id),
              BATON_I("attempt", context->origin.attempt), BATON_S("reason", reason));
    atomic_store(&context->canceled, true);
    if (dc_context_is_lent(context))
        dc_batch_wake(admit->batch);
}

static void from_gateway(void *arg, struct baton_link *gateway, const struct baton_message *message)
{
    struct dc_admit *admit = arg;
    const baton_envelope *envelope = message->envelope;
    struct dc_context *context = dc_contexts_find(&admit->contexts, envelope);
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_RESERVE && !context) {
        take_reserve(admit, gateway, envelope);
        return;
    }
    if (!context || atomic_load(&context->canceled))
        return; /* over meanwhile */
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST:
        take_prompt(admit, context, envelope->prefill_request);
        break;
    case BATON__V1__ENVELOPE__BODY_DECODE_START:
        take_start(admit, context, envelope->decode_start);
        break;
    case BATON__V1__ENVELOPE__BODY_TOKEN_ACK:
        atomic_store(&context->credit_end,
                     envelope->token_ack->next_index + envelope->token_ack->credit_tokens);
        dc_batch_wake(admit->batch);
        break;
    case BATON__V1__ENVELOPE__BODY_CANCEL:
        cancel(admit, context, envelope->cancel->reason);
        break;
    default:
        baton_log(BATON_LOG_WARN, "unexpected_message",
                  BATON_S("message", baton_envelope_kind(envelope)));
        break;
    }
}

static bool is_late(const struct dc_context *context, int64_t now_ns)
{
    return context->deadline_ns && now_ns >= context->deadline_ns &&
           !atomic_load(&context->canceled);
}

static void look_after(struct dc_admit *admit, struct dc_context *context, int64_t now_ns)
{
    if (is_late(context, now_ns))
        refuse(admit, context, BATON__V1__FAILED__CODE__DEADLINE, "the request's deadline passed");
    if (dc_context_is_lent(context))
        return; /* the engine thread gives it back */
    if (atomic_load(&context->canceled))
        free_context(admit, context);
    else
        run_if_ready(admit, context);
}

static int64_t work(void *arg, int64_t now_ns)
{
    struct dc_admit *admit = arg;
    int64_t next_ns = now_ns + BATON_SECOND;
    take_done(admit);
    dc_place_work(admit->place, now_ns);
    for (struct dc_context *context = dc_context_list_first(&admit->contexts.list), *next; context;
         context = next) {
        next = dc_context_list_next(&admit->contexts.list, context);
        if (context->deadline_ns > now_ns && context->deadline_ns < next_ns)
            next_ns = context->deadline_ns;
        look_after(admit, context, now_ns);
    }
    return next_ns;
}

static void status(void *arg, Baton__V1__Status *out)
{
    struct dc_admit *admit = arg;
    struct dc_batch_stats stats = dc_batch_stats(admit->batch);
    out->n_running = stats.n_running;
    out->n_queued = (uint32_t)admit->contexts.list.n > stats.n_running
                        ? (uint32_t)admit->contexts.list.n - stats.n_running
                        : 0;
    for (struct dc_context *context = dc_context_list_first(&admit->contexts.list); context;
         context = dc_context_list_next(&admit->contexts.list, context))
        if (context->state == DC_PROMPTING)
            out->n_queued_tokens +=
                (uint32_t)(context->n_prompt - context->seq.n_shared * BATON_KV_BLOCK_TOKENS);
    out->kv_blocks_total = (uint32_t)baton_kv_n_blocks(admit->kv);
    out->kv_blocks_free = (uint32_t)baton_kv_n_free(admit->kv);
    out->kv_blocks_reserved = out->kv_blocks_total - out->kv_blocks_free;
    out->kv_blocks_cached = (uint32_t)baton_kv_n_cached(admit->kv);
    out->last_step_s = stats.last_step_s;
    out->busy_s = stats.busy_s;
    out->tokens_per_s = stats.tokens_per_s;
    out->step_base_s = stats.step_base_s;
    out->step_row_s = stats.step_row_s;
    out->step_max_rows = stats.step_max_rows;
    out->prefix_tokens = admit->room.n_prefix_tokens;
    out->prefix_hit_tokens = admit->room.n_hit_tokens;
}

static void lost(void *arg, uint64_t gateway_epoch)
{
    struct dc_admit *admit = arg;
    for (struct dc_context *context = dc_context_list_first(&admit->contexts.list); context;
         context = dc_context_list_next(&admit->contexts.list, context))
        if (context->origin.gateway_epoch == gateway_epoch && !atomic_load(&context->canceled))
            cancel(admit, context, "the gateway is gone");
    baton_host_wake(admit->host);
}

static bool is_idle(void *arg)
{
    const struct dc_admit *admit = arg;
    return !admit->contexts.list.n;
}

struct baton_host_hooks dc_admit_hooks(struct dc_admit *admit)
{
    return (struct baton_host_hooks){.arg = admit,
                                     .from_gateway = from_gateway,
                                     .work = work,
                                     .status = status,
                                     .lost = lost,
                                     .is_idle = is_idle};
}
