/* What a chat is made of; private to common/chat.
 *
 * Ownership: the struct owns its texts.
 * Threading: as chat.h.
 * Errors:    none.
 */
#ifndef BATON_CHAT_CHAT_PARTS_H
#define BATON_CHAT_CHAT_PARTS_H

#include "common/chat/chat.h"
#include "common/chat/chat_shape.h"

struct baton_chat {
    const struct baton_chat_shape *shape; /* NULL: none, or unknown */
    struct baton_chat_style style;
    bool has_template;
    char *bos, *eos; /* NULL: none */
    char problem[320];
};

#endif
