/* Philox 4x32-10: a counter-based generator (Salmon, Moraes, Dror, Shaw, "Parallel random numbers:
 * as easy as 1, 2, 3", SC 2011; known answers in Random123's kat_vectors).
 *
 * Pure.
 */
#ifndef BATON_ENGINE_SAMPLING_PHILOX_H
#define BATON_ENGINE_SAMPLING_PHILOX_H

#include <stdint.h>

/* Four random words for this counter under this key. */
void baton_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t random[4]);

/* Uniform in [0, 1), 53 bits, from (seed, position). */
double baton_philox_uniform(uint64_t seed, uint64_t position);

#endif
