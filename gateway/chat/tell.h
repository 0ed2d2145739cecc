/* Tells the model about its tools in words, for templates that do not show them; private to
 * gateway/chat.
 *
 * Ownership: the text goes to the caller.
 * Threading: pure.
 * Errors:    NULL without memory.
 */
#ifndef BATON_GATEWAY_CHAT_TELL_H
#define BATON_GATEWAY_CHAT_TELL_H

#include "common/base/json.h"
#include "gateway/chat/toolcall/format.h"

/* Returns a string that lists the tools and shows a call in the form. */
struct baton_json *baton_chat_tell_tools(const struct baton_tool_format *form,
                                         const struct baton_json *tools);

#endif
