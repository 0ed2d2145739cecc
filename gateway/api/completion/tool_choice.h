/* The tool choice of a client, and the structure that constrains the answer to it.
 *
 *     required, or a tool's name      calls, each by its tool's schema
 *     auto, with strict tools         text; a strict tool's call by its schema
 *     auto, with a JSON schema        calls, or an answer by the schema
 *
 * Without any of these, nothing is constrained, and calls are as the model writes them.
 *
 * Ownership: a choice borrows from the body.
 * Threading: loop thread; check_ahead: any.
 * Errors:    in fields->problem: an unknown tool, a form of calls that cannot be constrained, an
 *            unsupported keyword of a schema, with the path to it.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_TOOL_CHOICE_H
#define BATON_GATEWAY_API_COMPLETION_TOOL_CHOICE_H

#include "gateway/api/completion/builder.h"

struct gw_tool_choice {
    bool is_none;       /* the model does not see the tools */
    bool is_forced;     /* the answer is a call, without text */
    bool is_single;     /* at most one call */
    const char *name;   /* the tool that must be called; NULL: any */
    const char *schema; /* the place of a tool's schema in bodies of the route, for errors */
};

/* Reads OpenAI's fields tool_choice and parallel_tool_calls. tools: an array of checked tools, or
 * NULL. */
struct gw_tool_choice gw_tool_choice_read(struct gw_fields *fields, const struct baton_json *tools);

/* Records the keywords of schemas that cannot be held, of forced tools that are not strict. Calls
 * follow the rest of their schemas. tools: in the form of OpenAI's chat. */
void gw_tool_choice_leave_out(struct gw_fields *fields, const struct baton_json *tools,
                              const struct gw_tool_choice *choice);

/* Constrains the answer to the choice. Call after gw_builder_extract_tools and
 * gw_builder_extract_reasoning. tools: in the form of OpenAI's chat. */
void gw_builder_constrain_tools(struct gw_completion_builder *builder,
                                const struct baton_json *tools,
                                const struct gw_tool_choice *choice);

/* Whether a body's tools may constrain the answer by their schemas, in any API; and checks these
 * schemas, so that their verdicts are cached (params/grammar.h). */
bool gw_tool_choice_is_given(const struct baton_json *body);
void gw_tool_choice_check_ahead(const struct baton_json *body);

#endif
