/* The built-in chat templates, for models without one: gateway/chat/templates/NAME.jinja; private
 * to gateway/chat.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_CHAT_BUILTIN_H
#define BATON_GATEWAY_CHAT_BUILTIN_H

#include <stddef.h>

struct baton_chat_builtin {
    const char *name, *source; /* n bytes */
    size_t n;
};

/* The last entry's name is NULL. */
extern const struct baton_chat_builtin baton_chat_builtins[];

#endif
