/* A tensor of a weight file, whatever the file's format.
 *
 * Pure: plain data; name and data are borrowed from the file that it is of.
 */
#ifndef BATON_ENGINE_CHECKPOINT_TENSOR_H
#define BATON_ENGINE_CHECKPOINT_TENSOR_H

#include "engine/checkpoint/weights/convert.h"

enum { BATON_TENSOR_MAX_DIMS = 8 };

struct baton_tensor {
    const char *name;
    enum baton_element dtype;
    enum baton_block_type block_type; /* of a GGUF file's tensor (blocks.h) */
    int n_dims;
    int64_t shape[BATON_TENSOR_MAX_DIMS]; /* the slowest first; of a GGUF file without leading 1s */
    const uint8_t *data;                  /* any alignment */
    size_t n_bytes;
};

#endif
