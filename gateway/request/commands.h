/* The gateway's commands to workers for a request: reserve, prefill, start, continue, stop.
 *
 * Each command goes to a worker of the current attempt, and carries the attempt's number.
 *
 * Ownership: borrows the request and its workers.
 * Threading: loop thread.
 * Errors:    as gw_worker_send: a failure takes the worker's link down, and the fleet handles the
 *            loss. A command that breaks a bound of the wire sets is_unsendable, and the next tick
 *            ends the request.
 */
#ifndef BATON_GATEWAY_REQUEST_COMMANDS_H
#define BATON_GATEWAY_REQUEST_COMMANDS_H

#include "gateway/fleet/worker.h"
#include "gateway/request/request.h"

/* Tokens that may be in flight to the gateway. */
uint32_t gw_command_credit(const struct gw_request *request);

/* To the decode worker: reserve blocks for prompt and output. */
void gw_command_reserve(struct gw_request *request);

/* To the successor's decode worker: the same, for a context that still grows at its old worker. */
void gw_command_reserve_successor(const struct gw_request *request);

/* To the decode worker: send the context to the successor's worker, and stop. */
void gw_command_hand_over(const struct gw_request *request);

/* To the decode worker: continue without the hand-over. */
void gw_command_cancel_move(const struct gw_request *request, const char *reason);

/* To the worker at prompt_at: run the prompt, and deliver the context to the decode worker if that
 * is a different worker. */
void gw_command_prefill(struct gw_request *request);

/* The division of a prompt; parts are numbered as in the attempt. */
struct gw_split {
    uint32_t n_parts;                /* 0: the worker computes all of it */
    uint32_t order[BATON_MAX_PARTS]; /* the parts in the order in which they get stripes */
    uint32_t holder, first_block, stripe_blocks;
};

/* To the worker of a part, which has its blocks: compute it. */
void gw_command_start_part(struct gw_request *request, uint32_t part, const struct gw_split *split);

/* To the workers of all parts but the first. */
void gw_command_cancel_parts(const struct gw_request *request, const struct gw_attempt *attempt,
                             const char *reason);

/* To the decode worker: continue from the first token. */
void gw_command_start(struct gw_request *request, uint32_t first_token);

/* To the worker that generates the tokens: acknowledges all tokens so far, with credit for more
 * unless the client is paused. */
void gw_command_ack(const struct gw_request *request);

/* To the workers that the request's attempt still has; or those of the given attempt. */
void gw_command_cancel(const struct gw_request *request, const char *reason);
void gw_command_cancel_attempt(const struct gw_request *request, const struct gw_attempt *attempt,
                               const char *reason);

#endif
