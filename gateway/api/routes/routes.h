/* The HTTP server's entry into the API: finds the endpoint of a path and method.
 *
 * Ownership: the api borrows its parts; see gateway/api/api.h.
 * Threading: loop thread (large bodies are parsed on libuv's pool and come back to the loop).
 * Errors:    those of access; answers 404, 405, 415, and 400 for bodies that are not JSON.
 */
#ifndef BATON_GATEWAY_API_ROUTES_ROUTES_H
#define BATON_GATEWAY_API_ROUTES_ROUTES_H

#include "gateway/api/api.h"

/* A head was read: adds the headers that every answer to it has. Returns why the request is refused
 * before its body is read, or NULL. */
const struct gw_error *gw_routes_head(struct gw_api *api, struct gw_exchange *exchange);
/* A whole request was read: authenticates it and runs its endpoint. */
void gw_routes_request(struct gw_api *api, struct gw_exchange *exchange);
/* The pool has parsed the body, and its client's turn has come. */
void gw_routes_resume(struct gw_exchange *exchange);
/* The client left; reason is for the log. */
void gw_routes_gone(struct gw_exchange *exchange, const char *reason);
/* The client reads too slowly (full), or reads again. */
void gw_routes_full(struct gw_exchange *exchange, bool full);

#endif
