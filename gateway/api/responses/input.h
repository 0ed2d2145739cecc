/* Translates the body of POST /v1/responses into the form of POST /v1/chat/completions.
 *
 *     input: text, or items          messages
 *       message {role, content}      a message; input_text and output_text are text parts
 *       function_call                tool_calls of the assistant's message
 *       function_call_output         a message of the role tool
 *       custom_tool_call, ..._output the same, its input an argument
 *       reasoning                    reasoning_content of the assistant's next message
 *       item_reference               the message of a stored response
 *     instructions                   a first message of the role system
 *     text.format                    response_format
 *     reasoning.effort               reasoning_effort
 *     tools, tool_choice             functions (tools.h)
 *
 * Ownership: results are the caller's; they share values with the body.
 * Threading: loop thread.
 * Errors:    in fields->problem: unsupported items, with place and type.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_INPUT_H
#define BATON_GATEWAY_API_RESPONSES_INPUT_H

#include "gateway/api/fields.h"
#include "gateway/api/responses/store.h"

enum { GW_MAX_RESPONSE_ITEMS = 4096 }; /* of an input, or of a conversation */

/* What an input continues, or refers to. */
struct gw_responses_kept {
    const struct gw_response_store *store;
    const struct gw_owner *owner;
    const struct baton_json *items; /* of the conversation before the input; NULL: none */
};

/* The messages of the previous response, an array or NULL, followed by those of the field "input".
 * NULL after a problem. */
struct baton_json *gw_responses_conversation(struct gw_fields *fields,
                                             const struct gw_responses_kept *kept,
                                             const struct baton_json *before);

/* Records a problem with one of the items, an array in the field of that name. */
void gw_responses_check_items(struct gw_fields *fields, const char *name,
                              const struct gw_responses_kept *kept, const struct baton_json *items);

/* The body with the conversation, after the instructions, as its input; each field keeps the name
 * that its client used. With leaves_out, tools that the server would have to run become members of
 * the body, which are then listed as ignored; else they are a problem. NULL after a problem. */
struct baton_json *gw_responses_body(struct gw_fields *fields,
                                     const struct baton_json *conversation, bool leaves_out);

#endif
