/* All tensors of a model, from any number and format of files, read as float.
 *
 * Ownership: owns the mappings; tensors are borrowed from them.
 * Threading: immutable once open.
 * Errors:    open: as baton_model_files_visit and baton_safetensors_parse, or as
 *            baton_gguf_model_open, with the file; INVALID for a name in two files.
 *            INVALID for codes whose scales do not fit (coded.h).
 *            INVALID for a NAME.scale that does not fit NAME.weight.
 * find_shaped: INVALID with the tensor and the shape or dtype that it must have.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_WEIGHTS_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_WEIGHTS_H

#include "common/base/error.h"
#include "engine/checkpoint/tensor.h"
#include "engine/checkpoint/weights/row_order.h"

struct baton_weights;

/* Maps every weight file of the model at model_path. */
enum baton_err baton_weights_open(const char *model_path, struct baton_weights **weights,
                                  struct baton_why *why) BATON_MUST_CHECK;
/* Maps one safetensors file, whatever its name. */
enum baton_err baton_weights_open_file(const char *path, struct baton_weights **weights,
                                       struct baton_why *why) BATON_MUST_CHECK;
/* Unmaps the files, and with them every tensor. Accepts NULL. */
void baton_weights_close(struct baton_weights *weights);

/* Returns the index-th tensor in the order of names; NULL after the last. */
const struct baton_tensor *baton_weights_at(const struct baton_weights *weights, size_t index);

/* Returns NULL when there is no such tensor. */
const struct baton_tensor *baton_weights_find(const struct baton_weights *weights,
                                              const char *name);

/* Finds the tensor and checks its dtype and its shape [shape[0], ..]. A GGUF file may omit leading
 * 1s. A row of BLOCKS is a whole number of blocks. */
enum baton_err baton_weights_find_shaped(const struct baton_weights *weights, const char *name,
                                         int n_dims, const int64_t *shape,
                                         const struct baton_tensor **tensor,
                                         struct baton_why *why) BATON_MUST_CHECK;

/* Finds MXFP4 blocks and their scales (blocks.h), whose values have the shape [shape[0], ..]. */
enum baton_err baton_weights_find_mxfp4(const struct baton_weights *weights, const char *blocks,
                                        const char *scales, int n_dims, const int64_t *shape,
                                        const struct baton_tensor **blocks_tensor,
                                        const struct baton_tensor **scales_tensor,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Rows first..first + n - 1 of a matrix, from one tensor. The order counts its rows from first. */
struct baton_weights_slice {
    const struct baton_tensor *tensor;
    const struct baton_tensor *scales; /* the scales of an MXFP4 tensor; NULL for other types */
    size_t skip;                       /* elements of the tensor before the matrix */
    int first, n;
    struct baton_row_order order;
    int n_stored;    /* rows of the tensor */
    bool transposed; /* stored as [n_in][n_stored] */
};

/* A matrix [n_out][n_in] that is read a few outputs at a time. Its slices cover all outputs, in any
 * order. */
enum { BATON_WEIGHTS_MAX_SLICES = 6 };

struct baton_weights_source {
    int n_out, n_in, n_slices;
    struct baton_weights_slice slices[BATON_WEIGHTS_MAX_SLICES];
};

enum { BATON_WEIGHTS_READ_MAX = 32 };

/* Reads n <= BATON_WEIGHTS_READ_MAX outputs from first on as float [n][n_in]. Any thread. */
void baton_weights_read(const struct baton_weights_source *source, int first, int n, float *rows);

/* Returns the blocks of an output inside its tensor, which must not be transposed or have separate
 * scales; those of a coded tensor are written to buffer [n_in * 4], and returned. */
const uint8_t *baton_weights_blocks(const struct baton_weights_source *source, int out,
                                    uint8_t *buffer);

/* The factor of the values of an output beside what its blocks hold: NAME.scale of a GGUF file. */
float baton_weights_factor(const struct baton_weights_source *source, int out);

/* Drops the process's pages of the source's tensors. A later read maps them again. */
void baton_weights_release(const struct baton_weights_source *source);

#endif
