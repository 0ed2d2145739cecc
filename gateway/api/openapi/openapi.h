/* GET /openapi.json: this API in OpenAPI 3.1, generated at the start from the table of routes
 * (route.h) and the checks of their readers (body_schema.h).
 *
 * Ownership: the caller of create destroys the document; the api borrows it.
 * Threading: loop thread.
 * Errors:    create: NULL without memory, or when the document is larger than its bound.
 */
#ifndef BATON_GATEWAY_API_OPENAPI_OPENAPI_H
#define BATON_GATEWAY_API_OPENAPI_OPENAPI_H

#include "gateway/api/route.h"

struct gw_openapi;

/* Runs each endpoint that takes a body once, to record its schema. The api must be complete except
 * for its openapi. */
struct gw_openapi *gw_openapi_create(const struct gw_api *api, const struct gw_route_table *table);
/* NULL is fine. */
void gw_openapi_destroy(struct gw_openapi *openapi);

/* The endpoint. The document has an ETag and is revalidated (304). */
void gw_openapi_get(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *unused);

#endif
