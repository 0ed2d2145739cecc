/* The choice of workers that have capacity now: of one, by the policy of its role, and of a prefill
 * and a decode worker that fit together.
 *
 * Two workers of one numeric class are preferred, then a decode worker that runs the prompt itself,
 * then two classes of which one lacks the other role.
 *
 * Ownership: workers are the fleet's; uses the routing's scratch arrays.
 * Threading: loop thread.
 * Errors:    none; without capacity no worker is chosen.
 */
#ifndef BATON_GATEWAY_ROUTING_PAIR_H
#define BATON_GATEWAY_ROUTING_PAIR_H

#include "gateway/routing/routing.h"

struct gw_pair {
    struct gw_worker *prefill; /* NULL: the decode worker runs the prompt */
    struct gw_worker *decode;  /* NULL: the request needs none */
    int64_t matched_tokens;    /* of the prompt, that the prefill worker has; -1: not known */
};

/* False when the request must wait for capacity. */
bool gw_pair_choose(struct gw_routing *routing, struct gw_request *request, struct gw_pair *pair);

/* A decode worker of one of the classes, or NULL. sender: the worker that will send it the context
 * and must reach it; NULL if there is none. */
struct gw_worker *gw_pair_choose_decode(struct gw_routing *routing, struct gw_request *request,
                                        const struct gw_worker *sender, gw_class_set classes);

/* Whether the decode worker has n_wanted blocks for the request. */
bool gw_pair_has_blocks(const struct gw_worker *worker, const struct gw_request *request,
                        int64_t n_wanted);

#endif
