/* Where the blocks arrive that other workers compute of this one's prompts (parts.h).
 *
 * Ownership: the receiver is the service's.
 * Threading: main thread.
 * Errors:    open: as baton_kv_receiver_create. A transfer that fails cancels its job.
 */
#ifndef BATON_PREFILL_WORKER_PARTS_RECEIVER_H
#define BATON_PREFILL_WORKER_PARTS_RECEIVER_H

#include "worker/service.h"

/* The service's requests are jobs. */
enum baton_err pf_parts_receiver_open(struct baton_service *service, const char *bulk_url,
                                      enum baton_kv_path path,
                                      struct baton_why *why) BATON_MUST_CHECK;

#endif
