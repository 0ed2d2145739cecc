/* Big arrays of float for weights, caches and scratch: aligned to a cache line, on huge pages where
 * the kernel has them (a decode step walks all weights, and 4 KiB pages cost it TLB misses).
 *
 * Ownership: the caller's, freed with free.
 * Threading: any thread.
 * Errors:    NULL when memory is out or the size overflows.
 */
#ifndef BATON_ENGINE_SYSTEM_FLOATS_H
#define BATON_ENGINE_SYSTEM_FLOATS_H

#include <stddef.h>

/* n floats, all zero and already backed by memory. */
float *baton_floats_create(size_t n);

#endif
