/* Pseudo-random weights for models that have only a shape: one sequence per seed, readable from any
 * place. Arrays take it in their order (arch/arrays.h), row by row. Pure.
 */
#ifndef BATON_ENGINE_MODEL_RANDOM_WEIGHTS_H
#define BATON_ENGINE_MODEL_RANDOM_WEIGHTS_H

#include <stdint.h>

/* The growth of the seed per weight: seed + n * STEP continues after n weights. */
#define BATON_RANDOM_STEP UINT64_C(0x9E3779B97F4A7C15)

/* The number of a state that has grown by STEP: splitmix64 (Steele, Lea, Flood, 2014). */
static inline uint64_t baton_random_bits(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Weight n (from 0) of the sequence, from -0.06 up to 0.06; a tensor adds its center. */
static inline float baton_random_weight(uint64_t seed, uint64_t n)
{
    uint64_t bits = baton_random_bits(seed + (n + 1) * BATON_RANDOM_STEP);
    return ((float)(bits >> 40) * 0x1p-23F - 1.0F) * 0.06F;
}

#endif
