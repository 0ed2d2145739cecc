/* The requests of a worker: in order of arrival, and found by the ids in a message.
 *
 * Ownership: the table owns nothing; a node is part of its request's struct, and is removed before
 *            that is freed.
 * Threading: main thread.
 * Errors:    none.
 */
#ifndef BATON_WORKER_REQUEST_TABLE_H
#define BATON_WORKER_REQUEST_TABLE_H

#include "common/base/hash.h"
#include "common/base/list.h"
#include "worker/origin.h"

struct baton_request_node {
    struct baton_node in_order;
    struct baton_hash_node in_table;
    const struct baton_origin *origin;
};

BATON_LIST(baton_request_list, struct baton_request_node, in_order)
BATON_HASH_TABLE(baton_requests_by_id, struct baton_request_node, in_table)

struct baton_request_table {
    struct baton_request_list list; /* in order of arrival */
    size_t n_most;                  /* the most requests at a time */
    struct baton_requests_by_id by_id;
};

void baton_request_table_init(struct baton_request_table *table);

/* origin is borrowed while the node is in the table. */
void baton_request_table_add(struct baton_request_table *table, struct baton_request_node *node,
                             const struct baton_origin *origin);

/* The node is in the table. */
void baton_request_table_remove(struct baton_request_table *table, struct baton_request_node *node);

/* The node of a gateway's message (baton_origin_is); NULL when there is none. */
struct baton_request_node *baton_request_table_find(const struct baton_request_table *table,
                                                    const baton_envelope *envelope);

/* The same for another worker's message, which does not know the gateway (baton_origin_is_request):
 * the first after `last`, or of all when that is NULL. */
struct baton_request_node *baton_request_table_next(const struct baton_request_table *table,
                                                    const baton_envelope *envelope,
                                                    const struct baton_request_node *last);

#endif
