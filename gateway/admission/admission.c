#include "gateway/admission/admission.h"

#include <math.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/routing/needs.h"

/* Estimates err. A request counts as in time only if its predicted time, multiplied by this, still
 * fits before the deadline. */
static const double margin = 1.25;
/* A share of the time until the deadline. A shorter wait does not reject a request. */
static const double worth_mention = 0.1;

#define SAY(verdict, ...) (void)snprintf((verdict)->text, sizeof(verdict)->text, __VA_ARGS__)

static bool refuse(struct gw_verdict *verdict, int status, const char *code,
                   enum gw_rejection reason, double retry_s)
{
    verdict->failure = (struct gw_failure){status, code, verdict->text};
    verdict->reason = reason;
    verdict->retry_s = status == 429 ? gw_throughput_retry_s(retry_s) : 0;
    return false;
}

void gw_admission_init(struct gw_admission *admission, const struct gw_bounds *bounds,
                       struct gw_lifecycle *lifecycle, const struct gw_routing *routing)
{
    *admission = (struct gw_admission){
        .core = lifecycle->core, .bounds = *bounds, .lifecycle = lifecycle, .routing = routing};
}

/* ---- the queue's bounds ---- */

static bool can_never_wait(const struct gw_bounds *bounds, const struct gw_load *load,
                           struct gw_verdict *verdict)
{
    if (load->n_requests <= (size_t)bounds->max_queued &&
        load->n_tokens <= (size_t)bounds->max_queued_tokens)
        return false;
    SAY(verdict, "%zu generations with %zu prompt tokens exceed the whole queue: %lld with %lld",
        load->n_requests, load->n_tokens, (long long)bounds->max_queued,
        (long long)bounds->max_queued_tokens);
    return true;
}

/* By how much the queue would exceed its bound. */
static size_t excess(size_t have, size_t more, int64_t most)
{
    return have + more > (size_t)most ? have + more - (size_t)most : 0;
}

/* Seconds until enough waiting requests are routed for the load to fit; 0: it fits now. */
static double fits_in_s(const struct gw_bounds *bounds, const struct gw_throughput *throughput,
                        const struct gw_load *load)
{
    size_t n_requests = excess(throughput->n_waiting, load->n_requests, bounds->max_queued);
    size_t n_tokens =
        excess(throughput->n_waiting_tokens, load->n_tokens, bounds->max_queued_tokens);
    if (!n_requests && !n_tokens)
        return 0;
    if (n_tokens) { /* how many waiting requests hold that many tokens, at their mean length */
        double n_holders = ceil((double)n_tokens * (double)throughput->n_waiting /
                                (double)throughput->n_waiting_tokens);
        n_requests = (double)n_requests > n_holders ? n_requests : (size_t)n_holders;
    }
    /* Without a backlog the routing time is 0, but the load does not fit now: never return 0. */
    return fmax(gw_throughput_routing_s(throughput, n_requests), 1);
}

/* ---- time ---- */

static bool is_busy(const struct gw_throughput *throughput)
{
    return throughput->n_waiting || throughput->compute.n_open || throughput->output.n_open;
}

/* By how many seconds the load misses its deadline or the longest wait; 0: it is in time. A load
 * that would miss its deadline even on an idle fleet is admitted, because its client gets as much
 * as can be had, unless it would spend much of its time in the queue. */
static double late_by_s(const struct gw_bounds *bounds, const struct gw_throughput *throughput,
                        const struct gw_load *load, double turn_s)
{
    double alone_s = gw_throughput_alone_s(throughput, load->n_tokens, load->max_new_tokens);
    double end_s = gw_throughput_wait_s(throughput, load->n_requests, load->n_tokens) +
                   gw_throughput_service_s(throughput, load->n_requests, 0, load->max_new_tokens);
    bool is_because_of_others = is_busy(throughput) && (alone_s * margin <= load->left_s ||
                                                        turn_s > worth_mention * load->left_s);
    double too_long_s = bounds->max_wait_s > 0 ? turn_s - bounds->max_wait_s : 0;
    double too_late_s = is_because_of_others ? end_s * margin - load->left_s : 0;
    return fmax(fmax(too_long_s, too_late_s), 0);
}

/* Half of the queue is kept for interactive requests, however many batch requests arrive. */
static struct gw_bounds bounds_of(const struct gw_bounds *bounds, enum baton_priority priority)
{
    struct gw_bounds own = *bounds;
    if (priority == BATON_PRIORITY_BATCH) {
        own.max_queued -= own.max_queued / 2;
        own.max_queued_tokens -= own.max_queued_tokens / 2;
    }
    return own;
}

/* The throughput without the waiting requests that are scheduled after the load. */
static struct gw_throughput ahead_of(const struct gw_throughput *throughput,
                                     const struct gw_load *load)
{
    struct gw_throughput ahead = *throughput;
    ahead.n_waiting -= load->n_behind < ahead.n_waiting ? load->n_behind : ahead.n_waiting;
    return ahead;
}

bool gw_admission_judge(const struct gw_bounds *of_all, const struct gw_throughput *throughput,
                        const struct gw_load *load, struct gw_verdict *verdict)
{
    const struct gw_bounds own = bounds_of(of_all, load->priority), *bounds = &own;
    const struct gw_throughput ahead = ahead_of(throughput, load);
    if (can_never_wait(bounds, load, verdict)) /* 400 and not 429, so that no client retries it */
        return refuse(verdict, 400, "too_large", GW_REJECTION_too_large, 0);
    double fits_s = fits_in_s(bounds, throughput, load);
    if (fits_s > 0) {
        SAY(verdict,
            "the queue is full: %zu requests with %zu prompt tokens wait; try again in %d s",
            throughput->n_waiting, throughput->n_waiting_tokens, gw_throughput_retry_s(fits_s));
        return refuse(verdict, 429, "queue_full", GW_REJECTION_queue_full, fits_s);
    }
    double turn_s = gw_throughput_wait_s(&ahead, 0, 0);
    double late_s = late_by_s(bounds, &ahead, load, turn_s);
    if (late_s > 0) {
        SAY(verdict, "the answer would come too late, with %.1f s of waiting; try again in %d s",
            turn_s, gw_throughput_retry_s(late_s));
        return refuse(verdict, 429, "too_late", GW_REJECTION_too_late, late_s);
    }
    return true;
}

bool gw_admission_judge_key(const struct gw_throughput *throughput, size_t limit, size_t n_open,
                            size_t n_wanted, struct gw_verdict *verdict)
{
    if (!limit || n_open + n_wanted <= limit)
        return true;
    if (n_wanted > limit) {
        SAY(verdict, "%zu generations are more than the %zu that this key may have at once",
            n_wanted, limit);
        return refuse(verdict, 400, "too_large", GW_REJECTION_too_large, 0);
    }
    /* Assumes that the key's open generations end evenly over the time of a whole one. */
    double whole_s = gw_throughput_wait_s(throughput, 0, 0) +
                     gw_throughput_service_s(throughput, 0, 0, INT64_MAX);
    double retry_s = whole_s * (double)(n_open + n_wanted - limit) / (double)n_open;
    SAY(verdict, "this key has %zu generations under way and may have %zu; try again in %d s",
        n_open, limit, gw_throughput_retry_s(retry_s));
    return refuse(verdict, 429, "too_many_requests", GW_REJECTION_per_key, retry_s);
}

/* Refuses what even an idle fleet could not serve, which its failure says. */
static bool refuse_unservable(const struct gw_routing *routing, struct gw_request *first,
                              const struct gw_failure *unmet, struct gw_verdict *verdict)
{
    struct gw_needs_words words;
    const struct gw_failure *told = gw_needs_tell(routing, first, unmet, &words);
    SAY(verdict, "%s", told->message);
    return refuse(verdict, told->status, told->code, GW_REJECTION_no_worker, 0);
}

bool gw_admission_admit(const struct gw_admission *admission, struct gw_request *first,
                        const struct gw_load *load, struct gw_verdict *verdict)
{
    const struct gw_failure *unservable = gw_needs_unmet(admission->routing, first);
    if (unservable)
        return refuse_unservable(admission->routing, first, unservable, verdict);
    if (admission->draining) {
        SAY(verdict, "the gateway is stopping");
        return refuse(verdict, 503, "draining", GW_REJECTION_draining, 0);
    }
    struct gw_load own = *load;
    if (load->priority == BATON_PRIORITY_INTERACTIVE)
        own.n_behind = admission->core->requests->queued[BATON_PRIORITY_BATCH].n;
    return gw_admission_judge(&admission->bounds, &admission->lifecycle->throughput, &own, verdict);
}

void gw_admission_refused(const struct gw_admission *admission, const struct gw_load *load,
                          const struct gw_verdict *verdict)
{
    const struct gw_throughput *throughput = &admission->lifecycle->throughput;
    admission->core->metrics->outcomes[GW_OUTCOME_rejected]++;
    admission->core->metrics->rejections[verdict->reason]++;
    admission->core->metrics->of[load->priority].outcomes[GW_OUTCOME_rejected]++;
    baton_log(BATON_LOG_INFO, "rejected", BATON_O("id", load->id),
              BATON_S("reason", gw_rejection_name(verdict->reason)),
              BATON_S("priority", baton_priority_name(load->priority)),
              BATON_I("generations", load->n_requests), BATON_I("prompt_tokens", load->n_tokens),
              BATON_I("waiting", throughput->n_waiting),
              BATON_F("wait_s", gw_throughput_wait_s(throughput, 0, 0)),
              BATON_I("retry_after_s", verdict->retry_s));
}

void gw_admission_queue(struct gw_admission *admission, struct gw_request *request)
{
    gw_lifecycle_set_state(admission->lifecycle, request, GW_QUEUED, "");
}

/* Tokens of prompts that workers run before this one. Workers run shorter prompts first, so each
 * of those prompts counts with at most this prompt's length. */
static size_t tokens_before(const struct gw_throughput *throughput,
                            const struct gw_request *request)
{
    size_t as_long = throughput->compute.n_open * request->params.prompt.n;
    return as_long < throughput->n_prefilling_tokens ? as_long : throughput->n_prefilling_tokens;
}

bool gw_admission_will_miss_deadline(const struct gw_admission *admission,
                                     const struct gw_request *request, int64_t now_ns)
{
    const struct gw_throughput *throughput = &admission->lifecycle->throughput;
    /* A request that waits alone takes capacity from no other: it may try, because the estimate may
     * be wrong. Beside others it gives way, or every request would end just too late. A migrating
     * request has begun, and continues until its deadline. */
    if (request->state != GW_QUEUED || !request->deadline_ns || request->output.tokens.n ||
        gw_lifecycle_list(admission->lifecycle, GW_QUEUED)->n < 2)
        return false;
    double need_s = gw_throughput_service_s(
        throughput, 1, tokens_before(throughput, request) + request->params.prompt.n,
        request->params.max_new_tokens);
    return need_s > baton_seconds(request->deadline_ns - now_ns);
}
