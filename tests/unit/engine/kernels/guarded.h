/* Memory that ends where the process's own ends: reading or writing past it is a fault, in any
 * build.
 *
 * Ownership: the caller's, given back with the size it was made with.
 * Threading: any thread.
 * Errors:    failed assertions.
 */
#ifndef BATON_TESTS_UNIT_ENGINE_KERNELS_GUARDED_H
#define BATON_TESTS_UNIT_ENGINE_KERNELS_GUARDED_H

#include <stddef.h>

/* Aligned as asked, a power of two; when n_bytes is no multiple of it, as many bytes as are missing
 * lie between the end and the guard. Every byte is 0xff, so that a float is NaN. */
void *guarded_create(size_t n_bytes, size_t alignment);
void guarded_destroy(void *memory, size_t n_bytes);

#endif
