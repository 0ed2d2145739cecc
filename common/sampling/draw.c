/* Intervals of [0, 1) in order of id, and the one that a number falls into. A token's interval
 * begins where the sum of the weights before it, divided by the total, is; the sum is taken block
 * by block, then weight by weight. Both functions here compute borders with the same operations, so
 * they agree to the last bit. */
#include <math.h>

#include "common/sampling/pipeline.h"

struct block {
    size_t first, end;   /* places */
    double begin, limit; /* sums before and after it: weights one by one may round past the limit */
};

static struct block block_at(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                             size_t index, double begin)
{
    size_t first = index * BATON_DRAW_BLOCK, rest = shaped->n - first;
    return (struct block){.first = first,
                          .end = first + (rest < BATON_DRAW_BLOCK ? rest : BATON_DRAW_BLOCK),
                          .begin = begin,
                          .limit = begin + sampler->block_sums[index]};
}

/* The last block that has weight and begins at or before uniform. */
static struct block find_block(const struct baton_sampler *sampler,
                               const struct baton_shaped *shaped, double uniform)
{
    struct block found = {0};
    double sum = 0;
    for (size_t i = 0; i * BATON_DRAW_BLOCK < shaped->n && sum / shaped->total <= uniform; i++) {
        if (sampler->block_sums[i] > 0)
            found = block_at(sampler, shaped, i, sum);
        sum += sampler->block_sums[i];
    }
    return found;
}

size_t baton_draw_place(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                        double uniform)
{
    struct block block = find_block(sampler, shaped, uniform);
    double sum = block.begin;
    size_t chosen = block.first;
    for (size_t i = block.first; i < block.end; i++) {
        if (!(sampler->weights[i] > 0))
            continue;
        if (fmin(sum, block.limit) / shaped->total > uniform)
            break;
        chosen = i;
        sum += sampler->weights[i];
    }
    return chosen;
}

void baton_draw_interval(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                         size_t place, double *begin, double *end)
{
    double sum = 0;
    for (size_t i = 0; i < place / BATON_DRAW_BLOCK; i++)
        sum += sampler->block_sums[i];
    struct block block = block_at(sampler, shaped, place / BATON_DRAW_BLOCK, sum);
    for (size_t i = block.first; i < place; i++)
        sum += sampler->weights[i];
    *begin = *end = fmin(sum, block.limit) / shaped->total;
    if (!(sampler->weights[place] > 0))
        return;
    size_t next = place + 1;
    while (next < block.end && !(sampler->weights[next] > 0))
        next++;
    sum = next < block.end ? fmin(sum + sampler->weights[place], block.limit) : block.limit;
    *end = sum / shaped->total;
}
