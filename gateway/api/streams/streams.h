/* The streams that clients may go on with, and the room that they share.
 *
 *     open --asked for, and there is room--> a stream; else none: the answer is as any other
 *     tick --detached or over for window_ns--> gone
 *
 * A stream has room of its own for all that it may hold, from its begin, so what one client does
 * takes nothing from another's. Once over it keeps what it holds. All of one owner have half of
 * the room at most; where no key is needed an owner is an address. For a new stream those that are
 * over make room, the oldest first: the owner's own if its share is used up, else anybody's.
 *
 * Ownership: the table owns its streams; what open and find return is borrowed until a tick.
 * Threading: loop thread.
 * Errors:    open: NULL when there is no room or no memory.
 */
#ifndef BATON_GATEWAY_API_STREAMS_STREAMS_H
#define BATON_GATEWAY_API_STREAMS_STREAMS_H

#include "gateway/api/streams/stream.h"

/* What became of streams. */
#define GW_STREAM_COUNTS(X) X(opened) X(refused) X(detached) X(resumed) X(expired) X(lost)

enum gw_stream_count {
#define X(name) GW_STREAM_COUNT_##name,
    GW_STREAM_COUNTS(X)
#undef X
        GW_N_STREAM_COUNTS
};

enum { GW_STREAM_MIN_BYTES = 64 << 10 }; /* that one takes of the room, however little it holds */

struct gw_stream_bounds {
    size_t stream_bytes, bytes; /* of one; of all */
    int64_t window_ns;          /* 0: there are no streams to go on with */
};

BATON_LIST(gw_stream_list, struct gw_stream, in_streams)

struct gw_streams {
    struct gw_stream_bounds bounds;
    struct gw_stream_list list; /* the oldest first */
    bool draining;              /* nobody can come back */
    uint64_t counts[GW_N_STREAM_COUNTS];
    struct baton_buf out; /* what goes out in one write */
};

void gw_streams_init(struct gw_streams *streams, const struct gw_stream_bounds *bounds);
/* Of streams without sources. */
void gw_streams_fini(struct gw_streams *streams);

/* Reads the header x-baton-resumable. False: it has another value than those there are. */
bool gw_stream_is_asked_for(const struct gw_exchange *exchange, bool *asked);

/* A stream whose events this exchange takes, if it asks for one; it is told its name in the header
 * x-baton-stream. */
struct gw_stream *gw_streams_open(struct gw_streams *streams, struct gw_exchange *exchange,
                                  const struct gw_owner *owner,
                                  const struct gw_stream_source *source, void *arg);
/* NULL: the owner has none of that id. */
struct gw_stream *gw_streams_find(const struct gw_streams *streams, const struct gw_owner *owner,
                                  const char *id);
/* Ends it, whatever it does. */
void gw_streams_drop(struct gw_streams *streams, struct gw_stream *stream, const char *reason);
/* Its exchange's client left. */
void gw_streams_left(struct gw_stream *stream, const char *reason);

/* Listeners are closed: streams without a client end, now and as clients leave. */
void gw_streams_drain(struct gw_streams *streams);
void gw_streams_tick(struct gw_streams *streams, int64_t now_ns);
void gw_streams_write_metrics(const struct gw_streams *streams, struct baton_buf *out);

#endif
