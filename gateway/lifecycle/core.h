/* What all parts of the gateway's core use: the requests, the model's words, what is measured.
 *
 * Ownership: everything is borrowed, and outlives the parts.
 * Threading: loop thread.
 * Errors:    none; it is data.
 */
#ifndef BATON_GATEWAY_LIFECYCLE_CORE_H
#define BATON_GATEWAY_LIFECYCLE_CORE_H

#include "gateway/observe/metrics.h"
#include "gateway/observe/spans.h"
#include "gateway/request/request.h"

struct gw_core {
    struct gw_requests *requests;
    struct gw_detokenizer detokenizer;
    struct gw_metrics *metrics;
    struct gw_spans *spans; /* NULL: none are told */
};

#endif
