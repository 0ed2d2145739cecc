/* Another process's pool, mapped for reading: contexts are copied out of it instead of being sent
 * through a socket.
 *
 * The pool's owner may give a block to another sequence at any time: it waits for no reader, since
 * a stopped process would stop it as well. So a block is read as under a seqlock (Boehm, "Can
 * seqlocks get along with programming language memory models?", 2012): the copy comes first, then
 * the block's stamp, which is newer than as_of if the next sequence may have written during the
 * copy. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "engine/kv/pool.h"
#include "engine/system/reserve.h"

struct baton_kv_view {
    const struct baton_kv *own;
    int n_blocks;
    size_t n_bytes;
    const char *memory;
    const _Atomic uint64_t *stamps; /* [n_blocks] */
    const char *layers[]; /* [L], as the pool divides its memory; NULL: holds no K and V */
};

/* Measures a pool of n_blocks, and where memory is given, finds its layers. */
static bool divide(const struct baton_kv *own, int n_blocks, const char *memory,
                   const char **layers, size_t *end)
{
    size_t at, n_bytes;
    *end = 0;
    for (int i = 0; i < baton_kv_n_layers(own); i++) {
        size_t n = baton_kv_block_bytes(own, i);
        if (__builtin_mul_overflow(n, (size_t)n_blocks, &n_bytes) ||
            !baton_kv_place_layer(n_bytes, end, &at))
            return false;
        if (memory)
            layers[i] = n ? memory + at : NULL;
    }
    return true;
}

static bool has_size(int fd, size_t n_bytes)
{
    struct stat facts;
    return !fstat(fd, &facts) && facts.st_size >= 0 && (size_t)facts.st_size == n_bytes;
}

enum baton_err baton_kv_view_open(const struct baton_kv *own, int fd, int n_blocks,
                                  struct baton_kv_view **out, struct baton_why *why)
{
    size_t end, stamps_at, n_bytes, n_layers = (size_t)baton_kv_n_layers(own);
    /* Without the seals the owner could shrink the file, and a copy would end in SIGBUS. */
    if (!baton_reserve_is_sealed(fd))
        return baton_fail(why, BATON_INVALID, "the file is not sealed memory");
    if (n_blocks < 1 || !divide(own, n_blocks, NULL, NULL, &end) ||
        !baton_kv_place_stamps(end, n_blocks, &stamps_at, &n_bytes) || !has_size(fd, n_bytes))
        return baton_fail(why, BATON_INVALID, "the file is not a pool of %d blocks", n_blocks);
    struct baton_kv_view *view = calloc(1, sizeof *view + n_layers * sizeof view->layers[0]);
    void *memory = view ? mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        free(view);
        return baton_fail(why, BATON_NO_MEMORY, "no memory to map a pool of %d blocks", n_blocks);
    }
    (void)madvise(memory, n_bytes, MADV_DONTDUMP); /* the owner's core dump has it */
    view->own = own;
    view->n_blocks = n_blocks;
    view->n_bytes = n_bytes;
    view->memory = memory;
    view->stamps = (const _Atomic uint64_t *)(view->memory + stamps_at);
    (void)divide(own, n_blocks, view->memory, view->layers, &end);
    *out = view;
    return BATON_OK;
}

void baton_kv_view_close(struct baton_kv_view *view)
{
    if (!view)
        return;
    (void)munmap((void *)(uintptr_t)view->memory, view->n_bytes);
    free(view);
}

int baton_kv_view_n_blocks(const struct baton_kv_view *view)
{
    return view->n_blocks;
}

/* The acquire fence orders the copy before the stamp is read; it pairs with the release fence of
 * the owner's allocation. */
bool baton_kv_view_copy(const struct baton_kv_view *view, int layer, int block, uint64_t as_of,
                        void *to)
{
    size_t n = baton_kv_block_bytes(view->own, layer);
    assert(view->layers[layer] && block >= 0 && block < view->n_blocks);
    memcpy(to, view->layers[layer] + n * (size_t)block, n);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&view->stamps[block], memory_order_relaxed) <= as_of;
}
