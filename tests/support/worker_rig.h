/* The rig of the tests of both kinds of workers: a worker's service in this process, driven by the
 * test as by its main thread, and the gateway that it works for.
 *
 * Ownership: one worker at a time, in static memory; the fixture of each kind opens and closes it.
 * Threading: the test's thread is the worker's main thread; the engine has its own.
 * Errors:    a wait of more than a minute fails the test.
 */
#ifndef BATON_TESTS_SUPPORT_WORKER_RIG_H
#define BATON_TESTS_SUPPORT_WORKER_RIG_H

#include "worker/host.h"

/* Epochs of the processes, and the id of the worker's link to its gateway. */
enum { GATEWAY = 1001, WORKER = 2002, TO_GATEWAY = 3003 };

extern struct baton_host host;
extern struct baton_host_hooks hooks;
extern struct baton_link *to_gateway;

/* Runs the main threads of all processes once, without waiting. Each fixture defines it. */
void work_now(void);
/* The same, and waits for a message, or a millisecond. */
void work_once(void);

/* Works until is_so returns true. */
void await_that(bool (*is_so)(void *arg), void *arg);
/* Works until *counter is n. */
void await(const int *counter, int n);
void await_idle(void);

Baton__V1__Status worker_status(void);

/* Runs the worker's check of its blocks' owners, and asserts that it never found a fault. */
void check_account(void);

/* ---- messages of the gateway ---- */

/* The worker receives the message for this attempt of a request. */
void deliver(uint64_t request_id, uint32_t attempt, baton_envelope *envelope);
void deliver_ack(uint64_t request_id, uint32_t attempt, uint64_t next_index, uint32_t credit);
void deliver_cancel(uint64_t request_id, uint32_t attempt);
/* The worker loses the gateway, with all of its requests. */
void lose_gateway(void);

/* tokens [n] <- a prompt; prompts of the same words share a prefix. */
void fill_words(uint64_t words, uint32_t *tokens, int n);

#endif
