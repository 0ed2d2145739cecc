/* A queue in which clients take turns: each client's items are in order of arrival, and the clients
 * follow one another. So who sends much waits for himself.
 *
 *     take: the first item of the first client, who then stands behind the others
 *     one more than there is room for: the last item of the client who holds most gives way
 *
 * A client is an API key or, without keys, an address (account.h).
 *
 * Ownership: the queue owns its clients; items are embedded in what their owner allocates, and have
 *            to be taken or removed before the queue's end.
 * Threading: loop thread.
 * Errors:    add: NO_MEMORY; nothing is added.
 */
#ifndef BATON_GATEWAY_HTTP_FAIR_QUEUE_H
#define BATON_GATEWAY_HTTP_FAIR_QUEUE_H

#include <stddef.h>

#include "common/base/error.h"
#include "common/base/list.h"
#include "gateway/http/account.h"

struct gw_fair_client;

struct gw_fair_item {
    struct baton_node in_client;
    struct gw_fair_client *client; /* NULL: in no queue */
    size_t n_bytes;
};

BATON_LIST(gw_fair_items, struct gw_fair_item, in_client)

struct gw_fair_client {
    struct baton_node in_queue;
    struct gw_fair_items items;
    struct gw_account *account; /* held; NULL: unknown clients together */
    size_t n_bytes;
};

BATON_LIST(gw_fair_clients, struct gw_fair_client, in_queue)

struct gw_fair_queue {
    struct gw_fair_clients clients; /* that have items, in the order of their turns */
    size_t n_bytes;                 /* of all items */
};

void gw_fair_queue_init(struct gw_fair_queue *queue);

/* Adds an item of n_bytes as the client's last one. */
enum baton_err gw_fair_queue_add(struct gw_fair_queue *queue, struct gw_fair_item *item,
                                 size_t n_bytes, const struct gw_payers *client) BATON_MUST_CHECK;

/* The item whose turn it is; NULL: the queue is empty. */
struct gw_fair_item *gw_fair_queue_first(const struct gw_fair_queue *queue);
/* Takes that item out. Its client goes behind the others. */
void gw_fair_queue_take(struct gw_fair_queue *queue, struct gw_fair_item *item);
/* Takes an item out that gives up its turn. */
void gw_fair_queue_remove(struct gw_fair_queue *queue, struct gw_fair_item *item);

/* The item that gives way to one of n_bytes of the client: the last one of the client with most
 * bytes. NULL: that is the client itself, once it had n_bytes more. */
struct gw_fair_item *gw_fair_queue_who_gives_way(const struct gw_fair_queue *queue, size_t n_bytes,
                                                 const struct gw_payers *client);

#endif
