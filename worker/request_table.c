#include "worker/request_table.h"

void baton_request_table_init(struct baton_request_table *table)
{
    *table = (struct baton_request_table){0};
    baton_request_list_init(&table->list);
}

void baton_request_table_add(struct baton_request_table *table, struct baton_request_node *node,
                             const struct baton_origin *origin)
{
    *node = (struct baton_request_node){.origin = origin};
    baton_requests_by_id_put(&table->by_id, node, origin->request_id);
    baton_request_list_push_back(&table->list, node);
    if (table->list.n > table->n_most)
        table->n_most = table->list.n;
}

void baton_request_table_remove(struct baton_request_table *table, struct baton_request_node *node)
{
    baton_requests_by_id_remove(&table->by_id, node);
    baton_request_list_remove(&table->list, node);
}

struct baton_request_node *baton_request_table_find(const struct baton_request_table *table,
                                                    const baton_envelope *envelope)
{
    struct baton_request_node *node =
        baton_requests_by_id_first(&table->by_id, envelope->request_id);
    while (node && !baton_origin_is(node->origin, envelope))
        node = baton_requests_by_id_next(node);
    return node;
}

struct baton_request_node *baton_request_table_next(const struct baton_request_table *table,
                                                    const baton_envelope *envelope,
                                                    const struct baton_request_node *last)
{
    struct baton_request_node *node =
        last ? baton_requests_by_id_next(last)
             : baton_requests_by_id_first(&table->by_id, envelope->request_id);
    while (node && !baton_origin_is_request(node->origin, envelope))
        node = baton_requests_by_id_next(node);
    return node;
}
