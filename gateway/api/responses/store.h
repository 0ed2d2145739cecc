/* The stored responses, for previous_response_id and GET /v1/responses/{id}, conversations, and the
 * threads of Anthropic's SDK.
 *
 *     owner (an API key) --> its responses, the oldest first
 *     put --over a bound on number or bytes--> drops the oldest one of the largest owner
 *     tick --over the age--------------------> drops it
 *
 * An owner cannot find another owner's responses, and cannot displace them below an equal share of
 * the store.
 *
 * Ownership: the store owns its responses; get returns one borrowed until the next put, remove or
 *            tick.
 * Threading: loop thread.
 * Errors:    put: LIMIT (larger than the whole store), NO_MEMORY; the response is then not stored.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_STORE_H
#define BATON_GATEWAY_API_RESPONSES_STORE_H

#include <string.h>

#include "common/base/json.h"
#include "common/base/list.h"
#include "gateway/api/access/access.h"

struct gw_response_bounds {
    size_t n, bytes; /* of all responses; n 0: none is stored */
    int64_t age_ns;
};

struct gw_stored_response {
    struct baton_node in_owner;
    char *id, *body;             /* body: the response object as JSON */
    size_t n_body, bytes;        /* bytes: an upper estimate of all its memory */
    struct baton_json *messages; /* the conversation; its last message is the answer; empty: the
                                  * response is not over */
    int64_t stored_ns;
};

/* Whether it is the id of a conversation (conversation.h), and not of a response. */
static inline bool gw_response_is_conversation(const char *id)
{
    return !strncmp(id, "conv_", sizeof "conv_" - 1);
}

/* Whether it is the id of a message of a thread (anthropic/thread.h). */
static inline bool gw_response_is_thread(const char *id)
{
    return !strncmp(id, "msg-", sizeof "msg-" - 1);
}

struct gw_response_store;

/* NULL: no memory. */
struct gw_response_store *gw_response_store_create(const struct gw_response_bounds *bounds);
/* NULL is fine. */
void gw_response_store_destroy(struct gw_response_store *store);

/* Whether the store keeps responses at all. */
bool gw_response_store_is_on(const struct gw_response_store *store);
size_t gw_response_store_n(const struct gw_response_store *store);
size_t gw_response_store_bytes(const struct gw_response_store *store);

/* Stores a copy of id and body. Takes ownership of messages, also on failure. Replaces the owner's
 * response with that id. */
enum baton_err gw_response_store_put(struct gw_response_store *store, const struct gw_owner *owner,
                                     const char *id, const struct baton_buf *body,
                                     struct baton_json *messages, int64_t now_ns) BATON_MUST_CHECK;
/* The owner's response with that id; NULL: none. */
const struct gw_stored_response *gw_response_store_get(const struct gw_response_store *store,
                                                       const struct gw_owner *owner,
                                                       const char *id);
/* Removes the owner's response with that id. False: there was none. */
bool gw_response_store_remove(struct gw_response_store *store, const struct gw_owner *owner,
                              const char *id);
/* Drops responses that are too old. */
void gw_response_store_tick(struct gw_response_store *store, int64_t now_ns);

#endif
