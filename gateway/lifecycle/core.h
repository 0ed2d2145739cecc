/* The objects that all parts of the gateway's core share: requests, detokenizer, metrics, spans,
 * feed.
 *
 * Ownership: borrows everything; all of it outlives the parts.
 * Threading: loop thread.
 * Errors:    none; it is data.
 */
#ifndef BATON_GATEWAY_LIFECYCLE_CORE_H
#define BATON_GATEWAY_LIFECYCLE_CORE_H

#include "gateway/observe/feed.h"
#include "gateway/observe/metrics.h"
#include "gateway/observe/spans.h"
#include "gateway/request/request.h"

struct gw_core {
    struct gw_requests *requests;
    struct gw_detokenizer detokenizer;
    struct gw_metrics *metrics;
    struct gw_spans *spans; /* NULL: none are exported */
    struct gw_feed *feed;   /* NULL: nobody can read it */
};

#endif
