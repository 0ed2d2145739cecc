/* Hand-offs over an emulated network, measured by a child process that lives in it.
 *
 *     ho_emulation_start    forks, so this process must not have any thread yet
 *     ho_emulation_run      sends the child its order, and waits
 *     ho_emulation_stop     ends it, even during a measurement
 *
 * Ownership: the emulation owns the child.
 * Threading: one thread.
 * Errors:    start: IO. run: the child's error with its reason; IO where emulation is not
 *            permitted, which callers report as skipped.
 */
#ifndef BATON_BENCH_HANDOFF_EMULATION_H
#define BATON_BENCH_HANDOFF_EMULATION_H

#include <sys/types.h>

#include "bench/handoff/network.h"
#include "bench/handoff/transfer.h"

enum { HO_MAX_LENGTHS = 16 };

struct ho_emulation {
    pid_t pid;
    int fd; /* a socket to the child */
};

struct ho_order {
    struct ho_network network;
    struct ho_geometry geometry;
    size_t chunk_bytes;
    int n_runs, n_lengths;
    int n_blocks[HO_MAX_LENGTHS];
};

enum baton_err ho_emulation_start(struct ho_emulation *emulation,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Measures each length into times[n_lengths]. The first order's network holds for all. */
enum baton_err ho_emulation_run(struct ho_emulation *emulation, const struct ho_order *order,
                                struct ho_times *times, struct baton_why *why) BATON_MUST_CHECK;
void ho_emulation_stop(struct ho_emulation *emulation);

#endif
