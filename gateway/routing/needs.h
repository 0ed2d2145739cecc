/* The needs of a request: which workers and numeric classes could serve it, whether or not they
 * have capacity now, and why none can.
 *
 * Ownership: keeps nothing; failures are constants.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_ROUTING_NEEDS_H
#define BATON_GATEWAY_ROUTING_NEEDS_H

#include "gateway/request/overflow_words.h"
#include "gateway/routing/routing.h"

/* The KV blocks of prompt and output in a decode worker. */
int64_t gw_needs_n_blocks(const struct gw_routing *routing, const struct gw_request *request);

/* Whether the worker's version can compute the requested kind of result. */
bool gw_needs_capable(const struct gw_worker *worker, const struct gw_request *request);

/* Whether the worker is capable and its KV cache, when it is empty, holds the request: its context
 * in a decode worker; in a prefill worker its prompt, in naive mode with the output. */
bool gw_needs_fit(const struct gw_routing *routing, const struct gw_worker *worker,
                  const struct gw_request *request);

/* Whether the classes have a worker of the role that could serve the request if it were idle. */
bool gw_needs_has_worker(const struct gw_routing *routing, Baton__V1__Role role,
                         const struct gw_request *request, gw_class_set classes);

/* The classes in which the request may run. A request that has tokens stays in the class that made
 * the last of them while that class can serve it, and always when classes are strict. A class
 * without a prefill worker can serve it too, because a decode worker can run the prompt. */
gw_class_set gw_needs_classes(const struct gw_routing *routing, const struct gw_request *request);

/* Whether a decode worker that has n_cached_tokens of the prompt may run it. */
bool gw_needs_may_colocate(const struct gw_routing *routing, const struct gw_request *request,
                           int64_t n_cached_tokens);

/* Whether a decode worker may run this prompt and no prefill worker exists. */
bool gw_needs_must_colocate(const struct gw_routing *routing, const struct gw_request *request);

/* Whether the request needs a decode worker: only if more than one token is wanted, or if that
 * worker must run the prompt itself. */
bool gw_needs_decode(const struct gw_routing *routing, const struct gw_request *request);

/* Whether the request waits for a role whose workers have only just left, or are only joining. */
bool gw_needs_awaits_worker(const struct gw_routing *routing, const struct gw_request *request);

/* Whether the gateway hears a worker of each role that the request needs, so that only capacity
 * keeps the request waiting. */
bool gw_needs_may_move(const struct gw_routing *routing, const struct gw_request *request,
                       int64_t now_ns);

/* The reason why even an idle fleet could not serve the request, or NULL. Waiting for a role whose
 * workers are expected back is not a reason. */
const struct gw_failure *gw_needs_unmet(const struct gw_routing *routing,
                                        const struct gw_request *request);

/* A failure in words about one request. It may not be moved: it points into itself. */
struct gw_needs_words {
    struct gw_failure failure;
    char text[GW_OVERFLOW_WORDS_BYTES];
};

/* Returns what gw_needs_unmet returned, and borrows the words. Where workers are missing they name
 * the model, if the gateway has several. For a prompt that does not fit it has the numbers, which
 * the request gets too. */
const struct gw_failure *gw_needs_tell(const struct gw_routing *routing, struct gw_request *request,
                                       const struct gw_failure *unmet,
                                       struct gw_needs_words *words);

#endif
