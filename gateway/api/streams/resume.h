/* GET and DELETE of /v1/streams/{id}: resume a stream that its client lost, or cancel it.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    404 for another owner's stream too, 410 for events that are gone, 400.
 */
#ifndef BATON_GATEWAY_API_STREAMS_RESUME_H
#define BATON_GATEWAY_API_STREAMS_RESUME_H

#include "gateway/api/api.h"
#include "gateway/api/streams/stream.h"

/* Sends the events after Last-Event-ID, without it all events, and then new ones. Cuts off the
 * exchange that sent the stream before. Answers 204 if the client has the last event, after which
 * browsers stop reconnecting. */
void gw_stream_get(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none);
/* Answers with the events after that number, which are kept or still to come. */
void gw_stream_resume(struct gw_exchange *exchange, struct gw_stream *stream, uint64_t after);
/* Drops the stream and cancels its completion. */
void gw_stream_delete(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *none);

#endif
