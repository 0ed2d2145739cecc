#include "gateway/api/streams/resume.h"

#include <stdio.h>
#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/api/streams/streams.h"

/* The stream of the path's id; NULL: there is none, and the exchange was answered. */
static struct gw_stream *find(struct gw_api *api, struct gw_exchange *exchange)
{
    struct gw_owner owner = gw_access_owner(api->access, exchange);
    const char *id = strrchr(gw_exchange_path(exchange), '/') + 1;
    struct gw_stream *stream = gw_streams_find(api->streams, &owner, id);
    if (!stream)
        gw_answer_error(exchange, 404, "stream_not_found",
                        "there is no such stream: it was not resumable, ended too long ago, or "
                        "belongs to another API key");
    return stream;
}

static void refuse(struct gw_exchange *exchange, int status, const char *code, const char *message)
{
    gw_exchange_respond_error(exchange, &(struct gw_error){.status = status,
                                                           .code = code,
                                                           .message = message,
                                                           .param = "Last-Event-ID"});
}

static void refuse_missing(struct gw_exchange *exchange, const struct gw_stream *stream,
                           uint64_t after)
{
    char message[160];
    (void)snprintf(message, sizeof message,
                   "Last-Event-ID: the events after number %llu are gone%s",
                   (unsigned long long)after,
                   stream->is_lost ? ", and the stream with them: it did not fit --resume-bytes"
                                   : " to make room for those that came later");
    refuse(exchange, 410, "events_gone", message);
}

static void refuse_number(struct gw_exchange *exchange, const struct gw_stream *stream)
{
    char message[96];
    (void)snprintf(message, sizeof message,
                   "Last-Event-ID: the number must be in 0..%llu, the last event so far",
                   (unsigned long long)stream->n_events);
    refuse(exchange, 400, "out_of_range", message);
}

void gw_stream_resume(struct gw_exchange *exchange, struct gw_stream *stream, uint64_t after)
{
    if (gw_exchange_add_header(exchange, "x-baton-stream", stream->id)) {
        gw_answer_error(exchange, 503, "overloaded", "no memory for the answer");
        return;
    }
    if (!strcmp(gw_exchange_method(exchange), "HEAD")) { /* does not take the stream over */
        gw_exchange_respond(exchange, 200, "text/event-stream", "Cache-Control: no-store\r\n", "",
                            0);
        return;
    }
    gw_exchange_stream_begin(exchange, 200, "text/event-stream", GW_STREAM_HEADERS);
    gw_stream_attach(stream, exchange, after);
}

void gw_stream_get(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none)
{
    struct gw_stream *stream = find(api, exchange);
    uint64_t after = 0;
    (void)none;
    if (!stream)
        return;
    const char *last = gw_exchange_header(exchange, "last-event-id");
    if (*last && !gw_stream_read_event_id(stream, last, &after)) {
        refuse(exchange, 400, "invalid_value",
               "Last-Event-ID: must be the id of an event of this stream: its name, '-', a number");
        return;
    }
    switch (gw_stream_has_after(stream, after)) {
    case GW_STREAM_HAS:
        gw_stream_resume(exchange, stream, after);
        break;
    case GW_STREAM_HAS_ALL:
        gw_exchange_respond(exchange, 204, NULL, "", "", 0);
        break;
    case GW_STREAM_HAD:
        refuse_missing(exchange, stream, after);
        break;
    case GW_STREAM_NEVER_HAD:
        refuse_number(exchange, stream);
        break;
    }
}

void gw_stream_delete(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *none)
{
    struct gw_stream *stream = find(api, exchange);
    (void)none;
    if (!stream)
        return;
    gw_streams_drop(api->streams, stream, "its client deleted it");
    gw_exchange_respond(exchange, 204, NULL, "", "", 0);
}
