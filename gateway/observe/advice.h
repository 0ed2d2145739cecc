/* Advice on which role the fleet lacks, computed by common/capacity/capacity.h from recent arrivals
 * (arrivals.h) and from the costs of the workers' steps (Status).
 *
 * Ownership: plain values; the fleet is borrowed.
 * Threading: loop thread.
 * Errors:    stick in the output buffer. After too few requests all figures are unknown.
 */
#ifndef BATON_GATEWAY_OBSERVE_ADVICE_H
#define BATON_GATEWAY_OBSERVE_ADVICE_H

#include "common/base/json.h"
#include "common/capacity/capacity.h"
#include "gateway/fleet/fleet.h"
#include "gateway/observe/arrivals.h"

struct gw_advice {
    struct baton_fleet fleet;
    struct baton_workload observed; /* NaN where unknown */
    struct baton_advice advice;
};

struct gw_advice gw_advice_now(const struct gw_fleet *fleet, const struct gw_arrivals *arrivals,
                               int64_t now_ns);

/* Writes the member "advice". */
void gw_advice_put(struct baton_json_out *out, const struct gw_advice *advice);

/* Writes the same as gauges. */
void gw_advice_write(const struct gw_advice *advice, struct baton_buf *out);

#endif
