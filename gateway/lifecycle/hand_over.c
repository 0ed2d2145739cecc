#include "gateway/lifecycle/hand_over.h"

#include <stdio.h>

#include "common/base/log.h"
#include "gateway/request/commands.h"

/* Broken hand-overs of one attempt. Without a bound, a permanent cause would make every tick begin
 * another one. */
enum { MAX_BROKEN = 3 };

bool gw_hand_over_is_due(const struct gw_lifecycle *lifecycle, const struct gw_request *request)
{
    const struct gw_worker *worker = request->attempt.decode;
    bool stopped;
    return lifecycle->options.migration_limit && request->state == GW_DECODING && worker &&
           worker->state == GW_WORKER_DRAINING && worker->hands_over &&
           !request->successor.number && request->attempt.n_broken_moves < MAX_BROKEN &&
           !gw_request_is_complete(request, &stopped);
}

void gw_hand_over_begin(struct gw_request *request, struct gw_worker *receiver,
                        const struct gw_prompt_hashes *hashes, uint64_t turn, int64_t n_blocks)
{
    request->successor = (struct gw_attempt){
        .number = ++request->attempt.n_begun, .is_moved = true, .hashes = hashes};
    gw_attempt_assign_decode(&request->successor, receiver, turn, n_blocks);
    gw_command_reserve_successor(request);
}

bool gw_hand_over_concerns(const struct gw_request *request, const struct gw_worker *worker,
                           uint32_t attempt)
{
    return attempt && request->successor.number == attempt &&
           (request->successor.decode == worker || request->attempt.decode == worker);
}

void gw_hand_over_reserved(struct gw_lifecycle *lifecycle, struct gw_request *request,
                           const Baton__V1__Reserved *reserved)
{
    struct gw_attempt *successor = &request->successor;
    if (reserved->n_cached_blocks > (successor->hashes ? successor->hashes->n : 0)) {
        gw_hand_over_broke(lifecycle, request, "the worker reports cached blocks without hashes");
        return;
    }
    gw_attempt_set_ticket(successor, reserved);
    successor->n_cached_blocks = reserved->n_cached_blocks;
    gw_command_hand_over(request);
}

void gw_hand_over_rejected(struct gw_request *request)
{
    struct gw_worker *receiver = request->successor.decode;
    gw_attempt_release(&request->successor); /* first, because it clears the back-off set below */
    request->successor = (struct gw_attempt){0};
    gw_worker_rejected(receiver, request->params.priority);
}

void gw_hand_over_broke(struct gw_lifecycle *lifecycle, struct gw_request *request,
                        const char *reason)
{
    request->attempt.n_broken_moves++;
    baton_log(BATON_LOG_WARN, "hand_over_broke", BATON_REQUEST(request->id, request->tag),
              BATON_I("attempt", request->successor.number), BATON_S("reason", reason));
    gw_hand_over_drop(request, reason);
    lifecycle->wants_pump = true;
}

/* The sender has freed the context, and the receiver was canceled or lost: no worker has it. */
static void lose(struct gw_lifecycle *lifecycle, struct gw_request *request)
{
    static const struct gw_failure lost = {502, "worker_failed",
                                           "the request was handed over to a worker that is gone"};
    gw_lifecycle_retry_or_fail(lifecycle, request, &lost);
}

void gw_hand_over_done(struct gw_lifecycle *lifecycle, struct gw_request *request,
                       const Baton__V1__HandedOver *handed_over)
{
    struct gw_metrics *metrics = lifecycle->core->metrics;
    char reason[GW_MAX_BREAK_BYTES];
    if (request->state != GW_DECODING)
        return;
    (void)snprintf(reason, sizeof reason, "decode worker %s drains", request->attempt.decode_id);
    /* HandedOver follows the last StepEvents on the same link, so a different number of tokens
     * means that some were lost: the context would continue after tokens that the client never
     * got. */
    if (handed_over->attempt != request->successor.number ||
        handed_over->n_output_tokens != request->output.tokens.n ||
        gw_request_move(request, reason)) {
        lose(lifecycle, request);
        return;
    }
    gw_command_start(request, request->output.tokens.ids[request->output.tokens.n - 1]);
    metrics->n_migrations++;
    metrics->n_hand_overs++;
    lifecycle->wants_pump = true;
    if (lifecycle->core->feed)
        gw_feed_request(lifecycle->core->feed, request, reason);
    baton_log(BATON_LOG_INFO, "handed_over", BATON_REQUEST(request->id, request->tag),
              BATON_I("attempt", request->attempt.number),
              BATON_I("output_tokens", request->output.tokens.n),
              BATON_S("to", request->attempt.decode_id),
              BATON_S("reason", request->migration.past->reason));
}

void gw_hand_over_drop(struct gw_request *request, const char *reason)
{
    struct gw_attempt *successor = &request->successor;
    if (!successor->number)
        return;
    gw_command_cancel_attempt(request, successor, reason);
    gw_command_cancel_move(request, reason);
    gw_attempt_release(successor);
    *successor = (struct gw_attempt){0};
}

void gw_hand_over_worker_lost(struct gw_lifecycle *lifecycle, const struct gw_worker *worker,
                              bool is_gone)
{
    struct gw_request_list *list = gw_lifecycle_list(lifecycle, GW_DECODING);
    for (struct gw_request *request = gw_request_list_first(list); request;
         request = gw_request_list_next(list, request)) {
        if (!request->successor.number || request->successor.decode != worker)
            continue;
        if (is_gone)
            gw_attempt_worker_lost(&request->successor, worker); /* so no Cancel is sent to it */
        gw_hand_over_drop(request, "the receiving worker is gone");
    }
}
