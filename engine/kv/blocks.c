#include "engine/kv/blocks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

/* Empty blocks are a stack: the block freed last is allocated first, and its memory is the most
 * likely to be in a cache still. */
static void push_empty(struct baton_kv_blocks *blocks, int block)
{
    blocks->blocks[block].older = blocks->top;
    blocks->top = block;
    blocks->n_empty++;
}

static int pop_empty(struct baton_kv_blocks *blocks)
{
    int block = blocks->top;
    blocks->top = blocks->blocks[block].older;
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

static bool is_registered(const struct baton_kv_blocks *blocks, int block)
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
    push_empty(blocks, block);
}

enum baton_err baton_kv_blocks_init(struct baton_kv_blocks *blocks, int n_blocks)
{
    *blocks = (struct baton_kv_blocks){
        .n_blocks = n_blocks, .max_cached = n_blocks, .top = BATON_KV_NO_BLOCK};
    /* One more is the head of the ring, so links need no special case at the ends. */
    blocks->blocks = calloc((size_t)n_blocks + 1, sizeof *blocks->blocks);
    if (!blocks->blocks || baton_kv_registered_reserve(&blocks->registered, (size_t)n_blocks)) {
        baton_kv_blocks_fini(blocks);
        return BATON_NO_MEMORY;
    }
    *list_head(blocks) = (struct baton_kv_block){.older = n_blocks, .newer = n_blocks};
    for (int i = n_blocks - 1; i >= 0; i--) /* block 0 on top: a young pool fills from the front */
        push_empty(blocks, i);
    return BATON_OK;
}

void baton_kv_blocks_fini(struct baton_kv_blocks *blocks)
{
    free(blocks->blocks);
    baton_kv_registered_fini(&blocks->registered);
    *blocks = (struct baton_kv_blocks){0};
}

void baton_kv_blocks_bound(struct baton_kv_blocks *blocks, int n)
{
    blocks->max_cached = n;
    while (blocks->n_cached > n)
        evict(blocks);
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
    assert(!blocks->blocks[block].n_holders && !is_registered(blocks, block));
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
    if (!is_registered(blocks, block)) {
        push_empty(blocks, block);
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
    if (!blocks->max_cached || is_registered(blocks, block) ||
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
            blocks->blocks[block].n_holders || !is_registered(blocks, block))
            return false;
    return n == blocks->n_cached && n <= blocks->max_cached && list_head(blocks)->newer == newer;
}

static bool empty_are_consistent(const struct baton_kv_blocks *blocks)
{
    int n = 0;
    for (int b = blocks->top; b != BATON_KV_NO_BLOCK; b = blocks->blocks[b].older)
        if (n++ == blocks->n_empty || blocks->blocks[b].n_holders || is_registered(blocks, b))
            return false;
    return n == blocks->n_empty;
}

bool baton_kv_blocks_are_consistent(const struct baton_kv_blocks *blocks)
{
    int n_held = 0;
    for (int b = 0; b < blocks->n_blocks; b++) {
        if (blocks->blocks[b].n_holders < 0 ||
            (is_registered(blocks, b) &&
             baton_kv_blocks_find(blocks, &blocks->blocks[b].hash) != b))
            return false;
        n_held += blocks->blocks[b].n_holders > 0;
    }
    return n_held + baton_kv_blocks_n_free(blocks) == blocks->n_blocks &&
           cached_are_consistent(blocks) && empty_are_consistent(blocks);
}
