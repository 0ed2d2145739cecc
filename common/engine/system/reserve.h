/* Memory for caches of hundreds of megabytes: reserved at once, zero, on huge pages where the
 * kernel has them, and backed by a thread of its own, in a twentieth of one processor, while the
 * process goes on. A worker is ready in the time it takes to map its weights; a thread that touches
 * a page earlier waits for that page only.
 *
 * Ownership: the caller's, from create to destroy.
 * Threading: create and destroy from one thread; the memory belongs to its users.
 * Errors:    create: NO_MEMORY when so much cannot be promised. Memory that cannot be backed in
 *            the end is the kernel's to report, as for any mapping.
 */
#ifndef BATON_ENGINE_RESERVE_H
#define BATON_ENGINE_RESERVE_H

#include <stddef.h>

#include "common/base/error.h"

struct baton_reserve;

enum baton_err baton_reserve_create(size_t n_bytes,
                                    struct baton_reserve **reserve) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_reserve_destroy(struct baton_reserve *reserve);

/* How much of it the thread has not backed by memory yet; pages that were touched may count. */
size_t baton_reserve_unbacked_bytes(const struct baton_reserve *reserve);

/* n_bytes, aligned to a huge page. */
void *baton_reserve_memory(const struct baton_reserve *reserve);

#endif
