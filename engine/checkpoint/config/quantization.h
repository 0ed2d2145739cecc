/* The quantization_config of a config.json: which codes of weights are read (weights/coded.h).
 *
 *     gptq                  4 or 8 bits, checkpoint_format gptq, with or without desc_act
 *     awq                   4 bits, version gemm
 *     fp8                   e4m3; weight_block_size [128, 128], or scales of rows or tensors
 *     compressed-tensors    integers of 4 or 8 bits, floats of 8
 *
 * How activations would be quantized does not matter: they stay as the dtype of the weights has
 * them.
 *
 * Ownership: borrows the JSON.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_QUANTIZATION_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_QUANTIZATION_H

#include "common/base/json.h"

enum { BATON_QUANTIZATION_BYTES = 64 };

/* Whether the codes are read. text becomes quant_method, or what is not read of it: "gptq, bits
 * 3". */
bool baton_quantization_check(const struct baton_json *object, char text[BATON_QUANTIZATION_BYTES]);

#endif
