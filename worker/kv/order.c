#include "worker/kv/order.h"

void baton_kv_order_init(struct baton_kv_order *order, const int *layers, int n_layers,
                         int first_block, int n_blocks)
{
    *order = (struct baton_kv_order){.layers = layers,
                                     .n_layers = n_layers,
                                     .n_blocks = n_blocks,
                                     .begin = first_block,
                                     .end = first_block,
                                     .block = first_block};
}

/* Of no layers everything is complete. */
static int count_complete(const struct baton_kv_order *order, struct baton_kv_progress progress)
{
    if (!order->n_layers)
        return order->n_blocks;
    return baton_kv_progress_complete(progress, order->layers[order->n_layers - 1]);
}

static void skip_to(struct baton_kv_order *order, int block)
{
    order->begin = order->stripes
                       ? baton_kv_stripes_next(order->stripes, order->part, block, order->n_blocks)
                       : block;
    order->end = order->block = order->begin;
}

void baton_kv_order_keep_part(struct baton_kv_order *order, const struct baton_kv_stripes *stripes,
                              int part)
{
    order->stripes = stripes;
    order->part = part;
    if (order->n_layers)
        skip_to(order, order->begin);
}

/* As many blocks as possible: whole ones if there are any, else those being computed. */
static void begin_span(struct baton_kv_order *order, struct baton_kv_progress progress)
{
    int n_complete = count_complete(order, progress);
    order->end = order->begin < n_complete ? n_complete : progress.n_end;
    int run_end = order->stripes
                      ? baton_kv_stripes_run_end(order->stripes, order->begin, order->n_blocks)
                      : order->end;
    if (order->end > run_end)
        order->end = run_end;
    if (order->end < order->begin)
        order->end = order->begin; /* the blocks being computed are not wanted */
}

/* Whether the span's blocks of the next layer can leave. */
static bool is_ready(const struct baton_kv_order *order, struct baton_kv_progress progress)
{
    return order->end <= progress.n_done || order->layers[order->layer] < progress.n_layers;
}

bool baton_kv_order_next(struct baton_kv_order *order, struct baton_kv_progress progress,
                         struct baton_kv_extent *extent)
{
    if (!order->n_layers)
        return false;
    if (!order->layer && order->block == order->begin)
        begin_span(order, progress);
    if (order->begin == order->end || !is_ready(order, progress))
        return false;
    *extent = (struct baton_kv_extent){.layer = order->layers[order->layer],
                                       .block = order->block,
                                       .n_blocks = order->end - order->block};
    return true;
}

void baton_kv_order_sent(struct baton_kv_order *order, int n_blocks)
{
    order->block += n_blocks;
    if (order->block < order->end)
        return;
    order->layer++;
    if (order->layer == order->n_layers) {
        order->layer = 0;
        skip_to(order, order->end);
    }
    order->block = order->begin;
}

bool baton_kv_order_is_ready(const struct baton_kv_order *order, struct baton_kv_progress progress)
{
    return count_complete(order, progress) >= order->n_blocks;
}

bool baton_kv_order_is_over(const struct baton_kv_order *order)
{
    return !order->n_layers || order->begin == order->n_blocks;
}
