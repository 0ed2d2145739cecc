/* The table that the workers of one user share on one host: their states and processors.
 *
 *     offset 0  magic "BATNCORE" | version u32 | bytes u32
 *           64  generation u32: one more with every change of a slot's state
 *          128  64 slots of 192 bytes:
 *               state u32 | beats u32 | seen u32 | pid i32 | pool_mib, unbacked_mib u32 |
 *                   padding to 64
 *               allowed: the processors the worker may use, 1024 bits; with a CPU quota the
 *               quota's group, its whole cores and bit 1023. In a table of memory
 *               claims the group whose limit bounds the worker's memory
 *
 * A slot is held by a lock on its first byte (fcntl, open file description), which the kernel drops
 * when the holder dies: a slot that can be locked and has a state was a crashed worker's. Byte 0 is
 * locked while the table is made. A table of another layout is made again once no process holds a
 * slot.
 *
 * Ownership: a view belongs to its opener; the file stays.
 * Threading: slots are atomic; each view has locks of its own, so two in one process exclude each
 *            other as two processes do.
 * Errors:    open: INVALID (not ours, or others may write it), VERSION (in use in another layout),
 *            LIMIT (64 workers), IO, TIMEOUT (another process holds byte 0).
 */
#ifndef BATON_WORKER_CORES_TABLE_H
#define BATON_WORKER_CORES_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/policy/core_shares.h"

enum {
    BATON_CORE_TABLE_VERSION = 1,
    BATON_CORE_MASK_WORDS = 16,
    /* Bits of a slot's state; 0: free. */
    BATON_CORE_LIVE = 1,
    BATON_CORE_BUSY = 2,
    BATON_CORE_SILENT = 4, /* its main thread does not beat: stopped, frozen */
    BATON_CORE_DECODES = 8,
    BATON_CORE_SIZED = 16, /* only in tables of memory claims (kv/memory_claims.h) */
};

struct baton_core_slot {
    _Alignas(64) _Atomic uint32_t state;
    _Atomic uint32_t beats;
    _Atomic uint32_t seen;                   /* the generation of the worker's share */
    _Atomic int32_t pid;                     /* for the log; each container has its own pids */
    _Atomic uint32_t pool_mib, unbacked_mib; /* only in tables of memory claims */
    _Alignas(64) _Atomic uint64_t allowed[BATON_CORE_MASK_WORDS];
};

struct baton_core_table {
    char magic[8];
    uint32_t version, n_bytes;
    _Alignas(64) _Atomic uint32_t generation;
    struct baton_core_slot slots[BATON_CORE_WORKERS_MAX];
};

_Static_assert(sizeof(struct baton_core_slot) == 192, "the layout above");
_Static_assert(sizeof(struct baton_core_table) == 128 + 192 * BATON_CORE_WORKERS_MAX,
               "the layout above");

struct baton_core_view {
    int fd, slot; /* the slot is locked from open to close */
    struct baton_core_table *table;
};

/* Maps the table at path, made when it is missing, and takes a slot, which may have the contents of
 * a crashed holder. */
enum baton_err baton_core_view_open(const char *path, struct baton_core_view *view,
                                    struct baton_why *why) BATON_MUST_CHECK;
void baton_core_view_close(struct baton_core_view *view);

/* Another slot; false while another process holds it. */
bool baton_core_view_try_lock(struct baton_core_view *view, int slot);
void baton_core_view_unlock(struct baton_core_view *view, int slot);

#endif
