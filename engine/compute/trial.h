/* Rows on trial: a step computes them, but the states of its layers stay as they are until the
 * caller says how many rows it keeps (engine/engine.h: baton_engine_settle). Until then what a
 * state reads of these rows is kept for each layer, and the kept rows go through the state after.
 *
 * Ownership: the arrays are the engine's.
 * Threading: the engine thread, which shares the work with its pool.
 * Errors:    none; a forward checks the number of rows.
 */
#ifndef BATON_ENGINE_COMPUTE_TRIAL_H
#define BATON_ENGINE_COMPUTE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

struct baton_chunk;
struct baton_forward;
struct baton_seq;
struct baton_spec;

/* The rows of a sequence that are on trial, as the forward found it. */
struct baton_trial_chunk {
    struct baton_seq *seq;
    int first_position, first_row, n_rows;
};

struct baton_trial {
    int max_rows;                     /* 0: no layer has a state, or no row is ever on trial */
    int n_rows, n_chunks;             /* of the last forward */
    struct baton_trial_chunk *chunks; /* [max_rows] */
    float *kept;                      /* [layers with a state][max_rows][floats of a row] */
    float *tails;                     /* [n_threads] of a convolution */
    float *columns;                   /* [n_threads][n_keys][16] of a state */
};

/* Floats of a row's projections that a state reads: its channels and its gates. */
size_t baton_trial_row_floats(const struct baton_spec *spec);

/* Points the arrays into memory, or measures them when memory is NULL. Returns their bytes.
 * forward->trial.max_rows must be set. */
size_t baton_trial_place(struct baton_forward *forward, char *memory);

/* Row number row of those on trial, in a layer with a state. */
float *baton_trial_row(const struct baton_forward *forward, int layer, int row);

/* Adds the chunk's rows to those on trial. False: the sequence has no state that its next position
 * could follow, or these are more than max_rows. Without layers with a state it does nothing. */
bool baton_trial_add(struct baton_forward *forward, const struct baton_chunk *chunk);

/* Carries the states through the rows that the sequences of trial's chunks have kept. */
void baton_trial_settle(struct baton_forward *forward, const struct baton_trial *trial);

#endif
