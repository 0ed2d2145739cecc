/* Memory for caches of hundreds of megabytes: reserved at once, zero, on huge pages where the
 * kernel has them, and backed in the background by a thread of its own that uses a twentieth of one
 * processor. A worker is ready as soon as it has mapped its weights; a thread that touches a page
 * earlier waits for that page only.
 *
 * Shared memory is a file in memory (memfd_create) that other processes may map for reading. Its
 * seals prevent it from shrinking under a reader, and all other processes from writing to it, for
 * as long as it exists. It lies on huge pages only if the system allows it
 * (/sys/kernel/mm/transparent_hugepage/shmem_enabled).
 *
 * Ownership: the caller's, from create to destroy. A process that has mapped shared memory keeps
 *            it.
 * Threading: create and destroy from one thread; the memory belongs to its users.
 * Errors:    create: NO_MEMORY when the kernel does not promise so much. create_shared: also IO
 *            where the kernel lacks a seal (before Linux 5.1). As for any mapping, memory that
 *            turns out not to be there later is a signal from the kernel.
 */
#ifndef BATON_ENGINE_SYSTEM_RESERVE_H
#define BATON_ENGINE_SYSTEM_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct baton_reserve;

/* Whether the file has every seal that shared memory has. */
bool baton_reserve_is_sealed(int fd);

enum baton_err baton_reserve_create(size_t n_bytes,
                                    struct baton_reserve **reserve) BATON_MUST_CHECK;
enum baton_err baton_reserve_create_shared(size_t n_bytes,
                                           struct baton_reserve **reserve) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_reserve_destroy(struct baton_reserve *reserve);

/* The bytes that the thread has not backed by memory yet; pages that were touched may count. */
size_t baton_reserve_unbacked_bytes(const struct baton_reserve *reserve);

/* n_bytes, aligned to a huge page. */
void *baton_reserve_memory(const struct baton_reserve *reserve);

/* The file of shared memory, n_bytes long, for other processes; -1: it is not shared. */
int baton_reserve_fd(const struct baton_reserve *reserve);

#endif
