#include "gateway/api/responses/store.h"

#include <stdlib.h>
#include <string.h>

BATON_LIST(response_list, struct gw_stored_response, in_owner)

struct owner {
    struct baton_node in_owners;
    struct gw_owner who;
    struct response_list responses;
    size_t bytes;
};

BATON_LIST(owner_list, struct owner, in_owners)

struct gw_response_store {
    struct gw_response_bounds bounds;
    struct owner_list owners; /* only owners with at least one response */
    size_t n, bytes;
};

/* The memory of a JSON value, a container and a hash table's slot, with malloc's share: measured
 * and rounded up, because jansson does not report it. */
enum { VALUE_BYTES = 96, CONTAINER_BYTES = 288, MEMBER_BYTES = 112 };

struct gw_response_store *gw_response_store_create(const struct gw_response_bounds *bounds)
{
    struct gw_response_store *store = calloc(1, sizeof *store);
    if (!store)
        return NULL;
    store->bounds = *bounds;
    owner_list_init(&store->owners);
    return store;
}

static void free_response(struct gw_stored_response *response)
{
    baton_json_free(response->messages);
    free(response->id);
    free(response->body);
    free(response);
}

/* Drops a response, and with the last one also its owner. */
static void drop(struct gw_response_store *store, struct owner *owner,
                 struct gw_stored_response *response)
{
    response_list_remove(&owner->responses, response);
    store->n--;
    store->bytes -= response->bytes;
    owner->bytes -= response->bytes;
    free_response(response);
    if (owner->responses.n)
        return;
    owner_list_remove(&store->owners, owner);
    free(owner);
}

void gw_response_store_destroy(struct gw_response_store *store)
{
    if (!store)
        return;
    for (struct owner *owner; (owner = owner_list_first(&store->owners));)
        drop(store, owner, response_list_first(&owner->responses));
    free(store);
}

bool gw_response_store_is_on(const struct gw_response_store *store)
{
    return store->bounds.n;
}

size_t gw_response_store_n(const struct gw_response_store *store)
{
    return store->n;
}

size_t gw_response_store_bytes(const struct gw_response_store *store)
{
    return store->bytes;
}

/* ---- look up ---- */

static struct owner *find_owner(const struct gw_response_store *store, const struct gw_owner *who)
{
    for (struct owner *owner = owner_list_first(&store->owners); owner;
         owner = owner_list_next(&store->owners, owner))
        if (baton_equal_constant_time(owner->who.digest, who->digest, sizeof who->digest))
            return owner;
    return NULL;
}

static struct gw_stored_response *find(const struct owner *owner, const char *id)
{
    struct gw_stored_response *response = owner ? response_list_first(&owner->responses) : NULL;
    while (response && strcmp(response->id, id) != 0)
        response = response_list_next(&owner->responses, response);
    return response;
}

const struct gw_stored_response *gw_response_store_get(const struct gw_response_store *store,
                                                       const struct gw_owner *owner, const char *id)
{
    return find(find_owner(store, owner), id);
}

bool gw_response_store_remove(struct gw_response_store *store, const struct gw_owner *who,
                              const char *id)
{
    struct owner *owner = find_owner(store, who);
    struct gw_stored_response *response = find(owner, id);
    if (response)
        drop(store, owner, response);
    return response;
}

/* ---- bounds ---- */

/* The memory of a JSON value. Parts that several conversations share count for each of them, so the
 * sum errs on the safe side. */
static size_t tree_bytes(const struct baton_json *value)
{
    size_t bytes = VALUE_BYTES, n = 0;
    switch (baton_json_kind(value)) {
    case BATON_JSON_STRING:
        (void)baton_json_string(value, &n);
        return bytes + n;
    case BATON_JSON_ARRAY:
        for (size_t i = 0; i < baton_json_size(value); i++)
            bytes += tree_bytes(baton_json_at(value, i)) + sizeof(void *);
        return bytes + CONTAINER_BYTES;
    case BATON_JSON_OBJECT:
        for (void *it = baton_json_first(value); it; it = baton_json_next(value, it))
            bytes += MEMBER_BYTES + strlen(baton_json_key(it)) + tree_bytes(baton_json_member(it));
        return bytes + CONTAINER_BYTES;
    default:
        return bytes;
    }
}

static struct owner *greatest(const struct gw_response_store *store, bool by_bytes)
{
    struct owner *most = owner_list_first(&store->owners);
    for (struct owner *owner = most; owner; owner = owner_list_next(&store->owners, owner))
        if (by_bytes ? owner->bytes > most->bytes : owner->responses.n > most->responses.n)
            most = owner;
    return most;
}

static void keep_bounds(struct gw_response_store *store)
{
    bool by_bytes;
    while ((by_bytes = store->bytes > store->bounds.bytes) || store->n > store->bounds.n) {
        struct owner *owner = greatest(store, by_bytes);
        drop(store, owner, response_list_first(&owner->responses));
    }
}

void gw_response_store_tick(struct gw_response_store *store, int64_t now_ns)
{
    struct owner *next;
    for (struct owner *owner = owner_list_first(&store->owners); owner; owner = next) {
        next = owner_list_next(&store->owners, owner);
        for (size_t n = owner->responses.n; n; n--) { /* dropping the last one frees the owner */
            struct gw_stored_response *oldest = response_list_first(&owner->responses);
            if (now_ns - oldest->stored_ns < store->bounds.age_ns)
                break;
            drop(store, owner, oldest);
        }
    }
}

/* ---- put ---- */

static struct gw_stored_response *make(const char *id, const struct baton_buf *body,
                                       struct baton_json *messages, int64_t now_ns)
{
    struct gw_stored_response *made = calloc(1, sizeof *made);
    if (!made) {
        baton_json_free(messages);
        return NULL;
    }
    made->id = strdup(id);
    made->body = malloc(body->len + 1);
    made->messages = messages;
    made->n_body = body->len;
    made->stored_ns = now_ns;
    if (!made->id || !made->body || !messages) {
        free_response(made);
        return NULL;
    }
    memcpy(made->body, baton_buf_text(body), body->len + 1);
    made->bytes = sizeof *made + strlen(id) + body->len + tree_bytes(messages);
    return made;
}

static struct owner *take_owner(struct gw_response_store *store, const struct gw_owner *who)
{
    struct owner *owner = find_owner(store, who);
    if (owner)
        return owner;
    owner = calloc(1, sizeof *owner);
    if (!owner)
        return NULL;
    owner->who = *who;
    response_list_init(&owner->responses);
    owner_list_push_back(&store->owners, owner);
    return owner;
}

enum baton_err gw_response_store_put(struct gw_response_store *store, const struct gw_owner *who,
                                     const char *id, const struct baton_buf *body,
                                     struct baton_json *messages, int64_t now_ns)
{
    struct gw_stored_response *made = make(id, body, messages, now_ns);
    if (!made)
        return BATON_NO_MEMORY;
    if (!store->bounds.n || made->bytes > store->bounds.bytes) {
        free_response(made);
        return BATON_LIMIT;
    }
    (void)gw_response_store_remove(store, who, id);
    struct owner *owner = take_owner(store, who);
    if (!owner) {
        free_response(made);
        return BATON_NO_MEMORY;
    }
    response_list_push_back(&owner->responses, made);
    owner->bytes += made->bytes;
    store->bytes += made->bytes;
    store->n++;
    keep_bounds(store);
    return BATON_OK;
}
