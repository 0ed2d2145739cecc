/* The rotary embedding of a model, from the numbers of its config: every kind of scaling.
 *
 *     default    f_i = theta^(-2i/n), n the elements of a head that turn   (arXiv:2104.09864)
 *     linear     f_i / factor                                              (arXiv:2306.15595)
 *     dynamic    theta grows with the context that is served
 *     llama3     long waves / factor, short ones kept, a ramp between      (Llama 3.1's model card)
 *     yarn       slow pairs / factor, fast ones kept, a ramp between       (arXiv:2309.00071)
 *     longrope   f_i / the pair's own factor, from one of two lists: the
 *                one for the context that is served                        (arXiv:2402.13753)
 *
 *     proportional  f_i of a whole head / factor, and 0 for the pairs past the
 *                rotated share                                         (Gemma 4)
 *
 * Computed in double. longrope and dynamic depend on the context that a process serves, not on the
 * length of a text: keys stay valid in the KV cache, and workers of one context agree.
 *
 * Ownership: plain data.
 * Threading: pure.
 * Errors:    INVALID with the key, its value and the rule.
 */
#ifndef BATON_ENGINE_ARCH_ROPE_H
#define BATON_ENGINE_ARCH_ROPE_H

#include "engine/arch/spec.h"

struct baton_rope_request {
    const struct baton_rope_config *config;
    int head_dim;
    int n_rotated; /* 0: head_dim times the config's rotated share */
    int n_known;   /* positions the model knows: max_position_embeddings */
    int n_context; /* positions that are served */
    int original;  /* original_max_position_embeddings beside the config; 0: none */
};

enum baton_err baton_rope_make(const struct baton_rope_request *request,
                               struct baton_rope_spec *rope,
                               struct baton_why *why) BATON_MUST_CHECK;

/* The most positions that may be served: those that the model knows, extended by scaling. */
int baton_rope_most_context(const struct baton_rope_config *config, int n_known);

#endif
