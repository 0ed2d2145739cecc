/* The feed: what happens in the fleet, as server-sent events for the readers of GET /events.
 *
 *     fleet        all workers and the open requests: the first event, and one after a loss
 *     worker       a worker joined, changed its state, or sent a Status
 *     worker_gone  the gateway dropped a worker
 *     request      a request entered a state
 *     handoff      a context moved from one worker to another
 *     steps        the steps and tokens of decode workers since the last beat of the feed
 *
 * What happens between two beats is one batch of events, which goes to every reader. A batch that
 * is full loses events; the readers then get a fleet event in its place, which makes up for them.
 * While nobody reads, nothing is written.
 *
 * Ownership: the feed owns its batch; what events are about is borrowed during the call.
 * Threading: loop thread.
 * Errors:    without memory a batch is lost, as if it were full.
 */
#ifndef BATON_GATEWAY_OBSERVE_FEED_H
#define BATON_GATEWAY_OBSERVE_FEED_H

#include "common/base/buf.h"
#include "gateway/fleet/fleet.h"
#include "gateway/request/request.h"

enum {
    GW_FEED_BATCH_BYTES = 256 << 10,
    GW_FEED_FLEET_BYTES = 4 << 20, /* of one fleet event */
    GW_FEED_REQUESTS = 512         /* that a fleet event lists, first those that came first */
};

struct gw_feed {
    bool is_read;
    struct baton_buf batch; /* whole events since the last beat */
    struct baton_buf event; /* the JSON of the event that is being written */
};

void gw_feed_init(struct gw_feed *feed);
void gw_feed_fini(struct gw_feed *feed);

/* The request has entered its state; reason may be "". */
void gw_feed_request(struct gw_feed *feed, const struct gw_request *request, const char *reason);

/* The request's decode worker has its context, as attempt.handoff says. */
void gw_feed_handoff(struct gw_feed *feed, const struct gw_request *request);

void gw_feed_worker_gone(struct gw_feed *feed, const struct gw_worker *worker, const char *reason);

/* Writes the worker and steps events of this beat, of the workers of one model. */
void gw_feed_beat(struct gw_feed *feed, struct gw_fleet *fleet);

/* Whether events of the batch were lost. */
bool gw_feed_has_lost(const struct gw_feed *feed);

/* The workers and the requests of one model. */
struct gw_feed_part {
    const struct gw_fleet *fleet;
    const struct gw_requests *requests;
};

/* Appends a fleet event of all n parts. */
void gw_feed_put_fleet(struct gw_feed *feed, const struct gw_feed_part *parts, size_t n,
                       struct baton_buf *out);

/* Begins the next batch. */
void gw_feed_next(struct gw_feed *feed);

#endif
