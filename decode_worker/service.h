/* The main thread of a decode worker: reserves blocks, starts sequences, cancels, frees blocks.
 *
 * Blocks are reserved for the whole request (prompt and longest output) before its prompt runs
 * anywhere. So no prefill is wasted, and no two requests can wait for each other's blocks.
 *
 * Ownership: owns the contexts, the KV pool, the batch and the bulk receiver.
 * Threading: main thread.
 * Errors:    create: as its parts. A request that gets no reservation is answered with Rejected.
 */
#ifndef BATON_DECODE_WORKER_SERVICE_H
#define BATON_DECODE_WORKER_SERVICE_H

#include "worker/service.h"

struct dc_draft_model;

struct dc_service_options {
    struct baton_host *host;
    const char *bulk_url;
    struct baton_kv_options kv; /* default: worker/kv/budget.h */
    int64_t max_batch;
    int64_t colocated_chunk;      /* prompt tokens in a step beside running sequences */
    struct dc_draft_model *draft; /* borrowed; NULL: none */
    bool prefix_cache;            /* prompts with the same prefix share its blocks */
};

/* Sets the sizes of the pool that follow from the batch: sequences, and rows per step. */
void dc_service_size(struct baton_kv_options *kv, int64_t max_batch, int64_t colocated_chunk);

/* The caller destroys the service (baton_service_destroy). */
enum baton_err dc_service_create(const struct dc_service_options *options,
                                 struct baton_service **service,
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
