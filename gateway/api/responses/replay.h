/* GET /v1/responses/{id}?stream=true: a stored response as a stream, from any of its events on.
 *
 *     its stream is kept ---------> the events after starting_after, past and future
 *     it is over, its events gone-> response.created, unless the client has it, and the last event
 *     it runs, those events gone--> 410 with the range of those that are kept
 *     it runs without a stream----> 400
 *
 * Ownership: borrows the response and its stream.
 * Threading: loop thread.
 * Errors:    400 and 410 name the parameter and its range.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_REPLAY_H
#define BATON_GATEWAY_API_RESPONSES_REPLAY_H

#include "gateway/api/api.h"
#include "gateway/api/responses/store.h"

struct gw_stream;

struct gw_replay {
    bool is_stream;
    uint64_t n_had; /* events that the client has: the sequence number after starting_after */
};

/* Reads the query. False: it is invalid, and the exchange was answered. */
bool gw_replay_read(struct gw_replay *replay, struct gw_exchange *exchange);
/* Answers with the response's events; stream NULL: it has none, or they were dropped. */
void gw_replay_answer(const struct gw_replay *replay, struct gw_exchange *exchange,
                      const struct gw_stored_response *stored, struct gw_stream *stream,
                      bool is_running);

#endif
