#include "engine/kv/state.h"

#include <limits.h>
#include <string.h>

#include "engine/kv/pool.h"

/* LEAST_INTERVAL: shorter steps would cost more than small states save. */
enum { BLOCK = BATON_KV_BLOCK_TOKENS, LEAST_INTERVAL = 512 };

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

/* Copies a block of the pool into another. */
static void copy(const struct baton_seq *seq, int from, int to)
{
    int n;
    const int *layers = baton_kv_layers_with(seq->kv, true, &n);
    for (int i = 0; i < n; i++) {
        const struct kv_layer *layer = &seq->kv->layers[layers[i]];
        memcpy(layer->memory + (size_t)to * layer->block_bytes,
               layer->memory + (size_t)from * layer->block_bytes, layer->block_bytes);
    }
}

static void release(struct baton_seq *seq, int end)
{
    if (end > seq->first_window)
        baton_kv_windows_release(seq->kv->windows, seq->windows, seq->first_window, end);
    seq->first_window = end;
    seq->output_at = 0; /* its state was among these, if it was held */
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

/* Renames the block, whose state nobody else reads. One of the output stays before it. */
static bool rename_block(struct baton_seq *seq, int from, int to)
{
    seq->windows[to] = seq->windows[from];
    seq->windows[from] = BATON_KV_NO_BLOCK;
    if (!seq->output_at)
        seq->first_window = to;
    seq->end_window = to + 1;
    return true;
}

/* ---- where states are saved ---- */

int baton_kv_state_interval(const struct baton_kv *kv)
{
    size_t position_bytes = (kv->all_block_bytes - kv->window_block_bytes) / BATON_KV_BLOCK_TOKENS;
    if (!kv->has_states || !position_bytes)
        return 0;
    size_t n = (kv->window_block_bytes + position_bytes - 1) / position_bytes;
    n = n > LEAST_INTERVAL ? n : LEAST_INTERVAL;
    return n < INT_MAX / 2 ? baton_kv_blocks_for((int)n) * BATON_KV_BLOCK_TOKENS : 0;
}

void baton_seq_save_states(struct baton_seq *seq, struct baton_state_saves saves)
{
    if (!seq->kv || !seq->kv->has_states || !saves.hashes)
        saves = (struct baton_state_saves){0};
    seq->hashes = saves.hashes;
    seq->n_hashes = saves.n_hashes;
    seq->borders = saves.borders;
    seq->n_borders = saves.n_borders;
}

void baton_seq_save_output(struct baton_seq *seq, int n_positions)
{
    seq->output_every = seq->kv && seq->kv->has_states ? n_positions : 0;
}

/* The first border at a position >= first; 0: there is none. */
static int border_from(const struct baton_seq *seq, int first)
{
    int interval = seq->n_hashes ? baton_kv_state_interval(seq->kv) : 0;
    int last = seq->n_hashes * BLOCK, next = last;
    int64_t regular = interval ? ((int64_t)first + interval - 1) / interval * interval : 0;
    if (regular && regular < next)
        next = (int)regular;
    for (int i = 0; i < seq->n_borders; i++) {
        int at = (int)(seq->borders[i] / BLOCK * BLOCK);
        if (at >= first && at < next)
            next = at;
    }
    return first > 0 && next >= first ? next : 0;
}

/* The first position >= first where a state of the output is due; 0: there is none. */
static int output_from(const struct baton_seq *seq, int first)
{
    int due = seq->output_at ? seq->output_at + seq->output_every : 0;
    if (!seq->output_every || seq->n_kept_tokens)
        return 0;
    return baton_kv_blocks_for(due > first ? due : first) * BLOCK;
}

int baton_seq_cut(const struct baton_seq *seq, int n)
{
    int border = border_from(seq, seq->n_tokens + 1), output = output_from(seq, seq->n_tokens + 1);
    int next = border && (!output || border < output) ? border : output;
    return next && next - seq->n_tokens < n ? next - seq->n_tokens : n;
}

/* ---- steps ---- */

/* Leaves the state as it is, and continues with a copy. */
static bool branch(struct baton_seq *seq, int from, int to)
{
    struct baton_kv_windows *windows = seq->kv->windows;
    release(seq, from);
    hold(seq, to);
    copy(seq, seq->windows[from], seq->windows[to]);
    if (from < seq->n_hashes)
        baton_kv_windows_register(windows, seq->windows[from], &seq->hashes[from]);
    baton_kv_windows_release(windows, seq->windows, from, from + 1);
    seq->first_window = to;
    return true;
}

/* Holds the state in place of the output's last one, and continues with a copy. */
static bool hold_output(struct baton_seq *seq, int from, int to)
{
    release(seq, from);
    hold(seq, to);
    copy(seq, seq->windows[from], seq->windows[to]);
    seq->output_at = seq->n_tokens;
    return true;
}

bool baton_seq_may_try(const struct baton_seq *seq)
{
    return !seq->kv || !seq->kv->has_states ||
           (seq->n_tokens && seq->end_window > seq->first_window &&
            n_positions(seq, seq->end_window - 1) == seq->n_tokens);
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
    bool is_saved = border_from(seq, seq->n_tokens) == seq->n_tokens;
    if (is_saved || baton_kv_windows_is_registered(seq->kv->windows, seq->windows[from]))
        return branch(seq, from, to);
    return output_from(seq, seq->n_tokens) == seq->n_tokens ? hold_output(seq, from, to)
                                                            : rename_block(seq, from, to);
}

/* ---- states that are kept elsewhere ---- */

bool baton_seq_find_state(struct baton_seq *seq, int index, const struct baton_block_hash *hash)
{
    release(seq, seq->end_window);
    int block = baton_kv_windows_find(seq->kv->windows, hash);
    if (block == BATON_KV_NO_BLOCK)
        return false;
    seq->windows[index] = block;
    seq->first_window = index;
    seq->end_window = index + 1;
    return true;
}

void baton_seq_expect_state(struct baton_seq *seq, int index)
{
    hold(seq, index);
}

void baton_seq_place_state(struct baton_seq *seq, int index)
{
    int from = seq->end_window - 1;
    if (index < 0) {
        baton_kv_windows_release(seq->kv->windows, seq->windows, from, from + 1);
        seq->end_window = seq->n_shared; /* where the one that was found is, if any */
        return;
    }
    release(seq, from);
    if (from != index)
        (void)rename_block(seq, from, index);
}

void baton_seq_register_states(struct baton_seq *seq, int first,
                               const struct baton_block_hash *hashes, int n)
{
    if (!seq->kv || !seq->kv->has_states)
        return;
    for (int i = seq->first_window > first ? seq->first_window : first;
         i < first + n && i < seq->end_window; i++)
        if (seq->windows[i] != BATON_KV_NO_BLOCK && n_positions(seq, i) == (int64_t)(i + 1) * BLOCK)
            baton_kv_windows_register(seq->kv->windows, seq->windows[i], &hashes[i - first]);
}

/* ---- a state to return to ---- */

void baton_seq_keep_state(struct baton_seq *seq)
{
    int at = seq->end_window - 1;
    if (!seq->kv->has_states || !seq->n_tokens || seq->n_kept_tokens)
        return;
    release(seq, at);
    seq->kept = seq->windows[at];
    seq->n_kept_tokens = seq->n_tokens;
    hold(seq, at);
    copy(seq, seq->kept, seq->windows[at]);
}

void baton_seq_return_to_state(struct baton_seq *seq)
{
    if (!seq->n_kept_tokens)
        return;
    int at = (seq->n_kept_tokens - 1) / BLOCK;
    release(seq, seq->end_window);
    seq->windows[at] = seq->kept;
    seq->first_window = at;
    seq->end_window = at + 1;
    seq->n_tokens = seq->n_kept_tokens;
    seq->n_kept_tokens = 0;
}

struct baton_kv_states baton_kv_states(const struct baton_kv *kv)
{
    struct baton_kv_states states = {0};
    if (!kv->has_states)
        return states;
    states.n_total = kv->windows->blocks.n_blocks;
    states.n_free = baton_kv_windows_n_left(kv->windows);
    int n_cached = baton_kv_windows_n_cached(kv->windows, &states.oldest_ns);
    /* Others may have their place set aside already. */
    states.n_cached = n_cached < states.n_free ? n_cached : states.n_free;
    return states;
}
