/* The responses that are kept for previous_response_id and GET /v1/responses/{id}.
 *
 *     owner (an API key) --> its responses, the oldest first
 *     put --over a bound on number or bytes--> the owner that has most of it loses its oldest one
 *     tick --over the age--------------------> gone
 *
 * Nobody finds another owner's response, and nobody's use of the store costs another owner more
 * than an equal share of it.
 *
 * Ownership: the store owns what it keeps; what get returns is borrowed until the next put, remove
 * or
 *            tick.
 * Threading: loop thread.
 * Errors:    put: LIMIT (larger than all of them may be), NO_MEMORY; the response is then not kept.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_STORE_H
#define BATON_GATEWAY_API_RESPONSES_STORE_H

#include "common/base/json.h"
#include "common/base/list.h"
#include "gateway/api/access/access.h"

struct gw_response_bounds {
    size_t n, bytes; /* of all; n 0: none is kept */
    int64_t age_ns;
};

struct gw_stored_response {
    struct baton_node in_owner;
    char *id, *body;             /* body: the response object as JSON */
    size_t n_body, bytes;        /* bytes: estimate of all its memory, rather too high */
    struct baton_json *messages; /* the conversation, its answer the last message */
    int64_t stored_ns;
};

struct gw_response_store;

/* NULL: no memory. */
struct gw_response_store *gw_response_store_create(const struct gw_response_bounds *bounds);
/* NULL is fine. */
void gw_response_store_destroy(struct gw_response_store *store);

/* Whether it keeps any. */
bool gw_response_store_is_on(const struct gw_response_store *store);
size_t gw_response_store_n(const struct gw_response_store *store);
size_t gw_response_store_bytes(const struct gw_response_store *store);

/* Keeps a copy of id and body, and takes messages, also when it fails. One of that id and owner is
 * replaced. */
enum baton_err gw_response_store_put(struct gw_response_store *store, const struct gw_owner *owner,
                                     const char *id, const struct baton_buf *body,
                                     struct baton_json *messages, int64_t now_ns) BATON_MUST_CHECK;
/* NULL: the owner has none of that id. */
const struct gw_stored_response *gw_response_store_get(const struct gw_response_store *store,
                                                       const struct gw_owner *owner,
                                                       const char *id);
/* False: the owner has none of that id. */
bool gw_response_store_remove(struct gw_response_store *store, const struct gw_owner *owner,
                              const char *id);
/* Drops what is too old. */
void gw_response_store_tick(struct gw_response_store *store, int64_t now_ns);

#endif
