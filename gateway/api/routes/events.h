/* GET /events: what happens in the fleet, as a stream of server-sent events for operators.
 *
 * A reader gets a fleet event, and from then on a batch of events each GW_EVENTS_BEAT_NS
 * (gateway/observe/feed.h). One that reads too slowly misses batches, and gets a fleet event when
 * it reads again.
 *
 * Ownership: the gateway owns the readers from create to destroy; each borrows its exchange.
 * Threading: loop thread.
 * Errors:    429 for one reader more than GW_EVENTS_MAX_READERS.
 */
#ifndef BATON_GATEWAY_API_ROUTES_EVENTS_H
#define BATON_GATEWAY_API_ROUTES_EVENTS_H

#include "common/base/clock.h"
#include "gateway/api/api.h"
#include "gateway/observe/feed.h"

enum { GW_EVENTS_MAX_READERS = 16 };

#define GW_EVENTS_BEAT_NS  (100 * BATON_MS)
#define GW_EVENTS_QUIET_NS (5 * BATON_SECOND) /* then a comment keeps proxies from closing */

/* Borrows both; the models may be set later. NULL without memory. */
struct gw_events *gw_events_create(struct gw_feed *feed, const struct gw_served *served);
void gw_events_destroy(struct gw_events *events);

/* Sends the batch when its beat has come. */
void gw_events_tick(struct gw_events *events, int64_t now_ns);

/* Writes Prometheus text. */
void gw_events_write_metrics(const struct gw_events *events, struct baton_buf *out);

/* Ends all streams: the gateway is leaving. */
void gw_events_drain(struct gw_events *events);

void gw_events_get(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none);

#endif
