/* One context that a receiver expects, and a sender at the other end of a real link that says what
 * a test tells it.
 *
 * Ownership: receiving_close frees what receiving_open made, and the pool.
 * Threading: one thread.
 * Errors:    a failed assertion of cmocka.
 */
#ifndef BATON_TESTS_UNIT_WORKER_KV_RECEIVE_FIXTURE_H
#define BATON_TESTS_UNIT_WORKER_KV_RECEIVE_FIXTURE_H

#include "tests/support/test.h"

#include <stdatomic.h>

#include "common/base/clock.h"
#include "engine/kv/pool.h"
#include "tests/support/mailbox.h"
#include "worker/kv/receive.h"

enum { SENDER = 11 };

extern uint64_t receiver_epoch; /* random: offers go by its name */
extern struct baton_kv *kv;
extern struct baton_seq seq;
extern struct baton_origin origin;
extern struct baton_kv_receive receive;
extern struct baton_kv_receiver *receiver;
extern struct baton_doorbell bell;
extern atomic_int n_rings; /* one or more for each message */
extern struct baton_link *link_there;
extern int n_complete, n_failed;

/* Expects a context of n_tokens, or of up to most_tokens as it grows, in a sequence of its own with
 * n_positions. other: the pool and path of the receiver. */
void receiving_open(const struct baton_kv_pool_options *pool, const struct baton_spec *spec,
                    struct baton_kv_receiver_options other, int n_positions, int n_tokens,
                    int most_tokens);
void receiving_close(void);

void send(baton_envelope *envelope, const void *payload, size_t n_bytes);
/* With the names, the ticket and the block size that are right. */
void send_begin(Baton__V1__KvBegin kv_begin);
void send_end(Baton__V1__KvEnd end);

/* Runs the receiver until the context is complete or failed. */
void await_outcome(void);

#endif
