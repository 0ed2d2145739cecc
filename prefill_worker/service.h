/* The main thread of a prefill worker: accepts requests, feeds the engine, sends contexts, cancels.
 *
 * Ownership: the service owns the jobs, the KV pool, the engine and the sender.
 * Threading: main thread.
 * Errors:    create: as its parts. Requests that cannot be served are answered with Failed.
 */
#ifndef BATON_PREFILL_WORKER_SERVICE_H
#define BATON_PREFILL_WORKER_SERVICE_H

#include "worker/kv/disk.h"
#include "worker/service.h"

struct pf_service_options {
    struct baton_host *host;
    struct baton_kv_options kv; /* default: worker/kv/budget.h */
    int chunk;                  /* tokens of a step; 0: the model's default */
    enum baton_overlap overlap;
    bool prefix_cache;
    const char *bulk_url; /* where other parts' blocks arrive; "": prompts are not split here */
    struct baton_kv_disk_options kv_disk; /* the prefix cache on disk */
};

/* The caller destroys the service (baton_service_destroy). */
enum baton_err pf_service_create(const struct pf_service_options *options,
                                 struct baton_service **service,
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
