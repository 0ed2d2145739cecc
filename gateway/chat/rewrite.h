/* Rewrites a conversation as one that its template writes whole; private to gateway/chat.
 *
 *     messages, tools --read--> turns --calls, systems, neighbours--> turns --write--> messages
 *
 * No text is lost or doubled: what the template does not take in its place is joined to a
 * neighbour, said by another role, or told as text. The text before a message that is moved stays
 * unchanged, so that prefix caches still match.
 *
 * Ownership: a rewritten conversation owns its messages and tools; the rest of its input is
 *            borrowed.
 * Threading: pure.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_GATEWAY_CHAT_REWRITE_H
#define BATON_GATEWAY_CHAT_REWRITE_H

#include "gateway/chat/abilities.h"
#include "gateway/chat/chat.h"

struct baton_chat_rewritten {
    struct baton_chat_input input; /* for the template */
    struct baton_json *messages, *tools;
    bool is_narrow; /* by baton_chat_narrow (parts.h), which the template writes better */
};

/* Rewrites an input with at least one message. fini frees the result, also after a failure. */
enum baton_err baton_chat_rewrite(const struct baton_chat_abilities *abilities,
                                  const struct baton_chat_input *input,
                                  struct baton_chat_rewritten *rewritten) BATON_MUST_CHECK;
void baton_chat_rewritten_fini(struct baton_chat_rewritten *rewritten);

#endif
