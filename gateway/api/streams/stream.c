#include "gateway/api/streams/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/api/streams/streams.h"

/* WRITE_BYTES: waiting events are gathered up to this size per write. */
enum { WRITE_BYTES = 16 << 10, ID_LINE_BYTES = BATON_SECRET_BYTES + 32, MALLOC_BYTES = 16 };

struct gw_stream_event {
    struct gw_stream_event *next;
    uint64_t number;    /* from 1 */
    uint64_t end_bytes; /* bytes of all events up to and including this one */
    size_t n;
    char bytes[];
};

static size_t memory_of(const struct gw_stream_event *event)
{
    return sizeof *event + event->n + MALLOC_BYTES;
}

/* ---- its events ---- */

static void drop_first(struct gw_stream *stream)
{
    struct gw_stream_event *event = stream->first;
    stream->first = event->next;
    if (!stream->first)
        stream->last = NULL;
    if (stream->unsent == event)
        stream->unsent = stream->first;
    if (stream->untaken == event)
        stream->untaken = stream->first;
    else
        stream->taken_bytes -= memory_of(event);
    stream->held_bytes -= memory_of(event);
    free(event);
}

static void drop_all(struct gw_stream *stream)
{
    while (stream->first)
        drop_first(stream);
}

/* Cuts the exchange off so that its client sees a broken, not a complete, response. */
static void cut_exchange(struct gw_stream *stream, const char *reason)
{
    struct gw_exchange *exchange = stream->exchange;
    if (!exchange)
        return;
    if (stream->source) /* while the exchange lives, because the source writes its access line */
        stream->source->attached(stream->arg, NULL);
    stream->exchange = NULL;
    gw_exchange_set_data(exchange, NULL);
    gw_exchange_cut(exchange, reason);
    stream->left_ns = baton_now_ns();
}

/* Gives the stream up. The source is abandoned only at the next tick, because it may be in the
 * middle of a write of its own. */
static void lose(struct gw_stream *stream, const char *reason)
{
    stream->is_lost = true;
    stream->streams->counts[GW_STREAM_COUNT_lost]++;
    baton_log(BATON_LOG_WARN, "stream_lost", BATON_S("id", stream->request),
              BATON_S("stream", stream->shown_id), BATON_I("events", stream->n_events),
              BATON_I("held_bytes", stream->held_bytes), BATON_S("reason", reason));
    cut_exchange(stream, reason);
    drop_all(stream);
}

static bool keep(struct gw_stream *stream, const char *bytes, size_t n)
{
    char line[ID_LINE_BYTES];
    size_t n_line = (size_t)snprintf(line, sizeof line, "id: %s-%" PRIu64 "\n", stream->id,
                                     stream->n_events + 1);
    struct gw_stream_event *event = malloc(sizeof *event + n_line + n);
    if (!event)
        return false;
    memcpy(event->bytes, line, n_line);
    memcpy(event->bytes + n_line, bytes, n);
    event->next = NULL;
    event->n = n_line + n;
    event->number = ++stream->n_events;
    event->end_bytes = stream->made_bytes += event->n;
    if (stream->last)
        stream->last->next = event;
    else
        stream->first = event;
    stream->last = event;
    if (!stream->unsent)
        stream->unsent = event;
    if (!stream->untaken)
        stream->untaken = event;
    stream->held_bytes += memory_of(event);
    return true;
}

/* ---- its exchange ---- */

/* Sends the next events in one write, which may call gw_stream_full. */
static void send_some(struct gw_stream *stream)
{
    struct baton_buf *out = &stream->streams->out;
    struct gw_stream_event *event = stream->unsent;
    if (!event->next) {
        stream->unsent = NULL;
        stream->sent_bytes = event->end_bytes;
        gw_exchange_stream_write(stream->exchange, event->bytes, event->n);
        return;
    }
    baton_buf_reset(out);
    for (; event && out->len < WRITE_BYTES; event = event->next) {
        baton_buf_append(out, event->bytes, event->n);
        stream->sent_bytes = event->end_bytes;
    }
    stream->unsent = event;
    if (baton_buf_err(out))
        cut_exchange(stream, "out of memory");
    else
        gw_exchange_stream_write(stream->exchange, out->data, out->len);
}

/* Sends everything, also to a full exchange, which cuts off a client that reads too slowly. */
static void send_all(struct gw_stream *stream)
{
    while (stream->exchange && stream->unsent)
        send_some(stream);
}

static void send_unsent(struct gw_stream *stream)
{
    while (stream->exchange && stream->unsent && !stream->exchange_is_full)
        send_some(stream);
    if (!stream->exchange || stream->unsent || stream->source)
        return;
    struct gw_exchange *exchange = stream->exchange;
    stream->exchange = NULL;
    stream->left_ns = baton_now_ns();
    gw_exchange_set_data(exchange, NULL);
    gw_exchange_stream_end(exchange);
}

/* ---- the bounds ---- */

/* Moves `untaken` to the first event that the client's side has not completely acknowledged. */
static void note_taken(struct gw_stream *stream)
{
    uint64_t on_its_way = gw_exchange_untaken_bytes(stream->exchange);
    for (; stream->untaken != stream->unsent; stream->untaken = stream->untaken->next) {
        if (stream->untaken->end_bytes + on_its_way > stream->sent_bytes)
            break;
        stream->taken_bytes += memory_of(stream->untaken);
    }
}

static void drop_taken(struct gw_stream *stream, size_t down_to)
{
    if (!stream->exchange)
        return;
    note_taken(stream);
    while (stream->taken_bytes > down_to)
        drop_first(stream);
}

static void pause_source(struct gw_stream *stream, bool paused)
{
    if (stream->is_paused == paused || !stream->source)
        return;
    stream->is_paused = paused;
    stream->source->full(stream->arg, paused);
}

/* Makes room after an event that exceeds the bound: sends everything, then drops the oldest. */
static void overflow(struct gw_stream *stream, size_t down_to)
{
    send_all(stream);
    if (!stream->exchange) {
        lose(stream, "the resume window is full");
        return;
    }
    while (stream->held_bytes > down_to)
        drop_first(stream);
}

/* Sends events before they are dropped: a client that does not take them is cut off. */
static void keep_latest(struct gw_stream *stream)
{
    while (stream->held_bytes > stream->streams->bounds.stream_bytes) {
        if (stream->exchange && stream->unsent == stream->first)
            send_some(stream);
        drop_first(stream);
    }
}

static void keep_bounds(struct gw_stream *stream)
{
    size_t max = stream->streams->bounds.stream_bytes, less = max / 8 * 3;
    if (stream->is_lasting) {
        keep_latest(stream);
        return;
    }
    if (stream->held_bytes > less)
        drop_taken(stream, max / 4);
    if (stream->held_bytes > max)
        overflow(stream, max / 4);
    pause_source(stream, stream->held_bytes > (stream->is_paused ? less : max / 2));
}

/* ---- for its source ---- */

/* Stores each event with a number of its own. A blank line ends an event, and none contains one. */
static bool keep_each(struct gw_stream *stream, const char *events, size_t n)
{
    while (n) {
        const char *blank = memmem(events, n, "\n\n", 2);
        size_t n_event = blank ? (size_t)(blank - events) + 2 : n;
        if (!keep(stream, events, n_event))
            return false;
        events += n_event;
        n -= n_event;
    }
    return true;
}

void gw_stream_write(struct gw_stream *stream, const char *events, size_t n)
{
    if (stream->is_lost)
        return;
    if (!keep_each(stream, events, n)) {
        lose(stream, "out of memory");
        return;
    }
    send_unsent(stream);
    keep_bounds(stream);
}

void gw_stream_keep_alive(struct gw_stream *stream, const char *text, size_t n)
{
    if (stream->exchange && !stream->unsent && !stream->exchange_is_full)
        gw_exchange_stream_write(stream->exchange, text, n);
}

void gw_stream_end(struct gw_stream *stream)
{
    stream->source = NULL;
    stream->left_ns = baton_now_ns();
    send_unsent(stream);
}

/* ---- for its client ---- */

enum gw_stream_has gw_stream_has_after(const struct gw_stream *stream, uint64_t after)
{
    if (after > stream->n_events)
        return GW_STREAM_NEVER_HAD;
    if (stream->is_lost)
        return GW_STREAM_HAD;
    if (after == stream->n_events)
        return stream->source ? GW_STREAM_HAS : GW_STREAM_HAS_ALL;
    return stream->first && stream->first->number <= after + 1 ? GW_STREAM_HAS : GW_STREAM_HAD;
}

uint64_t gw_stream_first_kept(const struct gw_stream *stream)
{
    return stream->first ? stream->first->number : stream->n_events + 1;
}

bool gw_stream_read_event_id(const struct gw_stream *stream, const char *text, uint64_t *number)
{
    enum { MOST_DIGITS = 18 }; /* cannot overflow an uint64_t */
    size_t n_id = strlen(stream->id);
    if (strncmp(text, stream->id, n_id) != 0 || text[n_id] != '-')
        return false;
    const char *digits = text + n_id + 1;
    size_t n = strspn(digits, "0123456789");
    if (!n || n > MOST_DIGITS || digits[n])
        return false;
    *number = strtoull(digits, NULL, 10);
    return true;
}

static void begin_after(struct gw_stream *stream, uint64_t number)
{
    struct gw_stream_event *next = stream->first;
    stream->taken_bytes = 0;
    for (; next && next->number <= number; next = next->next)
        stream->taken_bytes += memory_of(next);
    stream->unsent = stream->untaken = next;
    stream->sent_bytes = next ? next->end_bytes - next->n : stream->made_bytes;
}

void gw_stream_attach(struct gw_stream *stream, struct gw_exchange *exchange, uint64_t after)
{
    bool was_attached = stream->exchange;
    cut_exchange(stream, "resumed on another connection");
    begin_after(stream, after);
    stream->exchange = exchange;
    stream->exchange_is_full = false;
    gw_exchange_set_data(exchange, stream);
    stream->streams->counts[GW_STREAM_COUNT_resumed]++;
    baton_log(BATON_LOG_INFO, "stream_resumed", BATON_S("id", stream->request),
              BATON_S("stream", stream->shown_id), BATON_S("client", gw_exchange_peer(exchange)),
              BATON_I("after", after), BATON_I("events", stream->n_events),
              BATON_I("taken_over", was_attached));
    if (stream->source)
        stream->source->attached(stream->arg, exchange);
    send_unsent(stream);
    keep_bounds(stream);
}

void gw_stream_detach(struct gw_stream *stream, const char *reason)
{
    if (stream->source) /* while the exchange lives, because the source writes its access line */
        stream->source->attached(stream->arg, NULL);
    stream->exchange = NULL;
    stream->left_ns = baton_now_ns();
    stream->streams->counts[GW_STREAM_COUNT_detached]++;
    baton_log(BATON_LOG_INFO, "stream_detached", BATON_S("id", stream->request),
              BATON_S("stream", stream->shown_id), BATON_I("events", stream->n_events),
              BATON_I("held_bytes", stream->held_bytes), BATON_S("reason", reason));
}

void gw_stream_full(struct gw_stream *stream, bool full)
{
    stream->exchange_is_full = full;
    if (full)
        return;
    send_unsent(stream);
    keep_bounds(stream);
}

/* ---- for its table ---- */

void gw_stream_abandon(struct gw_stream *stream, const char *reason)
{
    const struct gw_stream_source *source = stream->source;
    if (!source)
        return;
    stream->source = NULL;
    source->abandoned(stream->arg, reason);
}

void gw_stream_tick(struct gw_stream *stream)
{
    if (stream->is_lost)
        gw_stream_abandon(stream, "its stream is lost");
    else if (stream->is_paused)
        keep_bounds(stream);
}

void gw_stream_fini(struct gw_stream *stream, const char *reason)
{
    cut_exchange(stream, reason);
    gw_stream_abandon(stream, reason);
    drop_all(stream);
    gw_payers_put(&stream->payers);
}
