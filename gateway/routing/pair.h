/* The choice of workers that have capacity now: of one, by the policy of its role, and of a prefill
 * and a decode worker that fit together.
 *
 * Two of one numeric class come first, then a decode worker that runs the prompt itself, then two
 * classes where one of the two has nobody else to work with.
 *
 * Ownership: workers are the fleet's; the routing's scratch arrays are used.
 * Threading: loop thread.
 * Errors:    none; without capacity nobody is chosen.
 */
#ifndef BATON_GATEWAY_ROUTING_PAIR_H
#define BATON_GATEWAY_ROUTING_PAIR_H

#include "gateway/routing/routing.h"

/* Who computes the prompt, NULL: the decode worker; and who decodes, NULL: nobody needs to. */
struct gw_pair {
    struct gw_worker *prefill, *decode;
};

/* False when the request must wait for capacity. */
bool gw_pair_choose(struct gw_routing *routing, struct gw_request *request, struct gw_pair *pair);

/* A decode worker of one of the classes, or NULL. sender: who will send it the context, if anybody;
 * it must reach the worker. */
struct gw_worker *gw_pair_choose_decode(struct gw_routing *routing, struct gw_request *request,
                                        const struct gw_worker *sender, gw_class_set classes);

#endif
