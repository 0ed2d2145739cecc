/* The conversation of a chat request: messages, tools, documents, and other variables of the chat
 * template.
 *
 * Ownership: all values are borrowed from the body.
 * Threading: loop thread.
 * Errors:    in fields->problem: a message or tool of a wrong shape.
 */
#ifndef BATON_GATEWAY_API_OPENAI_MESSAGES_H
#define BATON_GATEWAY_API_OPENAI_MESSAGES_H

#include "gateway/api/completion/tool_choice.h"

enum { GW_MAX_MESSAGES = 4096 };

/* Reads the fields for the template, and the tool choice. */
void gw_messages_read(struct gw_fields *fields, struct baton_chat_input *input,
                      struct gw_tool_choice *choice);

/* Reads only "messages"; NULL after a problem. */
const struct baton_json *gw_messages_read_list(struct gw_fields *fields);

#endif
