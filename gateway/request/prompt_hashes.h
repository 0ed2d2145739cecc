/* The hashes of the blocks of what an attempt computes first (request/migration.h), for each
 * numeric class that may compute it. Each is made once and serves every attempt.
 *
 * Ownership: the request owns its hashes until they are forgotten.
 * Threading: loop thread.
 * Errors:    without memory there are no hashes, and the prompt shares nothing: it costs only time.
 */
#ifndef BATON_GATEWAY_REQUEST_PROMPT_HASHES_H
#define BATON_GATEWAY_REQUEST_PROMPT_HASHES_H

#include "gateway/fleet/numeric_classes.h"

struct gw_request;

struct gw_prompt_hashes {
    struct baton_block_hash root, *list; /* [n] from that root */
    size_t n;                            /* 0: none, list may be NULL */
};

/* Those of one class: made now, or again when the class's root has changed because another fleet
 * has formed. None for a request that shares no blocks. */
const struct gw_prompt_hashes *gw_prompt_hashes_get(struct gw_request *request,
                                                    const struct gw_numeric_class *numeric_class,
                                                    uint32_t block_tokens);

/* Forgets those of all classes: the attempt after this one begins from other tokens. */
void gw_prompt_hashes_forget(struct gw_request *request);

/* Frees those of all classes: the request ends. */
void gw_prompt_hashes_fini(struct gw_request *request);

#endif
