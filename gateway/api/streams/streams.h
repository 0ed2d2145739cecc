/* The table of resumable streams, and the memory that they share.
 *
 *     open --requested, and there is capacity--> a stream; else the answer is not resumable
 *     tick --detached or over for window_ns----> gone; a lasting one if it is over for lasting_ns
 *
 * A running stream reserves the most memory that it may hold from its begin, so no client takes
 * memory from another one's stream. A stream that is over takes only what it holds. The streams of
 * one owner have at most half of the memory; if no key is needed, an owner is an address. A new
 * stream displaces streams that are over, the oldest first: the owner's own if its share is used
 * up, else anybody's.
 *
 * Ownership: the table owns its streams; open and find return streams borrowed until a tick.
 * Threading: loop thread.
 * Errors:    open: NULL without capacity or memory.
 */
#ifndef BATON_GATEWAY_API_STREAMS_STREAMS_H
#define BATON_GATEWAY_API_STREAMS_STREAMS_H

#include "gateway/api/streams/stream.h"

/* Counted events in the lives of streams. */
#define GW_STREAM_COUNTS(X) X(opened) X(refused) X(detached) X(resumed) X(expired) X(lost)

enum gw_stream_count {
#define X(name) GW_STREAM_COUNT_##name,
    GW_STREAM_COUNTS(X)
#undef X
        GW_N_STREAM_COUNTS
};

enum { GW_STREAM_MIN_BYTES = 64 << 10 }; /* a stream counts with at least this much */

struct gw_stream_bounds {
    size_t stream_bytes, bytes; /* of one stream; of all */
    int64_t window_ns;          /* 0: no stream is resumable */
    int64_t lasting_ns;         /* that a lasting stream is kept for when it is over */
};

BATON_LIST(gw_stream_list, struct gw_stream, in_streams)

struct gw_streams {
    struct gw_stream_bounds bounds;
    struct gw_stream_list list; /* the oldest first */
    bool draining;              /* clients cannot come back, because listeners are closed */
    uint64_t counts[GW_N_STREAM_COUNTS];
    struct baton_buf out; /* scratch for one write */
};

void gw_streams_init(struct gw_streams *streams, const struct gw_stream_bounds *bounds);
/* Frees all streams, which must have no sources. */
void gw_streams_fini(struct gw_streams *streams);

/* Reads the header x-baton-resumable. False: its value is invalid. */
bool gw_stream_read_resumable(const struct gw_exchange *exchange, bool *resumable);

/* Opens a stream for this exchange, if its client requests one. The header x-baton-stream tells the
 * client its id. */
struct gw_stream *gw_streams_open(struct gw_streams *streams, struct gw_exchange *exchange,
                                  const struct gw_owner *owner,
                                  const struct gw_stream_source *source, void *arg);
/* Opens a lasting stream, whose client need not request it. The id is a secret, and of no other
 * stream. */
struct gw_stream *gw_streams_open_lasting(struct gw_streams *streams, struct gw_exchange *exchange,
                                          const struct gw_owner *owner, const char *id,
                                          const struct gw_stream_source *source, void *arg);
/* The owner's stream with that id; NULL: none. */
struct gw_stream *gw_streams_find(const struct gw_streams *streams, const struct gw_owner *owner,
                                  const char *id);
/* Ends the stream in any state. */
void gw_streams_drop(struct gw_streams *streams, struct gw_stream *stream, const char *reason);
/* The client of the stream's exchange left. */
void gw_streams_left(struct gw_stream *stream, const char *reason);

/* Listeners are closed: ends streams without a client now, and others when their clients leave. */
void gw_streams_drain(struct gw_streams *streams);
void gw_streams_tick(struct gw_streams *streams, int64_t now_ns);
void gw_streams_write_metrics(const struct gw_streams *streams, struct baton_buf *out);

#endif
