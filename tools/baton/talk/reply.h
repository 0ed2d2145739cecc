/* One answer of a model, shown while it arrives.
 *
 * Ownership: the reply owns its texts until bt_reply_fini; a reply may be filled again.
 * Threading: the main thread.
 * Errors:    CANCELED (Ctrl-C ended it; the text so far is kept), PEER (the server refused or
 *            failed; the message is its own), and those of the connection.
 */
#ifndef BATON_TOOLS_BATON_TALK_REPLY_H
#define BATON_TOOLS_BATON_TALK_REPLY_H

#include <stdio.h>

#include "tools/baton/talk/ask.h"

struct bt_reply {
    struct baton_buf text;
    struct baton_buf steps; /* why each token was chosen: JSON objects between commas */
    size_t n_steps;
    char finish_reason[24];
    int64_t first_ns, end_ns, begin_ns;
    int64_t n_tokens; /* as the server counts them; 0 when it sends no count */
    bool is_terminal; /* stdout is one: control characters of a model must not reach it */
};

void bt_reply_init(struct bt_reply *reply);
void bt_reply_fini(struct bt_reply *reply);

/* Blocks SIGINT from here on, so that it ends only the waits of bt_reply_get. */
void bt_reply_catch_interrupts(void);

/* Requests the answer to messages [n], and writes it to stdout as it arrives. */
enum baton_err bt_reply_get(struct bt_reply *reply, const struct bt_model *model,
                            const struct bt_ask_options *options, const struct bt_message *messages,
                            size_t n, struct baton_why *why) BATON_MUST_CHECK;

/* Writes why the token `back` before the last was chosen, as a table. NOT_FOUND when there is no
 * such token, or the request had no explain. */
enum baton_err bt_reply_explain(const struct bt_reply *reply, size_t back, FILE *out,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
