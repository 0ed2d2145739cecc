/* The tools of POST /v1/responses in the words of POST /v1/chat/completions, and their calls in
 * those of the former again.
 *
 *     {type: function, name: F, ...}            {"type":"function","function":{"name":"F", ...}}
 *     {type: namespace, name: N, tools: [...]}  those of its tools, the function F as N__F
 *     {type: custom, name: F}                   a function of one argument, the string `input`
 *     {type: web_search} and such               left out: the server would have to run it
 *
 * Ownership: made trees are the caller's; what find returns borrows from its arguments.
 * Threading: loop thread.
 * Errors:    in fields->problem: what is not supported, by its place and type.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_TOOLS_H
#define BATON_GATEWAY_API_RESPONSES_TOOLS_H

#include "gateway/api/fields.h"

/* The array of functions. Each tool that is left out becomes a member of `left_out`, an object, by
 * its place, as "tools[8]"; with left_out NULL it is a problem. NULL after a problem. */
struct baton_json *gw_response_tools(struct gw_fields *fields, const struct baton_json *tools,
                                     struct baton_json *left_out);

/* NULL after a problem. */
struct baton_json *gw_response_tool_choice(struct gw_fields *fields,
                                           const struct baton_json *choice);

/* The name of the function that an item or a tool choice is of: its `name`, with its `namespace`
 * where it has one. NULL: it has no name. */
struct baton_json *gw_response_tool_name(const struct baton_json *item);

/* Of a call of a function of that name, what is told of the tool. */
struct gw_response_tool {
    const char *space; /* its namespace; NULL: none */
    const char *name;
    size_t n_name;
    bool is_custom;
};

/* Of a function that none of the client's tools became, the name as it is. */
struct gw_response_tool gw_response_tool_find(const struct baton_json *tools, const char *name,
                                              size_t n_name);

#endif
