/* A stream that its client may lose and go on with: its events, which have numbers, and the
 * exchange that takes them.
 *
 *     ATTACHED --its client left------------------> DETACHED
 *     DETACHED --another exchange resumes it------> ATTACHED
 *     ATTACHED --another exchange resumes it------> ATTACHED; the exchange before it is cut off
 *     either   --the source ends------------------> over: its events can still be asked for
 *     DETACHED --the window is over, or a drain---> the source is abandoned
 *
 * Its events share max_bytes:
 *
 *     over 3/8   of those that the client has, the oldest are dropped, until they take 1/4
 *     over 1/2   the source is paused, until less than 3/8 are left
 *     over 1     all goes out at once and makes room, so that an event may be as large as it is;
 *                without an exchange the stream is lost. The second half is for what the source
 *                makes before it stands still.
 *
 * What the client has is what its side of the connection acknowledged. Of that it may still lose
 * what its program had not read: the quarter is for that.
 *
 * Ownership: streams belong to their table (streams.h). A source does not outlive its `abandoned`,
 *            and calls gw_stream_end when it ends by itself.
 * Threading: loop thread. `abandoned` is never called from inside gw_stream_write.
 * Errors:    an event for which there is no room or no memory: the stream is lost.
 */
#ifndef BATON_GATEWAY_API_STREAMS_STREAM_H
#define BATON_GATEWAY_API_STREAMS_STREAM_H

#include "common/base/list.h"
#include "gateway/api/access/access.h"
#include "gateway/api/api.h"

struct gw_streams;
struct gw_stream_event;

/* Who writes a stream. */
struct gw_stream_source {
    /* Its client is told on by this exchange; NULL: it has left. */
    void (*attached)(void *arg, struct gw_exchange *exchange);
    /* Nothing more is to be written for now (full), or it may go on. */
    void (*full)(void *arg, bool full);
    /* Nobody will take what is made. The stream is not to be used any more. */
    void (*abandoned)(void *arg, const char *reason);
};

struct gw_stream {
    enum gw_exchange_user user; /* first: its exchange's data is this stream */
    struct baton_node in_streams;
    struct gw_streams *streams;
    const struct gw_stream_source *source; /* NULL: over */
    void *arg;                             /* the source's */
    struct gw_exchange *exchange;          /* NULL: detached */
    char id[GW_REQUEST_ID_BYTES];
    struct gw_owner owner;
    struct gw_payers payers;
    struct gw_stream_event *first, *last;
    struct gw_stream_event *unsent, *untaken; /* what to send next; what is not acknowledged */
    uint64_t n_events;                        /* ever written: the number of the last one */
    uint64_t made_bytes, sent_bytes;          /* of all events; of these, before `unsent` */
    size_t held_bytes, taken_bytes;           /* that the events take; of these, before `untaken` */
    bool exchange_is_full, is_paused, is_lost;
    int64_t left_ns; /* when it lost its client, or ended */
};

/* ---- for its source ---- */

/* Whole server-sent events, none of them with an id. */
void gw_stream_write(struct gw_stream *stream, const char *events, size_t n);
/* Goes out at once and is not kept, or not at all if its client has not all that came before. */
void gw_stream_keep_alive(struct gw_stream *stream, const char *text, size_t n);
/* Nothing more comes. */
void gw_stream_end(struct gw_stream *stream);

/* ---- for its client ---- */

enum gw_stream_has { GW_STREAM_HAS, GW_STREAM_HAS_ALL, GW_STREAM_HAD, GW_STREAM_NEVER_HAD };

/* What there is of the events after that number: some, or some to come; the client has seen the
 * last one; they are gone; there is no event of that number. */
enum gw_stream_has gw_stream_has_after(const struct gw_stream *stream, uint64_t after);
/* "ID-NUMBER", as an event's id is written. False: it is none of this stream. */
bool gw_stream_read_event_id(const struct gw_stream *stream, const char *text, uint64_t *number);
/* The exchange, whose answer has begun, takes the events after that number, which are there. */
void gw_stream_attach(struct gw_stream *stream, struct gw_exchange *exchange, uint64_t after);
/* Its exchange is gone. */
void gw_stream_detach(struct gw_stream *stream, const char *reason);
/* Its exchange is full, or takes more. */
void gw_stream_full(struct gw_stream *stream, bool full);

/* ---- for its table ---- */

/* Abandons the source, if it is not over. */
void gw_stream_abandon(struct gw_stream *stream, const char *reason);
/* Looks what the client has taken meanwhile. */
void gw_stream_tick(struct gw_stream *stream);
/* Frees what it holds; an exchange is cut off. */
void gw_stream_fini(struct gw_stream *stream, const char *reason);

#endif
