/* Parts of /openapi.json: the schema of a body from its readers' records, and the schemas of
 * errors.
 *
 * Ownership: recorded schemas are borrowed.
 * Threading: pure functions.
 * Errors:    those of the buffer.
 */
#ifndef BATON_GATEWAY_API_OPENAPI_SCHEMA_H
#define BATON_GATEWAY_API_OPENAPI_SCHEMA_H

#include "common/base/json.h"
#include "gateway/api/body_schema.h"
#include "gateway/api/route.h"

void gw_schema_put_body(struct baton_json_out *out, const char *key,
                        const struct gw_body_schema *body);

/* Writes "components": the error objects and the ways to send an API key. */
void gw_schema_put_components(struct baton_json_out *out, const struct gw_route_table *table);

/* The description of a field in one sentence; NULL: it has none. */
const char *gw_schema_words(const char *within, const char *name);

#endif
