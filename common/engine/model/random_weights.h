/* The pseudo-random weights of models that have only a shape: one sequence per seed, which anybody
 * can enter anywhere. baton_model_random takes it in this order, matrices [out][in] row by row:
 *
 *     wte, wpe, {ln_1, ln_2, c_attn, attn c_proj, c_fc, mlp c_proj} of each layer, ln_f
 *
 * with a bias, where there is one, after its weight.
 *
 * Ownership: nothing. Threading: pure. Errors: none.
 */
#ifndef BATON_ENGINE_RANDOM_WEIGHTS_H
#define BATON_ENGINE_RANDOM_WEIGHTS_H

#include <stdint.h>

/* Of the seed, per weight that was passed: seed + n * STEP goes on after n weights. */
#define BATON_RANDOM_STEP UINT64_C(0x9E3779B97F4A7C15)

/* Weight n (from 0) of the sequence, by splitmix64 (Steele, Lea, Flood, 2014), from -0.06 up to
 * 0.06; norms add 1 to theirs. */
static inline float baton_random_weight(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * BATON_RANDOM_STEP;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return ((float)(z >> 40) * 0x1p-23F - 1.0F) * 0.06F;
}

#endif
