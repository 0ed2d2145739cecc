/* A body in Ollama's words as the other routes' readers take it.
 *
 *     options: {temperature, ...}   members of the body itself; what stands there already stays
 *     model: "name:latest"          the name, where the model has no such tag
 *     messages[].tool_calls         with the type "function"
 *     messages[].thinking           reasoning_content
 *     messages[].tool_name          name
 *
 * Ownership: the tree is the caller's; it shares what it can with the body.
 * Threading: loop thread.
 * Errors:    NULL without memory. What is wrong in a body stays in it, for its readers.
 */
#ifndef BATON_GATEWAY_API_OLLAMA_BODY_H
#define BATON_GATEWAY_API_OLLAMA_BODY_H

#include "gateway/api/api.h"

struct baton_json *gw_ollama_body(const struct gw_api *api, const struct baton_json *body);

/* The field "options" of such a body: an object would have become members of the body. */
void gw_ollama_read_options(struct gw_fields *fields);

#endif
