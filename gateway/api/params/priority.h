/* A request's class: "priority", and OpenAI's "service_tier" (docs/http-api.md).
 *
 * Ownership: nothing is kept.
 * Threading: loop thread.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_PARAMS_PRIORITY_H
#define BATON_GATEWAY_API_PARAMS_PRIORITY_H

#include "common/policy/priority.h"
#include "gateway/api/fields.h"

/* "priority": the name of a class, or an integer as vLLM has it, where a lower one goes first:
 * above 0 it is batch. */
void gw_priority_read(struct gw_fields *fields, enum baton_priority *priority);

/* "service_tier": flex is batch, any other text changes nothing. For routes that have it; after
 * gw_priority_read, which goes before it. */
void gw_priority_read_tier(struct gw_fields *fields, enum baton_priority *priority);

#endif
