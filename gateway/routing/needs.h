/* What a request needs of the fleet, which workers and numeric classes could give it, whether or
 * not they have capacity now, and why nobody can.
 *
 * Ownership: nothing is kept; failures are constants.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_ROUTING_NEEDS_H
#define BATON_GATEWAY_ROUTING_NEEDS_H

#include "gateway/routing/routing.h"

/* The KV blocks of prompt and output in a decode worker. */
int64_t gw_needs_n_blocks(const struct gw_routing *routing, const struct gw_request *request);

/* Whether the worker is of a version that can make what is wanted. */
bool gw_needs_capable(const struct gw_worker *worker, const struct gw_request *request);

/* Whether the worker is capable and its KV cache, when it is empty, holds the request: its context
 * in a decode worker; in a prefill worker its prompt, in naive mode with the output. */
bool gw_needs_fit(const struct gw_routing *routing, const struct gw_worker *worker,
                  const struct gw_request *request);

/* Whether a worker of the role in one of the classes, even if all of it were free, could take the
 * request. */
bool gw_needs_has_worker(const struct gw_routing *routing, Baton__V1__Role role,
                         const struct gw_request *request, gw_class_set classes);

/* Where the request may go. One that has tokens stays in the class that made the last of them:
 * while that class can take it, and for good when classes are strict. A decode worker can run the
 * prompt as well. */
gw_class_set gw_needs_classes(const struct gw_routing *routing, const struct gw_request *request);

/* Whether a decode worker may run the prompt, of which it has n_cached_tokens. */
bool gw_needs_may_colocate(const struct gw_routing *routing, const struct gw_request *request,
                           int64_t n_cached_tokens);

/* Whether there is no prefill worker and the decode worker may run this prompt. */
bool gw_needs_must_colocate(const struct gw_routing *routing, const struct gw_request *request);

/* Whether it needs a decode worker: only when more than one token is wanted, or when that worker
 * must run the prompt itself. */
bool gw_needs_decode(const struct gw_routing *routing, const struct gw_request *request);

/* Whether the request waits for a role whose workers have only just left, or are only joining. */
bool gw_needs_awaits_worker(const struct gw_routing *routing, const struct gw_request *request);

/* Whether a worker of each role that the request needs is heard, so that it could be routed once
 * there is capacity. */
bool gw_needs_may_move(const struct gw_routing *routing, const struct gw_request *request,
                       int64_t now_ns);

/* The reason why a request could not be routed even by an idle fleet, or NULL. A role that is
 * awaited is no reason. */
const struct gw_failure *gw_needs_unmet(const struct gw_routing *routing,
                                        const struct gw_request *request);

#endif
