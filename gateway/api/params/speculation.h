/* The field "speculation" of a body: {"mode": "none", "prompt_lookup" or "draft_model",
 * "max_tokens": 1 to 16}.
 *
 * Threading: loop thread.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_PARAMS_SPECULATION_H
#define BATON_GATEWAY_API_PARAMS_SPECULATION_H

#include "common/params/speculation.h"
#include "gateway/api/fields.h"

/* What the body leaves open stays as it is: the server's. */
void gw_speculation_read(struct gw_fields *fields, struct baton_speculation *speculation);

#endif
