/* The KV cache: a pool of fixed-size blocks, reserved once, and sequences that hold some of them.
 *
 * A block holds BATON_KV_BLOCK_TOKENS consecutive positions, fixed at absolute positions: position
 * p of a sequence is slot p % BLOCK of its block p / BLOCK. The pool's memory is [L][n_blocks]
 * blocks, laid out as attend/kv_block.h says, with the layer's own G and D. So one block of one
 * layer is one contiguous piece of baton_kv_block_bytes bytes, which is also exactly what travels
 * from prefill to decode. A layer that reads another layer's K and V holds no block.
 *
 * Behind the blocks, from the next multiple of 8 on, the memory has [n_blocks] stamps of 64 bits:
 * the pool's clock, which counts allocations, when each block was last allocated. Other processes
 * may map a shared pool to read (view.h). A stamp tells them whether a block is still whose it
 * was: it changes before the new owner writes.
 *
 * A block that is whole and will not be written again may be registered under its block hash.
 * Sequences with the same prefix find it there and share it. A registered block that no sequence
 * holds stays in the cache, which evicts the least recently used block first. A cached block counts
 * as free:
 *
 *     free --seq_init--> held --seq_fini--> free
 *                         | seq_register       ^
 *                         v                    | evicted: allocated anew, or past the bound
 *                     held, registered --seq_fini--> cached
 *                         ^                           |
 *                         +--seq_init with its hash --+
 *
 * Layers that see only a window need the blocks of the last positions alone. A pool that slides
 * has fewer blocks for them than for the other layers; a sequence gives those back that its window
 * has passed (baton_seq_slide). Such blocks have numbers and a cache of their own, under the same
 * hashes. A prompt begins behind a prefix when all blocks of it are there for the other layers, and
 * those of the last window for these.
 *
 * Ownership: the pool owns the memory; a sequence holds its blocks until baton_seq_fini.
 * Threading: one thread allocates, registers and frees (baton_seq_init.., _register, _fini);
 *            baton_seq_slide may be called by whichever thread has the sequence.
 *            Different threads may touch the blocks of different sequences, and read shared ones; a
 *            sequence moves between threads by message.
 * Errors:    create: NO_MEMORY, INVALID. seq_init: LIMIT when not enough blocks are free, INVALID
 * for no tokens, NO_MEMORY.
 */
#ifndef BATON_ENGINE_KV_KV_H
#define BATON_ENGINE_KV_KV_H

#include <stdbool.h>

#include "common/base/block_hash.h"
#include "engine/arch/spec.h"
#include "engine/kernels/attend/kv_block.h"

struct baton_kv;

/* What of a model decides how its K and V are laid out. */
struct baton_kv_layout {
    const struct baton_spec *spec; /* read by create and measure, and not kept */
    const char *auto_dtype;        /* what the dtype "auto" stands for: "f32" or "f16" */
};

/* dtype of the elements: "f32", "f16", "q8", or "auto" (or NULL): the layout's. INVALID also when
 * a head is too wide for q8. */
enum baton_err baton_kv_create(struct baton_kv_layout layout, const char *dtype, int n_blocks,
                               struct baton_kv **kv, struct baton_why *why) BATON_MUST_CHECK;
/* The same in memory that other processes may map to read (engine/system/reserve.h). Also
 * IO, where the kernel has no such memory. */
enum baton_err baton_kv_create_shared(struct baton_kv_layout layout, const char *dtype,
                                      int n_blocks, struct baton_kv **kv,
                                      struct baton_why *why) BATON_MUST_CHECK;
/* What a pool that slides keeps for layers with a window. */
struct baton_kv_sliding {
    int n_blocks; /* at least one sequence's; none: the pool does not slide */
    int n_rows;   /* the most positions that one sequence advances by in a forward pass */
};
/* The same of a pool that slides, where layers have windows. */
enum baton_err baton_kv_create_sliding(struct baton_kv_layout layout, const char *dtype,
                                       int n_blocks, struct baton_kv_sliding sliding,
                                       struct baton_kv **kv,
                                       struct baton_why *why) BATON_MUST_CHECK;
void baton_kv_destroy(struct baton_kv *kv);

/* The pool's memory as a file, the pool's own; -1: it is not shared. */
int baton_kv_fd(const struct baton_kv *kv);

/* How many blocks were allocated since the pool began. */
uint64_t baton_kv_clock(const struct baton_kv *kv);

/* Where the stamps of a pool of n_blocks begin, and its size. False: no memory is as large. */
bool baton_kv_measure_pool(const struct baton_kv *kv, int n_blocks, size_t *stamps_at,
                           size_t *n_bytes);

/* Of layers with a window: bytes of one block of theirs, and how many blocks a sequence sets aside
 * that advances by n_rows positions at a time. Both 0: there are none. Errors as create. */
enum baton_err baton_kv_measure_window(struct baton_kv_layout layout, const char *dtype, int n_rows,
                                       size_t *bytes, int *n_blocks,
                                       struct baton_why *why) BATON_MUST_CHECK;

/* Bytes of one block in all layers, of a pool not made yet. Errors as create. */
enum baton_err baton_kv_measure(struct baton_kv_layout layout, const char *dtype, size_t *bytes,
                                struct baton_why *why) BATON_MUST_CHECK;

int baton_kv_n_blocks(const struct baton_kv *kv);
/* Blocks that no sequence holds; and of these, the ones that are registered. */
int baton_kv_n_free(const struct baton_kv *kv);
int baton_kv_n_cached(const struct baton_kv *kv);

/* The most blocks that a sequence could hold that began now: a pool that slides also has to have
 * its window's. */
int baton_kv_n_reservable(const struct baton_kv *kv);

/* Blocks that sequences have set aside for layers with a window; 0 unless the pool slides. */
int baton_kv_n_set_aside(const struct baton_kv *kv);

/* Bytes of the pool that no memory lies behind yet: it comes in the background. */
size_t baton_kv_unbacked_bytes(const struct baton_kv *kv);

/* At most n_blocks that no sequence holds stay registered; 0: none, and nothing is shared. Without
 * this call there is no bound. */
void baton_kv_bound_cache(struct baton_kv *kv, int n_blocks);

/* How many sequences hold a block. */
int baton_kv_n_holders(const struct baton_kv *kv, int block);

/* When the block that is evicted next became cached; 0: none is cached. */
int64_t baton_kv_oldest_cached_ns(const struct baton_kv *kv);

/* Whether every block is where the picture above has it; O(n_blocks). */
bool baton_kv_is_consistent(const struct baton_kv *kv);

/* The model's layers: L. */
int baton_kv_n_layers(const struct baton_kv *kv);

/* The layers that hold K and V of their own, in order: [*n], the pool's. */
const int *baton_kv_held_layers(const struct baton_kv *kv, int *n);

/* Of them, those that all positions are kept of, or those that see a window: [*n], the pool's. */
const int *baton_kv_layers_with(const struct baton_kv *kv, bool window, int *n);

/* Whether the layer holds K and V of which a window is all that is read. */
bool baton_kv_has_window(const struct baton_kv *kv, int layer);

/* The first block of a layer that a context of n_tokens positions needs, counted in the sequence: 0
 * but for layers with a window. It is the same in every pool of the layout. One block more than the
 * next position sees is needed by a prompt that begins behind the context's last whole block. */
int baton_kv_first_block(const struct baton_kv *kv, int layer, int n_tokens);

/* Bytes of what a context of n_tokens needs in all layers, without blocks before first_block. */
uint64_t baton_kv_context_bytes(const struct baton_kv *kv, int first_block, int n_tokens);

/* Bytes of one block of a layer; 0 for a layer that reads another's K and V. */
size_t baton_kv_block_bytes(const struct baton_kv *kv, int layer);

/* Bytes of one block in all layers. */
size_t baton_kv_all_block_bytes(const struct baton_kv *kv);

/* Block 0 of the K and V that a layer reads, its own or another layer's; block b is
 * baton_kv_block_bytes * b of the layer that holds them further on. */
const void *baton_kv_layer(const struct baton_kv *kv, int layer);

/* The element type as stored and as sent, and its name. */
enum baton_kv_dtype baton_kv_element(const struct baton_kv *kv);
const char *baton_kv_dtype(const struct baton_kv *kv);

/* The digest that names this layout (engine/arch/kv_layout.h). */
const char *baton_kv_layout_name(const struct baton_kv *kv);

/* One timeline: which blocks hold its positions, and how many positions are filled. */
struct baton_seq {
    struct baton_kv *kv;
    int *blocks; /* owned array: pool block of each BATON_KV_BLOCK_TOKENS positions */
    int n_blocks;
    int n_shared; /* of them, the first: found under their hashes, not to be written */
    int n_tokens; /* P: positions filled, advanced by prefill, decode and reception */

    /* Of a pool that slides; else NULL and 0. */
    int *windows; /* owned array, as blocks: of layers with a window; BATON_KV_NO_BLOCK: not held */
    int first_window, end_window; /* those held */
    int n_set_aside;              /* that it may hold */
};

/* Takes blocks for n_tokens positions, all or none. On success *seq is empty (n_tokens 0). */
enum baton_err baton_seq_init(struct baton_seq *seq, struct baton_kv *kv,
                              int n_tokens) BATON_MUST_CHECK;
/* The same for a prompt whose first blocks may be there already: holds as many as are found under
 * hashes [n_hashes], from the first on without a gap, and takes the rest. On success *seq begins
 * after them: n_tokens is n_shared * BLOCK. A sequence never writes to its first n_shared blocks.
 * n_hashes must leave at least one position to compute: n_hashes * BLOCK < n_tokens, else INVALID.
 */
enum baton_err baton_seq_init_shared(struct baton_seq *seq, struct baton_kv *kv, int n_tokens,
                                     const struct baton_block_hash *hashes,
                                     int n_hashes) BATON_MUST_CHECK;

/* Registers the sequence's blocks first..first + n - 1, which are whole and stay as they are, under
 * hashes [n]. A hash under which a block is registered stays with that block. */
void baton_seq_register(struct baton_seq *seq, int first, const struct baton_block_hash *hashes,
                        int n);

/* Before the next n_rows positions are computed: holds the blocks of layers with a window that they
 * see and fill, and gives those back that no later position sees. False when that is more than the
 * pool was made for. Always true of a pool that does not slide. */
bool baton_seq_slide(struct baton_seq *seq, int n_rows) BATON_MUST_CHECK;

/* The same by number: holds blocks first..end - 1 of layers with a window, and none before. False
 * when these are more than the sequence has set aside, or were given back. */
bool baton_seq_hold_window(struct baton_seq *seq, int first, int end) BATON_MUST_CHECK;

/* The numbers of the sequence's blocks in a layer that holds K and V: [n_blocks]. */
const int *baton_seq_numbers(const struct baton_seq *seq, int layer);

/* Gives back the blocks past the first n_blocks; the positions in them are gone. */
void baton_seq_shorten(struct baton_seq *seq, int n_blocks);

/* Gives the blocks back; harmless on a zeroed struct and when called twice. */
void baton_seq_fini(struct baton_seq *seq);

/* Memory of block index (counted in the sequence) of a layer that holds K and V:
 * baton_kv_block_bytes bytes. */
void *baton_seq_block(const struct baton_seq *seq, int layer, int index);

#endif
