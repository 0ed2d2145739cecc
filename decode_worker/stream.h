/* What a running sequence says to its gateway: tokens in order, then how it ended.
 *
 * Ownership: nothing.
 * Threading: engine thread.
 * Errors:    AGAIN: the link's queue is full; the sequence must wait with this token unsent.
 */
#ifndef BATON_DECODE_STREAM_H
#define BATON_DECODE_STREAM_H

#include "common/worker/choice.h"
#include "decode_worker/context.h"

/* One token at index context->n_output; step_s is the step that made it. */
enum baton_err dc_stream_token(const struct dc_context *context, struct baton_choice *choice,
                               double step_s, double queue_s) BATON_MUST_CHECK;

void dc_stream_finished(const struct dc_context *context, bool stopped);

/* Whether the gateway allows one token more now. */
static inline bool dc_stream_has_credit(const struct dc_context *context)
{
    return context->n_output < atomic_load_explicit(&context->credit_end, memory_order_relaxed);
}

#endif
