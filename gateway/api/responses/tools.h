/* Translates the tools of POST /v1/responses into the form of POST /v1/chat/completions, and calls
 * of them back.
 *
 *     {type: function, name: F, ...}            {"type":"function","function":{"name":"F", ...}}
 *     {type: namespace, name: N, tools: [...]}  those of its tools, the function F as N__F
 *     {type: custom, name: F}                   a function of one argument, the string `input`
 *     {type: web_search} and such               left out: the server would have to run it
 *
 * Ownership: created values are the caller's; the result of find borrows from its arguments.
 * Threading: loop thread.
 * Errors:    in fields->problem: unsupported tools, with place and type.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_TOOLS_H
#define BATON_GATEWAY_API_RESPONSES_TOOLS_H

#include "gateway/api/fields.h"

/* The array of functions. A tool that is left out becomes a member of the object `left_out`, named
 * by its place, such as "tools[8]"; with left_out NULL it is a problem. NULL after a problem. */
struct baton_json *gw_response_tools(struct gw_fields *fields, const struct baton_json *tools,
                                     struct baton_json *left_out);

/* The translated tool_choice. NULL after a problem. */
struct baton_json *gw_response_tool_choice(struct gw_fields *fields,
                                           const struct baton_json *choice);

/* The function's name of an item or a tool choice: its `name`, with its `namespace` if it has one.
 * NULL: it has no name. */
struct baton_json *gw_response_tool_name(const struct baton_json *item);

/* The client's tool behind a function. */
struct gw_response_tool {
    const char *space; /* its namespace; NULL: none */
    const char *name;
    size_t n_name;
    bool is_custom;
};

/* The tool that was translated into the function of that name. Without one, a tool of that name. */
struct gw_response_tool gw_response_tool_find(const struct baton_json *tools, const char *name,
                                              size_t n_name);

#endif
