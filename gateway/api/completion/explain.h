/* One explained step as JSON, with its reason in words (docs/http-api.md, "Steps").
 *
 * Ownership: writes into the caller's buffer.
 * Threading: loop thread.
 * Errors:    stick in the buffer.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_EXPLAIN_H
#define BATON_GATEWAY_API_COMPLETION_EXPLAIN_H

#include "gateway/api/api.h"

/* The token's decision must not be NULL. */
void gw_explain_step(struct baton_buf *out, const struct gw_api *api,
                     const struct gw_params *params, const struct gw_token *token);

/* Writes "steps":[...] from JSON objects with commas between. */
void gw_explain_put_steps(struct baton_json_out *out, const struct baton_buf *steps);

#endif
