#include "gateway/observe/throughput.h"

#include <math.h>

#include "common/base/clock.h"

enum { MAX_RETRY_S = 60 };

/* A fleet with free capacity routes a request sooner than this, so a longer wait is a backlog. */
static const double had_to_wait_s = 0.005;
/* `newest` is the weight of the newest request in the mean output length. The best time per token
 * is a minimum that would otherwise stay for ever, so each request multiplies it by `forgotten`
 * until a request is that fast again. */
static const double newest = 1.0 / 16, forgotten = 1.001;

/* ---- requests ---- */

static void end_backlog(struct gw_throughput *throughput, int64_t now_ns)
{
    if (throughput->routing.n_open)
        gw_busy_rate_end(&throughput->routing, now_ns);
}

static void advance(struct gw_busy_rate *rate, bool is_still, int64_t now_ns)
{
    if (is_still)
        gw_busy_rate_skip(rate, now_ns);
    else
        gw_busy_rate_pass(rate, now_ns);
}

void gw_throughput_tick(struct gw_throughput *throughput, double waited_s,
                        const struct gw_standstill *still, int64_t now_ns)
{
    bool is_backlog = waited_s > had_to_wait_s;
    advance(&throughput->routing, still->routing, now_ns);
    advance(&throughput->compute, still->compute, now_ns);
    advance(&throughput->output, still->output, now_ns);
    if (is_backlog && !throughput->routing.n_open)
        gw_busy_rate_begin(&throughput->routing, now_ns);
    else if (!is_backlog)
        end_backlog(throughput, now_ns);
}

void gw_throughput_slept(struct gw_throughput *throughput, int64_t now_ns)
{
    gw_busy_rate_skip(&throughput->routing, now_ns);
    gw_busy_rate_skip(&throughput->compute, now_ns);
    gw_busy_rate_skip(&throughput->output, now_ns);
}

static bool is_waiting(enum gw_state state)
{
    return state == GW_QUEUED || state == GW_RESERVING;
}

static void wait_no_more(struct gw_throughput *throughput, size_t n_tokens, bool is_routed,
                         int64_t now_ns)
{
    throughput->n_waiting--;
    throughput->n_waiting_tokens -= n_tokens;
    if (is_routed && throughput->routing.n_open)
        gw_busy_rate_note(&throughput->routing, 1, now_ns);
    if (!throughput->n_waiting)
        end_backlog(throughput, now_ns);
}

static void leave(struct gw_throughput *throughput, enum gw_state from, enum gw_state to,
                  size_t n_tokens, int64_t now_ns)
{
    if (is_waiting(from) && !is_waiting(to))
        wait_no_more(throughput, n_tokens, to == GW_PREFILLING, now_ns);
    if (from == GW_DECODING)
        gw_busy_rate_end(&throughput->output, now_ns);
    if (from != GW_PREFILLING)
        return;
    throughput->n_prefilling_tokens -= n_tokens;
    /* A prompt that failed or was canceled was not computed: its tokens do not count, and its time
     * counts only if other prompts were open too. */
    if (to == GW_DECODING || to == GW_DONE)
        gw_busy_rate_note(&throughput->compute, (double)n_tokens, now_ns);
    gw_busy_rate_end(&throughput->compute, now_ns);
}

static void enter(struct gw_throughput *throughput, enum gw_state from, enum gw_state to,
                  size_t n_tokens, int64_t now_ns)
{
    if (is_waiting(to) && !is_waiting(from)) {
        throughput->n_waiting++;
        throughput->n_waiting_tokens += n_tokens;
    } else if (to == GW_PREFILLING) {
        gw_busy_rate_begin(&throughput->compute, now_ns);
        throughput->n_prefilling_tokens += n_tokens;
    } else if (to == GW_DECODING) {
        gw_busy_rate_begin(&throughput->output, now_ns);
    }
}

void gw_throughput_moved(struct gw_throughput *throughput, enum gw_state from, enum gw_state to,
                         size_t n_tokens, int64_t now_ns)
{
    leave(throughput, from, to, n_tokens, now_ns);
    enter(throughput, from, to, n_tokens, now_ns);
}

void gw_throughput_paused(struct gw_throughput *throughput, bool paused, int64_t now_ns)
{
    if (paused)
        gw_busy_rate_end(&throughput->output, now_ns);
    else
        gw_busy_rate_begin(&throughput->output, now_ns);
}

void gw_throughput_made(struct gw_throughput *throughput, size_t n, int64_t now_ns)
{
    gw_busy_rate_note(&throughput->output, (double)n, now_ns);
}

void gw_throughput_finished(struct gw_throughput *throughput, uint64_t n_output, double seconds)
{
    double *usual = &throughput->usual_tokens, *best_s = &throughput->best_per_token_s;
    *usual = *usual > 0 ? *usual + newest * ((double)n_output - *usual) : (double)n_output;
    if (n_output < 2) /* no gap between tokens to measure */
        return;
    double per_token_s = seconds / (double)(n_output - 1);
    *best_s = *best_s > 0 ? fmin(*best_s * forgotten, per_token_s) : per_token_s;
}

/* ---- estimates ---- */

static double known_s(const struct gw_busy_rate *rate)
{
    return rate->n_marks ? gw_busy_rate_per_unit_s(rate) : 0;
}

double gw_throughput_routing_s(const struct gw_throughput *throughput, size_t n_requests)
{
    return throughput->routing.n_open
               ? (double)n_requests * gw_busy_rate_per_unit_s(&throughput->routing)
               : 0;
}

double gw_throughput_wait_s(const struct gw_throughput *throughput, size_t n_requests,
                            size_t n_tokens)
{
    return gw_throughput_routing_s(throughput, throughput->n_waiting + n_requests) +
           (double)(throughput->n_prefilling_tokens + n_tokens) * known_s(&throughput->compute);
}

/* Output tokens after the first, which comes with the prompt. max_new_tokens is only an upper
 * bound, so the mean length of earlier outputs caps it. */
static double more_tokens(const struct gw_throughput *throughput, int64_t max_new_tokens)
{
    return fmax(fmin((double)max_new_tokens, throughput->usual_tokens) - 1, 0);
}

double gw_throughput_alone_s(const struct gw_throughput *throughput, size_t n_tokens,
                             int64_t max_new_tokens)
{
    return (double)n_tokens * known_s(&throughput->compute) +
           more_tokens(throughput, max_new_tokens) * throughput->best_per_token_s;
}

double gw_throughput_service_s(const struct gw_throughput *throughput, size_t n_more,
                               size_t n_tokens, int64_t max_new_tokens)
{
    /* Requests whose prompts run now will decode beside this one, so they share the output rate. */
    size_t n_sharing = throughput->output.n_open + throughput->compute.n_open + n_more;
    double per_token_s = (double)n_sharing * known_s(&throughput->output);
    return (double)n_tokens * known_s(&throughput->compute) +
           more_tokens(throughput, max_new_tokens) *
               fmax(per_token_s, throughput->best_per_token_s);
}

int gw_throughput_retry_s(double seconds)
{
    if (!(seconds > 1)) /* NaN as well */
        return 1;
    return seconds < MAX_RETRY_S ? (int)ceil(seconds) : MAX_RETRY_S;
}
