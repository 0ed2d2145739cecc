#include "gateway/pace.h"

#include <math.h>

#include "common/base/clock.h"

enum { MAX_RETRY_S = 60 };

/* A place that is there is given sooner than that. */
static const double had_to_wait_s = 0.005;
/* The weight of the newest request in what is usual; how slowly the best is forgotten. */
static const double newest = 1.0 / 16, forgotten = 1.001;

/* ---- requests ---- */

static void end_backlog(struct gw_pace *pace, int64_t now_ns)
{
    if (pace->room.n_open)
        gw_meter_end(&pace->room, now_ns);
}

void gw_pace_tick(struct gw_pace *pace, double waited_s, int64_t now_ns)
{
    bool is_backlog = waited_s > had_to_wait_s;
    gw_meter_pass(&pace->room, now_ns);
    gw_meter_pass(&pace->compute, now_ns);
    gw_meter_pass(&pace->output, now_ns);
    if (is_backlog && !pace->room.n_open)
        gw_meter_begin(&pace->room, now_ns);
    else if (!is_backlog)
        end_backlog(pace, now_ns);
}

static bool is_waiting(enum gw_state state)
{
    return state == GW_QUEUED || state == GW_RESERVING;
}

static void wait_no_more(struct gw_pace *pace, size_t n_tokens, bool has_place, int64_t now_ns)
{
    pace->n_waiting--;
    pace->n_waiting_tokens -= n_tokens;
    if (has_place && pace->room.n_open)
        gw_meter_note(&pace->room, 1, now_ns);
    if (!pace->n_waiting)
        end_backlog(pace, now_ns);
}

static void leave(struct gw_pace *pace, enum gw_state from, enum gw_state to, size_t n_tokens,
                  int64_t now_ns)
{
    if (is_waiting(from) && !is_waiting(to))
        wait_no_more(pace, n_tokens, to == GW_PREFILLING, now_ns);
    if (from == GW_DECODING)
        gw_meter_end(&pace->output, now_ns);
    if (from != GW_PREFILLING)
        return;
    gw_meter_end(&pace->compute, now_ns);
    pace->n_placed_tokens -= n_tokens;
    if (to == GW_DECODING || to == GW_DONE)
        gw_meter_note(&pace->compute, (double)n_tokens, now_ns);
}

static void enter(struct gw_pace *pace, enum gw_state from, enum gw_state to, size_t n_tokens,
                  int64_t now_ns)
{
    if (is_waiting(to) && !is_waiting(from)) {
        pace->n_waiting++;
        pace->n_waiting_tokens += n_tokens;
    } else if (to == GW_PREFILLING) {
        gw_meter_begin(&pace->compute, now_ns);
        pace->n_placed_tokens += n_tokens;
    } else if (to == GW_DECODING) {
        gw_meter_begin(&pace->output, now_ns);
    }
}

void gw_pace_moved(struct gw_pace *pace, enum gw_state from, enum gw_state to, size_t n_tokens,
                   int64_t now_ns)
{
    leave(pace, from, to, n_tokens, now_ns);
    enter(pace, from, to, n_tokens, now_ns);
}

void gw_pace_paused(struct gw_pace *pace, bool paused, int64_t now_ns)
{
    if (paused)
        gw_meter_end(&pace->output, now_ns);
    else
        gw_meter_begin(&pace->output, now_ns);
}

void gw_pace_made(struct gw_pace *pace, size_t n, int64_t now_ns)
{
    gw_meter_note(&pace->output, (double)n, now_ns);
}

void gw_pace_finished(struct gw_pace *pace, uint64_t n_output, double seconds)
{
    double *usual = &pace->usual_tokens, *best_s = &pace->best_per_token_s;
    *usual = *usual > 0 ? *usual + newest * ((double)n_output - *usual) : (double)n_output;
    if (n_output < 2)
        return;
    double per_token_s = seconds / (double)(n_output - 1);
    *best_s = *best_s > 0 ? fmin(*best_s * forgotten, per_token_s) : per_token_s;
}

/* ---- estimates ---- */

static double known_s(const struct gw_meter *meter)
{
    return meter->n_marks ? gw_meter_per_unit_s(meter) : 0;
}

double gw_pace_room_s(const struct gw_pace *pace, size_t n_requests)
{
    return pace->room.n_open ? (double)n_requests * gw_meter_per_unit_s(&pace->room) : 0;
}

double gw_pace_wait_s(const struct gw_pace *pace, size_t n_requests, size_t n_tokens)
{
    return gw_pace_room_s(pace, pace->n_waiting + n_requests) +
           (double)(pace->n_placed_tokens + n_tokens) * known_s(&pace->compute);
}

/* The first token comes with the prompt. */
static double more_tokens(const struct gw_pace *pace, int64_t max_new_tokens)
{
    return fmax(fmin((double)max_new_tokens, pace->usual_tokens) - 1, 0);
}

double gw_pace_alone_s(const struct gw_pace *pace, size_t n_tokens, int64_t max_new_tokens)
{
    return (double)n_tokens * known_s(&pace->compute) +
           more_tokens(pace, max_new_tokens) * pace->best_per_token_s;
}

double gw_pace_service_s(const struct gw_pace *pace, size_t n_more, size_t n_tokens,
                         int64_t max_new_tokens)
{
    size_t n_sharing = pace->output.n_open + pace->compute.n_open + n_more;
    double per_token_s = (double)n_sharing * known_s(&pace->output);
    return (double)n_tokens * known_s(&pace->compute) +
           more_tokens(pace, max_new_tokens) * fmax(per_token_s, pace->best_per_token_s);
}

int gw_pace_retry_s(double seconds)
{
    if (!(seconds > 1))
        return 1;
    return seconds < MAX_RETRY_S ? (int)ceil(seconds) : MAX_RETRY_S;
}
