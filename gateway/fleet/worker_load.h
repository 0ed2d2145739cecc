/* Worker load: how much a worker has to do, between two of its Statuses.
 *
 * What this gateway routed there is known exactly, at every moment. The load of other gateways is
 * what the worker tells beyond that. Of the last two Statuses the smaller counts, because one of
 * them may have been written before a request of ours left and read after. A Status also knows what
 * we cannot: how far prompts are, and which blocks requests share. So where it tells of less, it is
 * believed, and carried forward by what was routed there and what ended since.
 *
 * Ownership: plain data.
 * Threading: none; one owner at a time.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_FLEET_WORKER_LOAD_H
#define BATON_GATEWAY_FLEET_WORKER_LOAD_H

#include <stdint.h>

struct gw_work {
    int64_t n_requests;
    int64_t n_queued_tokens; /* of prompts, not computed yet */
    int64_t n_blocks;        /* promised or in use */
};

struct gw_worker_load {
    struct gw_work ours, told;
    struct gw_work others[2]; /* by the last Status and the one before */
};

/* A Status came. */
void gw_worker_load_told(struct gw_worker_load *load, const struct gw_work *told);

/* Work of ours was routed there, or (negative) ended. */
void gw_worker_load_add(struct gw_worker_load *load, const struct gw_work *work);

struct gw_work gw_worker_load_now(const struct gw_worker_load *load);

#endif
