/* The private header of the fixture's files; tests include fixture.h.
 *
 * Ownership: as in fixture.h; a run is its caller's, from open_run to close_run.
 * Threading: the test's thread.
 * Errors:    as in fixture.h.
 */
#ifndef BATON_TESTS_UNIT_DECODE_WORKER_FIXTURE_PARTS_H
#define BATON_TESTS_UNIT_DECODE_WORKER_FIXTURE_PARTS_H

#include "tests/unit/decode_worker/fixture.h"

#include "engine/engine.h"
#include "tests/support/mailbox.h"

extern struct baton_service *service;
extern struct mailbox prefill; /* where the prefill worker listens */

/* Takes what came, and notes it in heard[]. */
void listen_to(struct mailbox *box);
void forget_heard(void);

/* Ends the prefill worker's link to the worker's bulk inbox, if it has one. */
void close_bulk(void);

void fill_prompt(const struct request_params *params, uint32_t *tokens);
/* The prompt, and what the earlier attempt made. Returns how many. */
size_t fill_context(const struct request_params *params, uint32_t *tokens);
/* Valid until the next call: the stop token is in static memory. */
void fill_sampling(const struct request_params *params, Baton__V1__Sampling *sampling);

/* A model's run apart from the worker's: engine, blocks, a sampler and one sequence. */
struct run {
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct baton_sampler *sampler;
    struct baton_seq seq;
    float logits[N_VOCAB];
};

/* logits <- those after tokens [n]. */
void open_run(struct run *run, const uint32_t *tokens, int n);
void close_run(struct run *run);

#endif
