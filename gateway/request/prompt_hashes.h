/* The block hashes of a request's input (request/migration.h), for each numeric class that may
 * compute it. They are computed once and serve every attempt.
 *
 * Ownership: the request owns its hashes until they are forgotten.
 * Threading: loop thread.
 * Errors:    without memory there are no hashes, and the prompt shares no blocks, which costs time.
 */
#ifndef BATON_GATEWAY_REQUEST_PROMPT_HASHES_H
#define BATON_GATEWAY_REQUEST_PROMPT_HASHES_H

#include "gateway/fleet/numeric_classes.h"

struct gw_request;

struct gw_prompt_hashes {
    struct baton_block_hash root, *list; /* the class's; [n] from it, salt and adapters */
    size_t n;                            /* 0: none, list may be NULL */
    uint32_t block_tokens;               /* of each */
};

/* The hashes for one class, computed now if they are missing or if the class's root has changed,
 * because another fleet has formed. n is 0 for a request that shares no blocks. */
const struct gw_prompt_hashes *gw_prompt_hashes_get(struct gw_request *request,
                                                    const struct gw_numeric_class *numeric_class,
                                                    uint32_t block_tokens);

/* Forgets the hashes of all classes: the next attempt begins from other tokens. */
void gw_prompt_hashes_forget(struct gw_request *request);

/* Frees the hashes of all classes: the request ends. */
void gw_prompt_hashes_fini(struct gw_request *request);

#endif
