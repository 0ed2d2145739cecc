/* The test's own inbox and another process to talk to (tests/support/wire_peer.c), which tests
 * kill, stop and feed with garbage.
 *
 * Ownership: set up and torn down around each test; links and descriptors are the test's.
 * Threading: one thread.
 * Errors:    assertions.
 */
#ifndef BATON_TESTS_UNIT_COMMON_WIRE_PEER_FIXTURE_H
#define BATON_TESTS_UNIT_COMMON_WIRE_PEER_FIXTURE_H

#include "tests/support/test.h"

#include "tests/support/mailbox.h"
#include "tests/support/process.h"
#include "tests/support/sample_envelope.h"

enum { PATIENCE_MS = 120000 };

extern struct mailbox box;
extern struct process peer;

int peer_set_up(void **state);
int peer_tear_down(void **state);

/* Starts wire_peer with these arguments and waits for its inbox's url. */
void peer_start(const char *const *argv, char *url, size_t size);

/* A sample of that kind, with payload [n]. */
enum baton_err send_kind(struct baton_link *link, Baton__V1__Envelope__BodyCase kind,
                         const void *payload, size_t n);

/* ---- raw bytes ---- */

/* A TCP connection to an inbox. */
int connect_raw(const char *url);

/* The handshake of an SP "push" peer, then a message length that need not be true. */
int connect_push(const char *url, uint64_t announced_bytes);

/* One well-formed message with whatever numbers it carries, over a connection of its own. */
int push_raw(const char *url, const baton_envelope *envelope);

/* The same over a connection that has not been greeted. */
void push_on(int fd, const baton_envelope *envelope);

/* Waits until the other side closes, and closes fd. */
void expect_hung_up(int fd);

#endif
