#include "engine/kv/blocks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

static struct baton_kv_step *step_of(const struct baton_kv_blocks *blocks, int block)
{
    return &blocks->steps[block / blocks->step_blocks];
}

/* Empty blocks of a step are a stack: the block freed last is allocated first, and its memory is
 * the most likely to be in a cache still. */
static void push_empty(struct baton_kv_blocks *blocks, int block, int64_t used_ns)
{
    struct baton_kv_step *step = step_of(blocks, block);
    int number = (int)(step - blocks->steps);
    blocks->blocks[block].older = step->top;
    step->top = block;
    step->n_empty++;
    step->used_ns = used_ns > step->used_ns ? used_ns : step->used_ns;
    blocks->lowest = number < blocks->lowest ? number : blocks->lowest;
    blocks->n_empty++;
}

static int pop_empty(struct baton_kv_blocks *blocks)
{
    while (!blocks->steps[blocks->lowest].n_empty)
        blocks->lowest++;
    struct baton_kv_step *step = &blocks->steps[blocks->lowest];
    int block = step->top;
    step->top = blocks->blocks[block].older;
    step->n_empty--;
    blocks->n_empty--;
    return block;
}

/* The list is a ring through its head: newest ... oldest. A block is linked by numbers, so a block
 * that is acquired again leaves the middle of the list in O(1). */
static struct baton_kv_block *list_head(const struct baton_kv_blocks *blocks)
{
    return &blocks->blocks[blocks->n_blocks];
}

static void push_cached(struct baton_kv_blocks *blocks, int block)
{
    struct baton_kv_block *head = list_head(blocks);
    blocks->blocks[block].older = head->older;
    blocks->blocks[block].newer = blocks->n_blocks;
    blocks->blocks[block].cached_ns = baton_now_ns();
    blocks->blocks[head->older].newer = block;
    head->older = block;
    blocks->n_cached++;
}

static void remove_cached(struct baton_kv_blocks *blocks, int block)
{
    const struct baton_kv_block *links = &blocks->blocks[block];
    blocks->blocks[links->older].newer = links->newer;
    blocks->blocks[links->newer].older = links->older;
    blocks->n_cached--;
}

/* A block hash is a piece of a SHA-256. */
static uint64_t bits_of(const struct baton_block_hash *hash)
{
    uint64_t bits;
    memcpy(&bits, hash->bytes, sizeof bits);
    return bits;
}

bool baton_kv_blocks_is_registered(const struct baton_kv_blocks *blocks, int block)
{
    return blocks->blocks[block].in_registered.link != NULL;
}

int baton_kv_blocks_find(const struct baton_kv_blocks *blocks, const struct baton_block_hash *hash)
{
    const struct baton_kv_block *block =
        baton_kv_registered_first(&blocks->registered, bits_of(hash));
    while (block && memcmp(&block->hash, hash, sizeof *hash) != 0)
        block = baton_kv_registered_next(block);
    return block ? (int)(block - blocks->blocks) : BATON_KV_NO_BLOCK;
}

/* Empties the least recently used cached block. Its hash is removed first, so that no later prompt
 * finds a block with other contents. */
static void evict(struct baton_kv_blocks *blocks)
{
    int block = list_head(blocks)->newer;
    remove_cached(blocks, block);
    baton_kv_registered_remove(&blocks->registered, &blocks->blocks[block]);
    push_empty(blocks, block, blocks->blocks[block].cached_ns);
}

enum baton_err baton_kv_blocks_init(struct baton_kv_blocks *blocks, int n_blocks, int step_blocks)
{
    int n_steps = n_blocks / step_blocks + (n_blocks % step_blocks != 0);
    *blocks = (struct baton_kv_blocks){.n_blocks = n_blocks,
                                       .max_cached = n_blocks,
                                       .n_unbacked = n_blocks,
                                       .n_steps = n_steps,
                                       .step_blocks = step_blocks};
    /* One more is the head of the ring, so links need no special case at the ends. */
    blocks->blocks = calloc((size_t)n_blocks + 1, sizeof *blocks->blocks);
    blocks->steps = calloc((size_t)n_steps, sizeof *blocks->steps);
    if (!blocks->blocks || !blocks->steps ||
        baton_kv_registered_reserve(&blocks->registered, (size_t)n_blocks)) {
        baton_kv_blocks_fini(blocks);
        return BATON_NO_MEMORY;
    }
    *list_head(blocks) = (struct baton_kv_block){.older = n_blocks, .newer = n_blocks};
    for (int i = 0; i < n_steps; i++)
        baton_kv_blocks_back(blocks, i, baton_now_ns());
    return BATON_OK;
}

void baton_kv_blocks_fini(struct baton_kv_blocks *blocks)
{
    free(blocks->blocks);
    free(blocks->steps);
    baton_kv_registered_fini(&blocks->registered);
    *blocks = (struct baton_kv_blocks){0};
}

void baton_kv_blocks_bound(struct baton_kv_blocks *blocks, int n)
{
    blocks->max_cached = n;
    while (blocks->n_cached > n)
        evict(blocks);
}

void baton_kv_blocks_expire(struct baton_kv_blocks *blocks, int64_t before_ns)
{
    while (blocks->n_cached && blocks->blocks[list_head(blocks)->newer].cached_ns <= before_ns)
        evict(blocks);
}

int baton_kv_blocks_in_step(const struct baton_kv_blocks *blocks, int step)
{
    int n_left = blocks->n_blocks - step * blocks->step_blocks;
    return n_left < blocks->step_blocks ? n_left : blocks->step_blocks;
}

void baton_kv_blocks_back(struct baton_kv_blocks *blocks, int step, int64_t now_ns)
{
    int first = step * blocks->step_blocks, n = baton_kv_blocks_in_step(blocks, step);
    assert(!blocks->steps[step].is_backed);
    blocks->steps[step] = (struct baton_kv_step){.top = BATON_KV_NO_BLOCK, .is_backed = true};
    for (int i = n - 1; i >= 0; i--) /* the first on top: a young step fills from the front */
        push_empty(blocks, first + i, now_ns);
    blocks->n_unbacked -= n;
}

void baton_kv_blocks_unback(struct baton_kv_blocks *blocks, int step)
{
    int n = baton_kv_blocks_in_step(blocks, step);
    assert(blocks->steps[step].is_backed && blocks->steps[step].n_empty == n);
    blocks->steps[step] = (struct baton_kv_step){.top = BATON_KV_NO_BLOCK};
    blocks->n_empty -= n;
    blocks->n_unbacked += n;
}

bool baton_kv_blocks_is_unused(const struct baton_kv_blocks *blocks, int step, int64_t before_ns)
{
    return blocks->steps[step].is_backed && blocks->steps[step].used_ns <= before_ns &&
           blocks->steps[step].n_empty == baton_kv_blocks_in_step(blocks, step);
}

int baton_kv_blocks_n_free(const struct baton_kv_blocks *blocks)
{
    return blocks->n_empty + blocks->n_cached;
}

int baton_kv_blocks_allocate(struct baton_kv_blocks *blocks)
{
    assert(baton_kv_blocks_n_free(blocks) > 0);
    if (!blocks->n_empty) /* a cached block may still save a prompt its computation */
        evict(blocks);
    int block = pop_empty(blocks);
    assert(!blocks->blocks[block].n_holders && !baton_kv_blocks_is_registered(blocks, block));
    blocks->blocks[block].n_holders = 1;
    return block;
}

int baton_kv_blocks_acquire(struct baton_kv_blocks *blocks, const struct baton_block_hash *hash)
{
    int block = blocks->max_cached ? baton_kv_blocks_find(blocks, hash) : BATON_KV_NO_BLOCK;
    if (block == BATON_KV_NO_BLOCK)
        return block;
    if (!blocks->blocks[block].n_holders) /* it was cached: a held block must not be evicted */
        remove_cached(blocks, block);
    blocks->blocks[block].n_holders++;
    return block;
}

void baton_kv_blocks_release(struct baton_kv_blocks *blocks, int block)
{
    assert(blocks->blocks[block].n_holders > 0);
    if (--blocks->blocks[block].n_holders)
        return;
    if (!baton_kv_blocks_is_registered(blocks, block)) {
        push_empty(blocks, block, baton_now_ns());
        return;
    }
    push_cached(blocks, block);
    if (blocks->n_cached > blocks->max_cached)
        evict(blocks); /* the oldest: with a bound of 0 this block itself */
}

void baton_kv_blocks_register(struct baton_kv_blocks *blocks, int block,
                              const struct baton_block_hash *hash)
{
    assert(blocks->blocks[block].n_holders > 0);
    /* Two sequences that ran the same prompt at the same time both register their block. The first
     * one stays registered: others may hold it already, and both have the same bits. */
    if (!blocks->max_cached || baton_kv_blocks_is_registered(blocks, block) ||
        baton_kv_blocks_find(blocks, hash) != BATON_KV_NO_BLOCK)
        return;
    blocks->blocks[block].hash = *hash;
    baton_kv_registered_put(&blocks->registered, &blocks->blocks[block], bits_of(hash));
}

/* The list has n_cached blocks. None is held, each is registered, and links agree both ways. The
 * count also ends the walk of a broken ring. */
static bool cached_are_consistent(const struct baton_kv_blocks *blocks)
{
    int n = 0, newer = blocks->n_blocks, block = list_head(blocks)->older;
    for (; block != blocks->n_blocks; newer = block, block = blocks->blocks[block].older)
        if (n++ == blocks->n_cached || blocks->blocks[block].newer != newer ||
            blocks->blocks[block].n_holders || !baton_kv_blocks_is_registered(blocks, block))
            return false;
    return n == blocks->n_cached && n <= blocks->max_cached && list_head(blocks)->newer == newer;
}

static bool step_is_consistent(const struct baton_kv_blocks *blocks, int step)
{
    const struct baton_kv_step *of = &blocks->steps[step];
    int n = 0, b = of->is_backed ? of->top : BATON_KV_NO_BLOCK;
    for (; b != BATON_KV_NO_BLOCK; b = blocks->blocks[b].older)
        if (n++ == of->n_empty || step_of(blocks, b) != of || blocks->blocks[b].n_holders ||
            baton_kv_blocks_is_registered(blocks, b))
            return false;
    return n == of->n_empty && (!n || step >= blocks->lowest);
}

static bool empty_are_consistent(const struct baton_kv_blocks *blocks)
{
    int n = 0, n_unbacked = 0;
    for (int i = 0; i < blocks->n_steps; i++) {
        if (!step_is_consistent(blocks, i))
            return false;
        n += blocks->steps[i].n_empty;
        n_unbacked += blocks->steps[i].is_backed ? 0 : baton_kv_blocks_in_step(blocks, i);
    }
    return n == blocks->n_empty && n_unbacked == blocks->n_unbacked;
}

int64_t baton_kv_blocks_oldest_ns(const struct baton_kv_blocks *blocks)
{
    /* The last entry is the head of the ring of cached blocks, so its `newer` is the oldest. */
    const struct baton_kv_block *all = blocks->blocks;
    return blocks->n_cached ? all[all[blocks->n_blocks].newer].cached_ns : 0;
}

bool baton_kv_blocks_are_consistent(const struct baton_kv_blocks *blocks)
{
    int n_held = 0;
    for (int b = 0; b < blocks->n_blocks; b++) {
        if (blocks->blocks[b].n_holders < 0 ||
            (baton_kv_blocks_is_registered(blocks, b) &&
             baton_kv_blocks_find(blocks, &blocks->blocks[b].hash) != b))
            return false;
        n_held += blocks->blocks[b].n_holders > 0;
    }
    return n_held + baton_kv_blocks_n_free(blocks) + blocks->n_unbacked == blocks->n_blocks &&
           cached_are_consistent(blocks) && empty_are_consistent(blocks);
}
