#include "tools/load/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { JANITOR_MS = 50, HTTP_BUSY = 429 };

/* A slot whose request failed at once would otherwise repeat it thousands of times a second. */
#define FAILED_PAUSE_S 0.1
/* The longest pause after a 429, even when the server's Retry-After is longer. */
#define MAX_RETRY_AFTER_S 60.0

static int64_t ns_of(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static void fail_load(struct ld_load *load, enum baton_err err)
{
    if (!load->err)
        load->err = err;
}

/* ---- starting ---- */

static void on_over(struct ld_call *call)
{
    /* Only listed here: its memory is freed in settle(), outside of its own callbacks. */
    struct ld_source *source = call->arg;
    ld_call_list_remove(&source->load->running, call);
    ld_call_list_push_back(&source->load->over, call);
}

static void start(struct ld_load *load, struct ld_source *source, int64_t due_ns)
{
    struct ld_record *record = ld_records_add(load->records);
    struct ld_call *call =
        record ? ld_call_create(load->setting, &source->workload, record, on_over, source) : NULL;
    if (!call) {
        fail_load(load, BATON_NO_MEMORY);
        source->ended = true;
        return;
    }
    record->plan = ld_source_take(source);
    record->run = load->run;
    record->group = source->name;
    record->start_ns = due_ns;
    ld_call_list_push_back(&load->running, call);
    ld_call_start(call);
}

static void pump(struct ld_load *load, int64_t now_ns)
{
    int64_t due_ns;
    for (int i = 0; i < load->n_sources; i++)
        while (ld_source_is_due(&load->sources[i], now_ns, &due_ns))
            start(load, &load->sources[i], due_ns);
}

/* ---- ending ---- */

static void release(struct ld_load *load, struct ld_call *call)
{
    struct ld_source *source = call->arg;
    source->n_in_flight--;
    load->n_by_outcome[call->record->outcome]++;
    load->n_over_tokens += (uint64_t)call->record->n_arrivals;
    ld_call_destroy(call);
}

static bool may_retry(const struct ld_source *source, const struct ld_record *record)
{
    return record->outcome == LD_FAILED && record->status == HTTP_BUSY &&
           !ld_source_is_open(source) && record->n_attempts <= source->max_retries &&
           !source->load->stopping;
}

/* Returns the seconds for which a closed source's slot pauses after this request. */
static double pause_s(const struct ld_record *record)
{
    double server_s = record->retry_after_s;
    if (record->outcome != LD_FAILED)
        return 0;
    if (server_s > MAX_RETRY_AFTER_S)
        return MAX_RETRY_AFTER_S;
    return server_s > FAILED_PAUSE_S ? server_s : FAILED_PAUSE_S;
}

static void settle(struct ld_load *load, struct ld_call *call, int64_t now_ns)
{
    const struct ld_source *source = call->arg;
    double rest_s = ld_source_is_open(source) ? 0 : pause_s(call->record);
    call->retries = may_retry(source, call->record);
    if (!(rest_s > 0)) {
        release(load, call);
        return;
    }
    call->wake_ns = now_ns + ns_of(rest_s);
    ld_call_list_push_back(&load->waiting, call);
}

static void wake(struct ld_load *load, int64_t now_ns)
{
    struct ld_call *next;
    for (struct ld_call *call = ld_call_list_first(&load->waiting); call; call = next) {
        const struct ld_source *source = call->arg;
        bool retries = call->retries && !load->stopping && now_ns < load->cut_ns;
        next = ld_call_list_next(&load->waiting, call);
        bool rests = call->retries || !ld_source_is_exhausted(source, now_ns);
        if (call->wake_ns > now_ns && rests && !load->stopping && now_ns < load->cut_ns)
            continue;
        ld_call_list_remove(&load->waiting, call);
        if (!retries) {
            release(load, call);
            continue;
        }
        ld_call_list_push_back(&load->running, call);
        ld_call_start(call);
    }
}

static void cut_all(struct ld_load *load)
{
    struct ld_call *next;
    for (struct ld_call *call = ld_call_list_first(&load->running); call; call = next) {
        next = ld_call_list_next(&load->running, call);
        ld_call_end(call, LD_CUT, NULL);
    }
}

static void on_janitor(uv_timer_t *timer)
{
    struct ld_load *load = timer->data;
    int64_t now_ns = baton_now_ns();
    struct ld_call *next;
    for (struct ld_call *call = ld_call_list_first(&load->running); call; call = next) {
        next = ld_call_list_next(&load->running, call);
        /* A sweep every JANITOR_MS is exact enough for timeouts of seconds, and costs no timer
         * each. */
        if (load->timeout_ns && now_ns - call->record->sent_ns > load->timeout_ns)
            ld_call_end(call, LD_FAILED, "timeout");
    }
}

/* ---- a turn of the loop ---- */

static int64_t next_event_ns(const struct ld_load *load, int64_t now_ns)
{
    /* Calls that ended wait for the next turn, which must come at once. */
    int64_t next_ns = load->over.n ? now_ns : load->cut_ns;
    for (int i = 0; i < load->n_sources; i++) {
        int64_t source_ns = ld_source_next_ns(&load->sources[i], now_ns);
        if (source_ns < next_ns)
            next_ns = source_ns;
    }
    for (struct ld_call *call = ld_call_list_first(&load->waiting); call;
         call = ld_call_list_next(&load->waiting, call))
        if (call->wake_ns < next_ns)
            next_ns = call->wake_ns;
    return next_ns;
}

static void set_alarm(struct ld_load *load, int64_t at_ns)
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
    struct ld_load *load = poll->data;
    uint64_t n_times;
    (void)events;
    if (status < 0 || (read(load->alarm_fd, &n_times, sizeof n_times) < 0 && errno != EAGAIN))
        fail_load(load, BATON_IO);
    /* It fired, so that the next one must be set even for the same moment. */
    load->alarm_ns = 0;
}

static bool is_finished(const struct ld_load *load, int64_t now_ns)
{
    for (int i = 0; i < load->n_sources; i++)
        if (!ld_source_is_exhausted(&load->sources[i], now_ns))
            return false;
    return !load->running.n && !load->waiting.n && !load->over.n;
}

static void settle_all(struct ld_load *load, int64_t now_ns)
{
    struct ld_call *call;
    while ((call = ld_call_list_pop_front(&load->over)))
        settle(load, call, now_ns);
}

static void on_turn(uv_prepare_t *turn)
{
    struct ld_load *load = turn->data;
    int64_t now_ns = baton_now_ns();
    /* Slots are freed before new requests are due, so that one turn can fill them. */
    settle_all(load, now_ns);
    wake(load, now_ns);
    if (load->on_turn && !load->err)
        load->err = load->on_turn(load, now_ns);
    for (int i = 0; i < load->n_sources; i++)
        load->sources[i].ended = load->stopping || load->err;
    pump(load, now_ns);
    if (load->stopping || load->err || now_ns >= load->cut_ns)
        cut_all(load);
    if (is_finished(load, now_ns))
        uv_stop(load->loop);
    else
        set_alarm(load, next_event_ns(load, now_ns));
}

/* ---- a run ---- */

static void begin(struct ld_load *load)
{
    ld_call_list_init(&load->running);
    ld_call_list_init(&load->waiting);
    ld_call_list_init(&load->over);
    load->began_ns = baton_now_ns();
    for (int i = 0; i < load->n_sources; i++) {
        struct ld_source *source = &load->sources[i];
        source->load = load;
        if (!source->begin_ns)
            source->begin_ns = load->began_ns;
    }
}

static enum baton_err open_handles(struct ld_load *load)
{
    load->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (load->alarm_fd < 0)
        return BATON_IO;
    if (uv_poll_init(load->loop, &load->alarm, load->alarm_fd)) {
        (void)close(load->alarm_fd);
        return BATON_IO;
    }
    (void)uv_prepare_init(load->loop, &load->turn); /* these two cannot fail */
    (void)uv_timer_init(load->loop, &load->janitor);
    load->turn.data = load->janitor.data = load->alarm.data = load;
    (void)uv_prepare_start(&load->turn, on_turn);
    (void)uv_timer_start(&load->janitor, on_janitor, JANITOR_MS, JANITOR_MS);
    return uv_poll_start(&load->alarm, UV_READABLE, on_alarm) ? BATON_IO : BATON_OK;
}

static void close_handles(struct ld_load *load)
{
    uv_close((uv_handle_t *)&load->turn, NULL);
    uv_close((uv_handle_t *)&load->janitor, NULL);
    uv_close((uv_handle_t *)&load->alarm, NULL);
    /* One more turn runs the close callbacks while the handles still exist. */
    (void)uv_run(load->loop, UV_RUN_NOWAIT);
    (void)close(load->alarm_fd);
}

/* Checks that no request is lost: each one that was started has exactly one outcome. */
static enum baton_err check_counts(const struct ld_load *load, struct baton_why *why)
{
    uint64_t n_started = 0, n_over = 0;
    for (int i = 0; i < load->n_sources; i++)
        n_started += load->sources[i].n_started;
    for (int i = LD_DONE; i < LD_N_OUTCOMES; i++)
        n_over += load->n_by_outcome[i];
    if (n_started == n_over)
        return BATON_OK;
    return baton_fail(why, BATON_INTERNAL, "%llu requests were sent and %llu ended",
                      (unsigned long long)n_started, (unsigned long long)n_over);
}

enum baton_err ld_load_run(struct ld_load *load, struct baton_why *why)
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
