/* Preemption: paused requests give their KV blocks to requests that wait for them.
 *
 *     the first of a queue finds no blocks --> the longest paused request is PREEMPTED, and so on
 *     its client reads again ----------------> QUEUED, behind requests that wait
 *
 * A paused request is one whose client reads nothing: its connection is full, or the window of a
 * resumable stream. It has no use for its blocks before the client reads again, which may be never.
 * The prompt and its output so far are all that it needs to continue (gateway/request/migration.h).
 * A paused request that waits for blocks itself lets others pass in the same way.
 *
 * Ownership: borrows requests and workers.
 * Threading: loop thread.
 * Errors:    none; without paused requests, requests wait.
 */
#ifndef BATON_GATEWAY_ROUTING_PREEMPTION_H
#define BATON_GATEWAY_ROUTING_PREEMPTION_H

#include "gateway/routing/routing.h"

/* Preempts as many paused requests as the first request of each class needs to be routed. */
void gw_preemption_make_room(struct gw_routing *routing);

#endif
