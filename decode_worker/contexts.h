/* Every context of a decode worker, found by the request that a message names.
 *
 * Ownership: owns nothing; who adds a context removes it before it is freed.
 * Threading: main thread.
 * Errors:    none.
 */
#ifndef BATON_DECODE_CONTEXTS_H
#define BATON_DECODE_CONTEXTS_H

#include "decode_worker/context.h"

struct dc_contexts {
    struct dc_context_list list; /* in order of arrival */
    struct baton_request_table requests;
    int n_most; /* that were here at once */
};

void dc_contexts_init(struct dc_contexts *contexts);
void dc_contexts_add(struct dc_contexts *contexts, struct dc_context *context);
void dc_contexts_remove(struct dc_contexts *contexts, struct dc_context *context);

/* The context that a gateway's message is about (baton_origin_is); NULL when there is none. */
struct dc_context *dc_contexts_find(const struct dc_contexts *contexts,
                                    const baton_envelope *envelope);

/* The same for a prefill worker's message (baton_origin_is_request); canceled ones are passed over.
 */
struct dc_context *dc_contexts_find_request(const struct dc_contexts *contexts,
                                            const baton_envelope *envelope);

#endif
