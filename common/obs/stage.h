/* The stages of every request, with one name each for logs, metrics, spans and the timeline.
 *
 * Ownership: nothing.
 * Threading: pure functions; a histogram has one owner at a time.
 * Errors:    none.
 */
#ifndef BATON_COMMON_OBS_STAGE_H
#define BATON_COMMON_OBS_STAGE_H

/* Each stage's name and content, in order of time. A request's stages divide its time: each moment
 * belongs to one of them (gateway/request/stages.h). */
#define BATON_STAGES(X)                                                                            \
    X(parse, "reading and checking the request's fields")                                          \
    X(tokenize, "text to token ids")                                                               \
    X(queue, "gateway: waiting for workers, the decode reservation included")                      \
    X(prefill_queue, "prefill worker: waiting for the engine")                                     \
    X(prefill_compute, "prefill worker: first pass to logits")                                     \
    X(first_token, "sampling the first token and bringing it to the gateway")                      \
    X(kv_transfer, "first token to context received, at the decode worker")                        \
    X(decode_queue, "decode worker: context received to first step")                               \
    X(decode, "decode worker: computing the request's steps")                                      \
    X(sample, "decode worker: choosing the steps' tokens")                                         \
    X(decode_wait, "between steps: steps without this request, tokens on their way")               \
    X(migration, "last token of an attempt that broke to first token of the next")                 \
    X(detokenize, "gateway: token ids to text")                                                    \
    X(format, "gateway: tokens to JSON and events")                                                \
    X(flush, "gateway: events to the client's socket")

enum baton_stage {
#define X(name, text) BATON_STAGE_##name,
    BATON_STAGES(X)
#undef X
        BATON_N_STAGES
};

const char *baton_stage_name(enum baton_stage stage);

/* Returns its name with _s: the key of its seconds in timings and logs. */
const char *baton_stage_key(enum baton_stage stage);

#endif
