/* The state that layers without attention keep of a sequence (arch/spec.h), as a block of the pool.
 *
 *     n_positions   of the text that the state has gone through
 *     S             [n_heads][n_values / 16, rounded up][n_keys][16] f32
 *     rows          [n_taps][n_channels] f32, the last rows before the convolution, oldest first:
 *                   one more than it reads, so that the last position can be computed again
 *
 * A sequence holds the block that its next step writes, under the index of the last position. When
 * a step begins at a border (engine/kv.h: baton_seq_save_states), the state before it is registered
 * under the hash of the block that ends there, so that a prompt may begin behind it. A state that
 * is registered is not written: a step copies it first. Of an output, whose hashes are not known
 * yet, the sequence holds one such state (baton_seq_save_output).
 *
 * Ownership: blocks are the pool's.
 * Threading: the thread that has the sequence.
 * Errors:    see there.
 */
#ifndef BATON_ENGINE_KV_STATE_H
#define BATON_ENGINE_KV_STATE_H

#include "engine/arch/spec.h"
#include "engine/kv.h"

enum { BATON_STATE_HEAD_FLOATS = 16 }; /* a cache line, which n_positions begins */

struct baton_state_head {
    int64_t n_positions;
};

static inline size_t baton_state_floats(const struct baton_state_spec *state)
{
    size_t n_groups = ((size_t)state->n_values + BATON_STATE_COLUMNS - 1) / BATON_STATE_COLUMNS;
    return (size_t)state->n_heads * (size_t)state->n_keys * n_groups * BATON_STATE_COLUMNS;
}

static inline size_t baton_state_bytes(const struct baton_state_spec *state)
{
    size_t n_rows = (size_t)state->n_taps * (size_t)baton_state_n_channels(state);
    size_t n = BATON_STATE_HEAD_FLOATS + baton_state_floats(state) + n_rows, line = 16;
    return (n + line - 1) / line * line * sizeof(float);
}

/* Before the next n_rows positions are computed: holds the block that they write. False when the
 * sequence has no state for its position: one that was taken back by more than the last position,
 * or whose forward was canceled. */
bool baton_seq_carry_state(struct baton_seq *seq, int n_rows) BATON_MUST_CHECK;

#endif
