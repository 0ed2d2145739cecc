/* Finds what a template can write by rendering short conversations with it; private to
 * gateway/chat.
 *
 * Each ability is assumed and tried with conversations that need it. They go the way of a request:
 * rewritten with the abilities found so far, then judged by the witness.
 *
 * Ownership: everything is borrowed.
 * Threading: pure.
 * Errors:    without memory an ability is missing.
 */
#ifndef BATON_GATEWAY_CHAT_PROBE_H
#define BATON_GATEWAY_CHAT_PROBE_H

#include "gateway/chat/parts.h"

/* Finds the abilities for requests with and without tools. */
struct baton_chat_abilities baton_chat_probe(const struct baton_chat *chat,
                                             const struct baton_chat_jinja *template,
                                             bool has_tools);

/* Fills template->behind_reasoning, after its abilities. */
void baton_chat_find_behind(const struct baton_chat *chat, struct baton_chat_jinja *template);

#endif
