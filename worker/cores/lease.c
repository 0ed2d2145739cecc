#include "worker/cores/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "worker/cores/table.h"

enum { LIST_BYTES = 128 };

#define TICK_NS   (100 * BATON_MS)
#define SILENT_NS BATON_SECOND

/* The beats of another process, as this one last saw them change. */
struct watch {
    uint32_t beats;
    int64_t since_ns; /* 0: not seen yet */
};

struct baton_core_lease {
    struct baton_core_view view;
    struct baton_core_slot *own;
    uint64_t allowed[BATON_CORE_MASK_WORDS];
    int processors[BATON_CORES_MAX], n_processors;
    bool floats; /* under a quota: cores are counted, and no thread is pinned */
    /* the engine thread's */
    bool busy;
    uint32_t seen; /* the generation of the current share */
    int cores[BATON_CORES_MAX], n_cores;
    /* the main thread's */
    int64_t tick_ns;
    struct watch watched[BATON_CORE_WORKERS_MAX];
};

static uint32_t generation(const struct baton_core_lease *lease)
{
    return atomic_load_explicit(&lease->view.table->generation, memory_order_acquire);
}

/* Raises the generation after a change of a slot: a worker that sees the new number also sees the
 * change. */
static uint32_t announce(struct baton_core_lease *lease)
{
    return atomic_fetch_add(&lease->view.table->generation, 1) + 1;
}

static bool is_of_our_group(const struct baton_core_lease *lease,
                            const struct baton_core_slot *slot)
{
    for (int i = 0; i < BATON_CORE_MASK_WORDS; i++)
        if (atomic_load_explicit(&slot->allowed[i], memory_order_relaxed) != lease->allowed[i])
            return false;
    return true;
}

/* The live workers of our group in order of slots; returns their number. Every worker reads the
 * same order, so all apply the rule to the same input. */
static int read_workers(const struct baton_core_lease *lease, struct baton_core_worker *workers,
                        int *me)
{
    int n = 0;
    for (int i = 0; i < BATON_CORE_WORKERS_MAX; i++) {
        const struct baton_core_slot *slot = &lease->view.table->slots[i];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (!(state & BATON_CORE_LIVE) || !is_of_our_group(lease, slot))
            continue;
        if (slot == lease->own)
            *me = n;
        workers[n].role = state & BATON_CORE_DECODES ? BATON_CORE_DECODE : BATON_CORE_PREFILL;
        workers[n++].busy = state & BATON_CORE_BUSY && !(state & BATON_CORE_SILENT);
    }
    return n;
}

static void log_share(const struct baton_core_lease *lease, int n_workers)
{
    char list[LIST_BYTES] = "any";
    for (int i = 0, at = 0; !lease->floats && i < lease->n_cores && at < (int)sizeof list; i++)
        at += snprintf(list + at, sizeof list - (size_t)at, "%s%d", i ? "," : "", lease->cores[i]);
    baton_log(BATON_LOG_DEBUG, "cores", BATON_S("use", list), BATON_I("n", lease->n_cores),
              BATON_I("of", lease->n_processors), BATON_I("workers", n_workers));
}

bool baton_core_lease_share(void *arg, struct baton_share *share)
{
    struct baton_core_lease *lease = arg;
    struct baton_core_worker workers[BATON_CORE_WORKERS_MAX];
    int cores[BATON_CORES_MAX], me = 0;
    uint32_t now = generation(lease);
    if (now == lease->seen)
        return false;
    lease->seen = now;
    int n_workers = read_workers(lease, workers, &me);
    int n = baton_core_share(workers, n_workers, me, lease->n_processors, cores);
    for (int i = 0; i < n; i++)
        cores[i] = lease->processors[cores[i]];
    /* Stored after the new share is known, with release: a worker that waits for these cores
     * continues when it sees this. */
    atomic_store_explicit(&lease->own->seen, now, memory_order_release);
    if (n == lease->n_cores && !memcmp(cores, lease->cores, (size_t)n * sizeof cores[0]))
        return false;
    memcpy(lease->cores, cores, (size_t)n * sizeof cores[0]);
    lease->n_cores = n;
    log_share(lease, n_workers);
    *share = (struct baton_share){.n = n, .processors = lease->floats ? NULL : lease->cores};
    return true;
}

static bool is_busy_other(const struct baton_core_lease *lease, const struct baton_core_slot *slot)
{
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
    return slot != lease->own && state & BATON_CORE_BUSY && !(state & BATON_CORE_SILENT) &&
           is_of_our_group(lease, slot);
}

/* The number of busy workers that have not yet seen this generation; of all when it is NULL. The
 * difference is signed, so it stays right when generations wrap around. */
static int count_busy_others(const struct baton_core_lease *lease, const uint32_t *unseen)
{
    int n = 0;
    for (int i = 0; i < BATON_CORE_WORKERS_MAX; i++) {
        const struct baton_core_slot *slot = &lease->view.table->slots[i];
        uint32_t seen = atomic_load_explicit(&slot->seen, memory_order_acquire);
        n += is_busy_other(lease, slot) && (!unseen || (int32_t)(seen - *unseen) < 0);
    }
    return n;
}

/* Another worker's helper may be in the middle of an item on our core. If we took the core at once,
 * its whole step would wait for that item until the kernel preempts us, milliseconds later. If we
 * yield, the helper ends the item within microseconds. */
static void await_handover(const struct baton_core_lease *lease, uint32_t wanted)
{
    if (!count_busy_others(lease, NULL))
        return;
    int64_t until_ns = baton_now_ns() + BATON_CORE_HANDOVER_US * (BATON_MS / 1000);
    do
        (void)sched_yield();
    while (count_busy_others(lease, &wanted) && baton_now_ns() < until_ns);
    (void)sched_yield(); /* the helper has seen it, but may still run its last item */
}

void baton_core_lease_busy(struct baton_core_lease *lease, bool busy)
{
    if (busy == lease->busy)
        return;
    lease->busy = busy;
    if (!busy) {
        atomic_fetch_and(&lease->own->state, ~(uint32_t)BATON_CORE_BUSY);
        (void)announce(lease);
        return;
    }
    atomic_fetch_or(&lease->own->state, BATON_CORE_BUSY);
    uint32_t now = announce(lease);
    /* Two workers that become busy at once must not wait for each other. */
    atomic_store(&lease->own->seen, now);
    await_handover(lease, now);
}

static void reclaim_slot(struct baton_core_lease *lease, int i, struct baton_core_slot *slot)
{
    baton_log(BATON_LOG_INFO, "cores_of_dead_worker", BATON_I("slot", i),
              BATON_I("its_pid", atomic_load(&slot->pid)));
    atomic_store(&slot->state, 0);
    (void)announce(lease);
    baton_core_view_unlock(&lease->view, i); /* last: until then no new worker can take the slot */
}

static void watch_beats(struct baton_core_lease *lease, int i, struct baton_core_slot *slot,
                        int64_t now_ns)
{
    struct watch *watch = &lease->watched[i];
    uint32_t beats = atomic_load_explicit(&slot->beats, memory_order_relaxed);
    if (!(atomic_load(&slot->state) & BATON_CORE_BUSY)) {
        watch->since_ns = 0; /* an idle worker holds no core; it may be loading its model */
        return;
    }
    if (beats != watch->beats || !watch->since_ns) {
        *watch = (struct watch){.beats = beats, .since_ns = now_ns};
        return;
    }
    if (now_ns - watch->since_ns < SILENT_NS ||
        atomic_fetch_or(&slot->state, BATON_CORE_SILENT) & BATON_CORE_SILENT)
        return;
    (void)announce(lease);
    baton_log(BATON_LOG_INFO, "cores_of_silent_worker", BATON_I("slot", i),
              BATON_I("its_pid", atomic_load(&slot->pid)));
}

static void beat(struct baton_core_lease *lease)
{
    atomic_fetch_add_explicit(&lease->own->beats, 1, memory_order_relaxed);
    if (!(atomic_load(&lease->own->state) & BATON_CORE_SILENT))
        return;
    atomic_fetch_and(&lease->own->state, ~(uint32_t)BATON_CORE_SILENT);
    (void)announce(lease);
}

int64_t baton_core_lease_tick(struct baton_core_lease *lease, int64_t now_ns)
{
    if (now_ns < lease->tick_ns)
        return lease->tick_ns;
    lease->tick_ns = now_ns + TICK_NS;
    beat(lease);
    for (int i = 0; i < BATON_CORE_WORKERS_MAX; i++) {
        struct baton_core_slot *slot = &lease->view.table->slots[i];
        if (slot == lease->own || !atomic_load(&slot->state))
            lease->watched[i].since_ns = 0;
        else if (baton_core_view_try_lock(&lease->view, i))
            reclaim_slot(lease, i, slot);
        else
            watch_beats(lease, i, slot, now_ns);
    }
    return lease->tick_ns;
}

static void set_processors(struct baton_core_lease *lease, const cpu_set_t *allowed)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, allowed))
            continue;
        lease->allowed[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        if (lease->n_processors < BATON_CORES_MAX)
            lease->processors[lease->n_processors++] = cpu;
    }
}

/* Replaces processors by the whole cores of a quota. The mask then holds the quota's group and
 * size; bit 1023 keeps it apart from masks of processors, so only workers under the quota share. */
static void apply_quota(struct baton_core_lease *lease, const struct baton_cpu_quota *quota)
{
    int n = baton_cpu_quota_cores(quota, lease->n_processors);
    if (n == lease->n_processors)
        return;
    memset(lease->allowed, 0, sizeof lease->allowed);
    lease->allowed[0] = quota->group;
    lease->allowed[1] = (uint64_t)n;
    lease->allowed[BATON_CORE_MASK_WORDS - 1] = UINT64_C(1) << 63;
    lease->n_processors = n;
    lease->floats = true;
}

/* The slot may hold a dead worker's values. LIVE is stored last: a worker that reads it also reads
 * the others. */
static void enter(struct baton_core_lease *lease, enum baton_core_role role)
{
    struct baton_core_slot *own = lease->own;
    atomic_store(&own->state, 0);
    atomic_store(&own->pid, (int32_t)getpid());
    for (int i = 0; i < BATON_CORE_MASK_WORDS; i++)
        atomic_store(&own->allowed[i], lease->allowed[i]);
    atomic_store(&own->state, role == BATON_CORE_DECODE
                                  ? (uint32_t)(BATON_CORE_LIVE | BATON_CORE_DECODES)
                                  : (uint32_t)BATON_CORE_LIVE);
    lease->seen = announce(lease) - 1; /* an older number, so the first call computes a share */
}

enum baton_err baton_core_lease_open(const char *path, enum baton_core_role role,
                                     const cpu_set_t *allowed, const struct baton_cpu_quota *quota,
                                     struct baton_core_lease **out, struct baton_why *why)
{
    struct baton_core_lease *lease = calloc(1, sizeof *lease);
    if (!lease)
        return baton_fail(why, BATON_NO_MEMORY, "core lease: out of memory");
    enum baton_err err = baton_core_view_open(path, &lease->view, why);
    if (err) {
        free(lease);
        return err;
    }
    lease->own = &lease->view.table->slots[lease->view.slot];
    set_processors(lease, allowed);
    apply_quota(lease, quota);
    enter(lease, role);
    *out = lease;
    return BATON_OK;
}

void baton_core_lease_close(struct baton_core_lease *lease)
{
    if (!lease)
        return;
    atomic_store(&lease->own->state, 0); /* else another worker would report a dead one */
    (void)announce(lease);
    baton_core_view_close(&lease->view);
    free(lease);
}
