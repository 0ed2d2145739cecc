/* The gateway's parts, wired to one libuv loop: start, run until told to stop, tear down.
 *
 *     RUNNING --SIGTERM--> DRAINING (no new requests) --none open or time up--> CLOSING --> return
 *
 * Ownership: owns every part.
 * Threading: one loop thread; NNG's threads only ring the loop's async handle.
 * Errors:    as its parts, with a readable reason.
 */
#ifndef BATON_GATEWAY_GATEWAY_H
#define BATON_GATEWAY_GATEWAY_H

#include "gateway/settings.h"

enum baton_err gw_run(const struct gw_options *options, struct baton_why *why) BATON_MUST_CHECK;

#endif
