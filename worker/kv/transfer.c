#include "worker/kv/transfer.h"

#include <stdlib.h>

/* ---- stripes ---- */

int baton_kv_stripes_owner(const struct baton_kv_stripes *stripes, int block)
{
    if (!stripes->n_parts)
        return 0;
    if (block < stripes->first)
        return stripes->holder;
    return (block - stripes->first) / stripes->n_blocks % stripes->n_parts;
}

int baton_kv_stripes_run_end(const struct baton_kv_stripes *stripes, int block, int end)
{
    int run_end = end;
    if (stripes->n_parts && block < stripes->first)
        run_end = stripes->first;
    else if (stripes->n_parts)
        run_end = block + stripes->n_blocks - (block - stripes->first) % stripes->n_blocks;
    return run_end < end ? run_end : end;
}

int baton_kv_stripes_next(const struct baton_kv_stripes *stripes, int part, int block, int end)
{
    while (block < end && baton_kv_stripes_owner(stripes, block) != part)
        block = baton_kv_stripes_run_end(stripes, block, end);
    return block < end ? block : end;
}

int64_t baton_kv_stripes_count(const struct baton_kv_stripes *stripes, int part, int first, int end)
{
    int64_t n = 0;
    int block = baton_kv_stripes_next(stripes, part, first, end);
    while (block < end) {
        int run_end = baton_kv_stripes_run_end(stripes, block, end);
        n += run_end - block;
        block = baton_kv_stripes_next(stripes, part, run_end, end);
    }
    return n;
}

int baton_kv_stripes_last(const struct baton_kv_stripes *stripes, int part, int end)
{
    int last = end;
    int block = baton_kv_stripes_next(stripes, part, stripes->first, end);
    while (block < end) {
        last = block;
        block = baton_kv_stripes_next(stripes, part, baton_kv_stripes_run_end(stripes, block, end),
                                      end);
    }
    return last;
}

/* ---- order ---- */

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

/* The number of blocks that are complete in all layers of the order; all, if it has no layers. */
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

/* Begins a span of as many blocks as possible: complete ones if there are any, else those that are
 * being computed, which leave layer by layer. */
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
        order->end = order->begin; /* the blocks being computed lie before those to send */
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

/* ---- arrival ---- */

enum baton_err baton_kv_arrival_init(struct baton_kv_arrival *arrival, uint32_t n_layers,
                                     const int *held, int n_held, uint32_t first_block,
                                     uint32_t end_block)
{
    uint32_t *next_block = calloc(n_layers, sizeof *next_block);
    if (!next_block)
        return BATON_NO_MEMORY;
    /* Layers that hold no K and V of their own are complete from the start. */
    for (uint32_t layer = 0; layer < n_layers; layer++)
        next_block[layer] = end_block;
    for (int i = 0; i < n_held; i++)
        next_block[held[i]] = first_block;
    *arrival = (struct baton_kv_arrival){.n_layers = n_layers,
                                         .end_block = end_block,
                                         .next_block = next_block,
                                         .held = held,
                                         .n_held = n_held};
    return BATON_OK;
}

void baton_kv_arrival_begin_at(struct baton_kv_arrival *arrival, const int *layers, int n,
                               uint32_t first)
{
    for (int i = 0; i < n; i++)
        if (arrival->next_block[layers[i]] < first)
            arrival->next_block[layers[i]] = first;
}

static void skip_others(struct baton_kv_arrival *arrival, uint32_t *next_block)
{
    if (arrival->stripes)
        *next_block = (uint32_t)baton_kv_stripes_next(arrival->stripes, arrival->part,
                                                      (int)*next_block, (int)arrival->end_block);
}

void baton_kv_arrival_keep_part(struct baton_kv_arrival *arrival,
                                const struct baton_kv_stripes *stripes, int part)
{
    arrival->stripes = stripes;
    arrival->part = part;
    for (int i = 0; i < arrival->n_held; i++)
        skip_others(arrival, &arrival->next_block[arrival->held[i]]);
}

/* The latest end of a piece that begins with the block. */
static uint32_t run_end(const struct baton_kv_arrival *arrival, uint32_t first)
{
    return arrival->stripes ? (uint32_t)baton_kv_stripes_run_end(arrival->stripes, (int)first,
                                                                 (int)arrival->end_block)
                            : arrival->end_block;
}

void baton_kv_arrival_fini(struct baton_kv_arrival *arrival)
{
    free(arrival->next_block);
    *arrival = (struct baton_kv_arrival){0};
}

bool baton_kv_arrival_add(struct baton_kv_arrival *arrival, uint32_t layer, uint32_t first,
                          uint32_t n)
{
    /* The numbers are the sender's: first + n could overflow, the difference cannot. */
    if (layer >= arrival->n_layers || first != arrival->next_block[layer] ||
        n > run_end(arrival, first) - first)
        return false;
    arrival->next_block[layer] += n;
    skip_others(arrival, &arrival->next_block[layer]);
    return true;
}

bool baton_kv_arrival_ends_at(const struct baton_kv_arrival *arrival, uint32_t end_block)
{
    for (int i = 0; i < arrival->n_held; i++)
        if (arrival->next_block[arrival->held[i]] != end_block)
            return false;
    return true;
}
