#include "gateway/lifecycle/hedge.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/request/commands.h"

/* A suspect that has sent a token since it became suspect is about to be READY again: hedging its
 * requests would waste a prompt. */
static bool is_doubtful(const struct gw_request *request, const struct gw_worker *suspect)
{
    return request->attempt.decode == suspect && request->output.tokens.n &&
           request->output.last_token_ns < suspect->state_ns;
}

static void begin(struct gw_lifecycle *lifecycle, struct gw_request *request,
                  const struct gw_worker *suspect)
{
    struct gw_attempt *doubted = malloc(sizeof *doubted);
    char reason[GW_MAX_BREAK_BYTES];
    (void)snprintf(reason, sizeof reason, "decode worker %s does not answer", suspect->id);
    if (doubted)
        *doubted = request->attempt; /* before gw_request_migrate begins a new attempt */
    if (!doubted || gw_request_migrate(request, reason)) { /* no memory: it waits for its worker */
        free(doubted);
        return;
    }
    request->doubted = doubted;
    baton_log(BATON_LOG_WARN, "hedge", BATON_REQUEST(request->id, request->tag),
              BATON_I("attempt", request->attempt.number),
              BATON_I("output_tokens", request->output.tokens.n), BATON_S("reason", reason));
    gw_lifecycle_set_state(lifecycle, request, GW_QUEUED, reason);
}

void gw_hedge_begin(struct gw_lifecycle *lifecycle, const struct gw_worker *suspect)
{
    struct gw_request_list *list = gw_lifecycle_list(lifecycle, GW_DECODING);
    for (struct gw_request *request = gw_request_list_first(list), *next; request; request = next) {
        bool stopped;
        next = gw_request_list_next(list, request);
        if (is_doubtful(request, suspect) && !gw_request_is_complete(request, &stopped) &&
            gw_request_may_migrate(request, lifecycle->options.migration_limit))
            begin(lifecycle, request, suspect);
    }
}

static void forget(struct gw_request *request)
{
    free(request->doubted);
    request->doubted = NULL;
}

void gw_hedge_drop(struct gw_request *request, const char *reason)
{
    if (!request->doubted)
        return;
    gw_command_cancel_attempt(request, request->doubted, reason);
    gw_attempt_release(request->doubted);
    forget(request);
}

void gw_hedge_revert(struct gw_lifecycle *lifecycle, struct gw_request *request)
{
    uint32_t n_begun = request->attempt.n_begun; /* stays, or the next attempt reuses a number */
    gw_command_cancel(request, "the earlier attempt continues");
    gw_attempt_release(&request->attempt);
    request->attempt = *request->doubted;
    request->attempt.n_begun = n_begun;
    forget(request);
    gw_request_unmigrate(request);
    /* By way of QUEUED: the throughput counts a prompt that enters DECODING as computed, but this
     * one was canceled. */
    if (request->state == GW_PREFILLING)
        gw_lifecycle_set_state(lifecycle, request, GW_QUEUED, "its worker answers again");
    baton_log(BATON_LOG_INFO, "hedge_reverted", BATON_REQUEST(request->id, request->tag),
              BATON_I("attempt", request->attempt.number));
    gw_lifecycle_set_state(lifecycle, request, GW_DECODING, "its worker answers again");
    /* The worker still has the old credit; the client may have paused or resumed since. */
    gw_lifecycle_ack(request, baton_now_ns());
    lifecycle->wants_pump = true;
}

void gw_hedge_settle(struct gw_lifecycle *lifecycle, struct gw_request *request)
{
    if (!request->doubted)
        return;
    lifecycle->core->metrics->n_migrations++;
    gw_hedge_drop(request, "another attempt was faster");
    lifecycle->wants_pump = true;
}

static bool needs(const struct gw_attempt *doubted, const struct gw_worker *worker)
{
    return doubted && (doubted->decode == worker || doubted->prefill == worker);
}

void gw_hedge_worker_lost(struct gw_lifecycle *lifecycle, const struct gw_worker *worker,
                          bool is_gone)
{
    for (int state = GW_QUEUED; state <= GW_PREFILLING; state++) {
        struct gw_request_list *list = gw_lifecycle_list(lifecycle, (enum gw_state)state);
        for (struct gw_request *request = gw_request_list_first(list); request;
             request = gw_request_list_next(list, request)) {
            if (!needs(request->doubted, worker))
                continue;
            if (is_gone)
                gw_attempt_worker_lost(request->doubted, worker); /* so no Cancel is sent to it */
            gw_hedge_settle(lifecycle, request);
        }
    }
}
