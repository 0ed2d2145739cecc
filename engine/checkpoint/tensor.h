/* A tensor of a weight file, whatever the file's format.
 *
 * Pure: plain data; name and data are borrowed from the tensor's file.
 */
#ifndef BATON_ENGINE_CHECKPOINT_TENSOR_H
#define BATON_ENGINE_CHECKPOINT_TENSOR_H

#include "engine/checkpoint/weights/convert.h"

enum { BATON_TENSOR_MAX_DIMS = 8 };

struct baton_tensor {
    const char *name;
    enum baton_element dtype;
    enum baton_block_type block_type; /* for a tensor of a GGUF file (blocks.h) */
    int n_dims;
    int64_t shape[BATON_TENSOR_MAX_DIMS]; /* slowest first; without leading 1s in a GGUF file */
    const uint8_t *data;                  /* any alignment */
    size_t n_bytes;
    const struct baton_tensor *factors; /* F32 [1] or one for each of shape[0] experts: the values
                                         * are these times the stored ones; NULL: 1 */
    const struct baton_coded *coded;    /* of a tensor of CODED (weights/coded.h) */
};

#endif
