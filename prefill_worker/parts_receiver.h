/* Where the blocks arrive that other workers compute of this one's prompts (parts.h).
 *
 * Ownership: the receiver is the caller's, and borrows its owner until it is destroyed.
 * Threading: main thread.
 * Errors:    create: as baton_kv_receiver_create. A transfer that fails cancels its job.
 */
#ifndef BATON_PREFILL_WORKER_PARTS_RECEIVER_H
#define BATON_PREFILL_WORKER_PARTS_RECEIVER_H

#include "prefill_worker/engine.h"
#include "worker/host.h"
#include "worker/kv/receive.h"
#include "worker/request_table.h"

/* Where jobs are found, and who computes them. */
struct pf_parts_owner {
    struct baton_host *host;
    const struct baton_request_table *requests;
    struct pf_engine *engine;
    const struct baton_kv *kv;
};

enum baton_err pf_parts_receiver_create(struct pf_parts_owner *owner, const char *bulk_url,
                                        enum baton_kv_path path,
                                        struct baton_kv_receiver **receiver,
                                        struct baton_why *why) BATON_MUST_CHECK;

#endif
