/* Finds where later prompts may part from a conversation's prompt: models whose layers keep a state
 * save it there (docs/design/state.md).
 *
 * No template is known here. The conversations that may come later are rendered with the same
 * template, and the text that both have in common ends at the border:
 *
 *     the same system prompt and tools, another first message
 *     the same conversation with another last message of the user
 *     this conversation with an answer and one more message of the user
 *     this conversation with more calls of tools, and their results
 *
 * Ownership: everything is borrowed.
 * Threading: pure.
 * Errors:    a conversation that the template does not write gives no border.
 */
#ifndef BATON_GATEWAY_CHAT_BORDERS_H
#define BATON_GATEWAY_CHAT_BORDERS_H

#include "gateway/chat/parts.h"

/* text is the input's, rendered at now; ids [n] are its tokens. */
void baton_chat_find_borders(const struct baton_chat *chat, const struct baton_tokenizer *tokenizer,
                             const struct baton_chat_input *input, time_t now,
                             const struct baton_chat_text *text, const uint32_t *ids, size_t n,
                             struct baton_chat_borders *borders);

#endif
