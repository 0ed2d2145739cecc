/* A resumable stream: numbered events, and the exchange that sends them.
 *
 *     ATTACHED --its client left------------------> DETACHED
 *     DETACHED --another exchange resumes it------> ATTACHED
 *     ATTACHED --another exchange resumes it------> ATTACHED; the old exchange is cut off
 *     either   --the source ends------------------> over: its events can still be requested
 *     DETACHED --the window is over, or a drain---> the source is abandoned
 *
 * One of a source that goes on without a client (is_lasting) has no window while the source runs.
 *
 * Its events share max_bytes:
 *
 *     over 3/8   drops the oldest events that the client has, until those take 1/4
 *     over 1/2   pauses the source, until less than 3/8 are left
 *     over 1     sends everything at once and drops it, so that an event may have any size;
 *                without an exchange the stream is lost. The second half is for events that the
 *                source writes before the pause takes effect.
 *
 * Of a lasting stream they are kept up to 1, and the source never pauses: the oldest are dropped.
 *
 * The client has an event when its side of the connection has acknowledged it. It may still lose
 * acknowledged events that its program had not read: the quarter is kept for that.
 *
 * Ownership: streams belong to their table (streams.h). A source does not outlive its `abandoned`,
 *            and calls gw_stream_end when it ends by itself.
 * Threading: loop thread. `abandoned` is never called from inside gw_stream_write.
 * Errors:    without space or memory for an event the stream is lost.
 */
#ifndef BATON_GATEWAY_API_STREAMS_STREAM_H
#define BATON_GATEWAY_API_STREAMS_STREAM_H

#include "common/base/list.h"
#include "common/base/random.h"
#include "gateway/api/access/access.h"
#include "gateway/api/api.h"

struct gw_streams;
struct gw_stream_event;

/* The writer of a stream. */
struct gw_stream_source {
    /* This exchange sends the stream from now on; NULL: the client has left. */
    void (*attached)(void *arg, struct gw_exchange *exchange);
    /* Pause (full) or resume writing. */
    void (*full)(void *arg, bool full);
    /* The output is not wanted any more. The source must not use the stream after this call. */
    void (*abandoned)(void *arg, const char *reason);
};

struct gw_stream {
    enum gw_exchange_user user; /* first: its exchange's data is this stream */
    struct baton_node in_streams;
    struct gw_streams *streams;
    const struct gw_stream_source *source; /* NULL: over */
    void *arg;                             /* the source's */
    struct gw_exchange *exchange;          /* NULL: detached */
    char id[BATON_SECRET_BYTES];           /* who knows it may resume the stream */
    char shown_id[BATON_SECRET_SHOWN_BYTES + 1], request[GW_REQUEST_ID_BYTES]; /* for the log */
    struct gw_owner owner;
    struct gw_payers payers;
    struct gw_stream_event *first, *last;
    struct gw_stream_event *unsent, *untaken; /* the next to send; the first not acknowledged */
    uint64_t n_events;                        /* the number of the last event ever written */
    uint64_t made_bytes, sent_bytes;          /* of all events; of those before `unsent` */
    size_t held_bytes, taken_bytes; /* memory of the kept events; of those before untaken */
    bool exchange_is_full, is_paused, is_lost;
    bool is_lasting; /* its source goes on without a client */
    int64_t left_ns; /* when it lost its client, or ended */
};

/* ---- for its source ---- */

/* Writes whole server-sent events without ids. */
void gw_stream_write(struct gw_stream *stream, const char *events, size_t n);
/* Sends text at once without keeping it; no-op while earlier events wait to be sent. */
void gw_stream_keep_alive(struct gw_stream *stream, const char *text, size_t n);
/* The source ends: no more events follow. */
void gw_stream_end(struct gw_stream *stream);

/* ---- for its client ---- */

enum gw_stream_has { GW_STREAM_HAS, GW_STREAM_HAS_ALL, GW_STREAM_HAD, GW_STREAM_NEVER_HAD };

/* The state of the events after that number. HAS: kept, or still to come; HAS_ALL: that was the
 * last event of a stream that is over; HAD: dropped; NEVER_HAD: there is no event with that
 * number. */
enum gw_stream_has gw_stream_has_after(const struct gw_stream *stream, uint64_t after);
/* The number of the oldest event that is kept or still to come. */
uint64_t gw_stream_first_kept(const struct gw_stream *stream);
/* Reads an event's id, "ID-NUMBER". False: it is not an id of this stream. */
bool gw_stream_read_event_id(const struct gw_stream *stream, const char *text, uint64_t *number);
/* Sends the events after that number, which must be kept, to the exchange, whose answer has
 * begun. */
void gw_stream_attach(struct gw_stream *stream, struct gw_exchange *exchange, uint64_t after);
/* The stream's exchange is gone. */
void gw_stream_detach(struct gw_stream *stream, const char *reason);
/* The stream's exchange is full, or takes more. */
void gw_stream_full(struct gw_stream *stream, bool full);

/* ---- for its table ---- */

/* Abandons the source, if it has not ended. */
void gw_stream_abandon(struct gw_stream *stream, const char *reason);
/* Checks how much the client has acknowledged, and abandons the source of a lost stream. */
void gw_stream_tick(struct gw_stream *stream);
/* Frees the stream's contents and cuts its exchange off. */
void gw_stream_fini(struct gw_stream *stream, const char *reason);

#endif
