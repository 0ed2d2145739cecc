/* Bodies of requests: parses them as JSON and runs their endpoints.
 *
 * A small body is parsed on the loop. libuv's pool parses and frees the others, because both take
 * tens of milliseconds for a body of 1 MiB. It also checks grammars and schemas ahead, and makes
 * the answers that need nothing else. A parsed body then waits for its client's turn.
 *
 *     WAITING --memory for its tree--> on the pool --> its client's turn --> endpoint --> freed
 *
 * A tree may take 80 times the memory of its text, so trees are bounded, each and all together: a
 * body waits until there is memory for the largest tree that it may have, and gives back what its
 * tree does not take. The texts that wait are bounded as well.
 *
 * Ownership: gw_bodies owns texts and trees; an endpoint borrows its tree during the call.
 * Threading: loop thread, except the parts on the pool, which touch one body.
 * Errors:    answered to the client: 400, 413 for a tree that is too large, 503 for too many texts.
 */
#ifndef BATON_GATEWAY_API_ROUTES_BODIES_H
#define BATON_GATEWAY_API_ROUTES_BODIES_H

#include "common/base/buf.h"
#include "gateway/api/api.h"

struct gw_bodies;

/* max_body_bytes is that of one body. NULL: no memory. */
struct gw_bodies *gw_bodies_create(uv_loop_t *loop, size_t max_body_bytes);
/* Every exchange must be gone, and the loop must have run until its end. Accepts NULL. */
void gw_bodies_destroy(struct gw_bodies *bodies);

/* Reads the exchange's body and runs the endpoint with it, now or later, or on_pool (may be NULL)
 * instead if the body is large. */
void gw_bodies_read(struct gw_api *api, struct gw_exchange *exchange, gw_endpoint endpoint,
                    gw_pool_endpoint on_pool);

/* Its client's turn has come: runs the endpoint. */
void gw_bodies_resume(struct gw_exchange *exchange);
/* The client of a body that waits has left. */
void gw_bodies_gone(struct gw_exchange *exchange);

/* Appends the memory that bodies take and how many were refused, as Prometheus' text. */
void gw_bodies_write_metrics(const struct gw_bodies *bodies, struct baton_buf *out);

#endif
