/* All tensors of a model, in whatever number and format of files, read as float.
 *
 * Ownership: owns the mappings; tensors are borrowed from them.
 * Threading: immutable once open.
 * Errors:    open: as baton_model_files_visit and baton_safetensors_parse, or as
 *            baton_gguf_model_open, with the file; INVALID for a name in two files.
 *            find_shaped: INVALID naming the tensor and the shape or dtype that is wanted.
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
/* Unmaps them, and with them every tensor. NULL is fine. */
void baton_weights_close(struct baton_weights *weights);

/* The index-th tensor, by name; NULL past the last. */
const struct baton_tensor *baton_weights_at(const struct baton_weights *weights, size_t index);

/* NULL when there is no such tensor. */
const struct baton_tensor *baton_weights_find(const struct baton_weights *weights,
                                              const char *name);

/* Finds the tensor and checks its dtype and its shape [shape[0], ..]. In GGUF files a leading 1
 * may be missing: they keep none. Of BLOCKS, rows are whole blocks. */
enum baton_err baton_weights_find_shaped(const struct baton_weights *weights, const char *name,
                                         int n_dims, const int64_t *shape,
                                         const struct baton_tensor **tensor,
                                         struct baton_why *why) BATON_MUST_CHECK;

/* Finds MXFP4 blocks and their scales (mxfp4.h), whose values have the shape [shape[0], ..]. */
enum baton_err baton_weights_find_mxfp4(const struct baton_weights *weights, const char *blocks,
                                        const char *scales, int n_dims, const int64_t *shape,
                                        const struct baton_tensor **blocks_tensor,
                                        const struct baton_tensor **scales_tensor,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Rows first..first + n - 1 of a matrix, from one tensor; r of the order is counted from first. */
struct baton_weights_part {
    const struct baton_tensor *tensor;
    const struct baton_tensor *scales; /* the tensor's, which is MXFP4; NULL: it is not */
    size_t skip;                       /* elements of the tensor before the matrix */
    int first, n;
    struct baton_row_order order;
    int n_stored;    /* rows of the tensor */
    bool transposed; /* stored as [n_in][n_stored] */
};

/* A matrix [n_out][n_in] to be read a few outputs at a time. Its parts cover all outputs; they may
 * stand in any order. */
enum { BATON_WEIGHTS_MAX_PARTS = 3 };

struct baton_weights_source {
    int n_out, n_in, n_parts;
    struct baton_weights_part parts[BATON_WEIGHTS_MAX_PARTS];
};

enum { BATON_WEIGHTS_READ_MAX = 32 };

/* n <= BATON_WEIGHTS_READ_MAX outputs from first on, as float [n][n_in]. Any thread. */
void baton_weights_read(const struct baton_weights_source *source, int first, int n, float *rows);

/* The blocks of an output as they lie in its tensor, which is not transposed and has no scales of
 * its own. */
const uint8_t *baton_weights_blocks(const struct baton_weights_source *source, int out);

/* The process keeps no page of the source's tensors; reading them again maps them anew. */
void baton_weights_release(const struct baton_weights_source *source);

#endif
