/* The figures of each worker, in one table for GET /workers and for Prometheus.
 *
 * A new gauge of a worker is a field of Status (proto), the worker that fills it in, and a row
 * here.
 *
 * Ownership: borrows the fleet.
 * Threading: loop thread.
 * Errors:    stick in the output buffer.
 */
#ifndef BATON_GATEWAY_OBSERVE_WORKER_METRICS_H
#define BATON_GATEWAY_OBSERVE_WORKER_METRICS_H

#include "common/base/json.h"
#include "gateway/fleet/fleet.h"

/* Writes the fleet's workers as elements of an array; served_model: what clients call their model.
 * Only an operator sees processes and addresses. */
void gw_worker_metrics_put(struct baton_json_out *out, const struct gw_fleet *fleet,
                           const char *served_model, bool for_operator);

/* Writes Prometheus text, with the number of workers of each role in each state. */
void gw_worker_metrics_write(struct baton_buf *out, const struct gw_fleet *fleet);

#endif
