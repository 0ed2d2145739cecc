/* All tensors of a model, in whatever number of files, read as float.
 *
 * Ownership: owns the mappings; tensors are borrowed from them.
 * Threading: immutable once open.
 * Errors:    open: as baton_model_files_visit and baton_safetensors_parse, with the file; INVALID
 *            for a name in two files. vector, matrix, source: INVALID naming the tensor and the
 *            shape or dtype that is wanted.
 */
#ifndef BATON_CHECKPOINT_WEIGHTS_H
#define BATON_CHECKPOINT_WEIGHTS_H

#include "common/checkpoint/safetensors.h"

struct baton_weights;

/* Maps every weight file of the model at model_path. */
enum baton_err baton_weights_open(const char *model_path, struct baton_weights **weights,
                                  struct baton_why *why) BATON_MUST_CHECK;
/* Unmaps them, and with them every tensor. NULL is fine. */
void baton_weights_close(struct baton_weights *weights);

/* NULL when there is no such tensor. */
const struct baton_tensor *baton_weights_find(const struct baton_weights *weights,
                                              const char *name);

/* Elements of all tensors together. */
size_t baton_weights_n_elements(const struct baton_weights *weights);

/* The vector [n]. */
enum baton_err baton_weights_vector(const struct baton_weights *weights, const char *name, int n,
                                    float *floats, struct baton_why *why) BATON_MUST_CHECK;

/* The matrix [n_rows][n_columns], row-major. */
enum baton_err baton_weights_matrix(const struct baton_weights *weights, const char *name,
                                    int n_rows, int n_columns, float *floats,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* A matrix [n_out][n_in] to be read a few outputs at a time; transposed: stored as [n_in][n_out].
 */
struct baton_weights_source {
    const struct baton_tensor *tensor;
    int n_out, n_in;
    bool transposed;
};

/* Finds the tensor and checks its shape and dtype; reads nothing yet. */
enum baton_err baton_weights_source(const struct baton_weights *weights, const char *name,
                                    int n_out, int n_in, bool transposed,
                                    struct baton_weights_source *source,
                                    struct baton_why *why) BATON_MUST_CHECK;

enum { BATON_WEIGHTS_READ_MAX = 32 };

/* n <= BATON_WEIGHTS_READ_MAX outputs from first on, as float [n][n_in]. Any thread. */
void baton_weights_read(const struct baton_weights_source *source, int first, int n, float *rows);

#endif
