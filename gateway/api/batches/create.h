/* Begins a batch: writes its files with libuv's pool, and then adds it.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    answered: 413 without room for its files, 429 for too many batches, 503.
 */
#ifndef BATON_GATEWAY_API_BATCHES_CREATE_H
#define BATON_GATEWAY_API_BATCHES_CREATE_H

#include "gateway/api/batches/batches.h"

/* Takes ownership of the batch, whose owner, endpoint, window, times and metadata are set, and its
 * input unless `requests` [n] is the contents of a new one (of which it takes ownership; NULL:
 * none). Answers with put. */
void gw_batch_create(struct gw_api *api, struct gw_exchange *exchange, struct gw_batch *batch,
                     struct baton_buf *requests,
                     void (*put)(struct baton_json_out *out, const struct gw_batch *batch));

/* The client's batch of that kind whose id is the path's segment; NULL: the exchange was
 * answered. */
struct gw_batch *gw_batch_named(struct gw_api *api, struct gw_exchange *exchange, bool of_messages,
                                int at);

/* Answers with the object of the batch. */
void gw_batch_answer(struct gw_exchange *exchange, const struct gw_batch *batch,
                     void (*put)(struct baton_json_out *out, const struct gw_batch *batch));

/* The client's batches of that kind, the oldest first, in *found, which the caller frees. NULL:
 * no memory. */
const struct gw_batch **gw_batches_of(const struct gw_api *api, const struct gw_exchange *exchange,
                                      bool of_messages, size_t *n);
/* For a listing. */
const char *gw_batch_id_of(const void *items, size_t i);

#endif
