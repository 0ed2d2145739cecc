/* Which tools an answer calls: what a client wishes, and the structure that holds the answer to it.
 *
 *     required, or a tool's name      calls, each by its tool's schema
 *     auto, with strict tools         text; a strict tool's call by its schema
 *     auto, with a JSON schema        calls, or an answer by the schema
 *
 * Where nothing of this is asked for, nothing is held, and calls are what the model makes of them.
 *
 * Ownership: a choice borrows from the body.
 * Threading: loop thread; check_ahead: any.
 * Errors:    in fields->problem: a tool that is not there, a form that cannot be held, a keyword of
 *            a schema that is not supported, with the path to it.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_TOOL_CHOICE_H
#define BATON_GATEWAY_API_COMPLETION_TOOL_CHOICE_H

#include "gateway/api/completion/builder.h"

struct gw_tool_choice {
    bool is_none;       /* tools are not shown */
    bool is_forced;     /* a call comes, and no text */
    bool is_single;     /* no second one */
    const char *name;   /* of the tool that is called; NULL: any */
    const char *schema; /* where clients of the route write a tool's schema */
};

/* OpenAI's fields tool_choice and parallel_tool_calls. tools: an array of checked tools, or
 * NULL. */
struct gw_tool_choice gw_tool_choice_read(struct gw_fields *fields, const struct baton_json *tools);

/* After gw_builder_extract_tools and gw_builder_extract_reasoning. tools: as OpenAI's chat has
 * them. */
void gw_builder_constrain_tools(struct gw_completion_builder *builder,
                                const struct baton_json *tools,
                                const struct gw_tool_choice *choice);

/* Whether a body's tools may have to be held to their schemas, in any API; checks these, whose
 * verdicts are kept (params/grammar.h). */
bool gw_tool_choice_is_given(const struct baton_json *body);
void gw_tool_choice_check_ahead(const struct baton_json *body);

#endif
