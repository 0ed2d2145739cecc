/* A conversation in Anthropic's words as the chat template is given it.
 *
 *     system                        a message of the role system, before all others
 *     content: text blocks          the message's content
 *     content: tool_use             tool_calls of the assistant's message
 *     content: tool_result          messages of the role tool, before the user's own words
 *     content: thinking             reasoning_content of the assistant's message
 *     tools: {name, input_schema}   {"type":"function","function":{name, parameters}}
 *     thinking: {type}              the template's variable enable_thinking
 *     output_config: {effort}       the template's variable reasoning_effort
 *
 * A last message that is the assistant's is continued.
 *
 * Ownership: a conversation owns its trees, which share what they can with the body.
 * Threading: loop thread.
 * Errors:    in fields->problem: content that is not supported, by its type.
 */
#ifndef BATON_GATEWAY_API_ANTHROPIC_CONVERSATION_H
#define BATON_GATEWAY_API_ANTHROPIC_CONVERSATION_H

#include "gateway/api/completion/tool_choice.h"
#include "gateway/chat/chat.h"

struct gw_conversation {
    struct baton_json *messages, *tools, *kwargs;
    struct baton_chat_input input;
    struct gw_tool_choice choice;
    const struct baton_json *schema; /* output_config.format's, which is the body's; NULL: none */
};

/* Reads messages, system, tools, tool_choice, thinking and output_config. To be ended with
 * gw_conversation_fini, also after a problem. */
void gw_conversation_read(struct gw_fields *fields, struct gw_conversation *conversation);
void gw_conversation_fini(struct gw_conversation *conversation);

#endif
