/* A pool as its own files see it; kv.h says what it is.
 *
 * Layers that see only a window are a class of their own: they may keep and they send the blocks of
 * the window alone. Where they keep them alone (a sliding pool), their blocks have numbers of their
 * own (windows.h); otherwise a block's number is one for all layers. Private to the KV cache.
 *
 * Ownership, threading, errors: as in kv.h.
 */
#ifndef BATON_ENGINE_KV_POOL_H
#define BATON_ENGINE_KV_POOL_H

#include <stdatomic.h>

#include "engine/arch/kv_layout.h"
#include "engine/kv/kv.h"
#include "engine/kv/windows.h"

struct kv_layer {
    int from;           /* the layer whose K and V it reads: itself, or an earlier one */
    bool is_windowed;   /* all that read its K and V see a window only */
    size_t block_bytes; /* 0: it holds none */
    char *memory;       /* [blocks of its class][block_bytes], of the layer it reads */
};

struct baton_kv {
    struct baton_kv_blocks blocks;
    struct baton_kv_windows *windows; /* NULL: the pool does not slide */
    enum baton_kv_dtype dtype;
    size_t all_block_bytes, window_block_bytes; /* in all layers; in those with a window */
    int window;                                 /* the widest; 0: no layer has one */
    char layout_name[BATON_SHA256_HEX];
    struct baton_reserve *reserve;
    uint64_t clock;
    _Atomic uint64_t *stamps; /* [n_blocks] */
    int n_layers, n_held, n_of[2];
    struct kv_layer *layers; /* [L] */
    int *held;               /* [n_held], ascending */
    int *of[2];              /* [n_of], ascending: those of it without a window, and with one */
};

/* Blocks before the one a position begins that it sees, in layers with a window. */
static inline int kv_blocks_behind(const struct baton_kv *kv)
{
    return (kv->window + BATON_KV_BLOCK_TOKENS - 2) / BATON_KV_BLOCK_TOKENS;
}

/* The first block that a context of n_tokens keeps in layers with a window. */
static inline int kv_first_kept(const struct baton_kv *kv, int n_tokens)
{
    int first = (n_tokens - 1) / BATON_KV_BLOCK_TOKENS - kv_blocks_behind(kv);
    return first > 0 ? first : 0;
}

#endif
