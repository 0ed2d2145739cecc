/* Parts of the document of the API: the schema of a body out of what its readers recorded, and the
 * schemas of errors.
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

/* "components": the error objects and how a client says its key. */
void gw_schema_put_components(struct baton_json_out *out, const struct gw_route_table *table);

/* What a field is for, in one sentence; NULL when nobody wrote it down. */
const char *gw_schema_words(const char *within, const char *name);

#endif
