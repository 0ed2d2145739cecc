#include "gateway/api/streams/streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/obs/prom.h"

void gw_streams_init(struct gw_streams *streams, const struct gw_stream_bounds *bounds)
{
    *streams = (struct gw_streams){.bounds = *bounds};
    gw_stream_list_init(&streams->list);
    baton_buf_init(&streams->out, PTRDIFF_MAX); /* needs no bound: it holds one bounded write */
}

void gw_streams_fini(struct gw_streams *streams)
{
    for (struct gw_stream *stream; (stream = gw_stream_list_first(&streams->list));)
        gw_streams_drop(streams, stream, "the server stops");
    baton_buf_fini(&streams->out);
}

void gw_streams_drop(struct gw_streams *streams, struct gw_stream *stream, const char *reason)
{
    gw_stream_fini(stream, reason);
    gw_stream_list_remove(&streams->list, stream);
    free(stream);
}

/* ---- capacity ---- */

static bool is_same(const struct gw_owner *a, const struct gw_owner *b)
{
    return baton_equal_constant_time(a->digest, b->digest, sizeof a->digest);
}

static bool has_key(const struct gw_owner *owner)
{
    static const struct gw_owner nobody = {{0}};
    return !is_same(owner, &nobody);
}

static size_t taken_by(const struct gw_stream *stream)
{
    if (stream->source)
        return stream->streams->bounds.stream_bytes;
    return stream->held_bytes > GW_STREAM_MIN_BYTES ? stream->held_bytes : GW_STREAM_MIN_BYTES;
}

/* The party whose share a stream uses up. */
struct payer {
    const struct gw_owner *owner; /* NULL: anybody */
    const struct gw_account *address;
};

static bool pays(const struct payer *payer, const struct gw_stream *stream)
{
    if (!payer->owner)
        return true;
    return is_same(payer->owner, &stream->owner) &&
           (has_key(payer->owner) || payer->address == stream->payers.address);
}

static size_t taken(const struct gw_streams *streams, const struct payer *payer)
{
    size_t bytes = 0;
    for (const struct gw_stream *stream = gw_stream_list_first(&streams->list); stream;
         stream = gw_stream_list_next(&streams->list, (struct gw_stream *)stream))
        bytes += pays(payer, stream) ? taken_by(stream) : 0;
    return bytes;
}

/* Drops streams that are over, the oldest first, until one more fits into max_bytes. A running
 * stream is never dropped for a new one. */
static bool make_space(struct gw_streams *streams, const struct payer *payer, size_t max_bytes)
{
    size_t wanted = streams->bounds.stream_bytes, bytes = taken(streams, payer);
    struct gw_stream *next;
    if (wanted > max_bytes)
        return false;
    for (struct gw_stream *stream = gw_stream_list_first(&streams->list);
         stream && bytes > max_bytes - wanted; stream = next) {
        next = gw_stream_list_next(&streams->list, stream);
        if (stream->source || stream->exchange || !pays(payer, stream))
            continue;
        bytes -= taken_by(stream);
        gw_streams_drop(streams, stream, "");
    }
    return bytes <= max_bytes - wanted;
}

/* ---- open ---- */

bool gw_stream_read_resumable(const struct gw_exchange *exchange, bool *resumable)
{
    const char *value = gw_exchange_header(exchange, "x-baton-resumable");
    *resumable = !strcmp(value, "true");
    return *resumable || !*value || !strcmp(value, "false");
}

/* The request's id would be no secret: it is in every log, and a client may choose it. */
static void name(struct gw_stream *stream, const struct gw_exchange *exchange, const char *id)
{
    if (id)
        (void)snprintf(stream->id, sizeof stream->id, "%s", id);
    else
        baton_random_secret(stream->id);
    memcpy(stream->shown_id, stream->id, BATON_SECRET_SHOWN_BYTES);
    (void)snprintf(stream->request, sizeof stream->request, "%s", gw_exchange_id(exchange));
}

static struct gw_stream *refuse(struct gw_streams *streams, struct gw_stream *stream)
{
    if (stream)
        gw_payers_put(&stream->payers);
    free(stream);
    streams->counts[GW_STREAM_COUNT_refused]++;
    return NULL;
}

static struct gw_stream *open_one(struct gw_streams *streams, struct gw_exchange *exchange,
                                  const struct gw_owner *owner, const char *id,
                                  const struct gw_stream_source *source, void *arg)
{
    const struct payer anybody = {0};
    struct gw_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return refuse(streams, NULL);
    stream->payers = gw_exchange_payers(exchange);
    stream->owner = *owner;
    const struct payer payer = {owner, stream->payers.address};
    if (!make_space(streams, &payer, streams->bounds.bytes / 2) ||
        !make_space(streams, &anybody, streams->bounds.bytes))
        return refuse(streams, stream);
    name(stream, exchange, id);
    if (gw_exchange_add_header(exchange, "x-baton-stream", stream->id))
        return refuse(streams, stream);
    stream->user = GW_USER_STREAM;
    stream->streams = streams;
    stream->source = source;
    stream->arg = arg;
    stream->exchange = exchange;
    gw_exchange_set_data(exchange, stream);
    gw_stream_list_push_back(&streams->list, stream);
    streams->counts[GW_STREAM_COUNT_opened]++;
    return stream;
}

struct gw_stream *gw_streams_open(struct gw_streams *streams, struct gw_exchange *exchange,
                                  const struct gw_owner *owner,
                                  const struct gw_stream_source *source, void *arg)
{
    bool resumable;
    if (!gw_stream_read_resumable(exchange, &resumable) || !resumable || !streams->bounds.window_ns)
        return NULL;
    return open_one(streams, exchange, owner, NULL, source, arg);
}

struct gw_stream *gw_streams_open_lasting(struct gw_streams *streams, struct gw_exchange *exchange,
                                          const struct gw_owner *owner, const char *id,
                                          const struct gw_stream_source *source, void *arg)
{
    struct gw_stream *stream = open_one(streams, exchange, owner, id, source, arg);
    if (stream)
        stream->is_lasting = true;
    return stream;
}

/* Compares in constant time, so that the duration reveals no part of an id. */
static bool has_id(const struct gw_stream *stream, const char *id)
{
    return strlen(id) == sizeof stream->id - 1 &&
           baton_equal_constant_time(stream->id, id, sizeof stream->id - 1);
}

struct gw_stream *gw_streams_find(const struct gw_streams *streams, const struct gw_owner *owner,
                                  const char *id)
{
    for (struct gw_stream *stream = gw_stream_list_first(&streams->list); stream;
         stream = gw_stream_list_next(&streams->list, stream))
        if (is_same(&stream->owner, owner) && has_id(stream, id))
            return stream;
    return NULL;
}

/* ---- the window ---- */

void gw_streams_left(struct gw_stream *stream, const char *reason)
{
    struct gw_streams *streams = stream->streams;
    gw_stream_detach(stream, reason);
    if (streams->draining)
        gw_streams_drop(streams, stream, reason);
}

static void expire(struct gw_streams *streams, struct gw_stream *stream)
{
    static const char reason[] = "its client did not come back";
    if (stream->source) {
        streams->counts[GW_STREAM_COUNT_expired]++;
        baton_log(BATON_LOG_INFO, "stream_expired", BATON_S("id", stream->request),
                  BATON_S("stream", stream->shown_id), BATON_I("events", stream->n_events),
                  BATON_I("held_bytes", stream->held_bytes));
    }
    gw_streams_drop(streams, stream, reason);
}

static bool is_expired(const struct gw_stream *stream, int64_t now_ns)
{
    const struct gw_stream_bounds *bounds = &stream->streams->bounds;
    if (stream->exchange || (stream->is_lasting && stream->source))
        return false;
    return now_ns - stream->left_ns >=
           (stream->is_lasting ? bounds->lasting_ns : bounds->window_ns);
}

void gw_streams_tick(struct gw_streams *streams, int64_t now_ns)
{
    struct gw_stream *next;
    for (struct gw_stream *stream = gw_stream_list_first(&streams->list); stream; stream = next) {
        next = gw_stream_list_next(&streams->list, stream);
        gw_stream_tick(stream);
        if (is_expired(stream, now_ns))
            expire(streams, stream);
    }
}

void gw_streams_drain(struct gw_streams *streams)
{
    struct gw_stream *next;
    streams->draining = true;
    for (struct gw_stream *stream = gw_stream_list_first(&streams->list); stream; stream = next) {
        next = gw_stream_list_next(&streams->list, stream);
        if (!stream->exchange)
            gw_streams_drop(streams, stream, "its client cannot come back: the server drains");
    }
}

/* ---- metrics ---- */

static void put_states(const struct gw_streams *streams, struct baton_buf *out)
{
    size_t n_attached = 0, n_over = 0, bytes = 0;
    for (struct gw_stream *stream = gw_stream_list_first(&streams->list); stream;
         stream = gw_stream_list_next(&streams->list, stream)) {
        n_attached += stream->exchange != NULL;
        n_over += !stream->exchange && !stream->source;
        bytes += stream->held_bytes;
    }
    baton_prom_family(out, "baton_streams", "gauge", "Resumable streams, by state.");
    baton_prom_sample(out, "baton_streams", (double)n_attached, "state", "attached", NULL);
    baton_prom_sample(out, "baton_streams", (double)(streams->list.n - n_attached - n_over),
                      "state", "detached", NULL);
    baton_prom_sample(out, "baton_streams", (double)n_over, "state", "over", NULL);
    baton_prom_family(out, "baton_stream_bytes", "gauge",
                      "Memory of the kept events of resumable streams.");
    baton_prom_sample(out, "baton_stream_bytes", (double)bytes, NULL);
}

void gw_streams_write_metrics(const struct gw_streams *streams, struct baton_buf *out)
{
    static const char *const names[] = {
#define X(name) #name,
        GW_STREAM_COUNTS(X)
#undef X
    };
    put_states(streams, out);
    baton_prom_family(out, "baton_streams_total", "counter", "Events in resumable streams' lives.");
    for (int i = 0; i < GW_N_STREAM_COUNTS; i++)
        baton_prom_sample(out, "baton_streams_total", (double)streams->counts[i], "event", names[i],
                          NULL);
}
