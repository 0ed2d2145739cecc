/* Memory for caches of hundreds of megabytes: addresses that are reserved at once, and pages that
 * their owner backs with memory and gives back, by ranges. Memory is zero when it is backed, and on
 * huge pages where the kernel has them. A thread that touches a page before it is backed waits for
 * the kernel to back it.
 *
 * Shared memory is a file in memory (memfd_create) that other processes may map for reading. Its
 * seals prevent it from shrinking under a reader for as long as it exists; the descriptor for
 * readers cannot write. It lies on huge pages only if the system allows it
 * (/sys/kernel/mm/transparent_hugepage/shmem_enabled).
 *
 * Ownership: the caller's, from create to destroy. A process that has mapped shared memory keeps
 *            it.
 * Threading: create and destroy from one thread; the memory belongs to its users. back and
 *            give_back from any thread, of ranges that nobody else backs or gives back meanwhile.
 * Errors:    create: NO_MEMORY when the kernel does not promise so much. create_shared: also IO
 *            where the kernel has no sealed memory, or /proc is absent. back: NO_MEMORY. As for any
 *            mapping, memory that is touched without having been backed, and is not there, is a
 *            signal from the kernel.
 */
#ifndef BATON_ENGINE_SYSTEM_RESERVE_H
#define BATON_ENGINE_SYSTEM_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* A huge page: the memory begins at a multiple of it. */
enum { BATON_RESERVE_ALIGNMENT = 2 << 20 };

struct baton_reserve;

/* Whether the file has every seal that shared memory has. */
bool baton_reserve_is_sealed(int fd);

enum baton_err baton_reserve_create(size_t n_bytes,
                                    struct baton_reserve **reserve) BATON_MUST_CHECK;
enum baton_err baton_reserve_create_shared(size_t n_bytes,
                                           struct baton_reserve **reserve) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_reserve_destroy(struct baton_reserve *reserve);

/* Backs the pages that hold bytes at..at + n - 1; those that are backed keep their contents. After
 * an error some may be backed. */
enum baton_err baton_reserve_back(struct baton_reserve *reserve, size_t at,
                                  size_t n) BATON_MUST_CHECK;
/* Gives the pages back that lie wholly within bytes at..at + n - 1 (of private memory: huge pages,
 * so that none is split). Their contents are gone. */
void baton_reserve_give_back(struct baton_reserve *reserve, size_t at, size_t n);

/* n_bytes, aligned to a huge page. */
void *baton_reserve_memory(const struct baton_reserve *reserve);

/* The file of shared memory, n_bytes long, for other processes, which can only read it; -1: it is
 * not shared. */
int baton_reserve_fd(const struct baton_reserve *reserve);

#endif
