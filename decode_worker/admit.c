#include "decode_worker/admit.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "decode_worker/batch.h"
#include "decode_worker/place.h"

struct dc_admit {
    struct baton_host *host;
    struct baton_kv *kv;
    struct dc_batch *batch;
    struct dc_place *place;
    struct dc_context_list contexts;
};

static enum baton_err create_parts(struct dc_admit *admit, const struct dc_admit_options *options,
                                   struct baton_why *why)
{
    struct baton_host *host = options->host;
    int64_t context_tokens = host->facts.n_context_tokens;
    int64_t kv_tokens = options->kv_tokens ? options->kv_tokens : 16 * context_tokens;
    if (kv_tokens < context_tokens)
        return baton_fail(why, BATON_INVALID,
                          "kv-tokens: must be at least the model's context, %lld",
                          (long long)context_tokens);
    enum baton_err err = baton_kv_create(host->model, host->options->kv_dtype,
                                         baton_kv_blocks_for((int)kv_tokens), &admit->kv, why);
    if (!err)
        err = dc_batch_start(&(struct dc_batch_options){.model = host->model,
                                                        .n_threads = host->n_threads,
                                                        .pin = *host->options->cores,
                                                        .max_batch = (int)options->max_batch,
                                                        .wake = baton_host_wake,
                                                        .wake_arg = host},
                             &admit->batch, why);
    if (!err)
        err = dc_place_create(
            &(struct dc_place_options){.bulk_url = options->bulk_url,
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
    dc_context_list_init(&admit->contexts);
    enum baton_err err = create_parts(admit, options, why);
    if (err)
        dc_admit_destroy(admit);
    else
        *out = admit;
    return err;
}

static void free_context(struct dc_admit *admit, struct dc_context *context)
{
    dc_context_list_remove(&admit->contexts, context);
    baton_seq_fini(&context->seq);
    baton_plan_fini(&context->plan);
    baton_asker_fini(&context->asker);
    free(context);
}

void dc_admit_destroy(struct dc_admit *admit)
{
    if (!admit)
        return;
    dc_batch_stop(admit->batch);
    for (struct dc_context *context; (context = dc_context_list_first(&admit->contexts));)
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

static void reject(const struct dc_admit *admit, const struct baton_asker *asker, int n_blocks)
{
    Baton__V1__Rejected rejected = BATON__V1__REJECTED__INIT;
    baton_envelope answer = BATON__V1__ENVELOPE__INIT;
    rejected.blocks_needed = (uint32_t)n_blocks;
    rejected.blocks_free = (uint32_t)baton_kv_n_free(admit->kv);
    rejected.draining = admit->host->draining;
    answer.body_case = BATON__V1__ENVELOPE__BODY_REJECTED;
    answer.rejected = &rejected;
    baton_asker_tell(asker, &answer);
}

static void promise(const struct baton_asker *asker, int n_blocks)
{
    Baton__V1__Reserved reserved = BATON__V1__RESERVED__INIT;
    baton_envelope answer = BATON__V1__ENVELOPE__INIT;
    reserved.n_blocks = (uint32_t)n_blocks;
    answer.body_case = BATON__V1__ENVELOPE__BODY_RESERVED;
    answer.reserved = &reserved;
    baton_asker_tell(asker, &answer);
}

/* The last token is never an input, so it needs no position. */
static int positions_for(const Baton__V1__Reserve *reserve)
{
    return (int)(reserve->n_prompt_tokens + reserve->max_new_tokens - 1);
}

static void take_reserve(struct dc_admit *admit, struct baton_link *gateway,
                         const baton_envelope *envelope)
{
    const Baton__V1__Reserve *wanted = envelope->reserve;
    int n_positions = positions_for(wanted);
    struct baton_asker asker;
    struct dc_context *context = calloc(1, sizeof *context);
    baton_asker_init(&asker, gateway, envelope);
    if (!context || admit->host->draining || n_positions > admit->host->facts.n_context_tokens ||
        baton_seq_init(&context->seq, admit->kv, n_positions)) {
        free(context);
        reject(admit, &asker, baton_kv_blocks_for(n_positions));
        baton_asker_fini(&asker);
        return;
    }
    context->asker = asker; /* moved */
    context->n_prompt = (int)wanted->n_prompt_tokens;
    context->max_new_tokens = (int)wanted->max_new_tokens;
    dc_context_list_push_back(&admit->contexts, context);
    promise(&context->asker, context->seq.n_blocks);
}

/* A context runs once its blocks are placed and its gateway said start, in whichever order. */
static void run_if_ready(struct dc_admit *admit, struct dc_context *context)
{
    if (context->state != DC_PLACED || !context->started)
        return;
    context->ready_ns = baton_now_ns();
    if (dc_batch_submit(admit->batch, context)) {
        baton_asker_fail(&context->asker, BATON__V1__FAILED__CODE__INTERNAL,
                         "the decode queue is full");
        atomic_store(&context->canceled, true);
        return;
    }
    context->state = DC_RUNNING;
}

static void refuse_start(struct dc_context *context, Baton__V1__Failed__Code code,
                         const char *reason)
{
    baton_asker_fail(&context->asker, code, reason);
    atomic_store(&context->canceled, true);
}

static void take_start(struct dc_admit *admit, struct dc_context *context,
                       const Baton__V1__DecodeStart *start)
{
    if (context->started || start->n_prompt_tokens != (uint32_t)context->n_prompt ||
        start->max_new_tokens > (uint32_t)context->max_new_tokens ||
        start->first_token >= (uint64_t)admit->host->facts.n_vocab) {
        refuse_start(context, BATON__V1__FAILED__CODE__INVALID,
                     "decode_start contradicts what was reserved");
        return;
    }
    if (baton_plan_init(&context->plan, start->sampling, start->prompt, start->n_prompt,
                        start->max_new_tokens)) {
        refuse_start(context, BATON__V1__FAILED__CODE__NO_MEMORY, "no memory for the sampling");
        return;
    }
    baton_plan_note(&context->plan, start->first_token);
    context->started = true;
    context->next_token = start->first_token;
    context->n_output = 1;
    context->max_new_tokens = (int)start->max_new_tokens;
    context->deadline_ns = start->deadline_ms ? baton_now_ns() + start->deadline_ms * BATON_MS : 0;
    atomic_store(&context->credit_end, start->credit_tokens);
    run_if_ready(admit, context);
}

static void cancel(struct dc_admit *admit, struct dc_context *context, const char *reason)
{
    baton_log(BATON_LOG_INFO, "canceled", BATON_X("req", context->asker.request_id),
              BATON_I("attempt", context->asker.attempt), BATON_S("reason", reason));
    atomic_store(&context->canceled, true);
    if (context->state == DC_RUNNING)
        dc_batch_wake(admit->batch);
}

static struct dc_context *find(const struct dc_admit *admit, const baton_envelope *envelope)
{
    struct dc_context *context = dc_context_list_first(&admit->contexts);
    while (context && !baton_asker_is(&context->asker, envelope))
        context = dc_context_list_next(&admit->contexts, context);
    return context;
}

static void from_gateway(void *arg, struct baton_link *gateway, const struct baton_message *message)
{
    struct dc_admit *admit = arg;
    const baton_envelope *envelope = message->envelope;
    struct dc_context *context = find(admit, envelope);
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_RESERVE && !context) {
        take_reserve(admit, gateway, envelope);
        return;
    }
    if (!context || atomic_load(&context->canceled))
        return; /* over meanwhile */
    switch (envelope->body_case) {
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

/* Blocks come back here, in the one place that owns them. */
static void take_done(struct dc_admit *admit)
{
    for (struct dc_context *context; (context = dc_batch_take_done(admit->batch));)
        free_context(admit, context);
}

static void check_deadline(struct dc_admit *admit, struct dc_context *context, int64_t now_ns)
{
    if (!context->deadline_ns || now_ns < context->deadline_ns || atomic_load(&context->canceled))
        return;
    baton_asker_fail(&context->asker, BATON__V1__FAILED__CODE__DEADLINE,
                     "the request's deadline passed");
    cancel(admit, context, "deadline");
}

static int64_t work(void *arg, int64_t now_ns)
{
    struct dc_admit *admit = arg;
    take_done(admit);
    dc_place_work(admit->place, &admit->contexts, now_ns);
    for (struct dc_context *context = dc_context_list_first(&admit->contexts), *next; context;
         context = next) {
        next = dc_context_list_next(&admit->contexts, context);
        check_deadline(admit, context, now_ns);
        if (context->state == DC_RUNNING)
            continue; /* the engine thread has it */
        if (atomic_load(&context->canceled))
            free_context(admit, context);
        else
            run_if_ready(admit, context);
    }
    return now_ns + BATON_SECOND;
}

static void status(void *arg, Baton__V1__Status *out)
{
    struct dc_admit *admit = arg;
    struct dc_batch_stats stats = dc_batch_stats(admit->batch);
    out->n_running = stats.n_running;
    out->n_queued = (uint32_t)admit->contexts.n > stats.n_running
                        ? (uint32_t)admit->contexts.n - stats.n_running
                        : 0;
    out->kv_blocks_total = (uint32_t)baton_kv_n_blocks(admit->kv);
    out->kv_blocks_free = (uint32_t)baton_kv_n_free(admit->kv);
    out->kv_blocks_reserved = out->kv_blocks_total - out->kv_blocks_free;
    out->last_step_s = stats.last_step_s;
}

static void lost(void *arg, uint64_t gateway_epoch)
{
    struct dc_admit *admit = arg;
    for (struct dc_context *context = dc_context_list_first(&admit->contexts); context;
         context = dc_context_list_next(&admit->contexts, context))
        if (context->asker.gateway_epoch == gateway_epoch && !atomic_load(&context->canceled))
            cancel(admit, context, "the gateway is gone");
    baton_host_wake(admit->host);
}

static bool is_idle(void *arg)
{
    const struct dc_admit *admit = arg;
    return !admit->contexts.n;
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
