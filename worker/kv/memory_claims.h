/* Memory claims, by which the workers of one user on one host agree on the sizes of their KV
 * caches: the workers that have no pool yet, the sizes of the others' pools, and the part of these
 * that is not backed by memory yet, so that the kernel still counts it as free.
 *
 *     open --set_pool--> sized, wholly unbacked --set_unbacked--> less unbacked --> none
 *
 * A table of slots like that of the cores (cores/table.h), in a file of its own: a slot is
 * held by a lock that dies with its process.
 *
 * Containers may share the table (a volume, a pod) and not their limits: a worker that a control
 * group's limit bounds sees the workers of that group alone. One that the machine bounds sees all.
 *
 * Ownership: a claim belongs to its opener; the file stays.
 * Threading: one thread per claim.
 * Errors:    open: as baton_core_view_open, and NOT_FOUND without a directory. A worker without a
 *            claim sees no others.
 */
#ifndef BATON_WORKER_KV_MEMORY_CLAIMS_H
#define BATON_WORKER_KV_MEMORY_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct baton_memory_claim;

/* The other live workers. */
struct baton_memory_peers {
    int n_prefill, n_decode;                 /* all */
    int n_unsized_prefill, n_unsized_decode; /* of them, those without a pool yet */
    uint64_t pool_bytes, unbacked_bytes;     /* of the others */
};

/* lease_dir as in baton_cores_options; group as in struct baton_memory_left. */
enum baton_err baton_memory_claim_open(const char *lease_dir, bool decodes, uint64_t group,
                                       struct baton_memory_claim **claim,
                                       struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_memory_claim_close(struct baton_memory_claim *claim);

/* Reads the other workers' claims; none with a claim of NULL. Called before the memory left is
 * measured: memory that another worker takes in between is then counted at least once. */
void baton_memory_claim_peers(struct baton_memory_claim *claim, struct baton_memory_peers *peers);

/* Claims n_bytes for this worker's pool, none of which is backed yet. NULL is harmless. */
void baton_memory_claim_set_pool(struct baton_memory_claim *claim, uint64_t n_bytes);

/* Sets how many of them are not backed yet; the kernel counts the others. NULL is harmless. */
void baton_memory_claim_set_unbacked(struct baton_memory_claim *claim, uint64_t n_unbacked_bytes);

#endif
