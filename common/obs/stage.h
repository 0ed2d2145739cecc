/* The stages every request goes through, named once for logs, metrics and the timeline.
 *
 * Ownership: nothing.
 * Threading: pure functions; a histogram has one owner at a time.
 * Errors:    none.
 */
#ifndef BATON_OBS_STAGE_H
#define BATON_OBS_STAGE_H

#include <stdint.h>

#include "common/base/log.h"

/* name, what it covers; in the order in which they happen. */
#define BATON_STAGES(X)                                                                            \
    X(parse, "reading and checking the request's fields")                                          \
    X(tokenize, "text to token ids")                                                               \
    X(queue, "gateway: waiting for workers, the decode reservation included")                      \
    X(prefill_queue, "prefill worker: waiting for the engine")                                     \
    X(prefill_compute, "prefill worker: first pass to logits")                                     \
    X(first_token, "sampling the first token and bringing it to the gateway")                      \
    X(kv_transfer, "context: transfer begun to last block received")                               \
    X(decode_queue, "decode worker: context received to first step")                               \
    X(decode, "decode worker: sum over the request's steps")                                       \
    X(detokenize, "gateway: token ids to text")                                                    \
    X(flush, "gateway: text to the client's socket")

enum baton_stage {
#define X(name, text) BATON_STAGE_##name,
    BATON_STAGES(X)
#undef X
        BATON_N_STAGES
};

const char *baton_stage_name(enum baton_stage stage);

/* The one log line of one stage of one request, written by the process that ran it. */
void baton_stage_log(enum baton_stage stage, uint64_t request_id, uint32_t attempt,
                     double duration_s);

#endif
