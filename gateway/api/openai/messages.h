/* The conversation of a chat request: its messages, the tools and documents beside them, and what
 * else the chat template is told.
 *
 * Ownership: what is read stays borrowed from the body.
 * Threading: loop thread.
 * Errors:    in fields->problem: a message or tool of a wrong shape.
 */
#ifndef BATON_GATEWAY_API_OPENAI_MESSAGES_H
#define BATON_GATEWAY_API_OPENAI_MESSAGES_H

#include "gateway/api/completion/tool_choice.h"

enum { GW_MAX_MESSAGES = 4096 };

/* Reads the fields that the template is given, and which tools are to be called. */
void gw_messages_read(struct gw_fields *fields, struct baton_chat_input *input,
                      struct gw_tool_choice *choice);

#endif
