/* A GPT-2 of these sizes with pseudo-random weights.
 *
 * Ownership: the model is the caller's, closed with baton_model_close.
 */
#ifndef BATON_TESTS_SUPPORT_RANDOM_GPT2_H
#define BATON_TESTS_SUPPORT_RANDOM_GPT2_H

#include "engine/arch/spec.h"
#include "engine/model/model.h"

/* The sizes of a small one, except the numbers of layers, tokens and positions. */
#define SMALL_GPT2 .n_embd = 64, .n_heads = 4, .n_kv_heads = 4, .head_dim = 16, .n_ff = 128

static inline enum baton_err random_gpt2(const struct baton_gpt2_sizes *of, uint64_t seed,
                                         const struct baton_model_options *options,
                                         struct baton_model **made)
{
    struct baton_spec spec;
    baton_gpt2_spec(of, &spec);
    return baton_model_random(&spec, seed, options, made, NULL);
}

#endif
