/* Drops what cannot be held of a schema, for tools that are not strict: their calls then follow the
 * rest of it.
 *
 * Ownership: the result is the caller's; it shares the values of the schema given.
 * Threading: any; verdicts are cached (grammar.h).
 * Errors:    NULL without memory. A schema that is wrong, or too large, stays as it is.
 */
#ifndef BATON_GATEWAY_API_PARAMS_LENIENT_H
#define BATON_GATEWAY_API_PARAMS_LENIENT_H

#include "common/base/json.h"

/* Called for each keyword that is dropped, with its place in the schema: "/properties/a/if". */
typedef void gw_dropped_fn(void *arg, const char *place);

/* Returns the schema without the keywords that cannot be held, a oneOf that overlaps as anyOf.
 * dropped may be NULL. */
struct baton_json *gw_schema_lenient(const struct baton_json *schema, gw_dropped_fn *dropped,
                                     void *arg);

#endif
