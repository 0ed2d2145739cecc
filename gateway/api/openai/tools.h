/* The newer kinds of tools of OpenAI's routes, in terms of functions.
 *
 *     a custom tool      a function with one argument, the string `input`; a grammar of the tool
 *                        only goes into its description: nothing constrains the text to it
 *     allowed_tools      the request has no other tools, and the mode is its tool_choice
 *
 * Ownership: created values belong to the object that they are set in.
 * Threading: loop thread.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_OPENAI_TOOLS_H
#define BATON_GATEWAY_API_OPENAI_TOOLS_H

#include "gateway/api/completion/tool_calls.h"
#include "gateway/api/fields.h"

/* Sets description and parameters of the function that stands for a custom tool. definition, of its
 * grammar, may be NULL. */
void gw_tools_add_input(struct gw_fields *fields, struct baton_json *function,
                        const struct baton_json *description, const struct baton_json *definition);

/* Writes a custom tool's input: the value of its call's only argument. */
void gw_tools_put_input(struct baton_json_out *out, const char *key,
                        const struct gw_tool_call *call);

/* Replaces `tools` and `tool_choice` of a body whose tools are functions and whose choice is
 * allowed_tools; leaves others alone. */
void gw_tools_restrict(struct gw_fields *fields, struct baton_json *body);

#endif
