#include "gateway/pace.h"

#include <math.h>

#include "common/base/clock.h"

enum { MIN_MARKS = 4, MAX_RETRY_S = 60 };

/* "Lately" goes back that far on the clock, and to the last few marks however old. */
static const double lately_s = 4;
/* A place that is there is given sooner than that. */
static const double had_to_wait_s = 0.005;
/* The weight of the newest request in the means. */
static const double newest = 1.0 / 16;

/* ---- meters ---- */

static void pass(struct gw_meter *meter, int64_t now_ns)
{
    if (meter->n_open && now_ns > meter->seen_ns)
        meter->clock_s += baton_seconds(now_ns - meter->seen_ns);
    meter->seen_ns = now_ns;
}

void gw_meter_begin(struct gw_meter *meter, int64_t now_ns)
{
    pass(meter, now_ns);
    meter->n_open++;
}

void gw_meter_note(struct gw_meter *meter, double done, int64_t now_ns)
{
    size_t i = meter->n_marks++ % GW_METER_MARKS;
    pass(meter, now_ns);
    meter->done += done;
    meter->marks[i].clock_s = meter->clock_s;
    meter->marks[i].done = meter->done;
}

void gw_meter_end(struct gw_meter *meter, double done, int64_t now_ns)
{
    pass(meter, now_ns);
    meter->n_open--;
    if (done > 0)
        gw_meter_note(meter, done, now_ns);
}

/* From the first mark that is old enough, or the oldest there is. */
double gw_meter_per_unit_s(const struct gw_meter *meter)
{
    double clock_s = 0, done = 0;
    for (uint64_t i = 1; i <= meter->n_marks && i <= GW_METER_MARKS; i++) {
        size_t at = (meter->n_marks - i) % GW_METER_MARKS;
        clock_s = meter->marks[at].clock_s;
        done = meter->marks[at].done;
        if (i > MIN_MARKS && meter->clock_s - clock_s >= lately_s)
            break;
        if (i == meter->n_marks)
            clock_s = done = 0; /* since the beginning */
    }
    return (meter->clock_s - clock_s) / fmax(meter->done - done, 1);
}

/* ---- requests ---- */

static void end_backlog(struct gw_pace *pace, int64_t now_ns)
{
    if (pace->room.n_open)
        gw_meter_end(&pace->room, 0, now_ns);
}

void gw_pace_tick(struct gw_pace *pace, double waited_s, int64_t now_ns)
{
    bool is_backlog = waited_s > had_to_wait_s;
    pass(&pace->room, now_ns);
    pass(&pace->compute, now_ns);
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

void gw_pace_moved(struct gw_pace *pace, enum gw_state from, enum gw_state to, size_t n_tokens,
                   int64_t now_ns)
{
    bool is_run = to == GW_DECODING || to == GW_DONE;
    if (is_waiting(to) && !is_waiting(from)) {
        pace->n_waiting++;
        pace->n_waiting_tokens += n_tokens;
    }
    if (is_waiting(from) && !is_waiting(to))
        wait_no_more(pace, n_tokens, to == GW_PREFILLING, now_ns);
    if (to == GW_PREFILLING) {
        gw_meter_begin(&pace->compute, now_ns);
        pace->n_placed_tokens += n_tokens;
    }
    if (from == GW_PREFILLING) {
        gw_meter_end(&pace->compute, is_run ? (double)n_tokens : 0, now_ns);
        pace->n_placed_tokens -= n_tokens;
    }
}

static void mix(double *mean, double value)
{
    *mean = *mean > 0 ? *mean + newest * (value - *mean) : value;
}

void gw_pace_finished(struct gw_pace *pace, uint64_t n_output, double seconds)
{
    mix(&pace->mean_output_tokens, (double)n_output);
    if (n_output > 1)
        mix(&pace->per_token_s, seconds / (double)(n_output - 1));
}

/* ---- estimates ---- */

double gw_pace_room_s(const struct gw_pace *pace, size_t n_requests)
{
    return pace->room.n_open ? (double)n_requests * gw_meter_per_unit_s(&pace->room) : 0;
}

static double compute_s(const struct gw_pace *pace, size_t n_tokens)
{
    bool is_known = pace->compute.n_marks;
    return is_known ? (double)n_tokens * gw_meter_per_unit_s(&pace->compute) : 0;
}

double gw_pace_wait_s(const struct gw_pace *pace, size_t n_requests, size_t n_tokens)
{
    return gw_pace_room_s(pace, pace->n_waiting + n_requests) +
           compute_s(pace, pace->n_placed_tokens + n_tokens);
}

double gw_pace_service_s(const struct gw_pace *pace, size_t n_tokens, int64_t max_new_tokens)
{
    double n_output = fmin((double)max_new_tokens, pace->mean_output_tokens);
    return compute_s(pace, n_tokens) + (n_output > 1 ? (n_output - 1) * pace->per_token_s : 0);
}

int gw_pace_retry_s(double seconds)
{
    if (!(seconds > 1))
        return 1;
    return seconds < MAX_RETRY_S ? (int)ceil(seconds) : MAX_RETRY_S;
}
