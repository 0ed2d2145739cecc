#include "gateway/api/routes/events.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/list.h"
#include "common/obs/prom.h"
#include "gateway/api/answer.h"
#include "gateway/api/listing.h"
#include "gateway/http/sse.h"

enum { MAX_SECONDS = 86400 };

struct reader {
    struct gw_other_user user; /* first: its exchange's data is this */
    struct baton_node in_readers;
    struct gw_events *events;
    struct gw_exchange *exchange;
    int64_t until_ns; /* then its stream ends */
    bool is_full, needs_fleet;
};

BATON_LIST(reader_list, struct reader, in_readers)

struct gw_events {
    struct gw_feed *feed;
    const struct gw_served *served;
    struct reader_list readers;
    struct baton_buf snapshot; /* a fleet event */
    int64_t beat_ns, wrote_ns; /* the last beat; when any reader got bytes */
    uint64_t n_missed;         /* batches that some reader did not get */
};

struct gw_events *gw_events_create(struct gw_feed *feed, const struct gw_served *served)
{
    struct gw_events *events = calloc(1, sizeof *events);
    if (!events)
        return NULL;
    events->feed = feed;
    events->served = served;
    reader_list_init(&events->readers);
    baton_buf_init(&events->snapshot, GW_FEED_FLEET_BYTES);
    return events;
}

static void forget(struct reader *reader)
{
    struct gw_events *events = reader->events;
    reader_list_remove(&events->readers, reader);
    events->feed->is_read = events->readers.n > 0;
    free(reader);
}

void gw_events_destroy(struct gw_events *events)
{
    if (!events)
        return;
    for (struct reader *reader; (reader = reader_list_first(&events->readers));)
        forget(reader);
    baton_buf_fini(&events->snapshot);
    free(events);
}

static void end(struct reader *reader)
{
    struct gw_exchange *exchange = reader->exchange;
    gw_exchange_set_data(exchange, NULL);
    forget(reader);
    gw_exchange_stream_end(exchange);
}

void gw_events_drain(struct gw_events *events)
{
    if (!events) /* the start failed */
        return;
    for (struct reader *reader; (reader = reader_list_first(&events->readers));)
        end(reader);
}

/* ---- readers ---- */

static void on_gone(struct gw_other_user *user)
{
    forget((struct reader *)(void *)user);
}

static void on_full(struct gw_other_user *user, bool full)
{
    ((struct reader *)(void *)user)->is_full = full;
}

/* Reads how long the stream lasts. False: the exchange was answered. */
static bool read_seconds(struct gw_exchange *exchange, int64_t *until_ns)
{
    char text[GW_URL_PART_BYTES];
    char *rest = NULL;
    *until_ns = INT64_MAX;
    if (!*gw_exchange_query(exchange))
        return true;
    long seconds = strtol(gw_query_value(exchange, "seconds", text), &rest, 10);
    if (!*text || *rest || seconds < 1 || seconds > MAX_SECONDS) {
        gw_exchange_respond_error(
            exchange, &(struct gw_error){.status = 400,
                                         .code = "out_of_range",
                                         .message = "seconds: must be an integer in 1..86400",
                                         .param = "seconds"});
        return false;
    }
    *until_ns = baton_now_ns() + seconds * BATON_SECOND;
    return true;
}

void gw_events_get(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none)
{
    struct gw_events *events = api->events;
    int64_t until_ns;
    (void)none;
    if (!read_seconds(exchange, &until_ns))
        return;
    if (!strcmp(gw_exchange_method(exchange), "HEAD")) {
        gw_exchange_respond(exchange, 200, "text/event-stream", GW_STREAM_HEADERS, "", 0);
        return;
    }
    if (api->dispatcher->admission.draining) {
        gw_answer_error(exchange, 503, "draining", "the gateway is leaving");
        return;
    }
    struct reader *reader =
        events->readers.n < GW_EVENTS_MAX_READERS ? calloc(1, sizeof *reader) : NULL;
    if (!reader) {
        gw_answer_error(exchange, 429, "too_many_requests",
                        "as many clients read the events as may: try again when one leaves");
        return;
    }
    reader->user = (struct gw_other_user){.user = GW_USER_OTHER, .gone = on_gone, .full = on_full};
    reader->events = events;
    reader->exchange = exchange;
    reader->until_ns = until_ns;
    reader->needs_fleet = true;
    reader_list_push_back(&events->readers, reader);
    events->feed->is_read = true;
    gw_exchange_set_data(exchange, reader);
    gw_exchange_stream_begin(exchange, 200, "text/event-stream", GW_STREAM_HEADERS);
}

/* ---- the beat ---- */

static void put_snapshot(struct gw_events *events)
{
    struct gw_feed_part parts[GW_MAX_MODELS];
    for (size_t i = 0; i < events->served->n; i++)
        parts[i] = (struct gw_feed_part){events->served->models[i]->fleet,
                                         events->served->models[i]->requests};
    gw_feed_put_fleet(events->feed, parts, events->served->n, &events->snapshot);
}

/* What the reader gets at this beat. A fleet event stands for the whole batch. */
static const struct baton_buf *bytes_for(struct gw_events *events, struct reader *reader)
{
    if (!reader->needs_fleet)
        return &events->feed->batch;
    if (!events->snapshot.len)
        put_snapshot(events);
    reader->needs_fleet = baton_buf_err(&events->snapshot) != BATON_OK;
    return &events->snapshot;
}

static void send_to_all(struct gw_events *events, int64_t now_ns)
{
    bool has_lost = gw_feed_has_lost(events->feed);
    struct reader *next;
    for (struct reader *reader = reader_list_first(&events->readers); reader; reader = next) {
        next = reader_list_next(&events->readers, reader);
        if (now_ns >= reader->until_ns) {
            end(reader);
            continue;
        }
        bool misses = has_lost || reader->is_full;
        events->n_missed += misses;
        reader->needs_fleet |= misses;
        if (reader->is_full)
            continue;
        const struct baton_buf *bytes = bytes_for(events, reader);
        if (baton_buf_err(bytes) || !bytes->len)
            continue;
        events->wrote_ns = now_ns;
        gw_exchange_stream_write(reader->exchange, bytes->data, bytes->len);
    }
}

static void keep_alive(struct gw_events *events, int64_t now_ns)
{
    baton_buf_reset(&events->snapshot);
    gw_sse_comment(&events->snapshot, "nothing happens");
    for (struct reader *reader = reader_list_first(&events->readers); reader;
         reader = reader_list_next(&events->readers, reader))
        if (!reader->is_full)
            gw_exchange_stream_write(reader->exchange, events->snapshot.data, events->snapshot.len);
    events->wrote_ns = now_ns;
}

void gw_events_tick(struct gw_events *events, int64_t now_ns)
{
    if (!events->readers.n || now_ns - events->beat_ns < GW_EVENTS_BEAT_NS)
        return;
    events->beat_ns = now_ns;
    for (size_t i = 0; i < events->served->n; i++)
        gw_feed_beat(events->feed, events->served->models[i]->fleet);
    baton_buf_reset(&events->snapshot);
    send_to_all(events, now_ns);
    gw_feed_next(events->feed);
    if (now_ns - events->wrote_ns >= GW_EVENTS_QUIET_NS)
        keep_alive(events, now_ns);
}

void gw_events_write_metrics(const struct gw_events *events, struct baton_buf *out)
{
    baton_prom_family(out, "baton_event_readers", "gauge", "Clients that read GET /events.");
    baton_prom_sample(out, "baton_event_readers", (double)events->readers.n, NULL);
    baton_prom_family(out, "baton_event_batches_missed_total", "counter",
                      "Batches of events that a client of GET /events missed, for it was slow.");
    baton_prom_sample(out, "baton_event_batches_missed_total", (double)events->n_missed, NULL);
}
