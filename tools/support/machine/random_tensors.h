/* The tensors of a checkpoint of some shape with the weights of baton_model_random: names, shapes,
 * and values line by line, so that memory holds one line.
 *
 * Ownership: fini frees what list and init allocated.
 * Threading: none; one owner at a time.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_TOOLS_SUPPORT_MACHINE_RANDOM_TENSORS_H
#define BATON_TOOLS_SUPPORT_MACHINE_RANDOM_TENSORS_H

#include "engine/arch/arch.h"

/* A tensor as stored: rows and columns, with 0 columns for a vector. */
struct bench_tensor {
    char name[BATON_TENSOR_NAME_BYTES];
    struct baton_named_tensor named;
    int n_copies; /* copies of the following; more than 1 if the tensor holds all experts */
    int n_rows, n_columns;
    int n_dims;
    int64_t shape[BATON_TENSOR_MAX_SHAPE];
    float center;
    uint64_t seed; /* state of the sequence at the array's first weight */
    /* weights of the sequence from one copy to the next: those of the whole array */
    uint64_t n_passed;
};

struct bench_tensors {
    struct bench_tensor *tensors;
    int n;
    uint64_t seed; /* after the last tensor */
};

/* True when a file has the tensor of this row. */
typedef bool (*bench_has_row)(const struct baton_tensor_row *row, const void *arg);

/* Lists the tensors of a spec under these names, in the order of arch/arrays.h. For each part of an
 * array it takes the first row of the names that the file has; with has_row NULL the file has them
 * all. */
enum baton_err bench_tensors_list(const struct baton_tensor_names *names,
                                  const struct baton_spec *spec, uint64_t seed,
                                  bench_has_row has_row, const void *arg,
                                  struct bench_tensors *tensors) BATON_MUST_CHECK;

/* Adds those of the head that drafts. INVALID: the family has none. */
enum baton_err bench_tensors_add_draft_head(const struct baton_arch *arch, bool in_gguf,
                                            const struct baton_spec *spec, bench_has_row has_row,
                                            const void *arg,
                                            struct bench_tensors *tensors) BATON_MUST_CHECK;
void bench_tensors_fini(struct bench_tensors *tensors);

/* Returns the elements of a line: a row of a matrix as stored, or one element of a vector. */
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

/* Returns the elements of the longest line. */
int bench_tensors_widest(const struct bench_tensors *tensors);

/* Reads the values of one tensor after another. */
struct bench_lines {
    const struct bench_tensor *tensor;
    float *floats;     /* [bench_tensors_widest] */
    uint64_t *numbers; /* place of each row's first weight in the array's sequence */
};

enum baton_err bench_lines_init(const struct bench_tensors *tensors,
                                struct bench_lines *lines) BATON_MUST_CHECK;
void bench_lines_fini(struct bench_lines *lines);
void bench_lines_begin(struct bench_lines *lines, const struct bench_tensor *tensor);
/* Returns line i of the tensor, valid until the next call. */
const float *bench_lines_at(struct bench_lines *lines, int64_t i);

#endif
