/* The processors that a worker computes on, by --cores.
 *
 *     auto   those this process may run on, shared with the host's other workers by a core lease;
 *            "all" if no lease is available (the log has the reason)
 *     all    the same, without regard to other workers
 *     LIST   "0" or "0,2-3": these and no others, each compute thread on one of its own
 *
 * A CPU quota (os/cpu_quota.h) bounds all three: no more threads than its whole cores, unless
 * n_threads is given.
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
    bool pinned, share_is_set;
    int processors[BATON_CORES_MAX];
};

struct baton_cores_options {
    const char *cores;     /* "auto", "all" or a list */
    const char *lease_dir; /* of the table; "auto", or "" for no lease */
    int n_threads;         /* 0: as many as cores */
    const char *root;      /* prefix of /proc and /sys, for tests; NULL: none */
    enum baton_core_role role;
};

enum baton_err baton_cores_init(struct baton_cores *cores,
                                const struct baton_cores_options *options,
                                struct baton_why *why) BATON_MUST_CHECK;
void baton_cores_fini(struct baton_cores *cores);

/* The path of a file that the workers of one user on one host share, NAME-UID in the directory that
 * lease_dir names as above. False: there is none. */
bool baton_cores_shared_path(const char *lease_dir, const char *name, char path[PATH_MAX]);

/* Called once by the engine thread, before it uses the engine. */
void baton_cores_attach(struct baton_cores *cores, struct baton_engine *engine);

/* Called by the engine thread: whether it has work now. A repeated call costs nothing. */
void baton_cores_busy(struct baton_cores *cores, bool busy);

/* Returns the time of the next call. */
int64_t baton_cores_tick(struct baton_cores *cores, int64_t now_ns);

#endif
