/* A stored conversation of OpenAI's API: metadata and items, which responses continue.
 *
 * It is an entry of the store of responses: its body is the conversation object, its messages are
 * its items. So both have the same bounds, and belong to one API key. A change stores it anew, as
 * the youngest entry.
 *
 * Ownership: as store.h; arrays that are returned are the caller's.
 * Threading: loop thread.
 * Errors:    those of gw_response_store_put; NOT_FOUND: the owner has no such conversation or item.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_CONVERSATION_H
#define BATON_GATEWAY_API_RESPONSES_CONVERSATION_H

#include "common/base/random.h"
#include "gateway/api/fields.h"
#include "gateway/api/responses/store.h"

#define GW_CONVERSATION_PREFIX "conv_"

enum { GW_CONVERSATION_ID_BYTES = sizeof GW_CONVERSATION_PREFIX - 1 + BATON_SECRET_BYTES };

/* Whose conversation it is. */
struct gw_conversation {
    struct gw_response_store *store;
    const struct gw_owner *owner;
    const char *id;
};

/* NULL: there is none. */
const struct gw_stored_response *gw_conversation_find(const struct gw_conversation *conversation);

/* The items that an input makes: a text, or an array of checked items (input.h). Each gets an id,
 * its type and a status. NULL after a problem. */
struct baton_json *gw_conversation_items(struct gw_fields *fields, const struct baton_json *input);

/* Stores a new conversation under a new id. Takes ownership of items. metadata may be NULL. */
enum baton_err gw_conversation_create(const struct gw_conversation *conversation,
                                      const struct baton_json *metadata,
                                      struct baton_json *items) BATON_MUST_CHECK;
/* Adds items behind those that it has. */
enum baton_err gw_conversation_add(const struct gw_conversation *conversation,
                                   const struct baton_json *items) BATON_MUST_CHECK;
/* Removes the item of that id. */
enum baton_err gw_conversation_remove(const struct gw_conversation *conversation,
                                      const char *item) BATON_MUST_CHECK;
/* Replaces its metadata. */
enum baton_err gw_conversation_update(const struct gw_conversation *conversation,
                                      const struct baton_json *metadata) BATON_MUST_CHECK;

/* Writes a new id. */
void gw_conversation_name(char id[GW_CONVERSATION_ID_BYTES]);

/* The item of that id; NULL: none. */
const struct baton_json *gw_conversation_item(const struct gw_stored_response *stored,
                                              const char *item);

#endif
