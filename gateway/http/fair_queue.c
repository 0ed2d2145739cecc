#include "gateway/http/fair_queue.h"

#include <stdlib.h>

void gw_fair_queue_init(struct gw_fair_queue *queue)
{
    gw_fair_clients_init(&queue->clients);
    queue->n_bytes = 0;
}

static struct gw_account *account_of(const struct gw_payers *client)
{
    return client->key ? client->key : client->address;
}

static struct gw_fair_client *find(const struct gw_fair_queue *queue,
                                   const struct gw_account *account)
{
    struct gw_fair_client *client = gw_fair_clients_first(&queue->clients);
    while (client && client->account != account)
        client = gw_fair_clients_next(&queue->clients, client);
    return client;
}

static struct gw_fair_client *enter(struct gw_fair_queue *queue, struct gw_account *account)
{
    struct gw_fair_client *client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    gw_fair_items_init(&client->items);
    client->account = account ? gw_account_hold(account) : NULL;
    gw_fair_clients_push_back(&queue->clients, client);
    return client;
}

enum baton_err gw_fair_queue_add(struct gw_fair_queue *queue, struct gw_fair_item *item,
                                 size_t n_bytes, const struct gw_payers *payers)
{
    struct gw_account *account = account_of(payers);
    struct gw_fair_client *client = find(queue, account);
    if (!client)
        client = enter(queue, account);
    if (!client)
        return BATON_NO_MEMORY;
    *item = (struct gw_fair_item){.client = client, .n_bytes = n_bytes};
    gw_fair_items_push_back(&client->items, item);
    client->n_bytes += n_bytes;
    queue->n_bytes += n_bytes;
    return BATON_OK;
}

struct gw_fair_item *gw_fair_queue_first(const struct gw_fair_queue *queue)
{
    const struct gw_fair_client *client = gw_fair_clients_first(&queue->clients);
    return client ? gw_fair_items_first(&client->items) : NULL;
}

void gw_fair_queue_remove(struct gw_fair_queue *queue, struct gw_fair_item *item)
{
    struct gw_fair_client *client = item->client;
    gw_fair_items_remove(&client->items, item);
    client->n_bytes -= item->n_bytes;
    queue->n_bytes -= item->n_bytes;
    item->client = NULL;
    if (client->items.n)
        return;
    gw_fair_clients_remove(&queue->clients, client);
    gw_account_put(client->account);
    free(client);
}

void gw_fair_queue_take(struct gw_fair_queue *queue, struct gw_fair_item *item)
{
    struct gw_fair_client *client = item->client;
    gw_fair_clients_remove(&queue->clients, client);
    gw_fair_clients_push_back(&queue->clients, client);
    gw_fair_queue_remove(queue, item);
}

struct gw_fair_item *gw_fair_queue_who_gives_way(const struct gw_fair_queue *queue, size_t n_bytes,
                                                 const struct gw_payers *payers)
{
    const struct gw_fair_client *own = find(queue, account_of(payers)), *most = NULL;
    for (struct gw_fair_client *client = gw_fair_clients_first(&queue->clients); client;
         client = gw_fair_clients_next(&queue->clients, client))
        if (!most || client->n_bytes > most->n_bytes)
            most = client;
    if (!most || most == own || most->n_bytes <= n_bytes + (own ? own->n_bytes : 0))
        return NULL;
    return gw_fair_items_item(&most->items, most->items.head.prev);
}
