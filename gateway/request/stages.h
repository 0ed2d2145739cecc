/* The stages of a request divide the time from its arrival to its end.
 *
 *     to the first token, one after the other:
 *         parse tokenize queue prefill_queue prefill_compute first_token
 *     after it, sums over attempts, steps and tokens:
 *         kv_transfer decode_queue decode sample decode_wait migration detokenize format flush
 *
 * Workers measure durations, and the gateway places them between its own time stamps: forward from
 * the moment it sent the prompt, backward from the first decode step. first_token and decode_wait
 * are the remainders of the two parts. Time in which a worker computes the next token while the
 * gateway handles the last one counts for the gateway, whose own clock measured it exactly.
 *
 * Ownership: borrows names from the request.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_REQUEST_STAGES_H
#define BATON_GATEWAY_REQUEST_STAGES_H

#include "common/obs/stage.h"
#include "gateway/request/request.h"

/* start_s is relative to the arrival. The sums after the first token are laid out one after the
 * other, so each stage begins where the last one ends. */
struct gw_stage_span {
    const char *worker; /* "gateway" or a worker id; NULL: the request did not go through it */
    double start_s, duration_s;
};

/* Computes the stages of a request that is over: times.end_ns is set. The durations add up to
 * gw_request_e2el_s. A request that failed while a worker had its prompt spent that time in
 * prefill_queue. */
void gw_request_stages(const struct gw_request *request,
                       struct gw_stage_span spans[BATON_N_STAGES]);

#endif
