/* Which workers a request has, and what that adds to each worker's load.
 *
 *     prefill   from placement until decoding began (or the prompt turned out to be run by decode)
 *     decode    from placement to the end, with the blocks it was asked for
 *     prompt_at one of the two, from the prompt's order to its first token
 *
 * Ownership: a request borrows its workers until it leaves them, or they are lost.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_REQUEST_ASSIGN_H
#define BATON_GATEWAY_REQUEST_ASSIGN_H

#include "gateway/fleet/worker.h"
#include "gateway/request/request.h"

/* turn: counts placements; see common/policy/routing_policy.h. */
void gw_assign_prefill(struct gw_request *request, struct gw_worker *worker, uint64_t turn);

/* Fills in n_blocks from prompt and output. */
void gw_assign_decode(struct gw_request *request, struct gw_worker *worker, uint64_t turn,
                      uint32_t block_tokens);

/* KV blocks for the prompt and all of the output but its last token, which is never an input. */
int64_t gw_assign_n_blocks(const struct gw_params *params, uint32_t block_tokens);

/* The prompt goes to the prefill worker, or to the decode worker where there is none. */
void gw_assign_prompt(struct gw_request *request);

/* Its first token came, after so long: computed tokens and time tell the worker's rate. */
void gw_assign_prompt_done(struct gw_request *request, int64_t n_computed, double compute_s);

/* Nothing more is wanted of that worker for this request. */
void gw_assign_leave_prefill(struct gw_request *request);
void gw_assign_leave_decode(struct gw_request *request);

/* The worker is gone. */
void gw_assign_lost(struct gw_request *request, const struct gw_worker *worker);

#endif
