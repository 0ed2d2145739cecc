#include "bench/serve/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { JANITOR_MS = 50, HTTP_BUSY = 429 };

/* A slot whose request failed at once would otherwise ask again thousands of times a second. */
#define FAILED_PAUSE_S 0.1
/* No server is waited for longer, whatever it says. */
#define MAX_RETRY_AFTER_S 60.0

static int64_t ns_of(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static bool is_open(const struct sv_source *source)
{
    return source->arrivals != SV_CLOSED;
}

static void fail_load(struct sv_load *load, enum baton_err err)
{
    if (!load->err)
        load->err = err;
}

/* ---- starting ---- */

static void on_over(struct sv_call *call)
{
    struct sv_source *source = call->arg;
    sv_call_list_remove(&source->load->running, call);
    sv_call_list_push_back(&source->load->over, call);
}

static void start(struct sv_load *load, struct sv_source *source, int64_t due_ns)
{
    struct sv_record *record = sv_records_add(load->records);
    struct sv_call *call =
        record ? sv_call_create(load->setting, &source->workload, record, on_over, source) : NULL;
    if (!call) {
        fail_load(load, BATON_NO_MEMORY);
        return;
    }
    record->plan = sv_plan_make(&source->workload, source->n_due);
    record->run = load->run;
    record->group = source->name;
    record->start_ns = due_ns;
    source->n_due++;
    source->n_started++;
    source->n_in_flight++;
    sv_call_list_push_back(&load->running, call);
    sv_call_start(call);
}

static bool has_more(const struct sv_source *source)
{
    if (source->load->stopping || source->load->err)
        return false;
    if (source->arrivals == SV_TRACE && source->n_due >= source->workload.trace->n)
        return false;
    return !source->n_requests || source->n_due < (uint64_t)source->n_requests;
}

static int64_t gap_ns(const struct sv_source *source)
{
    struct sv_rng rng = sv_rng(source->workload.seed, SV_STREAM_ARRIVAL, source->n_due);
    double mean_s = 1 / source->rate_per_s;
    return ns_of(source->arrivals == SV_POISSON ? mean_s * sv_rng_exponential(&rng) : mean_s);
}

/* Where the next request belongs: periodic ones begin at once, Poisson's after a first gap. */
static void plan_next(struct sv_source *source)
{
    const struct sv_trace *trace = source->workload.trace;
    bool first = !source->next_due_ns;
    int64_t from_ns = first ? source->begin_ns : source->next_due_ns;
    if (!has_more(source))
        source->next_due_ns = INT64_MAX;
    else if (source->arrivals == SV_TRACE)
        source->next_due_ns =
            source->begin_ns + ns_of(trace->rows[source->n_due].arrival_s / source->trace_speed);
    else if (first && source->arrivals == SV_PERIODIC)
        source->next_due_ns = from_ns;
    else
        source->next_due_ns = from_ns + gap_ns(source);
}

/* One that is due while max_in_flight are under way. */
static bool hold_back(struct sv_source *source, int64_t now_ns)
{
    if (source->n_in_flight < source->max_in_flight)
        return false;
    source->full_ns = now_ns;
    return true;
}

static void pump_open(struct sv_load *load, struct sv_source *source, int64_t now_ns)
{
    if (!source->next_due_ns && source->begin_ns != INT64_MAX)
        plan_next(source);
    while (source->next_due_ns && source->next_due_ns <= now_ns &&
           source->next_due_ns < source->stop_ns && has_more(source)) {
        int64_t due_ns = source->next_due_ns;
        bool held = hold_back(source, now_ns);
        if (held && now_ns < source->stop_ns)
            return;
        if (held) {
            source->n_due++; /* too late now */
        } else {
            source->n_held += due_ns <= source->full_ns;
            start(load, source, due_ns);
        }
        plan_next(source);
    }
}

static void pump_closed(struct sv_load *load, struct sv_source *source, int64_t now_ns)
{
    while (source->n_in_flight < source->concurrency && now_ns >= source->begin_ns &&
           now_ns < source->stop_ns && has_more(source))
        start(load, source, now_ns);
}

static bool is_exhausted(const struct sv_source *source, int64_t now_ns)
{
    if (!has_more(source))
        return true;
    if (is_open(source))
        return source->next_due_ns >= source->stop_ns;
    return now_ns >= source->stop_ns;
}

/* ---- ending ---- */

static void release(struct sv_load *load, struct sv_call *call)
{
    struct sv_source *source = call->arg;
    source->n_in_flight--;
    load->n_by_outcome[call->record->outcome]++;
    load->n_over_tokens += (uint64_t)call->record->n_arrivals;
    sv_call_destroy(call);
}

static bool may_retry(const struct sv_source *source, const struct sv_record *record)
{
    return record->outcome == SV_FAILED && record->status == HTTP_BUSY && !is_open(source) &&
           record->n_attempts <= source->max_retries && !source->load->stopping;
}

/* Seconds that a closed source's slot rests after this. */
static double pause_s(const struct sv_record *record)
{
    double asked_s = record->retry_after_s;
    if (record->outcome != SV_FAILED)
        return 0;
    if (asked_s > MAX_RETRY_AFTER_S)
        return MAX_RETRY_AFTER_S;
    return asked_s > FAILED_PAUSE_S ? asked_s : FAILED_PAUSE_S;
}

static void settle(struct sv_load *load, struct sv_call *call, int64_t now_ns)
{
    const struct sv_source *source = call->arg;
    double rest_s = is_open(source) ? 0 : pause_s(call->record);
    call->retries = may_retry(source, call->record);
    if (!(rest_s > 0)) {
        release(load, call);
        return;
    }
    call->wake_ns = now_ns + ns_of(rest_s);
    sv_call_list_push_back(&load->waiting, call);
}

static void wake(struct sv_load *load, int64_t now_ns)
{
    struct sv_call *next;
    for (struct sv_call *call = sv_call_list_first(&load->waiting); call; call = next) {
        const struct sv_source *source = call->arg;
        bool retries = call->retries && !load->stopping && now_ns < load->cut_ns;
        next = sv_call_list_next(&load->waiting, call);
        bool rests = call->retries || !is_exhausted(source, now_ns);
        if (call->wake_ns > now_ns && rests && !load->stopping && now_ns < load->cut_ns)
            continue;
        sv_call_list_remove(&load->waiting, call);
        if (!retries) {
            release(load, call);
            continue;
        }
        sv_call_list_push_back(&load->running, call);
        sv_call_start(call);
    }
}

static void cut_all(struct sv_load *load)
{
    struct sv_call *next;
    for (struct sv_call *call = sv_call_list_first(&load->running); call; call = next) {
        next = sv_call_list_next(&load->running, call);
        sv_call_end(call, SV_CUT, NULL);
    }
}

static void on_janitor(uv_timer_t *timer)
{
    struct sv_load *load = timer->data;
    int64_t now_ns = baton_now_ns();
    struct sv_call *next;
    for (struct sv_call *call = sv_call_list_first(&load->running); call; call = next) {
        next = sv_call_list_next(&load->running, call);
        if (load->timeout_ns && now_ns - call->record->sent_ns > load->timeout_ns)
            sv_call_end(call, SV_FAILED, "timeout");
    }
}

/* ---- a turn of the loop ---- */

static int64_t next_event_ns(const struct sv_load *load, int64_t now_ns)
{
    int64_t next_ns = load->over.n ? now_ns : load->cut_ns;
    for (int i = 0; i < load->n_sources; i++) {
        const struct sv_source *source = &load->sources[i];
        bool full = source->n_in_flight >= source->max_in_flight;
        int64_t begin_ns = is_open(source) ? source->next_due_ns : source->begin_ns;
        if (begin_ns > now_ns && !(is_open(source) && full) && begin_ns < next_ns)
            next_ns = begin_ns;
        if (source->stop_ns > now_ns && source->stop_ns < next_ns)
            next_ns = source->stop_ns;
    }
    for (struct sv_call *call = sv_call_list_first(&load->waiting); call;
         call = sv_call_list_next(&load->waiting, call))
        if (call->wake_ns < next_ns)
            next_ns = call->wake_ns;
    return next_ns;
}

static void set_alarm(struct sv_load *load, int64_t at_ns)
{
    if (at_ns == load->alarm_ns || at_ns == INT64_MAX)
        return;
    const struct itimerspec spec = {
        .it_value = {.tv_sec = at_ns / BATON_SECOND, .tv_nsec = at_ns % BATON_SECOND}};
    if (timerfd_settime(load->alarm_fd, TFD_TIMER_ABSTIME, &spec, NULL))
        fail_load(load, BATON_IO);
    load->alarm_ns = at_ns;
}

static void on_alarm(uv_poll_t *poll, int status, int events)
{
    struct sv_load *load = poll->data;
    uint64_t n_times;
    (void)events;
    if (status < 0 || (read(load->alarm_fd, &n_times, sizeof n_times) < 0 && errno != EAGAIN))
        fail_load(load, BATON_IO);
    load->alarm_ns = 0;
}

static bool is_finished(const struct sv_load *load, int64_t now_ns)
{
    for (int i = 0; i < load->n_sources; i++)
        if (!is_exhausted(&load->sources[i], now_ns))
            return false;
    return !load->running.n && !load->waiting.n && !load->over.n;
}

static void settle_all(struct sv_load *load, int64_t now_ns)
{
    struct sv_call *call;
    while ((call = sv_call_list_pop_front(&load->over)))
        settle(load, call, now_ns);
}

static void on_turn(uv_prepare_t *turn)
{
    struct sv_load *load = turn->data;
    int64_t now_ns = baton_now_ns();
    settle_all(load, now_ns);
    wake(load, now_ns);
    if (load->on_turn && !load->err)
        load->err = load->on_turn(load, now_ns);
    for (int i = 0; i < load->n_sources; i++) {
        if (is_open(&load->sources[i]))
            pump_open(load, &load->sources[i], now_ns);
        else
            pump_closed(load, &load->sources[i], now_ns);
    }
    if (load->stopping || load->err || now_ns >= load->cut_ns)
        cut_all(load);
    if (is_finished(load, now_ns))
        uv_stop(load->loop);
    else
        set_alarm(load, next_event_ns(load, now_ns));
}

/* ---- the whole ---- */

static void begin(struct sv_load *load)
{
    sv_call_list_init(&load->running);
    sv_call_list_init(&load->waiting);
    sv_call_list_init(&load->over);
    load->began_ns = baton_now_ns();
    for (int i = 0; i < load->n_sources; i++) {
        struct sv_source *source = &load->sources[i];
        source->load = load;
        if (!source->begin_ns)
            source->begin_ns = load->began_ns;
    }
}

static enum baton_err open_handles(struct sv_load *load)
{
    load->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (load->alarm_fd < 0)
        return BATON_IO;
    if (uv_poll_init(load->loop, &load->alarm, load->alarm_fd)) {
        (void)close(load->alarm_fd);
        return BATON_IO;
    }
    (void)uv_prepare_init(load->loop, &load->turn); /* these two can not fail */
    (void)uv_timer_init(load->loop, &load->janitor);
    load->turn.data = load->janitor.data = load->alarm.data = load;
    (void)uv_prepare_start(&load->turn, on_turn);
    (void)uv_timer_start(&load->janitor, on_janitor, JANITOR_MS, JANITOR_MS);
    return uv_poll_start(&load->alarm, UV_READABLE, on_alarm) ? BATON_IO : BATON_OK;
}

static void close_handles(struct sv_load *load)
{
    uv_close((uv_handle_t *)&load->turn, NULL);
    uv_close((uv_handle_t *)&load->janitor, NULL);
    uv_close((uv_handle_t *)&load->alarm, NULL);
    (void)uv_run(load->loop, UV_RUN_NOWAIT);
    (void)close(load->alarm_fd);
}

/* No request is lost: whatever was started is in exactly one outcome. */
static enum baton_err check_counts(const struct sv_load *load, struct baton_why *why)
{
    uint64_t n_started = 0, n_over = 0;
    for (int i = 0; i < load->n_sources; i++)
        n_started += load->sources[i].n_started;
    for (int i = SV_DONE; i < SV_N_OUTCOMES; i++)
        n_over += load->n_by_outcome[i];
    if (n_started == n_over)
        return BATON_OK;
    return baton_fail(why, BATON_INTERNAL, "%llu requests were sent and %llu ended",
                      (unsigned long long)n_started, (unsigned long long)n_over);
}

enum baton_err sv_load_run(struct sv_load *load, struct baton_why *why)
{
    begin(load);
    enum baton_err err = open_handles(load);
    if (err)
        return baton_fail(why, err, "the event loop: %s", strerror(errno));
    (void)uv_run(load->loop, UV_RUN_DEFAULT);
    load->ended_ns = baton_now_ns();
    close_handles(load);
    return load->err ? load->err : check_counts(load, why);
}
