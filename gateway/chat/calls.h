/* Rewrites tool calls and their results for a template; private to gateway/chat.
 *
 * Ownership: as turns.h.
 * Threading: pure.
 * Errors:    lack of memory, in turns->ok.
 */
#ifndef BATON_GATEWAY_CHAT_CALLS_H
#define BATON_GATEWAY_CHAT_CALLS_H

#include "gateway/chat/turns.h"

/* Gives each call an id and each result the id and the name of its call, which many clients leave
 * out. What the template does not take becomes messages of their own, or text. */
void baton_chat_settle_calls(const struct baton_chat_abilities *abilities,
                             struct baton_chat_turns *turns);

#endif
