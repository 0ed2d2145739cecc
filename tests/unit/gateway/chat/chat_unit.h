/* Conversations through chat templates, in one line of a test. */
#ifndef BATON_TESTS_UNIT_GATEWAY_CHAT_CHAT_UNIT_H
#define BATON_TESTS_UNIT_GATEWAY_CHAT_CHAT_UNIT_H

#include "tests/support/test.h"

#include "gateway/chat/parts.h"
#include "gateway/chat/text.h"

/* When conversations are rendered: 13 February 2009. */
enum { CHAT_NOW = 1234567890 };

/* A chat with the checkpoint's templates (NULL: it has none), BOS "<s>" and EOS "</s>". */
struct baton_chat *chat_open_with_tools(const char *template, const char *tools,
                                        const char *override);
struct baton_chat *chat_open(const char *template, const char *override);

/* A conversation is written "s:...|u:...|a:..." with one letter for each role. */
enum baton_err chat_render(const struct baton_chat *chat, const char *messages,
                           struct baton_chat_text *text, struct baton_why *why);
void assert_chat_renders(const struct baton_chat *chat, const char *messages, const char *expected);

/* request: a JSON object with the fields of a chat request. */
enum baton_err chat_render_request(const struct baton_chat *chat, const char *request,
                                   struct baton_chat_text *text, struct baton_why *why);
void assert_chat_request(const char *template, const char *request, const char *expected);

#endif
