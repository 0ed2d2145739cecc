#include <assert.h>
#include <stdlib.h>

#include "engine/kv/growth.h"
#include "engine/kv/pool.h"
#include "engine/kv/state.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

enum baton_err baton_seq_init(struct baton_seq *seq, struct baton_kv *kv, int n_tokens)
{
    return baton_seq_init_shared(seq, kv, n_tokens, NULL, 0);
}

/* Holds registered blocks before any block is allocated: an allocation could evict one of them. */
static void acquire_registered(struct baton_seq *seq, const struct baton_block_hash *hashes,
                               int n_hashes)
{
    for (int i = 0, block; i < n_hashes; i++) {
        block = baton_kv_blocks_acquire(&seq->kv->blocks, &hashes[i]);
        if (block == BATON_KV_NO_BLOCK)
            return;
        seq->blocks[seq->n_blocks++] = block;
        seq->n_shared++;
    }
}

/* Sets the window's blocks aside. The prompt begins behind those shared blocks whose window is
 * cached as well. */
static void acquire_window(struct baton_seq *seq, const struct baton_block_hash *hashes,
                           int n_set_aside)
{
    struct baton_kv_windows *windows = seq->kv->windows;
    int n_behind = kv_blocks_behind(seq->kv);
    baton_kv_windows_set_aside(windows, n_set_aside);
    seq->n_set_aside = n_set_aside;
    seq->end_window =
        baton_kv_windows_acquire(windows, hashes, seq->n_shared, n_behind, seq->windows);
    seq->first_window = seq->end_window > n_behind ? seq->end_window - n_behind : 0;
    baton_seq_shorten(seq, seq->end_window);
}

/* The state of the context's end arrives, and none before it is read. */
static void expect_state(struct baton_seq *seq, int n_set_aside)
{
    baton_kv_windows_set_aside(seq->kv->windows, n_set_aside);
    seq->n_set_aside = n_set_aside;
    seq->first_window = seq->end_window = seq->n_shared;
}

/* Holds the blocks that are cached, and sets a window aside. Free blocks are counted afterwards: a
 * cached block counts as free until a sequence holds it. */
static enum baton_err begin(struct baton_seq *seq, const struct baton_block_hash *hashes,
                            int n_hashes, int n_blocks, bool arrives)
{
    struct baton_kv *kv = seq->kv;
    int n_set_aside = kv->windows ? baton_kv_windows_share(kv->windows, n_blocks) : 0;
    if (kv->windows && n_set_aside > baton_kv_windows_n_left(kv->windows))
        return BATON_LIMIT;
    acquire_registered(seq, hashes, n_hashes);
    seq->n_found = seq->n_shared;
    if (kv->windows && arrives && kv->has_states)
        expect_state(seq, n_set_aside);
    else if (kv->windows)
        acquire_window(seq, hashes, n_set_aside);
    return baton_kv_growth_claim(kv->growth, kv, n_blocks - seq->n_shared);
}

static enum baton_err make_tables(struct baton_seq *seq, int n_blocks)
{
    seq->blocks = calloc((size_t)n_blocks, sizeof *seq->blocks);
    if (seq->kv->windows)
        seq->windows = malloc((size_t)n_blocks * sizeof *seq->windows);
    for (int i = 0; i < n_blocks && seq->windows; i++)
        seq->windows[i] = BATON_KV_NO_BLOCK;
    return seq->blocks && (seq->windows || !seq->kv->windows) ? BATON_OK : BATON_NO_MEMORY;
}

/* Readers in other processes must see the stamp before anything that is written to the block from
 * now on: the fence orders it before the hand-over to the thread that writes. */
static int allocate_block(struct baton_kv *kv)
{
    int block = baton_kv_blocks_allocate(&kv->blocks);
    atomic_store_explicit(&kv->stamps[block], ++kv->clock, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    return block;
}

static enum baton_err init(struct baton_seq *seq, struct baton_kv *kv, int n_tokens,
                           const struct baton_block_hash *hashes, int n_hashes, bool arrives)
{
    if (n_hashes < 0 || n_tokens <= (int64_t)n_hashes * BLOCK)
        return BATON_INVALID;
    int n_blocks = n_tokens / BLOCK + (n_tokens % BLOCK != 0);
    if (n_blocks > kv->blocks.n_blocks) /* before the tables, whose size a request decides */
        return BATON_LIMIT;
    struct baton_seq made = {.kv = kv};
    enum baton_err err = make_tables(&made, n_blocks);
    if (!err)
        err = begin(&made, hashes, n_hashes, n_blocks, arrives);
    if (err) {
        baton_seq_fini(&made);
        return err;
    }
    while (made.n_blocks < n_blocks)
        made.blocks[made.n_blocks++] = allocate_block(kv);
    made.n_tokens = made.n_shared * BLOCK;
    if (!kv->has_states)
        made.n_found = made.n_shared;
    *seq = made;
    return BATON_OK;
}

enum baton_err baton_seq_init_shared(struct baton_seq *seq, struct baton_kv *kv, int n_tokens,
                                     const struct baton_block_hash *hashes, int n_hashes)
{
    return init(seq, kv, n_tokens, hashes, n_hashes, false);
}

enum baton_err baton_seq_init_arriving(struct baton_seq *seq, struct baton_kv *kv, int n_tokens,
                                       const struct baton_block_hash *hashes, int n_hashes)
{
    return init(seq, kv, n_tokens, hashes, n_hashes, true);
}

void baton_seq_register(struct baton_seq *seq, int first, const struct baton_block_hash *hashes,
                        int n)
{
    assert(first >= 0 && n >= 0 && n <= seq->n_blocks - first);
    for (int i = 0; i < n; i++) {
        baton_kv_blocks_register(&seq->kv->blocks, seq->blocks[first + i], &hashes[i]);
        /* A step registers the states that it saves (state.c). */
        if (seq->windows && !seq->kv->has_states && seq->windows[first + i] != BATON_KV_NO_BLOCK)
            baton_kv_windows_register(seq->kv->windows, seq->windows[first + i], &hashes[i]);
    }
}

bool baton_seq_hold_window(struct baton_seq *seq, int first, int end)
{
    struct baton_kv_windows *windows = seq->kv->windows;
    if (!seq->windows)
        return true;
    if (first < seq->first_window || end - first > seq->n_set_aside || end > seq->n_blocks)
        return false;
    /* Releases before it allocates: within its n_set_aside the sequence then
     * always finds blocks. */
    int given_end = first < seq->end_window ? first : seq->end_window;
    if (given_end > seq->first_window)
        baton_kv_windows_release(windows, seq->windows, seq->first_window, given_end);
    seq->first_window = first;
    seq->end_window = seq->end_window > first ? seq->end_window : first;
    if (end > seq->end_window) {
        baton_kv_windows_allocate(windows, seq->windows, seq->end_window, end);
        seq->end_window = end;
    }
    return true;
}

/* Keeps one block more than the next position sees, if the sequence still has it. */
bool baton_seq_slide(struct baton_seq *seq, int n_rows)
{
    if (!seq->windows)
        return true;
    if (seq->kv->has_states)
        return baton_seq_carry_state(seq, n_rows);
    int first_seen = seq->n_tokens - seq->kv->window + 1,
        first = kv_first_kept(seq->kv, seq->n_tokens);
    if (seq->first_window && first_seen / BLOCK < seq->first_window)
        return false;
    return baton_seq_hold_window(seq, first > seq->first_window ? first : seq->first_window,
                                 baton_kv_blocks_for(seq->n_tokens + n_rows));
}

const int *baton_seq_numbers(const struct baton_seq *seq, int layer)
{
    return seq->windows && seq->kv->layers[layer].is_windowed ? seq->windows : seq->blocks;
}

static void shorten_window(struct baton_seq *seq, int end)
{
    if (seq->end_window <= end)
        return;
    baton_kv_windows_release(seq->kv->windows, seq->windows, end, seq->end_window);
    seq->end_window = end;
}

/* Releases from the last block on, so the last one is evicted first: the hash of a block is only
 * found after those before it. */
void baton_seq_shorten(struct baton_seq *seq, int n_blocks)
{
    while (seq->n_blocks > n_blocks)
        baton_kv_blocks_release(&seq->kv->blocks, seq->blocks[--seq->n_blocks]);
    shorten_window(seq, n_blocks > seq->first_window ? n_blocks : seq->first_window);
    if (seq->n_shared > n_blocks)
        seq->n_shared = n_blocks;
    if (seq->n_tokens > n_blocks * BLOCK)
        seq->n_tokens = n_blocks * BLOCK;
}

void baton_seq_fini(struct baton_seq *seq)
{
    baton_seq_return_to_state(seq);
    baton_seq_shorten(seq, 0);
    if (seq->n_set_aside)
        baton_kv_windows_give_back(seq->kv->windows, seq->n_set_aside);
    free(seq->blocks);
    free(seq->windows);
    *seq = (struct baton_seq){0};
}

void *baton_seq_block(const struct baton_seq *seq, int layer, int index)
{
    const struct kv_layer *at = &seq->kv->layers[layer];
    assert(index >= 0 && index < seq->n_blocks && at->from == layer);
    int number = baton_seq_numbers(seq, layer)[index];
    assert(number != BATON_KV_NO_BLOCK);
    return at->memory + (size_t)number * at->block_bytes;
}
