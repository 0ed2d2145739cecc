/* The tensors that a checkpoint of a shape has, with the weights of baton_model_random: what they
 * are called, their shapes, and their values line by line, so that memory holds one line.
 *
 * Ownership: fini frees what list and init allocated.
 * Threading: none; one owner at a time.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_TOOLS_SUPPORT_MACHINE_RANDOM_TENSORS_H
#define BATON_TOOLS_SUPPORT_MACHINE_RANDOM_TENSORS_H

#include "engine/arch/tensors.h"

/* As stored: rows and columns, 0 columns for a vector. */
struct bench_tensor {
    char name[BATON_TENSOR_NAME_BYTES];
    struct baton_named_tensor named;
    int n_copies; /* [n_copies] of what follows, where one tensor is all experts' */
    int n_rows, n_columns;
    int n_dims;
    int64_t shape[BATON_TENSOR_MAX_SHAPE];
    float center;
    uint64_t seed;     /* that enters the sequence at the array's first weight */
    uint64_t n_passed; /* weights of that sequence from copy to copy: of their whole arrays */
};

struct bench_tensors {
    struct bench_tensor *tensors;
    int n;
    uint64_t seed; /* after the last */
};

/* Whether a file has the tensor of this row. */
typedef bool (*bench_has_row)(const struct baton_tensor_row *row, const void *arg);

/* The tensors of a spec under these names, in the order of arch/arrays.h: of each part of an array
 * the first row of the names that the file has; NULL: it has them all. */
enum baton_err bench_tensors_list(const struct baton_tensor_names *names,
                                  const struct baton_spec *spec, uint64_t seed,
                                  bench_has_row has_row, const void *arg,
                                  struct bench_tensors *tensors) BATON_MUST_CHECK;
void bench_tensors_fini(struct bench_tensors *tensors);

/* Elements of a line: a row of a matrix as stored, one element of a vector. And how many lines. */
static inline int bench_tensor_line(const struct bench_tensor *tensor)
{
    return tensor->n_columns ? tensor->n_columns : 1;
}

static inline int64_t bench_tensor_n_lines(const struct bench_tensor *tensor)
{
    return (int64_t)tensor->n_copies * tensor->n_rows;
}

static inline size_t bench_tensor_n_elements(const struct bench_tensor *tensor)
{
    return (size_t)bench_tensor_n_lines(tensor) * (size_t)bench_tensor_line(tensor);
}

/* The elements of the longest line. */
int bench_tensors_widest(const struct bench_tensors *tensors);

/* Values of one tensor after another. */
struct bench_lines {
    const struct bench_tensor *tensor;
    float *floats;     /* [bench_tensors_widest] */
    uint64_t *numbers; /* of the first weight of each row, in the array's sequence */
};

enum baton_err bench_lines_init(const struct bench_tensors *tensors,
                                struct bench_lines *lines) BATON_MUST_CHECK;
void bench_lines_fini(struct bench_lines *lines);
void bench_lines_begin(struct bench_lines *lines, const struct bench_tensor *tensor);
/* Line i of the tensor, good until the next call. */
const float *bench_lines_at(struct bench_lines *lines, int64_t i);

#endif
