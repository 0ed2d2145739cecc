/* Philox 4x32-10: a counter-based generator (Salmon, Moraes, Dror, Shaw, "Parallel random numbers:
 * as easy as 1, 2, 3", SC 2011; known answers in Random123's kat_vectors).
 *
 * Ownership: nothing.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_PHILOX_H
#define BATON_ENGINE_PHILOX_H

#include <stdint.h>

/* Four random words for this counter under this key. */
void baton_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t random[4]);

#endif
