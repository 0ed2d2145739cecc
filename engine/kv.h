/* The KV cache as workers see it: a pool of blocks of keys and values, whose addresses are reserved
 * once and whose memory may grow with its use, and sequences that hold some of them.
 *
 * A block holds the BATON_KV_BLOCK_TOKENS positions from a multiple of that on: position p of a
 * sequence is in its block p / BATON_KV_BLOCK_TOKENS. A block of one layer is one contiguous piece
 * of baton_kv_block_bytes bytes, which is also what travels between workers.
 *
 *     free --seq_init--> held --seq_fini--> free
 *                         | seq_register       ^
 *                         v                    | evicted: allocated, or past the bound
 *                     held, registered --seq_fini--> cached
 *                         ^                           |
 *                         +--seq_init with its hash --+
 *
 * A block that is whole and will not be written again may be registered under its hash; sequences
 * of the same prefix find it there and share it. A cached block counts as free. The least recently
 * used is evicted first.
 *
 * Layers that see only a window need the blocks of the last positions alone. A pool that slides has
 * fewer blocks for them than for the others, with numbers and a cache of their own; a sequence
 * gives those back that its window has passed. Layers that keep a state (arch/spec.h) are of this
 * class: their block is the state after the last position, and only a state that a step saved at
 * the end of a block is found there. A pool with such layers always slides.
 *
 * Ownership: the caller destroys a pool. A sequence holds its blocks until baton_seq_fini.
 * Threading: one thread owns a pool: it begins, registers, shortens and ends sequences, and counts
 *            blocks. Any thread may read the constants: sizes, layers, names. A sequence moves
 *            between threads by message: the thread that has it runs it, holds its window, and
 *            touches its blocks. Several threads may read a block that is shared.
 * Errors:    create and measure: INVALID, NO_MEMORY, IO, with the reason. The others: see there.
 */
#ifndef BATON_ENGINE_KV_H
#define BATON_ENGINE_KV_H

#include <stdbool.h>

#include "common/base/block_hash.h"
#include "engine/kernels/attend/kv_block.h" /* BATON_KV_BLOCK_TOKENS, baton_kv_blocks_for */

struct baton_blend;
struct baton_kv;
struct baton_model;
struct baton_seq;

/* ---- pools ---- */

/* How a pool grows with its use (engine/kv/growth.h). The functions are called on a thread of the
 * pool. */
struct baton_kv_growth_options {
    bool (*may_take)(void *arg, size_t n_bytes); /* whether so much memory is left; NULL: always */
    void (*grown)(void *arg); /* more is backed, or was given back: the owner should tick, and make
                                 sequences again that waited; NULL: nobody is told */
    void *arg;
    int64_t idle_ns; /* blocks unused for so long are evicted, and their memory given back; 0: it is
                        kept */
    bool waits;      /* seq_init waits until its blocks are backed, and never returns AGAIN */
};

struct baton_kv_pool_options {
    const char *dtype; /* of the elements: "f32", "f16", "q8"; NULL or "auto": f32 where all of the
                          model's matrices are and in encoders, else f16. INVALID also when heads
                          are too wide for q8 */
    int n_blocks;
    bool is_shared; /* other processes may map it to read, unless it slides; IO where the kernel has
                       no such memory */
    int n_window_blocks; /* that layers with a window have, at least one sequence's; 0, or without
                            such layers: the pool does not slide */
    int n_step_rows;     /* the most positions that one sequence advances by in a forward; counts
                            for windows only */
    const struct baton_kv_growth_options *growth; /* copied; NULL: memory is backed when it is
                                                     touched, and kept */
};

/* Creates a pool for K and V of the model, which is not needed afterwards. */
enum baton_err baton_kv_create(const struct baton_model *model,
                               const struct baton_kv_pool_options *options, struct baton_kv **kv,
                               struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_kv_destroy(struct baton_kv *kv);

/* The memory of a pool with the dtype and n_step_rows of the options. */
struct baton_kv_sizes {
    size_t block_bytes;  /* of a block in all layers */
    size_t window_bytes; /* of them, in layers with a window */
    int window_blocks;   /* that a sequence sets aside there; 0: no layer has a window */
    bool keeps_states;   /* these layers keep a state, and saved ones serve later prompts */
};
enum baton_err baton_kv_measure(const struct baton_model *model,
                                const struct baton_kv_pool_options *options,
                                struct baton_kv_sizes *sizes,
                                struct baton_why *why) BATON_MUST_CHECK;

int baton_kv_n_blocks(const struct baton_kv *kv);
/* Blocks that no sequence holds, as far as they are backed or may be; of these, the ones that are
 * cached; and blocks that sequences hold. */
int baton_kv_n_free(const struct baton_kv *kv);
int baton_kv_n_cached(const struct baton_kv *kv);
int baton_kv_n_held(const struct baton_kv *kv);
/* The most blocks that a sequence could hold that began now; it also needs those of its window. */
int baton_kv_n_reservable(const struct baton_kv *kv);

/* The states of a pool whose layers keep some; else zeros. */
struct baton_kv_states {
    int n_total, n_free; /* free: that no sequence has set aside */
    int n_cached;        /* of the free ones, saved for prompts */
    int64_t oldest_ns;   /* when the next to evict was saved or last used; 0: none is saved */
};
struct baton_kv_states baton_kv_states(const struct baton_kv *kv);

/* The memory of a pool. One that does not grow counts as backed. */
struct baton_kv_memory {
    size_t cap_bytes;    /* of all blocks: the most it takes */
    size_t backed_bytes; /* of them, backed by memory */
    size_t used_bytes;   /* of them, in blocks that sequences hold or have set aside */
    uint64_t n_failures; /* how often memory for more was not there */
};
struct baton_kv_memory baton_kv_memory(const struct baton_kv *kv);

/* Takes over memory that was backed, gives back what is unused, and grows ahead of use. Called
 * about once a second, and after grown. */
void baton_kv_tick(struct baton_kv *kv, int64_t now_ns);

/* Limits the cache to n_blocks from now on; 0 turns it off. Before this call it has no limit. */
void baton_kv_bound_cache(struct baton_kv *kv, int n_blocks);
/* The time when the next block to evict became cached; 0: none is cached. */
int64_t baton_kv_oldest_cached_ns(const struct baton_kv *kv);

/* The account of a pool: begin, claim for every sequence there is, n_faults. Each block should be
 * held by as many sequences as the pool counts holders of it; one that is held but not claimed has
 * leaked. O(n_blocks). */
void baton_kv_account_begin(struct baton_kv *kv);
/* Counts the sequence's blocks; how many of them no sequence before it holds. A sequence without
 * blocks claims none. */
int baton_kv_account_claim(struct baton_kv *kv, const struct baton_seq *seq);
/* Blocks that have other holders than those who claimed them; one more when the pool is
 * inconsistent in itself, and one when others have set blocks aside. */
int baton_kv_account_n_faults(const struct baton_kv *kv);

/* ---- sequences ---- */

/* One timeline: which blocks hold its positions, and how many positions are filled. The fields are
 * for reading. Only blend and n_tokens are also written: n_tokens by code that fills blocks without
 * a forward, and when the last tokens of a forward are taken back. */
struct baton_seq {
    struct baton_kv *kv;
    int *blocks; /* owned array: pool block of each BATON_KV_BLOCK_TOKENS positions */
    int n_blocks;
    int n_shared; /* of them, the first: found under their hashes, not to be written */
    int n_found;  /* that init found there: those past n_shared had no state to begin from */
    int n_tokens; /* positions filled, advanced by forwards and by reception */
    const struct baton_blend *blend; /* borrowed: the adapters of forwards (engine/adapter.h), which
                                        the owner sets before the first; NULL: the model alone */

    /* These are for a pool that slides; else NULL and 0. */
    int *windows; /* owned array, as blocks: of layers with a window; negative: not held */
    int first_window, end_window;          /* those held are among these */
    int n_set_aside;                       /* that it may hold */
    const struct baton_block_hash *hashes; /* [n_hashes] borrowed: baton_seq_save_states */
    const uint32_t *borders;               /* [n_borders] borrowed, as hashes */
    int n_hashes, n_borders;
    int kept, n_kept_tokens; /* the block of the kept state, and its positions; 0: none is kept */
    int output_every, output_at; /* positions: baton_seq_save_output; at 0: none is held */
};

/* Takes blocks for n_tokens positions, all or none. LIMIT: not enough are free. AGAIN: enough are,
 * but they are not backed yet; grown tells when to try again. INVALID: no tokens. NO_MEMORY. On
 * success *seq is empty (n_tokens 0). */
enum baton_err baton_seq_init(struct baton_seq *seq, struct baton_kv *kv,
                              int n_tokens) BATON_MUST_CHECK;
/* The same for a prompt whose first blocks may be there already: holds as many as are found under
 * hashes [n_hashes], from the first on without a gap, and takes the rest. On success *seq begins
 * after them. n_hashes must leave at least one position to compute, else INVALID. */
enum baton_err baton_seq_init_shared(struct baton_seq *seq, struct baton_kv *kv, int n_tokens,
                                     const struct baton_block_hash *hashes,
                                     int n_hashes) BATON_MUST_CHECK;
/* The same for a context that arrives from another worker, with its state: blocks are shared also
 * where none is saved. Without such layers it is the same. */
enum baton_err baton_seq_init_arriving(struct baton_seq *seq, struct baton_kv *kv, int n_tokens,
                                       const struct baton_block_hash *hashes,
                                       int n_hashes) BATON_MUST_CHECK;
/* Gives the blocks back; harmless on a zeroed struct and when called twice. */
void baton_seq_fini(struct baton_seq *seq);
/* Gives back the blocks past the first n_blocks; the positions in them are gone. */
void baton_seq_shorten(struct baton_seq *seq, int n_blocks);

/* Registers the sequence's blocks first..first + n - 1, which are whole and stay as they are, under
 * hashes [n]. A hash under which a block is registered stays with that block. */
void baton_seq_register(struct baton_seq *seq, int first, const struct baton_block_hash *hashes,
                        int n);

/* Where the steps of a prompt save the states of a model that keeps them. */
struct baton_state_saves {
    const struct baton_block_hash *hashes; /* [n_hashes] of the prompt's whole blocks */
    const uint32_t *borders;               /* [n_borders] positions, in any order */
    int n_hashes, n_borders;
};

/* From now on a step that begins at a border registers the state before it under the hash of the
 * block that ends there. Borders are the ends of the last whole blocks before the given positions,
 * the end of the last block with a hash, and every baton_kv_state_interval positions. The arrays
 * are borrowed until the next call; a zeroed struct: no more states are saved. Without layers that
 * keep a state it does nothing. */
void baton_seq_save_states(struct baton_seq *seq, struct baton_state_saves saves);

/* From now on a step that begins at the end of a block holds the state before it as well, if the
 * last one that was held is n_positions behind; 0: none. A sequence holds one at a time, until
 * baton_seq_register_states or its end. Without layers that keep a state it does nothing. */
void baton_seq_save_output(struct baton_seq *seq, int n_positions);

/* For states that are kept elsewhere. find: the sequence holds none but the one that is registered
 * under the hash as that of the end of block index; false: it holds none. expect: it also holds a
 * new one there, which the caller fills. place: that one is its only state, at the end of block
 * index; negative: it is given up. */
bool baton_seq_find_state(struct baton_seq *seq, int index,
                          const struct baton_block_hash *hash) BATON_MUST_CHECK;
void baton_seq_expect_state(struct baton_seq *seq, int index);
void baton_seq_place_state(struct baton_seq *seq, int index);

/* Of the states that the sequence holds, registers those at the ends of blocks first..first + n - 1
 * under their hashes [n]; no step may follow. */
void baton_seq_register_states(struct baton_seq *seq, int first,
                               const struct baton_block_hash *hashes, int n);

/* Of the next n positions, those that one step should compute: it ends at the next border. */
int baton_seq_cut(const struct baton_seq *seq, int n);

/* Whether the sequence's next tokens may be on trial (engine/engine.h): it holds the states before
 * them. It does not at the first position, nor when the last one is to be computed again. Always
 * true of a pool without states. */
bool baton_seq_may_try(const struct baton_seq *seq);

/* Before positions are computed that will all be taken back: keeps the states, and continues with a
 * copy. return_to_state returns to them and to the n_tokens of that time; without a kept one it
 * does nothing. A sequence keeps one at a time, and saves none meanwhile. In a pool without states
 * neither does anything. */
void baton_seq_keep_state(struct baton_seq *seq);
void baton_seq_return_to_state(struct baton_seq *seq);

/* Before blocks are filled without a forward: holds blocks first..end - 1 of layers with a window,
 * and none before. False when these are more than the sequence has set aside, or were given back.
 * Always true of a pool that does not slide. */
bool baton_seq_hold_window(struct baton_seq *seq, int first, int end) BATON_MUST_CHECK;

/* ---- what travels ---- */

/* The digest of the layout (arch/kv_layout.h), which covers the element type. It must be equal at
 * both ends of a hand-off. */
const char *baton_kv_layout_name(const struct baton_kv *kv);
const char *baton_kv_dtype(const struct baton_kv *kv);

/* The model's layers: L. */
int baton_kv_n_layers(const struct baton_kv *kv);
/* The layers that hold K and V, in order: [*n], the pool's. The others read an earlier layer's. */
const int *baton_kv_held_layers(const struct baton_kv *kv, int *n);
/* The held layers that see a window, or those that keep all positions: [*n], the pool's. */
const int *baton_kv_layers_with(const struct baton_kv *kv, bool window, int *n);
bool baton_kv_has_window(const struct baton_kv *kv, int layer);
/* Whether layers keep a state: a sequence's last positions cannot be taken back, but for one, and
 * those on trial. */
bool baton_kv_has_states(const struct baton_kv *kv);

/* The distance of states that a long prompt saves, in whole blocks of positions: so many that the
 * states take no more memory than K and V beside them, and at least 512, because each ends a step.
 * 0: none, because no layer keeps a state, or none has K and V. */
int baton_kv_state_interval(const struct baton_kv *kv);

/* Bytes of one block of a layer, 0 for one that holds none; and in all layers. */
size_t baton_kv_block_bytes(const struct baton_kv *kv, int layer);
size_t baton_kv_all_block_bytes(const struct baton_kv *kv);

/* The first block of a layer that a context of n_tokens positions needs, counted in the
 * sequence: 0 except for layers with a window. It is the same in every pool of the layout. One
 * block more than the next position sees is needed by a prompt that begins behind the context's
 * last whole block. */
int baton_kv_first_block(const struct baton_kv *kv, int layer, int n_tokens);
/* Bytes that a context of n_tokens needs in all layers, without the blocks before first_block. */
uint64_t baton_kv_context_bytes(const struct baton_kv *kv, int first_block, int n_tokens);

/* Memory of block index (counted in the sequence) of a layer that holds K and V. */
void *baton_seq_block(const struct baton_seq *seq, int layer, int index);
/* The pool's numbers of the sequence's blocks in such a layer: [n_blocks]. */
const int *baton_seq_numbers(const struct baton_seq *seq, int layer);

/* ---- pools of other processes ---- */

/* The memory of a shared pool as a file, the pool's own; -1: it is not shared. */
int baton_kv_fd(const struct baton_kv *kv);
/* The number of blocks taken since the pool began: as_of for the readers of the file. */
uint64_t baton_kv_clock(const struct baton_kv *kv);

/* Maps such a file of another process for reading: a pool of n_blocks with the same layout as own
 * (borrowed until close). Nothing in it is trusted: numbers are checked against its size, which its
 * seals fix. fd is borrowed for the call. INVALID: it is not a sealed pool of that size. */
struct baton_kv_view;
enum baton_err baton_kv_view_open(const struct baton_kv *own, int fd, int n_blocks,
                                  struct baton_kv_view **view,
                                  struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_kv_view_close(struct baton_kv_view *view);
int baton_kv_view_n_blocks(const struct baton_kv_view *view);

/* Copies a block of a layer that holds K and V. False when its owner gave it to another sequence
 * after the pool's clock had shown as_of; the copy is then useless. */
bool baton_kv_view_copy(const struct baton_kv_view *view, int layer, int block, uint64_t as_of,
                        void *to) BATON_MUST_CHECK;

#endif
