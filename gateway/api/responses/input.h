/* What POST /v1/responses is asked, in the words of POST /v1/chat/completions.
 *
 *     input: text, or items          messages
 *       message {role, content}      a message; input_text and output_text are text parts
 *       function_call                tool_calls of the assistant's message
 *       function_call_output         a message of the role tool
 *       custom_tool_call, ..._output the same, its input an argument
 *       reasoning                    reasoning_content of the assistant's next message
 *       item_reference               the message that a response which is kept put out
 *     instructions                   a first message of the role system
 *     text.format                    response_format
 *     reasoning.effort               reasoning_effort
 *     tools, tool_choice             functions (tools.h)
 *
 * Ownership: the trees are the caller's; they share what they can with the body.
 * Threading: loop thread.
 * Errors:    in fields->problem: what is not supported, by its place and type.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_INPUT_H
#define BATON_GATEWAY_API_RESPONSES_INPUT_H

#include "gateway/api/fields.h"
#include "gateway/api/responses/store.h"

/* The responses that an input may refer to. */
struct gw_responses_kept {
    const struct gw_response_store *store;
    const struct gw_owner *owner;
};

/* The messages of the response before, an array or NULL, and those of the field "input" behind
 * them. NULL after a problem. */
struct baton_json *gw_responses_conversation(struct gw_fields *fields,
                                             const struct gw_responses_kept *kept,
                                             const struct baton_json *before);

/* The body with the conversation as its input, behind the instructions, each field under the name
 * that its client gave it. With leaves_out, tools that the server would have to run are members of
 * their own, which no reader knows; else they are a problem. NULL after a problem. */
struct baton_json *gw_responses_body(struct gw_fields *fields,
                                     const struct baton_json *conversation, bool leaves_out);

#endif
