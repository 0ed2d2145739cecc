/* Which of ggml's types each tensor of a file has: one for all matrices, or a mix of two or three
 * as llama.cpp's quantizer makes it.
 *
 * Ownership: plain data.
 * Threading: pure.
 * Errors:    INVALID with the names there are.
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
    bool of_experts; /* MXFP4_MOE: the base is the experts', all else Q8_0; other mixes: Q6_K where
                        it matters most */
};

/* A name of ggml's types, or of a mix; option is what it was given with. */
enum baton_err bench_gguf_mix_parse(const char *option, const char *name,
                                    struct bench_gguf_mix *mix,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* Norms, biases, routers and positions are F32. A matrix whose rows are no whole blocks takes a
 * narrower block of about as many bits, or F16. */
enum baton_block_type bench_gguf_mix_type(const struct bench_gguf_mix *mix,
                                          const struct baton_spec *spec,
                                          const struct bench_tensor *tensor);

#endif
