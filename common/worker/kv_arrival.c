#include "common/worker/kv_arrival.h"

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
    *arrival = (struct baton_kv_arrival){n_layers, end_block, next_block, held, n_held};
    return BATON_OK;
}

void baton_kv_arrival_begin_at(struct baton_kv_arrival *arrival, const int *layers, int n,
                               uint32_t first)
{
    for (int i = 0; i < n; i++)
        if (arrival->next_block[layers[i]] < first)
            arrival->next_block[layers[i]] = first;
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
        n > arrival->end_block - first)
        return false;
    arrival->next_block[layer] += n;
    return true;
}

bool baton_kv_arrival_ends_at(const struct baton_kv_arrival *arrival, uint32_t end_block)
{
    for (int i = 0; i < arrival->n_held; i++)
        if (arrival->next_block[arrival->held[i]] != end_block)
            return false;
    return true;
}
