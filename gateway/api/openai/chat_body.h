/* Rewrites the body of a chat: older and newer shapes become tools that are functions.
 *
 *     functions, function_call              tools, tool_choice
 *     {"role":"function"}                   {"role":"tool"}
 *     function_call of a message            tool_calls with one call
 *     {"type":"custom","custom":{...}}      a function (tools.h), in tools, choices and calls
 *     tool_choice of type allowed_tools     fewer tools
 *
 * Ownership: the body is the caller's.
 * Threading: loop thread.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_OPENAI_CHAT_BODY_H
#define BATON_GATEWAY_API_OPENAI_CHAT_BODY_H

#include "gateway/api/fields.h"

/* Returns the rewritten fields->body; NULL after a problem. */
struct baton_json *gw_chat_body(struct gw_fields *fields);

/* Whether the client's body has functions in place of tools. */
bool gw_chat_body_has_functions(const struct baton_json *body);

/* Returns true when the client's tool of that name [n] is a custom one. */
bool gw_chat_body_is_custom(const struct baton_json *tools, const char *name, size_t n);

#endif
