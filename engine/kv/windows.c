#include "engine/kv/windows.h"

#include <assert.h>
#include <stdlib.h>

enum baton_err baton_kv_windows_create(int n_blocks, int per_sequence, int step_blocks,
                                       struct baton_kv_windows **out)
{
    struct baton_kv_windows *windows = calloc(1, sizeof *windows);
    if (!windows || baton_kv_blocks_init(&windows->blocks, n_blocks, step_blocks)) {
        free(windows);
        return BATON_NO_MEMORY;
    }
    windows->per_sequence = per_sequence;
    pthread_mutex_init(&windows->mutex, NULL);
    *out = windows;
    return BATON_OK;
}

void baton_kv_windows_destroy(struct baton_kv_windows *windows)
{
    if (!windows)
        return;
    pthread_mutex_destroy(&windows->mutex);
    baton_kv_blocks_fini(&windows->blocks);
    free(windows);
}

int baton_kv_windows_share(const struct baton_kv_windows *windows, int n_blocks)
{
    return n_blocks < windows->per_sequence ? n_blocks : windows->per_sequence;
}

int baton_kv_windows_n_left(const struct baton_kv_windows *windows)
{
    return windows->blocks.n_blocks - windows->n_set_aside;
}

void baton_kv_windows_set_aside(struct baton_kv_windows *windows, int n)
{
    assert(n <= baton_kv_windows_n_left(windows));
    windows->n_set_aside += n;
}

void baton_kv_windows_give_back(struct baton_kv_windows *windows, int n)
{
    windows->n_set_aside -= n;
}

void baton_kv_windows_bound(struct baton_kv_windows *windows, int n)
{
    pthread_mutex_lock(&windows->mutex);
    baton_kv_blocks_bound(&windows->blocks, n);
    pthread_mutex_unlock(&windows->mutex);
}

/* The longest prefix that ends with n_behind registered blocks, or of which all are registered. */
static int find(const struct baton_kv_windows *windows, const struct baton_block_hash *hashes,
                int n, int n_behind)
{
    int found = 0;
    for (int end = 1, run = 0; end <= n; end++) {
        bool is_there =
            baton_kv_blocks_find(&windows->blocks, &hashes[end - 1]) != BATON_KV_NO_BLOCK;
        run = is_there ? run + 1 : 0;
        if (run >= n_behind || run == end)
            found = end;
    }
    return found;
}

/* Finds and holds under one lock: another thread's allocation could evict the blocks in between. */
int baton_kv_windows_acquire(struct baton_kv_windows *windows,
                             const struct baton_block_hash *hashes, int n, int n_behind,
                             int *numbers)
{
    pthread_mutex_lock(&windows->mutex);
    int end = windows->blocks.max_cached ? find(windows, hashes, n, n_behind) : 0;
    /* Earlier blocks are outside the window of every position to come. */
    for (int i = end > n_behind ? end - n_behind : 0; i < end; i++)
        numbers[i] = baton_kv_blocks_acquire(&windows->blocks, &hashes[i]);
    pthread_mutex_unlock(&windows->mutex);
    return end;
}

int baton_kv_windows_find(struct baton_kv_windows *windows, const struct baton_block_hash *hash)
{
    pthread_mutex_lock(&windows->mutex);
    int block = baton_kv_blocks_acquire(&windows->blocks, hash);
    pthread_mutex_unlock(&windows->mutex);
    return block;
}

bool baton_kv_windows_is_registered(struct baton_kv_windows *windows, int block)
{
    pthread_mutex_lock(&windows->mutex);
    bool is_so = baton_kv_blocks_is_registered(&windows->blocks, block);
    pthread_mutex_unlock(&windows->mutex);
    return is_so;
}

static void release(struct baton_kv_windows *windows, int *numbers, int first, int end)
{
    while (end > first)
        if (numbers[--end] != BATON_KV_NO_BLOCK) {
            baton_kv_blocks_release(&windows->blocks, numbers[end]);
            numbers[end] = BATON_KV_NO_BLOCK;
        }
}

void baton_kv_windows_release(struct baton_kv_windows *windows, int *numbers, int first, int end)
{
    pthread_mutex_lock(&windows->mutex);
    release(windows, numbers, first, end);
    pthread_mutex_unlock(&windows->mutex);
}

void baton_kv_windows_allocate(struct baton_kv_windows *windows, int *numbers, int first, int end)
{
    pthread_mutex_lock(&windows->mutex);
    for (int i = first; i < end; i++)
        numbers[i] = baton_kv_blocks_allocate(&windows->blocks);
    pthread_mutex_unlock(&windows->mutex);
}

void baton_kv_windows_register(struct baton_kv_windows *windows, int block,
                               const struct baton_block_hash *hash)
{
    pthread_mutex_lock(&windows->mutex);
    baton_kv_blocks_register(&windows->blocks, block, hash);
    pthread_mutex_unlock(&windows->mutex);
}

int baton_kv_windows_n_cached(struct baton_kv_windows *windows, int64_t *oldest_ns)
{
    pthread_mutex_lock(&windows->mutex);
    int n = windows->blocks.n_cached;
    *oldest_ns = baton_kv_blocks_oldest_ns(&windows->blocks);
    pthread_mutex_unlock(&windows->mutex);
    return n;
}

bool baton_kv_windows_are_consistent(struct baton_kv_windows *windows)
{
    pthread_mutex_lock(&windows->mutex);
    const struct baton_kv_blocks *blocks = &windows->blocks;
    bool is_so = baton_kv_blocks_are_consistent(blocks) && windows->n_set_aside >= 0 &&
                 blocks->n_blocks - blocks->n_unbacked - baton_kv_blocks_n_free(blocks) <=
                     windows->n_set_aside;
    pthread_mutex_unlock(&windows->mutex);
    return is_so;
}
