/* The message side of a decode worker: reserves blocks, starts sequences, cancels, frees blocks.
 *
 * Blocks are reserved for the whole request (prompt and every token it may make) before its prompt
 * runs anywhere. So no prefill is wasted, and no two requests can wait for each other's blocks.
 *
 * Ownership: owns the contexts, the KV pool, the batch and the bulk side.
 * Threading: main thread.
 * Errors:    create: as its parts. A request that gets no reservation is answered with Rejected.
 */
#ifndef BATON_DECODE_WORKER_SERVICE_H
#define BATON_DECODE_WORKER_SERVICE_H

#include "worker/host.h"
#include "worker/kv/budget.h"

struct dc_service;

struct dc_service_options {
    struct baton_host *host;
    const char *bulk_url;
    struct baton_kv_options kv; /* default: worker/kv/budget.h */
    int64_t max_batch;
    int64_t colocated_chunk;      /* prompt tokens in a step beside running sequences */
    struct dc_draft_model *draft; /* borrowed; NULL: there is none */
    bool prefix_cache;            /* prompts with the same prefix share its blocks */
};

/* What the worker's pool must know of how it runs sequences. */
void dc_service_size(struct baton_kv_options *kv, int64_t max_batch, int64_t colocated_chunk);

enum baton_err dc_service_create(const struct dc_service_options *options,
                                 struct dc_service **service,
                                 struct baton_why *why) BATON_MUST_CHECK;
void dc_service_destroy(struct dc_service *service);

/* What the host calls; arg is the service. */
struct baton_host_hooks dc_service_hooks(struct dc_service *service);

/* Its pool, borrowed. */
const struct baton_kv *dc_service_kv(const struct dc_service *service);

/* The bulk inbox as listened on. */
const char *dc_service_bulk_url(const struct dc_service *service);

#endif
