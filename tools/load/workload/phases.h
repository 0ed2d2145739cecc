/* The gaps of readers in two phases: alone, and while intruders arrive.
 *
 * A gap belongs to a phase when both of its ends are in it.
 *
 * Ownership: plain values.
 * Threading: the main thread.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_PHASES_H
#define BATON_TOOLS_LOAD_WORKLOAD_PHASES_H

#include "tools/load/workload/record.h"
#include "tools/load/workload/samples.h"

/* A gap of more than this many medians is a stall. */
enum { LD_STALL_STEPS = 3 };

struct ld_phase {
    struct ld_summary itl; /* seconds */
    double max_steps;      /* longest gap, in medians of this phase */
    uint64_t n_stalls;
    uint64_t n_readers_begun; /* their own prompts disturbed the others */
};

enum baton_err ld_phase_make(const struct ld_records *records, const char *group, int64_t from_ns,
                             int64_t to_ns, struct ld_phase *phase) BATON_MUST_CHECK;

#endif
