/* Chooses the type of ggml for each tensor of a file: one for all matrices, or a mix of two or
 * three as llama.cpp's quantizer makes it.
 *
 * Ownership: plain data.
 * Threading: pure.
 * Errors:    INVALID with the names that exist.
 *
 * Source: src/llama-quant.cpp of ggml-org/llama.cpp.
 */
#ifndef BATON_TOOLS_SUPPORT_MACHINE_GGUF_MIX_H
#define BATON_TOOLS_SUPPORT_MACHINE_GGUF_MIX_H

#include "engine/checkpoint/weights/blocks.h"
#include "tools/support/machine/random_tensors.h"

struct bench_gguf_mix {
    enum baton_block_type base;
    bool is_mix;
    /* MXFP4_MOE: experts have the base type, all else Q8_0. In the other mixes Q6_K serves where
     * precision matters most. */
    bool of_experts;
};

/* Parses the name of one of ggml's types or of a mix. option is named in the error. */
enum baton_err bench_gguf_mix_parse(const char *option, const char *name,
                                    struct bench_gguf_mix *mix,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* Returns F32 for norms, biases, routers and positions. A matrix whose rows are no whole blocks has
 * a narrower block of about as many bits, or F16. */
enum baton_block_type bench_gguf_mix_type(const struct bench_gguf_mix *mix,
                                          const struct baton_spec *spec,
                                          const struct bench_tensor *tensor);

#endif
