/* The dtype "q4": weights encoded in about five bits. The more a matrix adds to the model's error,
 * the wider is its format.
 *
 *     token embedding, head              Q6_K
 *     inputs of layers (spec.h)          Q6_K
 *     queries, keys; gate and up         Q4_K
 *     values                             Q6_K
 *     attention's output; down           Q5_K
 *
 * Rows that are not whole blocks are padded; if they then take more bytes than blocks of 32 do,
 * Q6_K becomes Q8_0, and the others Q5_1. Routers, norms and biases stay f32 as everywhere.
 *
 * Ownership: a constant.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_MODEL_Q4_DTYPES_H
#define BATON_ENGINE_MODEL_Q4_DTYPES_H

#include "engine/model/storage.h"

extern const struct baton_dtype_rule baton_q4_rule;

#endif
