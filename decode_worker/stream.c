#include "decode_worker/stream.h"

#include "common/base/clock.h"

enum baton_err dc_stream_token(const struct dc_context *context, struct baton_choice *choice,
                               double step_s, double queue_s)
{
    Baton__V1__DecodeBegan began = BATON__V1__DECODE_BEGAN__INIT;
    Baton__V1__Tokens tokens = BATON__V1__TOKENS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    tokens.first_index = context->n_output;
    baton_choice_into_tokens(choice, &tokens);
    tokens.step_s = step_s;
    if (context->n_output == 1) { /* the first token was prefill's */
        began.kv_transfer_s = baton_seconds(context->kv_placed_ns - context->kv_began_ns);
        began.decode_queue_s = queue_s;
        began.kv_bytes = context->total_bytes;
        began.kv_chunks = context->n_chunks;
        began.cold = context->cold;
        tokens.began = &began;
    }
    envelope.body_case = BATON__V1__ENVELOPE__BODY_TOKENS;
    envelope.tokens = &tokens;
    enum baton_err err = baton_asker_send(&context->asker, &envelope);
    if (!err && tokens.began)
        baton_asker_log_stage(&context->asker, BATON_STAGE_decode_queue, queue_s);
    return err;
}

void dc_stream_finished(const struct dc_context *context, bool stopped)
{
    Baton__V1__Finished finished = BATON__V1__FINISHED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    finished.reason =
        stopped ? BATON__V1__FINISHED__REASON__STOP_TOKEN : BATON__V1__FINISHED__REASON__LENGTH;
    finished.n_tokens = context->n_output;
    finished.decode_s = context->decode_s;
    finished.n_steps = context->n_steps;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FINISHED;
    envelope.finished = &finished;
    baton_asker_tell(&context->asker, &envelope);
    baton_asker_log_stage(&context->asker, BATON_STAGE_decode, context->decode_s);
}
