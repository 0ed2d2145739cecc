#include "worker/request_table.h"

static size_t bucket_of(uint64_t request_id)
{
    return request_id % BATON_REQUEST_BUCKETS;
}

void baton_request_table_init(struct baton_request_table *table)
{
    *table = (struct baton_request_table){0};
    baton_request_list_init(&table->list);
}

void baton_request_table_add(struct baton_request_table *table, struct baton_request_node *node,
                             const struct baton_origin *origin)
{
    struct baton_request_node **bucket = &table->buckets[bucket_of(origin->request_id)];
    *node = (struct baton_request_node){.next = *bucket, .origin = origin};
    *bucket = node;
    baton_request_list_push_back(&table->list, node);
    if (table->list.n > table->n_most)
        table->n_most = table->list.n;
}

void baton_request_table_remove(struct baton_request_table *table, struct baton_request_node *node)
{
    struct baton_request_node **link = &table->buckets[bucket_of(node->origin->request_id)];
    while (*link != node)
        link = &(*link)->next;
    *link = node->next;
    baton_request_list_remove(&table->list, node);
}

struct baton_request_node *baton_request_table_find(const struct baton_request_table *table,
                                                    const baton_envelope *envelope)
{
    struct baton_request_node *node = table->buckets[bucket_of(envelope->request_id)];
    while (node && !baton_origin_is(node->origin, envelope))
        node = node->next;
    return node;
}

struct baton_request_node *baton_request_table_next(const struct baton_request_table *table,
                                                    const baton_envelope *envelope,
                                                    const struct baton_request_node *last)
{
    struct baton_request_node *node =
        last ? last->next : table->buckets[bucket_of(envelope->request_id)];
    while (node && !baton_origin_is_request(node->origin, envelope))
        node = node->next;
    return node;
}
