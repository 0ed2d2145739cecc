#include "worker/kv/arrival.h"

#include <stdlib.h>

enum baton_err baton_kv_arrival_init(struct baton_kv_arrival *arrival, uint32_t n_layers,
                                     const int *held, int n_held, uint32_t first_block,
                                     uint32_t end_block)
{
    uint32_t *next_block = calloc(n_layers, sizeof *next_block);
    if (!next_block)
        return BATON_NO_MEMORY;
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

static void skip(struct baton_kv_arrival *arrival, uint32_t *next_block)
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
        skip(arrival, &arrival->next_block[arrival->held[i]]);
}

/* Where a piece that begins with the block ends at the latest. */
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

bool baton_kv_arrival_take(struct baton_kv_arrival *arrival, uint32_t layer, uint32_t first,
                           uint32_t n)
{
    if (layer >= arrival->n_layers || first != arrival->next_block[layer] ||
        n > run_end(arrival, first) - first)
        return false;
    arrival->next_block[layer] += n;
    skip(arrival, &arrival->next_block[layer]);
    return true;
}

bool baton_kv_arrival_ends_at(const struct baton_kv_arrival *arrival, uint32_t end_block)
{
    for (int i = 0; i < arrival->n_held; i++)
        if (arrival->next_block[arrival->held[i]] != end_block)
            return false;
    return true;
}
