#include "engine/kv/state.h"

#include <string.h>

#include "engine/kv/pool.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

/* The positions that the states of a block have gone through; -1: not the same in all layers. */
static int64_t n_positions(const struct baton_seq *seq, int block)
{
    int n;
    int64_t n_common = -1;
    const int *layers = baton_kv_layers_with(seq->kv, true, &n);
    for (int i = 0; i < n; i++) {
        const struct baton_state_head *head = baton_seq_block(seq, layers[i], block);
        if (i && head->n_positions != n_common)
            return -1;
        n_common = head->n_positions;
    }
    return n_common;
}

static void copy(const struct baton_seq *seq, int from, int to)
{
    int n;
    const int *layers = baton_kv_layers_with(seq->kv, true, &n);
    for (int i = 0; i < n; i++)
        memcpy(baton_seq_block(seq, layers[i], to), baton_seq_block(seq, layers[i], from),
               baton_kv_block_bytes(seq->kv, layers[i]));
}

static void release(struct baton_seq *seq, int end)
{
    if (end > seq->first_window)
        baton_kv_windows_release(seq->kv->windows, seq->windows, seq->first_window, end);
    seq->first_window = end;
}

static void hold(struct baton_seq *seq, int block)
{
    baton_kv_windows_allocate(seq->kv->windows, seq->windows, block, block + 1);
    seq->end_window = block + 1;
}

/* A step at the first position needs no state: the forward begins one. */
static bool begin(struct baton_seq *seq, int to)
{
    release(seq, seq->end_window);
    hold(seq, to);
    seq->first_window = to;
    return true;
}

/* Renames the block, whose state nobody else reads. */
static bool rename_block(struct baton_seq *seq, int from, int to)
{
    release(seq, from);
    seq->windows[to] = seq->windows[from];
    seq->windows[from] = BATON_KV_NO_BLOCK;
    seq->first_window = to;
    seq->end_window = to + 1;
    return true;
}

/* Leaves the state as it is, and continues with a copy; keeps both where they are neighbours. */
static bool branch(struct baton_seq *seq, int from, int to)
{
    release(seq, from);
    hold(seq, to);
    copy(seq, from, to);
    if (to != from + 1) {
        baton_kv_windows_release(seq->kv->windows, seq->windows, from, from + 1);
        seq->first_window = to;
    } else if (from < seq->n_hashes)
        baton_kv_windows_register(seq->kv->windows, seq->windows[from], &seq->hashes[from]);
    return true;
}

bool baton_seq_carry_state(struct baton_seq *seq, int n_rows)
{
    int to = (seq->n_tokens + n_rows - 1) / BLOCK, from = seq->end_window - 1;
    if (!seq->n_tokens)
        return begin(seq, to);
    if (from < seq->first_window || from > to)
        return false;
    int64_t n = n_positions(seq, from);
    if (n == seq->n_tokens + 1 && n_rows == 1 && from == to)
        return true; /* the last position is computed again */
    if (n != seq->n_tokens)
        return false;
    if (from == to)
        return true;
    bool is_end = seq->n_tokens % BLOCK == 0;
    return is_end && (to == from + 1 || from < seq->n_shared) ? branch(seq, from, to)
                                                              : rename_block(seq, from, to);
}
