/* The turns of a conversation.
 *
 * Ownership: texts are copied in and belong to the conversation.
 * Threading: one thread.
 * Errors:    NO_MEMORY; LIMIT when there are too many turns; IO of a file, with the reason.
 */
#ifndef BATON_TOOLS_BATON_TALK_CONVERSATION_H
#define BATON_TOOLS_BATON_TALK_CONVERSATION_H

#include "tools/baton/talk/ask.h"

struct bt_conversation {
    struct bt_message *messages; /* the system message is the first, if there is one */
    size_t n, cap;
};

void bt_conversation_fini(struct bt_conversation *conversation);

/* Sets the system message; "" or NULL removes it. */
enum baton_err bt_conversation_set_system(struct bt_conversation *conversation,
                                          const char *text) BATON_MUST_CHECK;
/* Returns the system message, NULL when there is none. */
const char *bt_conversation_system(const struct bt_conversation *conversation);

enum baton_err bt_conversation_add(struct bt_conversation *conversation, const char *role,
                                   const char *text) BATON_MUST_CHECK;
/* Removes the last turn if it has that role. */
bool bt_conversation_drop_last(struct bt_conversation *conversation, const char *role);
/* Removes all turns but the system message. */
void bt_conversation_clear(struct bt_conversation *conversation);

/* Writes {"model": ..., "messages": [...]} to a new or existing file, readable by its owner
 * alone. */
enum baton_err bt_conversation_save(const struct bt_conversation *conversation, const char *model,
                                    const char *path, struct baton_why *why) BATON_MUST_CHECK;

#endif
