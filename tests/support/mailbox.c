#include "tests/support/mailbox.h"

#include "common/base/clock.h"

enum baton_err mailbox_open(struct mailbox *box, const char *url, size_t max_queued)
{
    enum baton_err err = baton_doorbell_init(&box->bell);
    if (err)
        return err;
    struct baton_inbox_options options = {.url = url ? url : "tcp://127.0.0.1:0",
                                          .max_queued = max_queued,
                                          .patience_ns = 3600 * BATON_SECOND, /* admits nobody */
                                          .wake = baton_doorbell_ring,
                                          .wake_arg = &box->bell};
    err = baton_inbox_open(&options, &box->inbox, NULL);
    if (err)
        baton_doorbell_fini(&box->bell);
    return err;
}

void mailbox_close(struct mailbox *box)
{
    baton_inbox_close(box->inbox);
    baton_doorbell_fini(&box->bell);
}

/* Waits for the next ring; false when the time is up. */
static bool wait_ring(struct mailbox *box, int64_t until_ns)
{
    int64_t left_ns = until_ns - baton_now_ns();
    if (left_ns <= 0)
        return false;
    baton_doorbell_wait(&box->bell, left_ns);
    return true;
}

bool mailbox_take(struct mailbox *box, struct baton_message *message, int timeout_ms)
{
    int64_t until_ns = baton_now_ns() + timeout_ms * BATON_MS;
    while (!baton_inbox_take(box->inbox, message))
        if (!wait_ring(box, until_ns))
            return false;
    return true;
}

struct baton_link *mailbox_dial(struct mailbox *box, const char *url, uint64_t local_epoch,
                                uint64_t peer_epoch, uint64_t id)
{
    struct baton_link *link = NULL;
    struct baton_link_options options = {.url = url,
                                         .local_epoch = local_epoch,
                                         .peer_epoch = peer_epoch,
                                         .id = id,
                                         .wake = baton_doorbell_ring,
                                         .wake_arg = &box->bell};
    return baton_link_open(&options, &link, NULL) ? NULL : link;
}

bool mailbox_await(struct mailbox *box, struct baton_link *link, enum baton_outbox_state state,
                   int timeout_ms)
{
    int64_t until_ns = baton_now_ns() + timeout_ms * BATON_MS;
    while (baton_link_state(link) != state)
        if (!wait_ring(box, until_ns))
            return false;
    return true;
}
