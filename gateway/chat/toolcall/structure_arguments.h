/* The part of a structure for a call's arguments, in forms that write them one by one; private to
 * gateway/chat/toolcall.
 *
 * Ownership: everything is borrowed.
 * Threading: pure.
 * Errors:    in the JSON's buffer.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_STRUCTURE_ARGUMENTS_H
#define BATON_GATEWAY_CHAT_TOOLCALL_STRUCTURE_ARGUMENTS_H

#include "common/base/json.h"
#include "gateway/chat/toolcall/format.h"

/* Writes the arguments that follow the schema, in the order of its properties. */
void baton_structure_put_arguments(struct baton_json_out *out,
                                   const struct baton_tool_format *format,
                                   const struct baton_json *schema);

#endif
