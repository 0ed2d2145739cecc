/* Worker load: a worker's estimated work between two of its Statuses.
 *
 * The gateway knows exactly what it routed there itself. The load of other gateways is what a
 * Status reports beyond that. Of the last two Statuses the smaller figure counts, because the
 * worker may have written one of them before a request of ours ended, and we may have read it
 * after. A Status also contains facts that the gateway lacks: how far prompts are, and which blocks
 * requests share. If a Status reports less than the sum, the gateway uses the Status, plus what it
 * routed there since, minus what ended since.
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
    int64_t n_blocks;        /* reserved or in use */
};

struct gw_worker_load {
    struct gw_work ours, reported;
    struct gw_work others[2]; /* other gateways' work, by the last Status and the one before */
};

/* Takes over the work that a new Status reports. */
void gw_worker_load_reported(struct gw_worker_load *load, const struct gw_work *reported);

/* Adds work that was routed there, or (negative) that ended. */
void gw_worker_load_add(struct gw_worker_load *load, const struct gw_work *work);

struct gw_work gw_worker_load_now(const struct gw_worker_load *load);

#endif
