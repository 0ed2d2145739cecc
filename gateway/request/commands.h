/* The gateway's commands to workers for a request: reserve, prefill, start, continue, stop.
 *
 * Each command goes to a worker of the current attempt, and carries the attempt's number.
 *
 * Ownership: borrows the request and its workers.
 * Threading: loop thread.
 * Errors:    as gw_worker_send: a failure takes the worker's link down, and its loss is noticed.
 *            A command that the worker would refuse makes the request is_unsendable: the next tick
 *            ends it.
 */
#ifndef BATON_GATEWAY_REQUEST_COMMANDS_H
#define BATON_GATEWAY_REQUEST_COMMANDS_H

#include "gateway/fleet/worker.h"
#include "gateway/request/request.h"

/* Tokens that may be in flight to the gateway. */
uint32_t gw_command_credit(const struct gw_request *request);

/* To the decode worker: reserve blocks for prompt and output. */
void gw_command_reserve(struct gw_request *request);

/* To the decode worker of the successor: the same, for a context that still grows elsewhere. */
void gw_command_reserve_successor(const struct gw_request *request);

/* To the decode worker: send the context to that of the successor, and stop. */
void gw_command_hand_over(const struct gw_request *request);

/* To the decode worker: go on here after all. */
void gw_command_cancel_move(const struct gw_request *request, const char *reason);

/* To the worker at prompt_at: run the prompt, and deliver the context to the decode worker if that
 * is a different worker. */
void gw_command_prefill(struct gw_request *request);

/* How a prompt is divided; parts are numbered as in the attempt. */
struct gw_split {
    uint32_t n_parts;                /* 0: the worker computes all of it */
    uint32_t order[BATON_MAX_PARTS]; /* whose turn it is with the stripes */
    uint32_t holder, first_block, stripe_blocks;
};

/* To the worker of a part, which has its blocks: compute it. */
void gw_command_start_part(struct gw_request *request, uint32_t part, const struct gw_split *split);

/* To the workers of all parts but the first. */
void gw_command_cancel_parts(const struct gw_request *request, const struct gw_attempt *attempt,
                             const char *reason);

/* To the decode worker: go on from the first token. */
void gw_command_start(struct gw_request *request, uint32_t first_token);

/* To the worker that makes the tokens: all tokens so far arrived, and more may come unless the
 * client is paused. */
void gw_command_ack(const struct gw_request *request);

/* To the workers that the attempt still has; and that this one has, of the same request. */
void gw_command_cancel(const struct gw_request *request, const char *reason);
void gw_command_cancel_attempt(const struct gw_request *request, const struct gw_attempt *attempt,
                               const char *reason);

#endif
