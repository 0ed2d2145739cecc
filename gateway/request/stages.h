/* The stages of a request: where its time went, each as long as it was measured.
 *
 *     to the first token, one after the other:
 *         parse tokenize queue prefill_queue prefill_compute first_token
 *     after it, sums over attempts, steps and tokens:
 *         workers:  kv_transfer decode_queue decode sample decode_wait migration
 *         gateway:  detokenize format flush
 *
 * Workers measure durations, and the gateway places them between its own time stamps: forward from
 * the moment it sent the prompt, backward from the arrival of a step's tokens. A worker computes
 * the next step while the gateway handles the last one's tokens, so the two lines of stages after
 * the first token lie beside each other, and overlap_s is what they have in common. The request's
 * time is the sum of its stages minus overlap_s. first_token and decode_wait are what the measured
 * stages leave of their parts; if they leave less than nothing, overlap_s has the rest.
 *
 * Ownership: borrows names from the request.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_REQUEST_STAGES_H
#define BATON_GATEWAY_REQUEST_STAGES_H

#include "common/obs/stage.h"
#include "gateway/request/request.h"

/* start_s is relative to the arrival. A line's stages are laid out one after the other, so each
 * begins where the last one of its line ends. */
struct gw_stage_span {
    const char *worker; /* "gateway" or a worker id; NULL: the request did not go through it */
    double start_s, duration_s;
};

struct gw_stages {
    struct gw_stage_span spans[BATON_N_STAGES];
    double overlap_s;   /* that two stages count */
    double preempted_s; /* of detokenize, format and flush: the gateway's thread had no core */
};

/* Returns the stages of a request that is over: times.end_ns is set. Their durations minus
 * overlap_s add up to gw_request_e2el_s. A request that failed while a worker had its prompt spent
 * that time in prefill_queue. */
struct gw_stages gw_request_stages(const struct gw_request *request);

#endif
