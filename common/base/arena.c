#include "common/base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, BLOCK_BYTES = 4096 };

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(ALIGN) char bytes[];
};

struct baton_arena {
    struct block *newest;
    size_t used, max_bytes;
};

static struct block *block_create(size_t size)
{
    struct block *block = malloc(sizeof *block + size);
    if (block) {
        block->next = NULL;
        block->used = 0;
        block->size = size;
    }
    return block;
}

struct baton_arena *baton_arena_create(size_t max_bytes)
{
    struct baton_arena *arena = calloc(1, sizeof *arena);
    if (arena)
        arena->max_bytes = max_bytes;
    return arena;
}

void baton_arena_destroy(struct baton_arena *arena)
{
    if (!arena)
        return;
    for (struct block *block = arena->newest, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

void *baton_arena_alloc(struct baton_arena *arena, size_t size)
{
    /* Checked before rounding, which could overflow. */
    if (size > arena->max_bytes)
        return NULL;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (size > arena->max_bytes - arena->used)
        return NULL;
    struct block *block = arena->newest;
    if (!block || size > block->size - block->used) {
        /* The rest of the old block stays unused: blocks are small, and arenas live shortly. */
        block = block_create(size > BLOCK_BYTES ? size : BLOCK_BYTES);
        if (!block)
            return NULL;
        block->next = arena->newest;
        arena->newest = block;
    }
    void *p = block->bytes + block->used;
    block->used += size;
    arena->used += size;
    return p;
}

char *baton_arena_strndup(struct baton_arena *arena, const char *text, size_t n)
{
    char *copy = n == (size_t)-1 ? NULL : baton_arena_alloc(arena, n + 1);
    if (copy) {
        if (n)
            memcpy(copy, text, n);
        copy[n] = 0;
    }
    return copy;
}
