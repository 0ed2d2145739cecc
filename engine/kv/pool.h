/* A pool as the engine sees it; engine/kv.h defines it.
 *
 * Its memory is [L][n_blocks] blocks, each laid out as kernels/attend/kv_block.h says, with the
 * layer's own G and D. A layer that reads another layer's K and V holds no block.
 *
 * A layer of several huge pages begins on one, so that a step of blocks (growth.h) has its own.
 *
 * Behind the blocks, from the next multiple of 8 on, the memory has [n_blocks] stamps of 64 bits: a
 * stamp is the pool's clock, which counts allocations, at the last allocation of the block. Other
 * processes may map a shared pool to read. A stamp shows them whether a block still has its owner:
 * it changes before a new owner writes, and before its memory is given back.
 *
 * Layers that see only a window are a class of their own: they send only the blocks of the window,
 * and in a sliding pool they keep only these. There their blocks have numbers of their own
 * (windows.h); in other pools all layers share a block's number.
 *
 * Layers with a state belong to this class as well, and a pool with such layers always slides: a
 * block of theirs is a whole sequence's state after some position of the block's positions
 * (engine/kv/state.h).
 *
 * Ownership, threading, errors: as in engine/kv.h.
 */
#ifndef BATON_ENGINE_KV_POOL_H
#define BATON_ENGINE_KV_POOL_H

#include <stdatomic.h>

#include "engine/arch/kv_layout.h"
#include "engine/kv.h"
#include "engine/kv/windows.h"

struct kv_layer {
    int from;           /* the layer whose K and V it reads: itself, or an earlier one */
    bool is_windowed;   /* all that read its K and V see a window only; or it has a state */
    size_t block_bytes; /* 0: it holds none */
    char *memory;       /* [blocks of its class][block_bytes], of the layer it reads */
};

struct baton_kv {
    struct baton_kv_blocks blocks;
    struct baton_kv_windows *windows; /* NULL: the pool does not slide */
    enum baton_kv_dtype dtype;
    size_t all_block_bytes, window_block_bytes; /* in all layers; in those with a window */
    bool has_states;
    int window; /* the widest; 0: no layer has one */
    char layout_name[BATON_SHA256_HEX];
    struct baton_reserve *reserve;
    struct baton_kv_growth *growth; /* NULL: all is backed as it is touched */
    uint64_t clock;
    _Atomic uint64_t *stamps; /* [n_blocks] */
    int n_layers, n_held, n_of[2];
    struct kv_layer *layers; /* [L] */
    int *held;               /* [n_held], ascending */
    int *of[2];              /* [n_of], ascending: held layers without a window, and with one */

    /* During an account. */
    int *n_claims;           /* [n_blocks] sequences that claimed each */
    int n_claimed_set_aside; /* that these have, for layers with a window */
};

/* The properties of a model that decide the layout of its K and V. */
struct baton_kv_layout {
    const struct baton_spec *spec; /* read by create and measure, and not kept */
    const char *auto_dtype;        /* the meaning of the dtype "auto": "f32" or "f16" */
};

/* baton_kv_create and _measure (engine/kv.h) of a spec without weights. */
enum baton_err baton_kv_create_of(struct baton_kv_layout layout,
                                  const struct baton_kv_pool_options *options, struct baton_kv **kv,
                                  struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_kv_measure_of(struct baton_kv_layout layout,
                                   const struct baton_kv_pool_options *options,
                                   struct baton_kv_sizes *sizes,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Places a layer of n_bytes behind *end, which moves, and the stamps of n_blocks behind all layers.
 * A pool and its readers in other processes place alike. False: the size overflows. */
bool baton_kv_place_layer(size_t n_bytes, size_t *end, size_t *at);
bool baton_kv_place_stamps(size_t end, int n_blocks, size_t *stamps_at, size_t *n_bytes);

/* Block 0 of the K and V that a layer reads, its own or another layer's; block b is
 * baton_kv_block_bytes * b of the layer that holds them further on. */
const void *baton_kv_layer(const struct baton_kv *kv, int layer);

/* The element type as stored and as sent. */
enum baton_kv_dtype baton_kv_element(const struct baton_kv *kv);

/* The number of sequences that hold a block. */
int baton_kv_n_holders(const struct baton_kv *kv, int block);

/* Blocks that sequences have set aside for layers with a window; 0 unless the pool slides. */
int baton_kv_n_set_aside(const struct baton_kv *kv);

/* Whether every block is in one state of the drawing in engine/kv.h; O(n_blocks). */
bool baton_kv_is_consistent(const struct baton_kv *kv);

/* Before the next n_rows positions are computed: holds the blocks of layers with a window that they
 * see and fill, and gives those back that no later position sees. False when that is more than the
 * sequence has set aside. Always true of a pool that does not slide. */
bool baton_seq_slide(struct baton_seq *seq, int n_rows) BATON_MUST_CHECK;

/* The number of blocks behind the first position of a block that this position sees, in layers with
 * a window. */
static inline int kv_blocks_behind(const struct baton_kv *kv)
{
    if (kv->has_states)
        return 1;
    return (kv->window + BATON_KV_BLOCK_TOKENS - 2) / BATON_KV_BLOCK_TOKENS;
}

/* The first block that a context of n_tokens keeps in layers with a window. */
static inline int kv_first_kept(const struct baton_kv *kv, int n_tokens)
{
    int last = (n_tokens - 1) / BATON_KV_BLOCK_TOKENS;
    int first = kv->has_states ? last : last - kv_blocks_behind(kv);
    return first > 0 ? first : 0;
}

#endif
