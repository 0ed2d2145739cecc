/* An inbox and the bell that its messages, and the links opened with it, ring: what a test needs to
 * wait for something instead of sleeping.
 *
 * Ownership: the caller's struct; taken messages as in common/wire/transport/inbox.h.
 * Threading: one thread.
 * Errors:    false when the time is up.
 */
#ifndef BATON_TESTS_SUPPORT_MAILBOX_H
#define BATON_TESTS_SUPPORT_MAILBOX_H

#include "common/base/doorbell.h"
#include "common/wire/link.h"
#include "common/wire/transport/inbox.h"

struct mailbox {
    struct baton_doorbell bell;
    struct baton_inbox *inbox;
};

/* url NULL: a free port of 127.0.0.1. */
enum baton_err mailbox_open(struct mailbox *box, const char *url, size_t max_queued);
void mailbox_close(struct mailbox *box);

bool mailbox_take(struct mailbox *box, struct baton_message *message, int timeout_ms);

/* A link to url that rings this mailbox's bell; NULL when it cannot be opened. */
struct baton_link *mailbox_dial(struct mailbox *box, const char *url, uint64_t local_epoch,
                                uint64_t peer_epoch, uint64_t id);
bool mailbox_await(struct mailbox *box, struct baton_link *link, enum baton_outbox_state state,
                   int timeout_ms);

#endif
