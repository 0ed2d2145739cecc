/* Sends running sequences' tokens to their gateways: one message per step and gateway has the
 * tokens of each sequence and, if it ended, the reason.
 *
 * Ownership: owns the messages' scratch, reserved at creation.
 * Threading: engine thread.
 * Errors:    create: NO_MEMORY. Each event has the err of the message that carried it.
 */
#ifndef BATON_DECODE_WORKER_STREAM_H
#define BATON_DECODE_WORKER_STREAM_H

#include "decode_worker/sample_batch.h"

struct dc_stream;

/* The tokens that a step generated for one sequence, from index context->n_output on. */
struct dc_event {
    const struct dc_context *context;
    const struct dc_sampled *sampled;
    bool stopped, last; /* a stop token ended it; no token follows these */
    /* Out. AGAIN: the link's queue is full, the tokens must be generated again later. CLOSED: the
     * gateway is gone. INVALID, LIMIT: the gateway would refuse the event. */
    enum baton_err err;
};

struct dc_stream *dc_stream_create(int max_events);
void dc_stream_destroy(struct dc_stream *stream);

/* How long a step computed, and then sampled its tokens. */
struct dc_step_times {
    double compute_s, sample_s;
};

/* Sends events [n], n <= max_events, of one step. */
void dc_stream_send(struct dc_stream *stream, struct dc_event *events, int n,
                    const struct dc_step_times *times);

/* Sends the first token of a colocated prompt. Errors as an event's. */
enum baton_err dc_stream_send_first(const struct dc_context *context,
                                    struct baton_sampled_message *sampled) BATON_MUST_CHECK;

#endif
