#include "decode_worker/hand_over.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "decode_worker/context.h"

/* Whether the order is valid: the receiver must lack at least one block that exists already. */
static bool fits(const struct dc_context *context, const Baton__V1__HandOver *order)
{
    return context->started && !context->hand_over.wanted &&
           order->deliver_to->first_block < (uint32_t)baton_kv_blocks_for(context->n_prompt);
}

bool dc_hand_over_accept(struct dc_context *context, const baton_envelope *envelope)
{
    struct dc_hand_over *hand_over = &context->hand_over;
    const Baton__V1__HandOver *order = envelope->hand_over;
    if (!fits(context, order))
        return false;
    hand_over->wanted = true;
    baton_origin_init(&hand_over->origin, context->origin.gateway, envelope);
    hand_over->origin.attempt = order->attempt;
    baton_kv_target_set(&hand_over->target, order->deliver_to);
    baton_log(BATON_LOG_INFO, "hand_over", BATON_ORIGIN(&context->origin),
              BATON_I("attempt", context->origin.attempt),
              BATON_S("to", order->deliver_to->worker_id));
    return true;
}

enum baton_err dc_hand_over_open(struct dc_context *context, struct baton_kv_sender *sender)
{
    struct dc_hand_over *hand_over = &context->hand_over;
    return baton_kv_send_open(sender, &hand_over->send,
                              &(struct baton_kv_source){.origin = &hand_over->origin,
                                                        .seq = &context->seq,
                                                        .progress = &hand_over->progress,
                                                        .computed_ns = &hand_over->stopped_ns,
                                                        .n_tokens = context->n_prompt,
                                                        .grows = true,
                                                        .target = &hand_over->target});
}

bool dc_hand_over_pump(struct dc_context *context, const struct baton_kv_sender *sender)
{
    struct dc_hand_over *hand_over = &context->hand_over;
    bool is_over = baton_kv_send_pump(sender, &hand_over->send);
    if (!is_over && context->state == DC_RUNNING && baton_kv_send_has_caught_up(&hand_over->send))
        atomic_store(&hand_over->stops, true);
    return is_over;
}

void dc_hand_over_stopped(struct dc_context *context)
{
    struct dc_hand_over *hand_over = &context->hand_over;
    int n_blocks = baton_kv_blocks_for(context->seq.n_tokens);
    baton_kv_progress_publish(&hand_over->progress,
                              (struct baton_kv_progress){.n_done = n_blocks, .n_end = n_blocks});
    atomic_store(&hand_over->stopped_ns, baton_now_ns());
    baton_kv_send_stop(&hand_over->send, context->seq.n_tokens);
}

enum baton_err dc_hand_over_report(const struct dc_context *context)
{
    Baton__V1__HandedOver message = BATON__V1__HANDED_OVER__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    message.n_output_tokens = context->n_output;
    message.attempt = context->hand_over.origin.attempt;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_HANDED_OVER;
    envelope.handed_over = &message;
    enum baton_err err = baton_origin_send(&context->origin, &envelope);
    if (!err)
        baton_log(BATON_LOG_INFO, "handed_over", BATON_ORIGIN(&context->origin),
                  BATON_I("attempt", context->origin.attempt),
                  BATON_I("output_tokens", context->n_output),
                  BATON_F("stopped_s", baton_seconds(baton_now_ns() -
                                                     atomic_load(&context->hand_over.stopped_ns))));
    return err;
}

void dc_hand_over_drop(struct dc_hand_over *hand_over)
{
    baton_kv_send_close(&hand_over->send);
    baton_origin_fini(&hand_over->origin);
    hand_over->wanted = false;
    atomic_store(&hand_over->stops, false);
    atomic_store(&hand_over->stopped_ns, 0);
}
