/* The machine the client runs on, and what the client itself costs.
 *
 * Ownership: plain values.
 * Threading: any thread.
 * Errors:    files: LIMIT names the option and what the system allows; the rest cannot fail.
 */
#ifndef BATON_TOOLS_LOAD_HTTP_CLIENT_HOST_H
#define BATON_TOOLS_LOAD_HTTP_CLIENT_HOST_H

#include "common/base/json.h"

/* Raises the limit of open files to the hard one; fails when that is below n_connections and a few
 * more. */
enum baton_err ld_host_raise_files(int64_t n_connections, struct baton_why *why) BATON_MUST_CHECK;

/* Real-time priority for this thread, so that servers which keep all cores busy do not hold its
 * reads up; false where that is not allowed. For a thread that sleeps nearly all the time. */
bool ld_host_take_priority(void);

/* Seconds of CPU that this process used so far. */
double ld_host_cpu_s(void);
/* Greatest resident size so far, in bytes. */
int64_t ld_host_peak_bytes(void);

/* Members: cpu, cores, memory_bytes, kernel. */
void ld_host_put(struct baton_json_out *out);

#endif
