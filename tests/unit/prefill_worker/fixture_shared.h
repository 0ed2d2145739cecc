/* The private header of the fixture's files: fixture.c has the worker, its gateway and the decode
 * worker, fixture_peer.c another prefill worker in place of the decode worker.
 *
 * Ownership, Threading, Errors: as in fixture.h.
 */
#ifndef BATON_TESTS_UNIT_PREFILL_WORKER_FIXTURE_SHARED_H
#define BATON_TESTS_UNIT_PREFILL_WORKER_FIXTURE_SHARED_H

#include "tests/support/mailbox.h"
#include "tests/unit/prefill_worker/fixture.h"
#include "worker/kv/receive.h"

extern struct baton_service *service;
extern struct mailbox gateway;

/* The decode worker: one transfer per request. */
extern uint64_t decode_epoch;
extern struct baton_kv_receiver *receiver;
extern struct baton_kv *decode_kv;
extern struct baton_seq seqs[MAX_REQUESTS];
extern struct baton_kv_receive receives[MAX_REQUESTS];
extern struct baton_origin origins[MAX_REQUESTS];

uint32_t attempt_of(const struct request_params *params);

/* The request's origin, and blocks for its prompt, at the decode worker. */
void open_context(const struct request_params *params);

/* Sends what other parts have ready. */
void pump_parts(void);
/* They and their links are gone. */
void close_parts(void);

#endif
