#include "worker/kv/memory_claims.h"

#include <stdlib.h>
#include <unistd.h>

#include "worker/cores/cores.h"
#include "worker/cores/table.h"

#define MIB (1 << 20)

struct baton_memory_claim {
    struct baton_core_view view;
    struct baton_core_slot *own;
};

/* The slot may hold a dead worker's values; LIVE is stored last. */
static void enter(struct baton_core_slot *own, bool decodes, uint64_t group)
{
    atomic_store(&own->state, 0);
    atomic_store(&own->pid, (int32_t)getpid());
    atomic_store(&own->pool_mib, 0);
    atomic_store(&own->unbacked_mib, 0);
    atomic_store(&own->allowed[0], group);
    atomic_store(&own->state, decodes ? (uint32_t)(BATON_CORE_LIVE | BATON_CORE_DECODES)
                                      : (uint32_t)BATON_CORE_LIVE);
}

enum baton_err baton_memory_claim_open(const char *lease_dir, bool decodes, uint64_t group,
                                       struct baton_memory_claim **claim, struct baton_why *why)
{
    char path[PATH_MAX];
    if (!*lease_dir || !baton_cores_shared_path(lease_dir, "baton-memory", path))
        return baton_fail(why, BATON_NOT_FOUND, "no directory for memory claims");
    struct baton_memory_claim *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    enum baton_err err = baton_core_view_open(path, &made->view, why);
    if (err) {
        free(made);
        return err;
    }
    made->own = &made->view.table->slots[made->view.slot];
    enter(made->own, decodes, group);
    *claim = made;
    return BATON_OK;
}

void baton_memory_claim_close(struct baton_memory_claim *claim)
{
    if (!claim)
        return;
    atomic_store(&claim->own->state, 0);
    baton_core_view_close(&claim->view);
    free(claim);
}

/* A slot that can be locked has no living holder. */
static bool is_live(struct baton_memory_claim *claim, int i)
{
    struct baton_core_slot *slot = &claim->view.table->slots[i];
    if (slot == claim->own || !(atomic_load(&slot->state) & BATON_CORE_LIVE))
        return false;
    if (!baton_core_view_try_lock(&claim->view, i))
        return true;
    atomic_store(&slot->state, 0);
    baton_core_view_unlock(&claim->view, i);
    return false;
}

/* Whether the worker of slot i draws on the same memory. allowed[0], which lists processors in the
 * table of cores, is the control group here; 0 means that only the machine limits this worker, and
 * its memory is that of all. */
static bool is_bounded_with(const struct baton_memory_claim *claim, int i)
{
    uint64_t group = atomic_load(&claim->own->allowed[0]);
    return !group || atomic_load(&claim->view.table->slots[i].allowed[0]) == group;
}

static void count(const struct baton_core_slot *slot, struct baton_memory_peers *peers)
{
    uint32_t state = atomic_load(&slot->state);
    bool decodes = state & BATON_CORE_DECODES, is_sized = state & BATON_CORE_SIZED;
    peers->n_decode += decodes;
    peers->n_prefill += !decodes;
    peers->n_unsized_decode += decodes && !is_sized;
    peers->n_unsized_prefill += !decodes && !is_sized;
    peers->pool_bytes += (uint64_t)atomic_load(&slot->pool_mib) * MIB;
    peers->unbacked_bytes += (uint64_t)atomic_load(&slot->unbacked_mib) * MIB;
}

void baton_memory_claim_peers(struct baton_memory_claim *claim, struct baton_memory_peers *peers)
{
    *peers = (struct baton_memory_peers){0};
    for (int i = 0; claim && i < BATON_CORE_WORKERS_MAX; i++)
        if (is_live(claim, i) && is_bounded_with(claim, i))
            count(&claim->view.table->slots[i], peers);
}

static uint32_t whole_mib(uint64_t n_bytes)
{
    return (uint32_t)((n_bytes + MIB - 1) / MIB);
}

void baton_memory_claim_set_pool(struct baton_memory_claim *claim, uint64_t n_bytes)
{
    if (!claim)
        return;
    atomic_store(&claim->own->pool_mib, whole_mib(n_bytes));
    atomic_store(&claim->own->unbacked_mib, whole_mib(n_bytes));
    /* Last: a peer that sees SIZED must not read a size of 0. */
    atomic_fetch_or(&claim->own->state, BATON_CORE_SIZED);
}

void baton_memory_claim_set_unbacked(struct baton_memory_claim *claim, uint64_t n_unbacked_bytes)
{
    if (claim)
        atomic_store(&claim->own->unbacked_mib, whole_mib(n_unbacked_bytes));
}
