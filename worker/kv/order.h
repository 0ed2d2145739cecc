/* The order in which a context leaves: span after span of blocks, as the prompt is computed, and
 * each span layer by layer. Each layer's blocks, from the first wanted one on, leave exactly once.
 *
 *     blocks ->  0 .. first_block | span | span | span
 *     layer 0        not sent     |  1   |  4   |  7      the order when all layers of a span
 *     layer 1                     |  2   |  5   |  8      follow each other; a span is what was
 *     layer 2                     |  3   |  6   |  9      ready, or begun, when the span began
 *
 * Of a prompt that several workers compute, each sends its own blocks: a span is in one stripe.
 *
 * Pure.
 */
#ifndef BATON_WORKER_KV_ORDER_H
#define BATON_WORKER_KV_ORDER_H

#include <stdbool.h>

#include "worker/kv/progress.h"
#include "worker/kv/stripes.h"

struct baton_kv_order {
    const int *layers; /* [n_layers], ascending: those that are sent; borrowed */
    int n_layers, n_blocks;
    int begin, end;                         /* blocks of the span under way; begin == end: none */
    int layer, block;                       /* next of it; the layer as an index of layers */
    const struct baton_kv_stripes *stripes; /* NULL: all blocks leave; borrowed */
    int part;                               /* of stripes, whose blocks leave */
};

/* Adjacent blocks of one layer, counted in the sequence. */
struct baton_kv_extent {
    int layer, block, n_blocks;
};

/* The blocks first_block..n_blocks - 1, at least one, of layers [n_layers]. Zeroed it is over. */
void baton_kv_order_init(struct baton_kv_order *order, const int *layers, int n_layers,
                         int first_block, int n_blocks);

/* Of an order that has just begun: the part's blocks alone leave. */
void baton_kv_order_keep_part(struct baton_kv_order *order, const struct baton_kv_stripes *stripes,
                              int part);

/* What can go next, as far as the progress reaches; false when nothing can. */
bool baton_kv_order_next(struct baton_kv_order *order, struct baton_kv_progress progress,
                         struct baton_kv_extent *extent);

/* The first n_blocks of the extent that next gave are gone. */
void baton_kv_order_sent(struct baton_kv_order *order, int n_blocks);

/* Whether everything is computed. */
bool baton_kv_order_is_ready(const struct baton_kv_order *order, struct baton_kv_progress progress);

/* Everything is gone. */
bool baton_kv_order_is_over(const struct baton_kv_order *order);

#endif
