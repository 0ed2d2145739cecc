/* How many weights a model's files hold, in how many bytes and in which format: what people call
 * its size and its quantisation.
 *
 * Pure data; the values of a tensor in blocks count, not its blocks.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_COUNT_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_COUNT_H

#include <stdint.h>

#include "engine/checkpoint/weights/weights.h"

struct baton_weights_count {
    uint64_t n_parameters, n_bytes; /* 0: the files are not here */
    char format[16];                /* the format of most of them: "BF16", "Q4_K"; "": none */
};

struct baton_weights_count baton_weights_count(const struct baton_weights *weights);

#endif
