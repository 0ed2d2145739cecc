/* The gateway: connects its parts to one libuv loop, runs it until a signal, and tears it down.
 *
 *     RUNNING --SIGTERM--> DRAINING (no new requests) --none open or time up--> CLOSING --> return
 *
 * Ownership: owns every part.
 * Threading: one loop thread; NNG's threads only wake it by an async handle.
 * Errors:    as its parts, with a reason in words.
 */
#ifndef BATON_GATEWAY_GATEWAY_H
#define BATON_GATEWAY_GATEWAY_H

#include "gateway/settings.h"

enum baton_err gw_run(const struct gw_options *options, struct baton_why *why) BATON_MUST_CHECK;

#endif
