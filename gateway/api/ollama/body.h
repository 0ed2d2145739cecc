/* Translates a body from Ollama's form into the one that the other routes' readers accept.
 *
 *     options: {temperature, ...}   members of the body, unless it has them already
 *     model: "name:latest"          the name, if the model has no such tag
 *     messages[].tool_calls         with the type "function"
 *     messages[].thinking           reasoning_content
 *     messages[].tool_name          name
 *
 * Ownership: the result is the caller's; it shares values with the body.
 * Threading: loop thread.
 * Errors:    NULL without memory. Errors in a body stay in the result, for its readers to find.
 */
#ifndef BATON_GATEWAY_API_OLLAMA_BODY_H
#define BATON_GATEWAY_API_OLLAMA_BODY_H

#include "gateway/api/api.h"

struct baton_json *gw_ollama_body(const struct gw_api *api, const struct baton_json *body);

/* Checks the field "options" of such a body, which is only left if it was not an object. */
void gw_ollama_read_options(struct gw_fields *fields);

#endif
