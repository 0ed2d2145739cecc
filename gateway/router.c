#include "gateway/router.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/orders.h"

/* After how many tokens, or how long, the worker hears that they arrived. */
enum { ACK_EVERY_TOKENS = 32 };
#define ACK_EVERY_NS (50 * BATON_MS)

static const struct gw_failure no_prefill = {503, "no_worker",
                                             "no prefill worker is ready; try again shortly"};
static const struct gw_failure no_decode = {503, "no_worker",
                                            "no decode worker is ready; try again shortly"};
static const struct gw_failure deadline_passed = {504, "deadline_exceeded",
                                                  "the request's time was up"};

void gw_router_init(struct gw_router *router, const struct gw_router_options *options)
{
    *router = (struct gw_router){.options = *options};
}

/* A reservation may come to nothing: until it is answered, the request waits. */
static bool is_waiting(enum gw_state state)
{
    return state == GW_QUEUED || state == GW_RESERVING;
}

static void set_state(struct gw_router *router, struct gw_request *request, enum gw_state state,
                      const char *reason)
{
    if (is_waiting(request->state))
        router->n_waiting_tokens -= request->ask.prompt.n;
    if (is_waiting(state))
        router->n_waiting_tokens += request->ask.prompt.n;
    gw_request_set_state(router->options.requests, request, state, reason);
}

static struct gw_request_list *list_of(const struct gw_router *router, enum gw_state state)
{
    return &router->options.requests->by_state[state];
}

size_t gw_router_n_open(const struct gw_router *router)
{
    return list_of(router, GW_QUEUED)->n + list_of(router, GW_RESERVING)->n +
           list_of(router, GW_PREFILLING)->n + list_of(router, GW_DECODING)->n;
}

/* A second worker is wanted only where a second token is. */
static bool wants_decode(const struct gw_request *request)
{
    return request->ask.kv_cache && request->ask.max_new_tokens > 1;
}

/* ---- who works for a request ---- */

static void assign(struct gw_worker **place, char id[65], struct gw_worker *worker)
{
    *place = worker;
    worker->n_active++;
    (void)snprintf(id, 65, "%s", worker->id);
}

static void unassign(struct gw_worker **place)
{
    if (*place)
        (*place)->n_active--;
    *place = NULL;
}

/* Whoever still works for the request stops, and its blocks come free. */
static void release_workers(struct gw_request *request, const char *reason)
{
    gw_order_cancel(request, reason);
    unassign(&request->prefill);
    unassign(&request->decode);
}

/* ---- ends ---- */

static void count_stages(struct gw_router *router, const struct gw_request *request)
{
    for (int i = 0; i < BATON_N_STAGES; i++) {
        struct gw_stage_span span;
        if (gw_request_stage(request, (enum baton_stage)i, &span))
            baton_hist_observe(&router->options.metrics->stages[i], span.duration_s);
    }
}

static void log_gateway_stages(const struct gw_request *request)
{
    static const enum baton_stage ours[] = {BATON_STAGE_parse, BATON_STAGE_tokenize,
                                            BATON_STAGE_queue, BATON_STAGE_detokenize,
                                            BATON_STAGE_flush};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        struct gw_stage_span span;
        if (gw_request_stage(request, ours[i], &span))
            baton_stage_log(ours[i], request->id, request->attempt, span.duration_s);
    }
}

static void log_summary(const struct gw_request *request, enum gw_outcome outcome,
                        const char *reason)
{
    log_gateway_stages(request);
    baton_log(outcome == GW_OUTCOME_ok ? BATON_LOG_INFO : BATON_LOG_WARN, "request",
              BATON_X("req", request->id), BATON_S("outcome", gw_outcome_name(outcome)),
              BATON_S("reason", reason), BATON_I("attempt", request->attempt),
              BATON_I("prompt_tokens", request->ask.prompt.n),
              BATON_I("output_tokens", request->n_output), BATON_S("prefill", request->prefill_id),
              BATON_S("decode", request->decode_id),
              BATON_F("ttft_s", request->times.first_ns ? gw_request_ttft_s(request) : NAN),
              BATON_F("e2el_s", gw_request_e2el_s(request)));
}

/* The books are closed on a request, whatever its end. */
static void settle(struct gw_router *router, struct gw_request *request, enum gw_outcome outcome,
                   const char *reason)
{
    struct gw_metrics *metrics = router->options.metrics;
    request->times.end_ns = baton_now_ns();
    metrics->outcomes[outcome]++;
    if (outcome == GW_OUTCOME_ok) {
        metrics->n_prompt_tokens += request->ask.prompt.n;
        baton_hist_observe(&metrics->e2el, gw_request_e2el_s(request));
        count_stages(router, request);
    }
    log_summary(request, outcome, reason);
}

static void finish(struct gw_router *router, struct gw_request *request)
{
    /* A stop string ends the request while its worker is still at it; others have nothing left. */
    release_workers(request, "finished");
    set_state(router, request, GW_DONE, gw_finish_name(request->finish));
    settle(router, request, GW_OUTCOME_ok, gw_finish_name(request->finish));
    request->sink.finished(request->sink.arg, request);
    gw_request_destroy(router->options.requests, request);
    gw_router_pump(router);
}

static void fail(struct gw_router *router, struct gw_request *request,
                 const struct gw_failure *failure)
{
    release_workers(request, failure->code);
    set_state(router, request, GW_FAILED, failure->message);
    settle(router, request, GW_OUTCOME_failed, failure->message);
    request->sink.failed(request->sink.arg, request, failure);
    gw_request_destroy(router->options.requests, request);
}

void gw_router_cancel(struct gw_router *router, struct gw_request *request, const char *reason)
{
    release_workers(request, reason);
    set_state(router, request, GW_CANCELING, reason);
    settle(router, request, GW_OUTCOME_canceled, reason);
    gw_request_destroy(router->options.requests, request);
    gw_router_pump(router);
}

/* The attempt broke. Another one, if the client has seen nothing of this one; else the end. */
static void retry_or_fail(struct gw_router *router, struct gw_request *request,
                          const struct gw_failure *failure)
{
    bool shown = request->ask.streaming && request->n_output;
    if (shown || request->n_failures + 1 >= (uint64_t)router->options.max_attempts) {
        fail(router, request, failure);
        return;
    }
    release_workers(request, failure->message);
    gw_output_restart(request);
    request->attempt++;
    request->n_failures++;
    router->options.metrics->n_retries++;
    baton_log(BATON_LOG_WARN, "retry", BATON_X("req", request->id),
              BATON_I("attempt", request->attempt), BATON_S("reason", failure->message));
    set_state(router, request, GW_QUEUED, failure->message);
}

/* ---- placement ---- */

static bool is_better(const struct gw_worker *a, const struct gw_worker *b)
{
    if (!b)
        return true;
    if (a->n_active != b->n_active)
        return a->n_active < b->n_active;
    return a->status.kv_blocks_free > b->status.kv_blocks_free;
}

static struct gw_worker *choose(const struct gw_router *router, Baton__V1__Role role)
{
    struct gw_worker *best = NULL;
    const struct gw_worker_list *workers = &router->options.fleet->workers;
    for (struct gw_worker *worker = gw_worker_list_first(workers); worker;
         worker = gw_worker_list_next(workers, worker))
        if (worker->role == role && worker->state == GW_WORKER_READY && !worker->full &&
            is_better(worker, best))
            best = worker;
    return best;
}

static void start_prefill(struct gw_router *router, struct gw_request *request)
{
    request->times.prefill_sent_ns = baton_now_ns();
    set_state(router, request, GW_PREFILLING, request->prefill->id);
    gw_order_prefill(request);
}

/* False when the request must wait for room (or a worker that is full). */
static bool place(struct gw_router *router, struct gw_request *request)
{
    struct gw_worker *prefill = choose(router, BATON__V1__ROLE__ROLE_PREFILL);
    struct gw_worker *decode =
        wants_decode(request) ? choose(router, BATON__V1__ROLE__ROLE_DECODE) : NULL;
    if (!prefill || (!decode && wants_decode(request)))
        return false;
    request->prefill_id[0] = request->decode_id[0] = 0;
    assign(&request->prefill, request->prefill_id, prefill);
    if (!decode) {
        start_prefill(router, request);
        return true;
    }
    assign(&request->decode, request->decode_id, decode);
    set_state(router, request, GW_RESERVING, request->decode->id);
    gw_order_reserve(request);
    return true;
}

/* A suspect worker may answer again: worth waiting for, not worth new work. */
static bool has_worker(const struct gw_router *router, Baton__V1__Role role)
{
    const struct gw_fleet *fleet = router->options.fleet;
    return gw_fleet_n(fleet, role, GW_WORKER_READY) || gw_fleet_n(fleet, role, GW_WORKER_SUSPECT);
}

/* The reason why a request could not be placed even with all the room in the world, or NULL. */
static const struct gw_failure *hopeless(const struct gw_router *router,
                                         const struct gw_request *request)
{
    if (!has_worker(router, BATON__V1__ROLE__ROLE_PREFILL))
        return &no_prefill;
    if (wants_decode(request) && !has_worker(router, BATON__V1__ROLE__ROLE_DECODE))
        return &no_decode;
    return NULL;
}

void gw_router_pump(struct gw_router *router)
{
    struct gw_request_list *queued = list_of(router, GW_QUEUED);
    for (struct gw_request *request; (request = gw_request_list_first(queued));) {
        const struct gw_failure *failure = hopeless(router, request);
        if (failure)
            fail(router, request, failure);
        else if (!place(router, request))
            return; /* first come, first served: nobody overtakes */
    }
}

bool gw_router_submit(struct gw_router *router, struct gw_request *request,
                      struct gw_failure *failure)
{
    const struct gw_router_options *options = &router->options;
    const struct gw_failure *reason = hopeless(router, request);
    struct gw_failure full = {429, "queue_full", "too many requests are waiting; try again later"};
    struct gw_failure draining = {503, "draining", "the gateway is stopping"};
    if (!reason && router->draining)
        reason = &draining;
    if (!reason &&
        (list_of(router, GW_QUEUED)->n + list_of(router, GW_RESERVING)->n >=
             (size_t)options->max_queued ||
         router->n_waiting_tokens + request->ask.prompt.n > (size_t)options->max_queued_tokens))
        reason = &full;
    if (reason) {
        *failure = *reason;
        set_state(router, request, GW_FAILED, reason->message);
        settle(router, request, GW_OUTCOME_rejected, reason->message);
        return false;
    }
    set_state(router, request, GW_QUEUED, "");
    gw_router_pump(router);
    return true;
}

/* ---- what workers say ---- */

static void ack(struct gw_request *request, int64_t now_ns)
{
    request->acked_index = request->n_output;
    request->acked_ns = now_ns;
    gw_order_ack(request);
}

void gw_router_pause(struct gw_router *router, struct gw_request *request, bool paused)
{
    (void)router;
    if (request->paused == paused)
        return;
    request->paused = paused;
    if (request->state == GW_DECODING)
        ack(request, baton_now_ns());
}

static void take_reserved(struct gw_router *router, struct gw_request *request)
{
    if (request->state == GW_RESERVING)
        start_prefill(router, request);
}

static void take_rejected(struct gw_router *router, struct gw_request *request)
{
    if (request->state != GW_RESERVING)
        return;
    request->decode->full = true; /* until its next Status */
    unassign(&request->prefill);
    unassign(&request->decode);
    request
        ->attempt++; /* an answer to this reservation may no longer be taken for the next one's */
    set_state(router, request, GW_QUEUED, "no room for the context");
}

static void take_prompt_logprobs(struct gw_router *router, struct gw_request *request,
                                 const Baton__V1__PromptLogprobs *scores)
{
    static const struct gw_failure gap = {502, "worker_failed", "prompt logprobs were lost"};
    if (request->state != GW_PREFILLING)
        return;
    if (scores->first_index != request->n_scored + 1 ||
        scores->first_index + scores->n_logprobs > request->ask.prompt.n) {
        retry_or_fail(router, request, &gap);
        return;
    }
    request->n_scored += scores->n_logprobs;
    request->sink.prompt(request->sink.arg, request, scores);
}

static void take_first_token(struct gw_router *router, struct gw_request *request,
                             const Baton__V1__FirstToken *first)
{
    struct gw_metrics *metrics = router->options.metrics;
    if (request->state != GW_PREFILLING)
        return;
    request->times.first_ns = request->times.last_token_ns = baton_now_ns();
    request->times.prefill_queue_s = first->prefill_queue_s;
    request->times.prefill_compute_s = first->prefill_compute_s;
    request->cached_tokens = first->cached_tokens;
    request->cold |= first->cold;
    baton_hist_observe(&metrics->ttft, gw_request_ttft_s(request));
    if (first->cold)
        baton_hist_observe(&metrics->cold_first_token, first->process_age_s);
    metrics->n_output_tokens++;
    bool more = !first->stopped && request->ask.max_new_tokens > 1;
    if (more && request->decode)
        gw_order_start(request, first->token);
    set_state(router, request, GW_DECODING, "first token");
    request->sink.first(request->sink.arg, request);
    if (gw_output_token(&router->options.output, request, first->token, first->decision,
                        first->logprobs)) {
        finish(router, request);
    } else if (!more && request->ask.kv_cache) {
        gw_output_end(&router->options.output, request, first->stopped);
        finish(router, request);
    }
}

static void take_began(struct gw_router *router, struct gw_request *request,
                       const Baton__V1__Tokens *tokens, int64_t now_ns)
{
    request->decode_began = true;
    request->times.decode_began_ns = now_ns - (int64_t)(tokens->step_s * (double)BATON_SECOND);
    if (tokens->began) {
        request->times.kv_transfer_s = tokens->began->kv_transfer_s;
        request->times.decode_queue_s = tokens->began->decode_queue_s;
        request->kv_bytes = tokens->began->kv_bytes;
        request->cold |= tokens->began->cold;
        router->options.metrics->n_kv_bytes += tokens->began->kv_bytes;
        unassign(&request->prefill); /* its part is done */
    }
}

static void take_tokens(struct gw_router *router, struct gw_request *request,
                        const Baton__V1__Tokens *tokens)
{
    static const struct gw_failure gap = {502, "worker_failed", "tokens were lost on the way"};
    int64_t now_ns = baton_now_ns();
    if (request->state != GW_DECODING)
        return;
    if (tokens->first_index != request->n_output) {
        retry_or_fail(router, request, &gap);
        return;
    }
    if (!request->decode_began)
        take_began(router, request, tokens, now_ns);
    for (size_t i = 0; i < tokens->n_tokens; i++)
        baton_hist_observe(&router->options.metrics->itl,
                           baton_seconds(now_ns - request->times.last_token_ns) /
                               (double)tokens->n_tokens);
    request->times.last_token_ns = now_ns;
    request->times.decode_s += tokens->step_s;
    router->options.metrics->n_output_tokens += tokens->n_tokens;
    for (size_t i = 0; i < tokens->n_tokens; i++)
        if (gw_output_token(&router->options.output, request, tokens->tokens[i],
                            tokens->n_decisions ? tokens->decisions[i] : NULL,
                            tokens->n_logprobs ? tokens->logprobs[i] : NULL)) {
            finish(router, request);
            return;
        }
    if (request->n_output - request->acked_index >= ACK_EVERY_TOKENS && !request->paused)
        ack(request, now_ns);
}

static void take_finished(struct gw_router *router, struct gw_request *request,
                          const Baton__V1__Finished *finished)
{
    static const struct gw_failure lost = {502, "worker_failed", "tokens were lost on the way"};
    if (request->state != GW_DECODING)
        return;
    if (finished->n_tokens != request->n_output) {
        retry_or_fail(router, request, &lost);
        return;
    }
    bool stopped = finished->reason == BATON__V1__FINISHED__REASON__STOP_TOKEN;
    request->times.decode_s = finished->decode_s;
    gw_output_end(&router->options.output, request, stopped);
    /* Both are through with it: there is nothing to cancel. */
    unassign(&request->prefill);
    unassign(&request->decode);
    finish(router, request);
}

static void take_failed(struct gw_router *router, struct gw_request *request,
                        const struct gw_worker *worker, const Baton__V1__Failed *failed)
{
    char message[BATON_MAX_TEXT_BYTES + 128];
    bool is_deadline = failed->code == BATON__V1__FAILED__CODE__DEADLINE;
    (void)snprintf(message, sizeof message, "worker %s: %s", worker->id, failed->message);
    struct gw_failure failure = {is_deadline ? 504 : 502,
                                 is_deadline ? "deadline_exceeded" : "worker_failed", message};
    if (is_deadline || failed->code == BATON__V1__FAILED__CODE__INVALID)
        fail(router, request, &failure); /* another worker would say the same */
    else
        retry_or_fail(router, request, &failure);
}

void gw_router_message(struct gw_router *router, struct gw_worker *worker,
                       const baton_envelope *envelope)
{
    struct gw_request *request = gw_request_find(router->options.requests, envelope->request_id);
    if (!request || request->attempt != envelope->attempt ||
        (worker != request->prefill && worker != request->decode))
        return; /* over, or of an earlier attempt */
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_RESERVED:
        take_reserved(router, request);
        break;
    case BATON__V1__ENVELOPE__BODY_REJECTED:
        take_rejected(router, request);
        break;
    case BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS:
        take_prompt_logprobs(router, request, envelope->prompt_logprobs);
        break;
    case BATON__V1__ENVELOPE__BODY_FIRST_TOKEN:
        take_first_token(router, request, envelope->first_token);
        break;
    case BATON__V1__ENVELOPE__BODY_TOKENS:
        take_tokens(router, request, envelope->tokens);
        break;
    case BATON__V1__ENVELOPE__BODY_FINISHED:
        take_finished(router, request, envelope->finished);
        break;
    case BATON__V1__ENVELOPE__BODY_FAILED:
        take_failed(router, request, worker, envelope->failed);
        break;
    default:
        baton_log(BATON_LOG_WARN, "unexpected_message", BATON_S("worker", worker->id),
                  BATON_S("message", baton_envelope_kind(envelope)));
        break;
    }
}

/* ---- losses and time ---- */

static void lose_requests(struct gw_router *router, const struct gw_request_list *list,
                          struct gw_worker *worker)
{
    char message[160];
    (void)snprintf(message, sizeof message, "%s worker %s died while it worked on the request",
                   gw_worker_role_name(worker->role), worker->id);
    struct gw_failure failure = {502, "worker_failed", message};
    for (struct gw_request *request = gw_request_list_first(list); request;) {
        if (request->prefill != worker && request->decode != worker) {
            request = gw_request_list_next(list, request);
            continue;
        }
        if (request->prefill == worker)
            request->prefill = NULL;
        if (request->decode == worker)
            request->decode = NULL;
        retry_or_fail(router, request, &failure);
        request = gw_request_list_first(list); /* a failure may end others of the same call */
    }
}

void gw_router_worker_lost(struct gw_router *router, struct gw_worker *worker)
{
    static const enum gw_state placed[] = {GW_RESERVING, GW_PREFILLING, GW_DECODING};
    for (size_t i = 0; i < sizeof placed / sizeof placed[0]; i++)
        lose_requests(router, list_of(router, placed[i]), worker);
    gw_router_pump(router);
}

static void tick_list(struct gw_router *router, enum gw_state state, int64_t now_ns)
{
    struct gw_request_list *list = list_of(router, state);
    for (struct gw_request *request = gw_request_list_first(list); request;) {
        if (request->deadline_ns && now_ns >= request->deadline_ns) {
            fail(router, request, &deadline_passed);
            request = gw_request_list_first(list); /* others of the same call ended with it */
            continue;
        }
        if (state == GW_DECODING && !request->paused && request->acked_index != request->n_output &&
            now_ns - request->acked_ns >= ACK_EVERY_NS)
            ack(request, now_ns);
        request = gw_request_list_next(list, request);
    }
}

void gw_router_tick(struct gw_router *router, int64_t now_ns)
{
    for (int state = GW_QUEUED; state <= GW_DECODING; state++)
        tick_list(router, (enum gw_state)state, now_ns);
    gw_router_pump(router);
}
