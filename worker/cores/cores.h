/* Which processors a worker computes on, as --cores says.
 *
 *     auto   those this process may run on, shared with the host's other workers by a core lease;
 *            "all" where no lease is to be had (the log says why)
 *     all    the same, without a look at other workers
 *     LIST   "0" or "0,2-3": these and no others, each compute thread on one of its own
 *
 * A CPU quota (os/cpu_quota.h) bounds all three: no more threads than its whole cores, unless
 * n_threads says so.
 *
 * Ownership: init and fini on the same struct; it stays in place between them.
 * Threading: init before any thread is started (threads inherit a LIST); attach and busy on the
 *            engine thread; tick on the main thread; fini when the engine thread is gone.
 * Errors:    init: INVALID with the part of the list that is wrong.
 */
#ifndef BATON_WORKER_CORES_CORES_H
#define BATON_WORKER_CORES_CORES_H

#include <limits.h>

#include "engine/engine.h"
#include "worker/cores/lease.h"

struct baton_cores {
    int n;         /* cores: processors this process may run on, and no more than its CPU quota */
    int n_threads; /* to compute with, at most */
    struct baton_core_lease *lease;
    bool pinned, told;
    int processors[BATON_CORES_MAX];
};

struct baton_cores_options {
    const char *cores;     /* "auto", "all" or a list */
    const char *lease_dir; /* of the table; "auto", or "" for no lease */
    int n_threads;         /* 0: as many as cores */
    const char *root;      /* where /proc and /sys lie; NULL: as usual (tests) */
    enum baton_core_role role;
};

enum baton_err baton_cores_init(struct baton_cores *cores,
                                const struct baton_cores_options *options,
                                struct baton_why *why) BATON_MUST_CHECK;
void baton_cores_fini(struct baton_cores *cores);

/* The path of a file that the workers of one user on one host share, NAME-UID in the directory that
 * lease_dir names as above. False: there is none. */
bool baton_cores_shared_path(const char *lease_dir, const char *name, char path[PATH_MAX]);

/* By the engine thread, once, before it uses the engine. */
void baton_cores_attach(struct baton_cores *cores, struct baton_engine *engine);

/* By the engine thread: whether there is something to compute now. Say it as often as you like. */
void baton_cores_busy(struct baton_cores *cores, bool busy);

/* Returns when to be called again. */
int64_t baton_cores_tick(struct baton_cores *cores, int64_t now_ns);

#endif
