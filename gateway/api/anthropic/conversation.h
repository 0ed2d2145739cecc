/* Translates a conversation from Anthropic's form into the chat template's.
 *
 *     system                        a message of the role system, before all others
 *     content: text blocks          the message's content
 *     content: tool_use             tool_calls of the assistant's message
 *     content: tool_result          messages of the role tool, before the user's own text
 *     content: thinking             reasoning_content of the assistant's message
 *     tools: {name, input_schema}   {"type":"function","function":{name, parameters}}
 *     thinking: {type}              the template's variable enable_thinking
 *     output_config: {effort}       the template's variable reasoning_effort
 *
 * The answer continues a last message of the assistant's.
 *
 * Ownership: a conversation owns its values, which share parts of the body.
 * Threading: loop thread.
 * Errors:    in fields->problem: unsupported content, with its type.
 */
#ifndef BATON_GATEWAY_API_ANTHROPIC_CONVERSATION_H
#define BATON_GATEWAY_API_ANTHROPIC_CONVERSATION_H

#include "gateway/api/completion/tool_choice.h"
#include "gateway/chat/chat.h"

struct gw_conversation {
    struct baton_json *messages, *tools;
    struct baton_chat_input input;
    struct gw_tool_choice choice;
    const struct baton_json *schema; /* of output_config.format, borrowed; NULL: none */
};

/* Reads messages, system, tools, tool_choice, thinking and output_config. Call gw_conversation_fini
 * at the end, also after a problem. */
void gw_conversation_read(struct gw_fields *fields, struct gw_conversation *conversation);
void gw_conversation_fini(struct gw_conversation *conversation);

#endif
