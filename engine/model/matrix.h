/* A matrix of a model: packed weights of one dtype, or neighbouring ranges of outputs that have a
 * dtype each, as queries, keys and values of a file may.
 *
 * The matrices of experts lie behind each other; the model names the first. Such a matrix has one
 * part, and so has one whose outputs are a gate's and up's in turn.
 *
 * Ownership: weights and bias are borrowed, from the model's slab.
 * Threading: pure functions.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_MODEL_MATRIX_H
#define BATON_ENGINE_MODEL_MATRIX_H

#include "engine/kernels/pack/packed.h"

enum { BATON_MATRIX_MAX_PARTS = 6 };

struct baton_matrix {
    int n_out, n_in; /* 0 outputs: the model has no such matrix */
    int n_parts;
    struct baton_packed parts[BATON_MATRIX_MAX_PARTS]; /* in order of outputs; together n_out */
    float *bias;                                       /* [n_out], or NULL */
};

/* Bytes of all weights of a matrix, of one expert. */
static inline size_t baton_matrix_read_bytes(const struct baton_matrix *matrix)
{
    size_t n_bytes = 0;
    for (int i = 0; i < matrix->n_parts; i++)
        n_bytes += baton_packed_read_bytes(&matrix->parts[i]);
    return n_bytes;
}

/* One output's weights as float [n_in], as the kernels see them. */
static inline void baton_matrix_row(const struct baton_matrix *matrix, int out, float *row)
{
    const struct baton_packed *part = matrix->parts;
    for (; out >= part->n_out; part++)
        out -= part->n_out;
    baton_packed_row(part, out, row);
}

static inline struct baton_matrix baton_matrix_of_expert(const struct baton_matrix *first,
                                                         int expert)
{
    struct baton_matrix matrix = *first;
    struct baton_packed *part = &matrix.parts[0];
    part->data = (char *)part->data + (size_t)expert * baton_packed_read_bytes(part);
    if (matrix.bias)
        matrix.bias += (size_t)expert * (size_t)matrix.n_out;
    return matrix;
}

#endif
