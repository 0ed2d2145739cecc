/* GET and DELETE of /v1/streams/{id}: a stream that its client lost, or wants no more.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    404 for another owner's stream too, 410 for events that are gone, 400.
 */
#ifndef BATON_GATEWAY_API_STREAMS_RESUME_H
#define BATON_GATEWAY_API_STREAMS_RESUME_H

#include "gateway/api/api.h"

/* The events after Last-Event-ID, all of them without it, and what comes. The exchange that took
 * the stream before is cut off. 204 when the client has the last event: a browser then asks no
 * more. */
void gw_stream_get(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none);
/* What it waits for is canceled. */
void gw_stream_delete(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *none);

#endif
